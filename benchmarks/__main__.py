"""Run suites: python -m benchmarks [suite] [--json]; or tools that measure strength."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Collection, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Busy, alone
from benchmarks.report import Result, as_json

if TYPE_CHECKING:
    from benchmarks import engine

# --- the suites; each is imported when it runs: the signature needs neither OpenSpiel nor a C compiler ---------


def run_engine(print_text: bool) -> dict[str, Any]:
    from benchmarks import engine

    return run_subject(engine.ENGINE, print_text)


def run_castle(print_text: bool) -> dict[str, Any]:
    from benchmarks import engine

    return run_subject(engine.CASTLE, print_text)


def run_subject(subject: engine.MeasuredGame, print_text: bool) -> dict[str, Any]:
    from benchmarks import engine

    return run_timed(partial(engine.run, subject), partial(engine.as_text, subject), print_text)


def run_search(print_text: bool) -> dict[str, Any]:
    from benchmarks import search

    return run_timed(search.run, search.as_text, print_text)


def run_games(print_text: bool) -> dict[str, Any]:
    from benchmarks import games

    return run_timed(games.run, games.as_text, print_text)


def run_backends(print_text: bool) -> dict[str, Any]:
    from benchmarks import backends

    return run_timed(backends.run, backends.as_text, print_text)


def run_service(print_text: bool, only: Sequence[str] = ()) -> dict[str, Any]:
    from benchmarks import service

    check_only(only, service.GOALS)
    return run_timed(partial(service.run, only=only), service.as_text, print_text)


def run_promises(print_text: bool, only: Sequence[str] = (), full: bool = False) -> dict[str, Any]:
    from benchmarks import promises

    check_only(only, promises.GOALS)
    scale = promises.FULL if full else promises.SHORT
    return run_timed(partial(promises.run, scale, only), promises.as_text, print_text)


def run_web(print_text: bool, only: Sequence[str] = ()) -> dict[str, Any]:
    from benchmarks import web

    check_only(only, web.GOALS)
    return run_timed(partial(web.run, only=only), web.as_text, print_text)


def check_only(only: Sequence[str], figures: Collection[str]) -> None:
    if unknown := set(only) - set(figures):
        raise SystemExit(f"--only: unknown figures: {', '.join(sorted(unknown))}; known figures: {', '.join(figures)}")


def run_startup(print_text: bool) -> dict[str, Any]:
    from benchmarks import startup

    return run_timed(startup.run, startup.as_text, print_text)


def run_install(print_text: bool) -> dict[str, Any]:
    from benchmarks import install

    return run_timed(install.run, install.as_text, print_text)


def run_timed(run: Callable[[], Result], as_text: Callable[[Result], str], print_text: bool) -> dict[str, Any]:
    with alone():
        result = run()
    if print_text:
        print(as_text(result), end="\n\n", flush=True)
    return as_json(result)


def run_signature(print_text: bool) -> str:
    from solver.signature import signature

    value = signature()
    if print_text:
        print(f"signature: {value}", flush=True)
    return value


SUITES = {
    "engine": run_engine,
    "castle": run_castle,
    "search": run_search,
    "games": run_games,
    "backends": run_backends,
    "service": run_service,
    "promises": run_promises,
    "web": run_web,
    "startup": run_startup,
    "install": run_install,
    "signature": run_signature,
}

# Commands with options of their own: to measure strength, and to write pages about it.
TOOLS = ("match", "strength", "exploitability", "ladder", "calibration", "levels", "advice")


def main(argv: Sequence[str] | None = None) -> None:
    args = sys.argv[1:] if argv is None else argv
    if args and args[0] in TOOLS:
        import_module(f"benchmarks.{args[0]}").main(args[1:])
        return
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure speed, and print the signature.",
        epilog=f"To measure strength: python -m benchmarks TOOL --help; TOOL is one of {', '.join(TOOLS)}.",
    )
    parser.add_argument("suite", nargs="?", choices=SUITES, help="default: all")
    parser.add_argument("--json", action="store_true", help="print figures as one JSON object on the last line")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="FIGURE", help="only these figures of `service`, `promises` or `web`"
    )
    parser.add_argument(
        "--full", action="store_true", help="the repetitions that the goals of `promises` require: an hour"
    )
    arguments = parser.parse_args(args)
    if arguments.only and arguments.suite not in ("service", "promises", "web"):
        parser.error("--only is for the suites `service`, `promises` and `web`")
    if arguments.full and arguments.suite != "promises":
        parser.error("--full is for the suite `promises`")

    names = [arguments.suite] if arguments.suite else list(SUITES)
    suites = SUITES | {
        "service": partial(run_service, only=arguments.only),
        "promises": partial(run_promises, only=arguments.only, full=arguments.full),
        "web": partial(run_web, only=arguments.only),
    }
    try:
        results = {name: suites[name](not arguments.json) for name in names}
    except Busy as busy:
        raise SystemExit(str(busy)) from None
    if arguments.json:
        print(json.dumps(results[arguments.suite] if arguments.suite else results))


if __name__ == "__main__":
    main()

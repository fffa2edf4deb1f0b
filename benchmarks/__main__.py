"""python -m benchmarks [suite] [--json]"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchmarks.measure import Busy, alone

if TYPE_CHECKING:
    from benchmarks import engine

# --- the suites; each is imported when it is wanted: the signature needs neither OpenSpiel nor a C compiler ----


def run_engine(print_text: bool) -> dict[str, Any]:
    from benchmarks import engine

    return run_subject(engine.ENGINE, print_text)


def run_castle(print_text: bool) -> dict[str, Any]:
    from benchmarks import engine

    return run_subject(engine.CASTLE, print_text)


def run_subject(subject: engine.Subject, print_text: bool) -> dict[str, Any]:
    from benchmarks import engine

    with alone():
        result = engine.run(subject)
    if print_text:
        print(engine.as_text(subject, result), end="\n\n", flush=True)
    return engine.as_json(result)


def run_signature(print_text: bool) -> str:
    from benchmarks.signature import signature

    found = signature()
    if print_text:
        print(f"signature: {found}", flush=True)
    return found


SUITES = {"engine": run_engine, "castle": run_castle, "signature": run_signature}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="How fast it is, and what it plays.")
    parser.add_argument("suite", nargs="?", choices=SUITES, help="all, if none is named")
    parser.add_argument("--json", action="store_true", help="print figures as one JSON object on the last line")
    arguments = parser.parse_args(argv)

    wanted = [arguments.suite] if arguments.suite else list(SUITES)
    try:
        found = {name: SUITES[name](not arguments.json) for name in wanted}
    except Busy as busy:
        raise SystemExit(str(busy)) from None
    if arguments.json:
        print(json.dumps(found[arguments.suite] if arguments.suite else found))


if __name__ == "__main__":
    main()

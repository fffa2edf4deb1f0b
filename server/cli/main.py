"""The program `eminence`: its commands, none of them loaded before it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

import click

from server.cli.exit_codes import NobodyReads, guarded

# The name, which is its file's too, and what `eminence --help` says of it.
COMMANDS = {
    "suggest": "Say what to play, and why.",
    "compare": "Say which of several moves is better.",
    "analyze": "Answer many positions, into a table of results.",
    "review": "Judge the decisions of a game.",
    "play": "Play a game against the engine.",
    "match": "Play configurations against each other.",
    "convert": "Turn positions, views and records into text or JSON.",
    "rules": "Show games, editions and cards as the engine has them.",
    "bench": "Measure how fast this machine is.",
    "serve": "Serve over gRPC.",
}
HELP = {"help_option_names": ["-h", "--help"]}
EPILOG = """\b
Examples:
  eminence suggest "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B"
  eminence rules archer

\b
Tab completion, in bash (zsh and fish likewise):
  eval "$(_EMINENCE_COMPLETE=bash_source eminence)"

\b
Exit codes: 0 done; 1 it cannot be done, or some of the input could not be
read; 2 wrong usage; 3 our mistake; 130 interrupted; 141 nobody reads on.
"""


class Commands(click.Group):
    """Commands that are loaded when they are asked for. Whatever goes wrong in one becomes a message and a code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"server.cli.commands.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS:
            from difflib import get_close_matches

            for near in get_close_matches(args[0], COMMANDS, 1):
                ctx.fail(f"No such command {args[0]!r}. Did you mean {near}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # which click would end with a code of its own
            raise NobodyReads from None

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> NoReturn:
        given = sys.argv[1:] if args is None else list(args)
        options["standalone_mode"] = False
        sys.exit(guarded(lambda: super(Commands, self).main(given, *more, **options), as_json="--json" in given))


def say_version(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from server.cli.commands.version import version

    click.echo(f"eminence {version()}")
    ctx.exit()


@click.group(cls=Commands, context_settings=HELP, epilog=EPILOG)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=say_version, help="Say which.")
def eminence() -> None:
    """What to play, given only what you see, in card games with hidden information."""


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no ± is shown a question mark
    eminence(prog_name="eminence")

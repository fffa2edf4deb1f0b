"""The program `eminence`: its commands, each imported when it runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

import click

from server.cli.exit_codes import OutputClosed, run_to_exit_code

# The line of each command in `eminence --help`; its module has the same name.
COMMANDS = {
    "suggest": "Suggest a move, and show why.",
    "compare": "Compare several moves on the same hidden cards.",
    "analyze": "Analyze many positions and write a table of results.",
    "review": "Grade every decision of a game.",
    "play": "Play a game against the engine.",
    "match": "Play configurations against each other.",
    "show": "Show a table as people see it, or draw it.",
    "convert": "Convert positions, views and records to text or JSON.",
    "check-game": "Check that a game keeps the laws of searches.",
    "rules": "Show the games, editions and cards of the engine.",
    "bench": "Measure the speed of this machine.",
    "serve": "Serve over gRPC, or over standard input and output.",
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
Exit codes: 0 success; 1 the command failed, or some of the input is invalid;
2 wrong usage; 3 internal error; 130 interrupted; 141 output closed.
"""


class Commands(click.Group):
    """Group of commands that imports a command when it runs, and turns its errors into a message and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command = getattr(import_module(f"server.cli.commands.{name}"), name)
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
        except BrokenPipeError:  # click would exit with another code
            raise OutputClosed from None

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> NoReturn:
        arguments = sys.argv[1:] if args is None else list(args)
        options["standalone_mode"] = False
        sys.exit(
            run_to_exit_code(
                lambda: super(Commands, self).main(arguments, *more, **options), as_json="--json" in arguments
            )
        )


def print_version(ctx: click.Context, parameter: click.Parameter, is_set: bool) -> None:
    if not is_set or ctx.resilient_parsing:
        return
    from eminence import __version__

    click.echo(f"eminence {__version__}")
    ctx.exit()


@click.group(cls=Commands, context_settings=HELP, epilog=EPILOG)
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=print_version, help="Print the version."
)
def eminence() -> None:
    """Suggest moves in card games with hidden information, given only the cards that one player sees."""


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± shows a question mark
    eminence(prog_name="eminence")

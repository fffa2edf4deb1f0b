"""The program `eminence`: its commands, none of them loaded before it is asked for."""

from __future__ import annotations

from importlib import import_module

import click

# The name, which is its file's too, and what `eminence --help` says of it.
COMMANDS = {
    "serve": "Serve over gRPC.",
}


class Commands(click.Group):
    """Commands that are loaded when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"server.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="eminence", message="%(prog)s %(version)s")
def eminence() -> None:
    """What to play, given only what you see, in card games with hidden information."""


def main() -> None:
    eminence(prog_name="eminence")

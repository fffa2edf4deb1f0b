"""The base of all commands: help that ends with examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from server.cli.exit_codes import Failure

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

HELP = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Command(click.Command):
    """Command whose help ends with examples to paste.

    A test (`tests/cli/test_program.py`) runs each of them, in a directory with the files that it names.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # A position with an empty queue begins with a dash; keep click from reading it as an option.
        return super().parse_args(ctx, [f" {arg}" if arg.startswith("- ") else arg for arg in args])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"  {example}\n")
        super().format_epilog(ctx, formatter)


def command(*examples: str, **options: Any) -> Callable[[Callable[..., Any]], Command]:
    """Make a command of a function, which returns its exit code, or None for success."""
    context = HELP | options.pop("context_settings", {})
    return click.command(cls=Command, context_settings=context, examples=examples, **options)


def files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Leave the completion of file names to the shell."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def check_place(path: Path | None, name: str) -> None:
    """Raise Failure if a file cannot be written, before a command computes its content."""
    if path is None:
        return
    if path.is_dir():
        raise Failure(f"{name}: {path} is a folder")
    if not path.parent.is_dir():
        raise Failure(f"{name}: the folder {path.parent} does not exist")


json_option = click.option("--json", "as_json", is_flag=True, help="Answer as JSON, for programs.")

"""Print docs/command_line.md, generated from the commands: python -m server.cli.command_reference."""

from __future__ import annotations

import textwrap

import click

from server.cli.command import Command
from server.cli.main import COMMANDS, eminence
from server.games import adapters_with_messages

# Output of --json by command. Keys are only ever added. The output of a failure is the same for all commands.
JSON = {
    "suggest": "the message `eminence.v1.Suggestion` in protobuf's mapping; its fields are documented in "
    "`proto/eminence/v1/solver.proto`",
    "compare": "the message `eminence.v1.Comparison`, likewise",
    "analyze": "`out`, `answered`, `resumed` (rows that the file already held), `bad` (invalid positions, and "
    "those without an answer), `seconds`, `positions_per_second`; the results themselves are in the file",
    "convert": "the output of `--to json`: an object per line ([records.md](records.md))",
    "show": "the table as in the output of `convert --to json`",
    "rules": "without a game `games`, each with `game`, `names` (`en`, `fr`, `de`), `players`, `editions`, `switches`, "
    "`origin` (the package), and `fault` if an installed game cannot be played; "
    "with `--game`, `game`, `names`, `edition`, `players`, `cards`, `numbers`, and `switches` or `rewards`; with a "
    "card, `cards`. A card has `game`, `names`, `effect`; "
    + "; ".join(f"in {adapter.names.en} `{'`, `'.join(adapter.card_keys)}`" for adapter in adapters_with_messages()),
    "check-game": "`game`, `games`, `positions`, `enumerated_views`, and `fault`: null, or `law`, `seed`, `position`, "
    "`details`",
    "bench": "`playouts_per_second`, `iterations_per_second`, `iterations_per_second_all_threads`, each also with "
    "`_spread` (range of the rounds, relative to their median), `speedup`, `game`, `players`, `threads`, "
    "`cores`, `seconds`, `load_before`, `python`, `version`, `signature`; with one thread, "
    "without the figures of all threads",
}

HEAD = """# The program `eminence`

This page is generated: `python -m server.cli.command_reference > docs/command_line.md`. A test
(`tests/cli/test_program.py`) runs every example on it.

## All commands

- `--json` prints JSON on standard output. Errors are then printed on standard error as
  `{"error": {"reason": ..., "message": ...}}`; `reason` is a name of `ErrorReason` in the contract, or empty.
- A position is text ([notation.md](notation.md)), the name of a file, or `-` for standard input. JSON and records are
  read, too ([records.md](records.md)).
- Colours and answers that are updated in place appear on terminals only; `NO_COLOR=1` turns colours off.
- `EMINENCE_TOKEN` is the token sent to a server (`--server`). `EMINENCE_DEBUG=1` shows the traceback of an internal
  error.

| exit code | |
|---|---|
| 0 | success |
| 1 | the command failed, or some of the input is invalid |
| 2 | wrong usage: an unknown option, a missing argument |
| 3 | internal error |
| 130 | interrupted by Ctrl-C. `suggest`, and `compare` without `--server`, print the answer so far instead, if there \
is one |
| 141 | the reader of standard output closed it |
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD, _help("eminence", eminence)]
    for name in COMMANDS:
        command = eminence.get_command(click.Context(eminence), name)
        assert isinstance(command, Command)
        parts.append(f"## eminence {name}\n\n{_help(f'eminence {name}', command)}{_json(name)}")
    return "\n".join(parts)


def _help(name: str, command: click.Command) -> str:
    context = command.make_context(name, [], resilient_parsing=True, terminal_width=100, max_content_width=100)
    return f"```\n{command.get_help(context)}\n```\n"


def _json(name: str) -> str:
    if name not in JSON:
        return ""
    text = textwrap.fill(f"`--json` prints {JSON[name]}.", 119, break_long_words=False, break_on_hyphens=False)
    return f"\n{text}\n"


if __name__ == "__main__":
    print(page(), end="")

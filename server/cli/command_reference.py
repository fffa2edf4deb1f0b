"""python -m server.cli.command_reference: docs/command_line.md, made from the commands themselves."""

from __future__ import annotations

import textwrap

import click

from server.cli.command import Command
from server.cli.main import COMMANDS, eminence

# What --json prints. Keys are only added. What is told of a failure is the same for all.
JSON = {
    "suggest": "the message `eminence.v1.Suggestion` in protobuf's mapping; its fields are documented in "
    "`proto/eminence/v1/solver.proto`",
    "compare": "the message `eminence.v1.Comparison`, likewise",
    "analyze": "`out`, `answered`, `resumed` (rows that were there before), `bad` (positions that could not be read or "
    "answered), `seconds`, `positions_per_second`; the results themselves are in the file",
    "convert": "what `--to json` writes: an object a line ([records.md](records.md))",
    "rules": "without a game `games`, each with `game`, `names` (`en`, `fr`, `de`), `players`, `editions`, `switches`; "
    "with `--game`, `game`, `names`, `edition`, `players`, `cards`, `numbers`, and `switches` or `rewards`; with a "
    "card, `cards`. A card has `game`, `names`, `then`; in Oriflamme `card`, `text_name`, `points_at`, `amount`, "
    "`besides`, `switches`; in Castle, Village, Port `value`, `when`",
    "bench": "`playouts_per_second`, `iterations_per_second`, `iterations_per_second_all_threads`, each also with "
    "`_spread` (how far the rounds lie apart, relative to the middle one), `speedup`, `game`, `players`, `threads`, "
    "`cores`, `seconds`, `load_before`, `python`, `version`, `signature`; with one thread, nothing of all threads",
}

HEAD = """# The program `eminence`

This page is made from the program: `python -m server.cli.command_reference > docs/command_line.md`. Every
example on it is run by `tests/cli/test_program.py`.

## All commands

- `--json` answers as JSON on standard output. What cannot be done is then told on standard error as
  `{"error": {"reason": ..., "message": ...}}`; `reason` is a name of `ErrorReason` in the contract, or empty.
- A position is text ([notation.md](notation.md)), a file with it, or `-` for standard input; JSON and records are read,
  too ([records.md](records.md)).
- Colours, and answers that grow, are for terminals; `NO_COLOR=1` turns colours off.
- `EMINENCE_TOKEN` is the token that a server is shown (`--server`). `EMINENCE_DEBUG=1` shows where in our code
  a mistake of ours happened.

| exit code | |
|---|---|
| 0 | done |
| 1 | it cannot be done as asked, or some of the input could not be read |
| 2 | wrong usage: an unknown option, a missing argument |
| 3 | our mistake |
| 130 | interrupted by Ctrl-C; `suggest` ends with the answer so far instead, if there is one, and so does `compare` \
without `--server` |
| 141 | nobody reads what it prints any more |
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, _help("eminence", eminence)]
    for name in COMMANDS:
        said = eminence.get_command(click.Context(eminence), name)
        assert isinstance(said, Command)
        parts.append(f"## eminence {name}\n\n{_help(f'eminence {name}', said)}{_json(name)}")
    return "\n".join(parts)


def _help(name: str, said: click.Command) -> str:
    context = said.make_context(name, [], resilient_parsing=True, terminal_width=100, max_content_width=100)
    return f"```\n{said.get_help(context)}\n```\n"


def _json(name: str) -> str:
    if name not in JSON:
        return ""
    told = textwrap.fill(f"`--json` prints {JSON[name]}.", 119, break_long_words=False, break_on_hyphens=False)
    return f"\n{told}\n"


if __name__ == "__main__":
    print(page(), end="")

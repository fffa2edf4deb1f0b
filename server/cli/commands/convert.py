"""eminence convert: positions, views and records between text and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import click

from engine_cy.record import Record
from server.cli.command import command, files, json_option
from server.cli.exit_codes import FAILED, Failure
from server.cli.inputs import UNREADABLE, GameChoice, Input, as_json, no_such_file, open_input, pieces, read_piece
from server.cli.options import game_options, observe

FORMS = ("text", "json", "record")


def as_text(item: Input) -> str:
    """A line, or the lines of a record."""
    return str(item).rstrip("\n")


def as_json_line(item: Input) -> str:
    return json.dumps(as_json(item), ensure_ascii=False)


def as_record(item: Input) -> str:
    """A record; of a position or view, one that begins there: it says of which game it is, as a line alone does not."""
    return as_text(item if isinstance(item, Record) else Record(item))


WRITERS: dict[str, Callable[[Input], str]] = {"text": as_text, "json": as_json_line, "record": as_record}


@command(
    'eminence convert "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B" --to json',
    "eminence convert game.txt --to json --out game.json",
    "eminence convert game.txt --at 4 --to text",
    "eminence convert game.txt --seat A --to record",
    "cat view.txt | eminence convert - --to json | eminence convert - --to text",
)
@click.argument("source", metavar="POSITION|FILE|-", shell_complete=files)
@click.option("--to", type=click.Choice(FORMS), default="text", show_default=True, help="What to write.")
@click.option("--seat", metavar="LETTER", help="Write what this seat sees, or saw.")
@click.option("--at", type=int, metavar="N", help="Of a record: write the table after its first N actions.")
@click.option("--out", metavar="FILE", shell_complete=files, help="Write there instead of to standard output.")
@game_options
@json_option
def convert(
    source: str, to: str, seat: str | None, at: int | None, out: str | None, choice: GameChoice, as_json: bool
) -> int:
    """Turn positions, views and records of games into text or JSON; docs/records.md is the page on both.

    Any number of them is read from a file or standard input, and written in the same order: a line each, but for
    records as text. What cannot be read is said with its line and left out; the exit code is then 1. `--json` is
    `--to json`.
    """
    write = WRITERS["json" if as_json else to]
    file, lines = open_input(source)
    code = 0
    with Path(out).open("w", encoding="utf-8") if out else nullcontext(sys.stdout) as target:
        for piece in pieces(file, lines):
            try:
                target.write(write(_as_asked(read_piece(piece, choice), seat, at)) + "\n")
            except UNREADABLE as error:
                if file == "argument":
                    raise no_such_file(source, error) or error from None
                click.echo(f"{piece.where}: {error}", err=True)
                code = FAILED
    return code


def _as_asked(item: Input, seat: str | None, at: int | None) -> Input:
    """The item, or the part of it that is wanted."""
    if at is not None and isinstance(item, Record):
        if seat is not None:
            return observe(item, seat, at).view
        if not 0 <= at <= len(item.actions):
            raise Failure(f"at: {at} is not in 0..{len(item.actions)}, the number of actions of this record")
        return replace(item, actions=item.actions[:at], result=None).end
    if seat is None and at is None:
        return item
    if isinstance(item, Record) and seat is not None:
        return _record_seen(item, seat)
    return observe(item, seat, at).view


def _record_seen(record: Record, seat: str) -> Record:
    if record.observer is None:
        return record.seen_from(seat.upper())
    observe(record, seat)  # refuses another seat's
    return record

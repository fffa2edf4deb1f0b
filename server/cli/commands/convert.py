"""eminence convert: convert positions, views and records between text and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import click

from engine_cy.record import Record
from server.cli.command import command, files, json_option
from server.cli.exit_codes import FAILED
from server.cli.inputs import UNREADABLE, GameChoice, Input, as_json, no_such_file, open_input, pieces, read_piece
from server.cli.options import game_options, observe, table_of

FORMS = ("text", "json", "record")


def as_text(item: Input) -> str:
    """Return a line, or the lines of a record."""
    return str(item).rstrip("\n")


def as_json_line(item: Input) -> str:
    return json.dumps(as_json(item), ensure_ascii=False)


def as_record(item: Input) -> str:
    """Return a record, which names its game; of a position or view, one that begins there."""
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
@click.option("--to", type=click.Choice(FORMS), default="text", show_default=True, help="Output format.")
@click.option("--seat", metavar="LETTER", help="Write the view of this seat.")
@click.option("--at", type=int, metavar="N", help="Of a record: write the table after N actions.")
@click.option("--out", metavar="FILE", shell_complete=files, help="Write to this file, not to standard output.")
@game_options
@json_option
def convert(
    source: str, to: str, seat: str | None, at: int | None, out: str | None, choice: GameChoice, as_json: bool
) -> int:
    """Convert positions, views and records of games to text or JSON (docs/records.md).

    A file or standard input may hold any number of them. They are written in the same order, one per line except
    records as text. Invalid input is reported with its line and left out; the exit code is then 1. `--json` means
    `--to json`.
    """
    write = WRITERS["json" if as_json else to]
    file, lines = open_input(source)
    code = 0
    with Path(out).open("w", encoding="utf-8") if out else nullcontext(sys.stdout) as target:
        for piece in pieces(file, lines):
            try:
                target.write(write(_selected(read_piece(piece, choice), seat, at)) + "\n")
            except UNREADABLE as error:
                if file == "argument":
                    raise no_such_file(source, error) or error from None
                click.echo(f"{piece.where}: {error}", err=True)
                code = FAILED
    return code


def _selected(item: Input, seat: str | None, at: int | None) -> Input:
    """Return the view or table that --seat and --at select, or the whole item."""
    if at is not None and isinstance(item, Record):
        return table_of(item, seat, at)
    if seat is None and at is None:
        return item
    if isinstance(item, Record) and seat is not None:
        return _record_seen(item, seat)
    return observe(item, seat, at).view


def _record_seen(record: Record, seat: str) -> Record:
    if record.observer is None:
        return record.seen_from(seat.upper())
    observe(record, seat)  # raises Failure for another seat
    return record

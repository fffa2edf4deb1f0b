"""Store each deal of a match in a file as soon as it is over, so the match can be resumed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields, is_dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from engine_cy.seats import SEATS
from solver.config import Config
from solver.match.play import Match, PlayedDeal


class OtherMatchError(ValueError):
    """The file to resume holds the deals of another match."""


class Book:
    """Hold the finished deals by number; with a path, also as JSON lines: first the match, then one deal per line.

    The records of games are files of the folder `games`, if there is one.
    """

    def __init__(self, match: Match, path: Path | None = None, games: Path | None = None) -> None:
        self.path, self.games = path, games
        self.deals: dict[int, PlayedDeal] = {}
        header = header_of(match)
        if path and path.exists() and path.stat().st_size:
            lines, size = whole_lines(path)
            if lines[0] != header:
                raise OtherMatchError(f"{path} holds another match: {json.dumps(lines[0])}, not {json.dumps(header)}")
            for line in lines[1:]:
                deal = PlayedDeal(
                    line["deal"], tuple(line["shares"]), tuple(line["decisions"]), tuple(line["iterations"])
                )
                self.deals[deal.number] = deal
            # Truncate a partial last line, left by a process that was killed while writing.
            os.truncate(path, size)
        else:
            self._write(header)
        if games:
            games.mkdir(exist_ok=True)

    def add(self, deal: PlayedDeal) -> None:
        if self.games:
            for letter, record in zip(SEATS, deal.records, strict=False):
                self._keep(self.games / f"deal-{deal.number:05}-{letter}.txt", record)
        self.deals[deal.number] = deal._replace(records=())  # a long match would fill the memory
        line = {"deal": deal.number, "shares": deal.shares}
        self._write({**line, "decisions": deal.decisions, "iterations": deal.iterations})

    def first(self, number: int) -> list[PlayedDeal]:
        """Return the deals before the first missing one, at most `number`, whichever order they ended in."""
        return [self.deals[i] for i in takewhile(self.deals.__contains__, range(number))]

    @staticmethod
    def _keep(path: Path, record: str) -> None:
        """Write a record; a process that is killed leaves a whole file or none."""
        new = path.with_suffix(".new")
        new.write_text(record, "utf-8")
        os.replace(new, path)

    def _write(self, line: dict[str, Any]) -> None:
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def header_of(match: Match) -> dict[str, Any]:
    """Return the first line of the file: the match.

    It omits settings of a configuration that have their default value, so settings added later do not invalidate it.
    """
    header: dict[str, Any] = json.loads(json.dumps({"match": _values(match)}))
    return header


def _values(value: Any) -> Any:
    """Return a match or a part of it as plain values; a guest may hold a configuration."""
    if not is_dataclass(value):
        return value
    values = {field.name: _values(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Config):
        defaults = asdict(Config(value.name))
        return {name: setting for name, setting in values.items() if name == "name" or setting != defaults[name]}
    return values


def whole_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """Return the complete lines of a file, at least one, and their size in bytes; skip a partial last line."""
    text = path.read_bytes()
    size = text.rfind(b"\n") + 1
    try:
        lines = [json.loads(line) for line in text[:size].splitlines()]
    except ValueError:
        lines = []
    if not lines:
        raise OtherMatchError(f"{path} is not the file of a match")
    return lines, size

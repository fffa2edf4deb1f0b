"""Learned weights of a game: in memory, and in a file.

A file holds whole thousandths in JSON: a version, the names of the roles of cards, the size of each table and, by the
name of each set of weights, its tables, which are lists of rows. The engine may know more roles than the file: their
weights are 0 until they are fitted. A file that does not fit in another way stays unused; `Weights.fault` says why, and
a search that needs the weights refuses (`Game.check_knowledge`). Without a file all weights are 0, too.
"""

from __future__ import annotations

import itertools
import json
import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engine_cy.errors import EngineError, listed

# An axis with a place for each role; other axes are lengths.
ROLE = "role"

Rows = Sequence[Sequence[float]]


class Layout:
    """The parts of a row of weights in their order. A part is an array, given by its axes."""

    def __init__(self, roles: Iterable[str] = ()) -> None:
        self.roles = list(roles)
        self.parts: list[tuple[int | str, ...]] = []

    def add(self, *axes: int | str) -> int:
        """Add a part; return the index of its first weight."""
        start = self.size(self.roles)
        self.parts.append(axes)
        return start

    def copy(self) -> Layout:
        """Return a layout with the same parts, to add more behind them."""
        layout = Layout(self.roles)
        layout.parts = list(self.parts)
        return layout

    def size(self, roles: Sequence[str]) -> int:
        """Return the number of weights of a row for `roles`."""
        return sum(math.prod(lengths(axes, roles)) for axes in self.parts)

    def convert(self, row: Sequence[float], roles: Sequence[str]) -> list[float]:
        """Return a row for `roles` as one for the roles of this layout: the weights of additional roles are 0."""
        origins = [roles.index(role) if role in roles else -1 for role in self.roles]
        converted: list[float] = []
        start = 0
        for axes in self.parts:
            old = lengths(axes, roles)
            for place in itertools.product(*[origins if axis == ROLE else range(int(axis)) for axis in axes]):
                at = start + sum(i * math.prod(old[axis + 1 :]) for axis, i in enumerate(place))
                converted.append(0.0 if -1 in place else row[at])
            start += math.prod(old)
        return converted


def lengths(axes: Iterable[int | str], roles: Sequence[str]) -> list[int]:
    return [len(roles) if axis == ROLE else int(axis) for axis in axes]


class WeightTable(NamedTuple):
    """A table of a set of weights: a number of rows of one layout."""

    rows: int
    layout: Layout


class Weights:
    """The weights of a game by set and table. Not thread-safe to change: no search may run."""

    def __init__(self, path: Path, version: int, sets: Sequence[str], tables: Mapping[str, WeightTable]) -> None:
        self.path = path
        self.version = version
        self.sets = list(sets)
        self.tables = dict(tables)
        self.roles = next(iter(tables.values())).layout.roles
        # The engine reads this memory; it never moves.
        self.memory = {
            name: array("f", bytes(4 * len(sets) * table.rows * self.width(name))) for name, table in tables.items()
        }
        self.fault: str | None = None
        self.load()

    def width(self, table: str) -> int:
        """Return the number of weights of each row of a table."""
        return self.tables[table].layout.size(self.roles)

    def load(self) -> None:
        """Read the weights from the file, if there is one."""
        self.fault = None
        for memory in self.memory.values():
            memory[:] = array("f", bytes(4 * len(memory)))
        if self.path.exists():
            try:
                for name, tables in self.read().items():
                    self.replace(name, **tables)
            except EngineError as error:
                self.fault = str(error)

    def replace(self, name: str, **tables: Rows) -> None:
        """Replace tables of a set such as `oriflamme-3`."""
        for table, rows in tables.items():
            n, width = self.tables[table].rows, self.width(table)
            if len(rows) != n or any(len(row) != width for row in rows):
                raise EngineError(f"{table}: {len(rows)} rows, not {n} rows of {width} weights")
            start = self.sets.index(name) * n * width
            self.memory[table][start : start + n * width] = array("f", itertools.chain(*rows))

    def rows(self, name: str, table: str) -> list[list[float]]:
        """Return a table of a set, from memory."""
        n, width = self.tables[table].rows, self.width(table)
        first = self.sets.index(name) * n
        return [self.memory[table][row * width : (row + 1) * width].tolist() for row in range(first, first + n)]

    def read(self, path: Path | None = None) -> dict[str, dict[str, list[list[float]]]]:
        """Read a file, the engine's or another: the tables of each set. EngineError if it does not fit the engine."""
        path = path or self.path
        # Not the whole path, which is the server's business.
        where = "/".join(path.parts[-3:])
        try:
            content = json.loads(path.read_text())
            if content["version"] != self.version:
                raise EngineError(f"{where}: its version is {content['version']}, not {self.version}")
            return self._read_sets(content, where)
        except EngineError:
            raise
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise EngineError(f"{where}: not a file of weights ({type(error).__name__}: {error})") from None

    def _read_sets(self, content: dict[str, Any], where: str) -> dict[str, dict[str, list[list[float]]]]:
        roles: list[str] = content["roles"]
        if unknown := [role for role in roles if role not in self.roles]:
            raise EngineError(f"{where}: has the roles {listed(unknown)}, which are not among {listed(self.roles)}")
        for name, size in self._sizes(roles).items():
            if content["sizes"].get(name) != size:
                raise EngineError(f"{where}: the size of '{name}' is {content['sizes'].get(name)}, not {size}")
        sets: dict[str, dict[str, list[list[float]]]] = {}
        for name, tables in content["sets"].items():
            if name not in self.sets:
                raise EngineError(f"{where}: has the set '{name}', which is not among {listed(self.sets)}")
            sets[name] = {}
            for table, (n, layout) in self.tables.items():
                width = layout.size(roles)
                rows = [spread(row, width, f"{where}: '{table}' of {name}") for row in tables[table]]
                if len(rows) != n:
                    raise EngineError(f"{where}: '{table}' of {name} has {len(rows)} rows, not {n}")
                sets[name][table] = [layout.convert(row, roles) for row in rows]
        return sets

    def _sizes(self, roles: Sequence[str]) -> dict[str, list[int]]:
        return {name: [rows, layout.size(roles)] for name, (rows, layout) in self.tables.items()}

    def write(self, path: Path, name: str, **tables: Iterable[Iterable[float]]) -> None:
        """Write a set to a file, and keep its other sets if they fit the engine."""
        header = {"version": self.version, "roles": self.roles, "sizes": self._sizes(self.roles)}
        try:
            kept: dict[str, Any] = self.read(path) if path.exists() else {}
        except EngineError:
            kept = {}
        sets = {
            of: {table: [thousandths(row) for row in rows] for table, rows in parts.items()}
            for of, parts in {**kept, name: tables}.items()
        }
        text = json.dumps({**header, "sets": dict(sorted(sets.items()))}, separators=(",", ":"))
        path.write_text(text.replace("[[", "[\n[").replace("],[", "],\n[") + "\n")


def thousandths(weights: Iterable[float]) -> list[int | str]:
    """Encode weights as in a file: whole thousandths, and a text with the length of each run of zeros."""
    encoded: list[int | str] = []
    zeros = 0
    for weight in [*weights, math.inf]:
        if weight == 0 or abs(weight) < 0.0005:
            zeros += 1
            continue
        if zeros:
            encoded.append(str(zeros))
            zeros = 0
        if weight != math.inf:
            encoded.append(round(weight * 1000))
    return encoded


def spread(sparse: Sequence[int | str], n: int, where: str) -> list[float]:
    """Decode the `n` weights of a row of a file."""
    # Count first: a damaged text may stand for any number of zeros.
    count = sum(int(number) if isinstance(number, str) else 1 for number in sparse)
    if count != n:
        raise EngineError(f"{where} has {count} weights in a row, not {n}")
    weights: list[float] = []
    for number in sparse:
        if isinstance(number, str):
            weights += [0.0] * int(number)
        elif type(number) is int and abs(number) < 10**9:
            weights.append(number / 1000)
        else:
            raise EngineError(f"{where}: {number!r} is not a weight")
    return weights

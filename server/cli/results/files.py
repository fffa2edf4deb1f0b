"""Files of results: one row per position, each written at once, so that a killed run can be resumed.

A row is written completely or not at all. SQLite commits it; in JSON lines it is one line, and an incomplete last line
is cut off when the file is opened again. Parquet files cannot be appended to: their rows go to a journal of JSON lines
beside the file, which is written and renamed at the end. docs/records.md documents the columns.
"""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from server.cli.command import check_place
from server.cli.exit_codes import Failure
from solver.extras import importing

SCHEMA = 1
SYNC_SECONDS = 1.0  # longest time before a row survives a loss of power, too
ROWS_AT_ONCE = 5_000

Row = dict[str, Any]


class Key(NamedTuple):
    """Place of a position in the input; in a record, before which action."""

    file: str
    line: int
    action: int | None


class Column(NamedTuple):
    """A column: `int`, `float`, `text` or `bool`, a list of numbers, or a list of rows with columns of their own."""

    name: str
    kind: str
    meaning: str
    columns: tuple[Column, ...] = ()


MOVES = (
    Column("move", "text", "the move"),
    Column("visits", "int", "iterations that tried it"),
    Column("win", "float", "share of the win, 0 to 1"),
    Column("win_error", "float", "its standard error"),
    Column("win_raw", "float", "mean of the playouts, which `win` calibrates"),
    Column("points", "float", "points at the end of the game"),
    Column("points_error", "float", "their standard error"),
    Column("lead", "float", "points minus the highest points of another seat"),
    Column("ranks", "floats", "probabilities that the observer finishes first, second, ..."),
    Column("line", "text", "the likely continuation, beginning with the move"),
)
BELIEFS = (
    Column("seat", "text", "owner of the card"),
    Column("place", "text", "its place in words, such as `slot 2, under 1`, or `hand`"),
    Column("card", "text", "a card that it may be"),
    Column("chance", "float", "probability; for a hand, expected copies"),
)
COLUMNS = (
    Column("schema", "int", f"version of these columns: {SCHEMA}"),
    Column("file", "text", "the input, as named on the command line"),
    Column("line", "int", "line on which the position or record begins, from 1"),
    Column("action", "int", "for a record: number of earlier actions; else null"),
    Column("input", "text", "digest of the input text"),
    Column("settings", "text", "JSON of the search settings, the same in all rows, and of the engine that answered"),
    Column("game", "text", "id of the game"),
    Column("ruleset", "text", "edition and switches, as in a record"),
    Column("players", "int", "number of players"),
    Column("observer", "text", "seat of the view, which is to act"),
    Column("view", "text", "the view, in text notation"),
    Column("played", "text", "for a record: the action played"),
    Column("best", "text", "the move to play"),
    Column("win", "float", "its share of the win, 0 to 1"),
    Column("win_error", "float", "its standard error"),
    Column("win_raw", "float", "mean of the playouts, which `win` calibrates"),
    Column("points", "float", "its points at the end of the game"),
    Column("points_error", "float", "their standard error"),
    Column("seats", "floats", "share of the win of each seat"),
    Column("moves", "rows", "all moves, best first", MOVES),
    Column("beliefs", "rows", "hidden cards and their probabilities", BELIEFS),
    Column("worlds_fitting", "float", "number of worlds that fit the view"),
    Column("worlds_effective", "float", "effective number of worlds, weighted by beliefs"),
    Column("iterations", "int", "iterations done"),
    Column("worlds", "int", "worlds sampled"),
    Column("nodes", "int", "nodes of all trees"),
    Column("tree_bytes", "int", "bytes of all trees"),
    Column("stopped_by", "text", "stop reason: iterations, time, confidence, forced, lost"),
    Column("seed", "text", "seed of the search, 64 bits in decimal"),
    Column("reproducible", "bool", "whether an equal question gets an equal answer"),
    Column("knowledge", "text", "learned knowledge that guided the search"),
    Column("calibration", "text", "fit that calibrated the figures, or `none`"),
)
KEY = ("file", "line", "action")


class Results(Protocol):
    """A file of results, open for writing in this process only."""

    def done(self) -> Iterator[tuple[Key, str, str]]:
        """Yield the key, input digest and settings of each row in the file."""

    def add(self, row: Row) -> None:
        """Write a row; once this returns, it survives a kill of the process."""

    def finish(self) -> None:
        """Complete the file after the last row."""

    def close(self) -> None: ...


def open_results(path: Path) -> Results:
    """Open or create a file of results, in the format of its suffix."""
    kinds: dict[str, Callable[[Path], Results]] = {
        ".sqlite": Sqlite,
        ".db": Sqlite,
        ".jsonl": JsonLines,
        ".parquet": Parquet,
    }
    if path.suffix not in kinds:
        raise Failure(f"out: {path.name!r} has another suffix than {', '.join(kinds)}")
    check_place(path, "out")
    if path.suffix == ".parquet":
        require_pyarrow()
    return kinds[path.suffix](path)


@contextmanager
def naming_file(out: str) -> Iterator[None]:
    """Name the file in errors while writing to it, such as a full disk."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise Failure(f"out: {out}: {getattr(error, 'strerror', None) or error}") from None


def require_pyarrow() -> Any:
    """Import and return pyarrow, which comes with the extra `parquet`."""
    with importing("parquet", "out: a .parquet file"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow


def _open_alone(path: Path) -> Any:
    """Open and lock a file; raise Failure if another process has locked it."""
    file = path.open("a+b", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise Failure(f"out: {path}: another process is writing to it") from None
    return file


def _damaged(path: Path, why: object) -> Failure:
    return Failure(f"out: {path}: not a file of eminence analyze: {why}")


# --- JSON lines ------------------------------------------------------------------------------------------------


class JsonLines:
    """Results as JSON lines, one per row."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _open_alone(path)
        self._synced = time.monotonic()

    def done(self) -> Iterator[tuple[Key, str, str]]:
        for row in self.rows():
            try:
                yield Key(*(row[name] for name in KEY)), row["input"], row["settings"]
            except KeyError as error:
                raise _damaged(self._path, f"a line without {error}") from None

    def rows(self) -> Iterator[Row]:
        """Yield all rows, after cutting off an incomplete last line, which a kill leaves."""
        end = self._end_of_lines()
        self._file.truncate(end)
        with self._path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = json.loads(line)
                except ValueError as error:
                    raise _damaged(self._path, f"line {number}: {error}") from None
                if not isinstance(row, dict):
                    raise _damaged(self._path, f"line {number} is not an object")
                yield row

    def _end_of_lines(self) -> int:
        """Return the end of the last complete line."""
        at: int = self._file.seek(0, os.SEEK_END)
        while at > 0:
            begin = max(at - 65_536, 0)
            self._file.seek(begin)
            newline: int = self._file.read(at - begin).rfind(b"\n")
            if newline >= 0:
                return begin + newline + 1
            at = begin
        return 0

    def add(self, row: Row) -> None:
        left = memoryview(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        while left:
            left = left[self._file.write(left) :]
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def finish(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


# --- SQLite ----------------------------------------------------------------------------------------------------

_SQL = {"int": "INTEGER", "float": "REAL", "text": "TEXT", "bool": "INTEGER", "floats": "TEXT"}


class Sqlite:
    """Results as SQLite tables of positions, moves and beliefs; lists of numbers are JSON."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # SQLite uses locks of another kind: this one excludes writers and lets others read.
        self._alone = _open_alone(path)
        self._base = sqlite3.connect(path, isolation_level=None)
        try:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = NORMAL")
            self._base.execute("BEGIN")
            self._make_tables()
            self._base.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            self.close()
            raise _damaged(path, error) from None

    def _make_tables(self) -> None:
        own = [column for column in COLUMNS if column.kind != "rows"]
        declared = ", ".join(f'"{column.name}" {_SQL[column.kind]}' for column in own)
        self._base.execute(f"CREATE TABLE IF NOT EXISTS positions (id INTEGER PRIMARY KEY, {declared})")
        # Nulls differ from each other in an index, so positions outside records get a number there.
        self._base.execute("CREATE UNIQUE INDEX IF NOT EXISTS places ON positions (file, line, ifnull(action, -1))")
        for column in COLUMNS:
            if column.kind == "rows":
                declared = ", ".join(f'"{inner.name}" {_SQL[inner.kind]}' for inner in column.columns)
                self._base.execute(
                    f"CREATE TABLE IF NOT EXISTS {column.name} "
                    f"(position INTEGER REFERENCES positions (id), rank INTEGER, {declared})"
                )
                self._base.execute(f"CREATE INDEX IF NOT EXISTS {column.name}_of ON {column.name} (position, rank)")

    def done(self) -> Iterator[tuple[Key, str, str]]:
        try:
            for file, line, action, digest, settings in self._base.execute(
                "SELECT file, line, action, input, settings FROM positions"
            ):
                yield Key(file, line, action), digest, settings
        except sqlite3.DatabaseError as error:
            raise _damaged(self._path, error) from None

    def add(self, row: Row) -> None:
        self._base.execute("BEGIN")
        number = self._insert("positions", {}, COLUMNS, row)
        for column in COLUMNS:
            if column.kind == "rows":
                for rank, inner in enumerate(row[column.name], 1):
                    self._insert(column.name, {"position": number, "rank": rank}, column.columns, inner)
        self._base.execute("COMMIT")

    def _insert(self, table: str, known: Mapping[str, int | None], columns: Iterable[Column], row: Row) -> int | None:
        values: Row = dict(known)
        for column in columns:
            if column.kind != "rows":
                value = row[column.name]
                values[column.name] = json.dumps(value) if column.kind == "floats" else value
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        return self._base.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(values.values())).lastrowid

    def finish(self) -> None:
        # Leaves one file, readable on read-only media; fails while another process reads it.
        with suppress(sqlite3.OperationalError):
            self._base.execute("PRAGMA journal_mode = DELETE")

    def close(self) -> None:
        # In this order: closing any handle of the file drops all locks that SQLite holds on it.
        self._base.close()
        self._alone.close()


# --- Parquet ---------------------------------------------------------------------------------------------------


class Parquet:
    """Results as Parquet: the rows of earlier runs in the file, those of this run in a journal."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._journal_path = path.with_name(path.name + ".journal")
        self._journal = JsonLines(self._journal_path)
        self._finished: set[Key] = set()
        self._is_new = False

    def done(self) -> Iterator[tuple[Key, str, str]]:
        if self._path.exists():
            for row in self._finished_rows([*KEY, "input", "settings"]):
                key = Key(*(row[name] for name in KEY))
                self._finished.add(key)
                yield key, row["input"], row["settings"]
        for key, digest, settings in self._journal.done():
            if key not in self._finished:  # else a kill hit between renaming the file and deleting the journal
                self._is_new = True
                yield key, digest, settings

    def add(self, row: Row) -> None:
        self._is_new = True
        self._journal.add(row)

    def finish(self) -> None:
        self._journal.finish()
        if self._is_new or not self._path.exists():
            self._write()
        self._journal_path.unlink()

    def _write(self) -> None:
        pyarrow = require_pyarrow()
        schema = arrow_schema()
        part = self._path.with_name(self._path.name + ".part")
        with pyarrow.parquet.ParquetWriter(part, schema, compression="zstd") as writer:
            for rows in _batches(self._all_rows()):
                writer.write_table(pyarrow.Table.from_pylist(rows, schema))
        with part.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(part, self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    def _all_rows(self) -> Iterator[Row]:
        if self._path.exists():
            yield from self._finished_rows(None)
        for row in self._journal.rows():
            if Key(*(row[name] for name in KEY)) not in self._finished:
                yield row

    def _finished_rows(self, columns: list[str] | None) -> Iterator[Row]:
        pyarrow = require_pyarrow()
        try:
            with pyarrow.parquet.ParquetFile(self._path) as file:
                for batch in file.iter_batches(ROWS_AT_ONCE, columns=columns):
                    yield from batch.to_pylist()
        except (pyarrow.ArrowInvalid, KeyError) as error:
            raise _damaged(self._path, error) from None

    def close(self) -> None:
        self._journal.close()


def arrow_schema() -> Any:
    """Return the columns as an Arrow schema."""
    pyarrow = require_pyarrow()
    kinds = {
        "int": pyarrow.int64(),
        "float": pyarrow.float64(),
        "text": pyarrow.string(),
        "bool": pyarrow.bool_(),
        "floats": pyarrow.list_(pyarrow.float64()),
    }

    def field(column: Column) -> Any:
        if column.kind == "rows":
            return pyarrow.field(column.name, pyarrow.list_(pyarrow.struct([field(c) for c in column.columns])))
        return pyarrow.field(column.name, kinds[column.kind])

    return pyarrow.schema([field(column) for column in COLUMNS])


def _batches(rows: Iterator[Row]) -> Iterator[list[Row]]:
    held: list[Row] = []
    for row in rows:
        held.append(row)
        if len(held) == ROWS_AT_ONCE:
            yield held
            held = []
    yield held

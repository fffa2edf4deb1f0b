"""Answers that outlive the server: an SQLite file that follows the cache.

Answers are looked up in memory only. The file is read once, before the server serves, and written behind by a thread of
its own, so that no call ever waits for a disk. Whatever is wrong with it, the server goes on without it, and says so.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Iterable
from hashlib import blake2b

# How our files say what they are: "Emin".
APPLICATION = 0x456D696E
# How long to wait for somebody else to leave the file, for changes that go with others, and for the last ones.
LOCKED_SECONDS = 1.0
TOGETHER_SECONDS = 0.2
LAST_SECONDS = 1.0
CHECK_BYTES = 8

_log = logging.getLogger(__name__)


class CacheFile:
    """Keys and answers, oldest first. `edition` names who can use them: those of another are dropped."""

    def __init__(self, path: str, edition: bytes) -> None:
        self._path, self._edition = path, edition
        self._database: sqlite3.Connection | None = None
        # Answers to write, or None where one is to be dropped.
        self._changes: dict[bytes, bytes | None] = {}
        self._changed = threading.Condition()
        self._is_closing = False
        self._writer = threading.Thread(target=self._follow, name="cache file", daemon=True)

    def open(self, bytes_max: int, overhead: int) -> list[tuple[bytes, bytes]]:
        """The newest answers in it, as many as there is room for if each takes `overhead` besides; the others are
        dropped. From now on, nobody else may use it."""
        try:
            self._database = self._connect()
            found = self._read(self._database, bytes_max, overhead)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
            return []
        self._writer.start()
        return found

    def put(self, key: bytes, answer: bytes | None) -> None:
        """Have an answer written soon, or dropped if there is none."""
        if self._database is None:
            return
        with self._changed:
            # At the end, where the newest ones are.
            self._changes.pop(key, None)
            self._changes[key] = answer
            self._changed.notify()

    def close(self) -> None:
        """Write what is left; but a disk that does not answer must not hold up the end."""
        if self._writer.is_alive():
            with self._changed:
                self._is_closing = True
                self._changed.notify()
            self._writer.join(LAST_SECONDS)

    def _connect(self) -> sqlite3.Connection:
        # Answers are about secrets of whoever asked: the file is its owner's alone.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        # One thread at a time uses it: who opens it, then the writer.
        database = sqlite3.connect(
            self._path, timeout=LOCKED_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=8
        )
        try:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            [application] = database.execute("PRAGMA application_id").fetchone()
            [tables] = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if tables and application != APPLICATION:
                raise sqlite3.DatabaseError("it is a database of something else")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            with Transaction(database):
                database.execute(f"PRAGMA application_id = {APPLICATION}")
                database.execute("CREATE TABLE IF NOT EXISTS edition (name BLOB)")
                database.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB, sum BLOB)")
                if database.execute("SELECT name FROM edition").fetchall() != [(self._edition,)]:
                    database.execute("DELETE FROM answers")
                    database.execute("DELETE FROM edition")
                    database.execute("INSERT INTO edition VALUES (?)", (self._edition,))
        except BaseException:
            database.close()
            raise
        return database

    def _read(self, database: sqlite3.Connection, bytes_max: int, overhead: int) -> list[tuple[bytes, bytes]]:
        found: list[tuple[bytes, bytes]] = []
        room, damaged = bytes_max, 0
        for row, key, answer, check in database.execute("SELECT rowid, * FROM answers ORDER BY rowid DESC"):
            if not (type(key) is type(answer) is bytes and check == _sum(key, answer)):
                damaged += 1
                continue
            room -= len(answer) + overhead
            if room < 0:
                database.execute("DELETE FROM answers WHERE rowid <= ?", (row,))
                break
            found.append((key, answer))
        if damaged:
            _log.error("cache_file: %d answers in %s are damaged, and not used", damaged, self._path)
        return found[::-1]

    def _follow(self) -> None:
        """Write what changes, until the end. Runs on the writer's thread."""
        assert self._database is not None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._changes or self._is_closing)
                # What comes at about the same time is written at once.
                self._changed.wait_for(lambda: self._is_closing, TOGETHER_SECONDS)
                changes, self._changes, is_closing = self._changes, {}, self._is_closing
            try:
                _write(self._database, changes.items())
                if is_closing:
                    self._database.close()
                    return
            except sqlite3.Error as error:
                self._give_up(error)
                return

    def _give_up(self, error: Exception) -> None:
        database, self._database, self._changes = self._database, None, {}
        if database is not None:
            with contextlib.suppress(sqlite3.Error):
                database.close()
        _log.error("cache_file: %s is not used, and answers are kept in memory only: %s", self._path, error)


class Transaction:
    """All or nothing."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        self._database.execute("COMMIT" if kind is None else "ROLLBACK")


def _write(database: sqlite3.Connection, changes: Iterable[tuple[bytes, bytes | None]]) -> None:
    with Transaction(database):
        for key, answer in changes:
            if answer is None:
                database.execute("DELETE FROM answers WHERE key = ?", (key,))
            else:
                row = (key, answer, _sum(key, answer))
                database.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", row)


def _sum(key: bytes, answer: bytes) -> bytes:
    """SQLite does not check its pages."""
    return blake2b(key + answer, digest_size=CHECK_BYTES).digest()

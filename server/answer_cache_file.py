"""The SQLite file behind the answer cache, with which answers survive a restart of the server; tables have one, too.

Lookups use memory only. The file is read once, before the server serves. A thread of its own writes changes behind, so
that no call waits for a disk. If the file fails, the server logs an error and continues without it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Iterable
from hashlib import blake2b

# SQLite's application id of our files: "Emin".
APPLICATION = 0x456D696E
# Time to wait for another process to unlock the file, for further changes of one transaction, and for the last write.
LOCKED_SECONDS = 1.0
TOGETHER_SECONDS = 0.2
LAST_SECONDS = 1.0
CHECK_BYTES = 8

_log = logging.getLogger(__name__)


class CacheFile:
    """Keys and answers, oldest first.

    `version` is the version of the contract and of the keys: opening the file deletes the answers of another one. Keys
    contain the signature of the engine, so answers of other engines stay in the file and are not found. `setting` names
    the file in the log; a file of another `application` is not opened.
    """

    def __init__(self, path: str, version: bytes, setting: str = "cache_file", application: int = APPLICATION) -> None:
        self._path, self._version = path, version
        self._setting, self._application = setting, application
        self._database: sqlite3.Connection | None = None
        # Answers to write; None deletes one.
        self._changes: dict[bytes, bytes | None] = {}
        self._changed = threading.Condition()
        self._is_closing = False
        self._writer = threading.Thread(target=self._follow, name="cache file", daemon=True)

    def open(self, bytes_max: int, overhead: int) -> list[tuple[bytes, bytes]]:
        """Open the file, lock it for this process, and return its newest answers, oldest first.

        The answers fit in `bytes_max` bytes, where each takes `overhead` bytes beside its own. The rest are deleted.
        """
        try:
            self._database = self._connect()
            answers = self._read(self._database, bytes_max, overhead)
        except (sqlite3.Error, OSError) as error:
            self._give_up(error)
            return []
        self._writer.start()
        return answers

    def put(self, key: bytes, answer: bytes | None) -> None:
        """Queue an answer to be written; None deletes the one of this key."""
        if self._database is None:
            return
        with self._changed:
            # Move it to the end: the order is that of the newest answers.
            self._changes.pop(key, None)
            self._changes[key] = answer
            self._changed.notify()

    def close(self) -> None:
        """Write the queued answers. Wait at most LAST_SECONDS, because a disk may hang."""
        if self._writer.is_alive():
            with self._changed:
                self._is_closing = True
                self._changed.notify()
            self._writer.join(LAST_SECONDS)

    def _connect(self) -> sqlite3.Connection:
        # Answers depend on secrets of callers, so only the owner may read the file.
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        # Used by one thread at a time: the opener, then the writer.
        database = sqlite3.connect(
            self._path, timeout=LOCKED_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=8
        )
        try:
            database.execute("PRAGMA locking_mode = EXCLUSIVE")
            [application] = database.execute("PRAGMA application_id").fetchone()
            [tables] = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if tables and application != self._application:
                raise sqlite3.DatabaseError("it is a database of another program")
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            with Transaction(database):
                database.execute(f"PRAGMA application_id = {self._application}")
                database.execute("CREATE TABLE IF NOT EXISTS version (name BLOB)")
                database.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer BLOB, sum BLOB)")
                if database.execute("SELECT name FROM version").fetchall() != [(self._version,)]:
                    database.execute("DELETE FROM answers")
                    database.execute("DELETE FROM version")
                    database.execute("INSERT INTO version VALUES (?)", (self._version,))
        except BaseException:
            database.close()
            raise
        return database

    def _read(self, database: sqlite3.Connection, bytes_max: int, overhead: int) -> list[tuple[bytes, bytes]]:
        answers: list[tuple[bytes, bytes]] = []
        room, damaged = bytes_max, 0
        for row, key, answer, check in database.execute("SELECT rowid, * FROM answers ORDER BY rowid DESC"):
            if not (type(key) is type(answer) is bytes and check == _sum(key, answer)):
                damaged += 1
                continue
            room -= len(answer) + overhead
            if room < 0:
                database.execute("DELETE FROM answers WHERE rowid <= ?", (row,))
                break
            answers.append((key, answer))
        if damaged:
            _log.error("%s: %d damaged rows in %s are not used", self._setting, damaged, self._path)
        return answers[::-1]

    def _follow(self) -> None:
        """Write changes until the file is closed. Runs on the writer's thread."""
        assert self._database is not None
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._changes or self._is_closing)
                # Collect changes for a while, to write them in one transaction.
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
        _log.error("%s: %s is not used, and memory alone keeps its content: %s", self._setting, self._path, error)


class Transaction:
    """A transaction that commits at the end of its `with` block, or rolls back on an exception."""

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
    """Return the checksum of a row: SQLite has none of its own."""
    return blake2b(key + answer, digest_size=CHECK_BYTES).digest()

"""All tables of a server: by their keys, bounded in number and age, and kept in a file."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from engine_cy import EngineError
from engine_cy.registry import is_installed
from server.answer_cache_file import CacheFile
from server.refusals import Refusal
from server.tables.installed import InstalledTable
from server.tables.table import Table

# SQLite's application id of files of tables, "EmTa", and the version of their rows.
APPLICATION = 0x456D5461
VERSION = b"1"
KEY_BYTES = 24
KEY_LENGTH = 32
RETRY_SECONDS = 60.0
FILE_BYTES_MAX = 2**30

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class KeptTable:
    """A table, the hashes of its keys, and who opened it and when it was last used."""

    table: Table | InstalledTable
    id: bytes
    seats: dict[bytes, int]
    owner: bytes
    used: float
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # replaced after each change
    playing: asyncio.Task[None] | None = None
    is_closed: bool = False

    def notify(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class Keeper:
    """The tables. Belongs to the event loop's thread."""

    def __init__(self, tables_max: int, caller_max: int, hours: float, path: str) -> None:
        self._tables_max, self._caller_max, self._seconds = tables_max, caller_max, hours * 3600
        self._by_id: dict[bytes, KeptTable] = {}
        self._by_key: dict[bytes, tuple[KeptTable, int]] = {}
        self._file: CacheFile | None = None
        if path:
            self._file = CacheFile(path, VERSION, setting="tables", application=APPLICATION)

    def __len__(self) -> int:
        return len(self._by_id)

    def load(self) -> None:
        """Read the tables of the file. Do not call it on the event loop's thread."""
        if self._file is None:
            return
        lost = 0
        for id, row in self._file.open(FILE_BYTES_MAX, 0):
            try:
                self._add(_read(id, row))
            except (EngineError, ValueError, KeyError, TypeError):
                lost += 1
        if lost:
            _log.error("tables: %d tables of the file cannot be read, and are not served", lost)

    def open(
        self, table: Table | InstalledTable, people: Iterable[int], owner: bytes
    ) -> tuple[KeptTable, dict[int, str]]:
        """Keep a new table; return it, and the keys of its people."""
        self._end_old()
        own = sum(kept.owner == owner for kept in self._by_id.values())
        if own >= self._caller_max:
            why = f"caller_tables: one caller may have {self._caller_max} tables, and this one has {own}"
            raise Refusal("QUOTA_EXHAUSTED", "", why, retry_after=RETRY_SECONDS)
        if len(self._by_id) >= self._tables_max:
            raise Refusal("OVERLOADED", "", f"tables_max: all {self._tables_max} tables are in use", RETRY_SECONDS)
        keys = {seat: secrets.token_urlsafe(KEY_BYTES) for seat in people}
        seats = {_hash(key): seat for seat, key in keys.items()}
        kept = KeptTable(table, secrets.token_bytes(16), seats, owner, time.time())
        self._add(kept)
        self.save(kept)
        return kept, keys

    def find(self, key: str) -> tuple[KeptTable, int]:
        """Return the table and the seat of a key."""
        self._end_old()
        found = self._by_key.get(_hash(key)) if len(key) == KEY_LENGTH else None
        if found is None:
            raise Refusal("NO_TABLE", "key", "no table has this key, or the table has ended")
        found[0].used = time.time()
        return found

    def save(self, kept: KeptTable) -> None:
        """Queue a table to be written."""
        if self._file is not None and not kept.is_closed:
            self._file.put(kept.id, _write(kept))

    def close_table(self, kept: KeptTable) -> None:
        kept.is_closed = True
        self._by_id.pop(kept.id, None)
        for digest in kept.seats:
            self._by_key.pop(digest, None)
        if kept.playing is not None:
            kept.playing.cancel()
        if self._file is not None:
            self._file.put(kept.id, None)
        kept.notify()

    def notify_all(self) -> None:
        for kept in self._by_id.values():
            kept.notify()

    def end(self) -> None:
        """Write the queued tables."""
        if self._file is not None:
            self._file.close()

    def _add(self, kept: KeptTable) -> None:
        self._by_id[kept.id] = kept
        self._by_key.update({digest: (kept, seat) for digest, seat in kept.seats.items()})

    def _end_old(self) -> None:
        before = time.time() - self._seconds
        for kept in [kept for kept in self._by_id.values() if kept.used < before]:
            self.close_table(kept)


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="replace")).digest()


def _write(kept: KeptTable) -> bytes:
    row = {
        **kept.table.row(),
        "seats": {digest.hex(): seat for digest, seat in kept.seats.items()},
        "owner": kept.owner.hex(),
        "used": kept.used,
    }
    return json.dumps(row).encode()


def _read(id: bytes, raw: bytes) -> KeptTable:
    row: dict[str, Any] = json.loads(raw)
    seats = {bytes.fromhex(digest): seat for digest, seat in row.pop("seats").items()}
    owner, used = bytes.fromhex(row.pop("owner")), row.pop("used")
    game_id = row.pop("installed", None)
    if game_id is not None and not is_installed(game_id):
        raise ValueError(f"{game_id} is not installed")
    table = Table.read(row) if game_id is None else InstalledTable(game_id, row)
    return KeptTable(table, id, seats, owner, used)

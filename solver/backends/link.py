"""Frames between the process that asks and the one that drives Ray: a kind, the number of a call, and bytes."""

from __future__ import annotations

import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from threading import Lock
from typing import NamedTuple

_HEAD = struct.Struct("<IBQ")
FRAME_MAX = 2**28


class Kind(IntEnum):
    # To the driver.
    SEARCH = 1  # shares of a search, each a call, numbered from this one on: `write_shares`, then the job
    BATCH = 2  # several jobs, packed
    STOP = 3  # a call is to end soon
    PEEK = 4  # what a search has found so far
    # From the driver.
    FOUND = 10  # what a call came to; nothing follows
    PART = 11  # what a search has found so far; empty: nothing yet
    LOST = 12  # the call's worker was lost; nothing follows
    GONE = 13  # there is nobody to do it; nothing follows
    STATE = 14  # how the pool is, as JSON; also a sign of life
    FAILED = 15  # why the driver gives up, as text; it ends


_SHARES = struct.Struct("<IH")


def write_shares(numbers: Sequence[int], interval_ms: int) -> bytes:
    """Which shares, and how often they say what they have found."""
    return _SHARES.pack(interval_ms, len(numbers)) + struct.pack(f"<{len(numbers)}H", *numbers)


def read_shares(payload: bytes) -> tuple[tuple[int, ...], int, bytes]:
    """What `write_shares` wrote, and what follows it."""
    interval_ms, n = _SHARES.unpack_from(payload)
    end = _SHARES.size + 2 * n
    return struct.unpack(f"<{n}H", payload[_SHARES.size : end]), interval_ms, payload[end:]


class Frame(NamedTuple):
    kind: Kind
    call: int
    payload: bytes


class Link:
    """One end of the connection. Any thread may send, one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._file = end.makefile("rb", buffering=2**16)
        self._lock = Lock()

    def send(self, kind: Kind, call: int = 0, payload: bytes = b"") -> bool:
        """Whether it could be sent."""
        try:
            with self._lock:
                self._end.sendall(_HEAD.pack(len(payload), kind, call) + payload)
        except OSError:
            return False
        return True

    def receive(self) -> Frame | None:
        """The next frame; None at the end, or if the other side is silent for too long."""
        try:
            head = self._file.read(_HEAD.size)
            if len(head) < _HEAD.size:
                return None
            length, kind, call = _HEAD.unpack(head)
            payload = self._file.read(length) if length <= FRAME_MAX else b""
            return Frame(Kind(kind), call, payload) if len(payload) == length else None
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        # The other side, and who waits in `receive`, see the end at once.
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

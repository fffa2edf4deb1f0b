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
    SEARCH = 1  # groups of the parts of a question, a call each, numbered from this one: `write_groups`
    BATCH = 2  # whole questions, packed
    STOP = 3  # end a call soon
    PEEK = 4  # send what a search has found so far
    ALONE = 5  # like BATCH, on a worker that computes nothing else meanwhile
    AGAIN = 6  # like SEARCH, but only on a worker that is ready now
    # From the driver.
    FOUND = 10  # the result of a call; nothing follows
    PART = 11  # what a search has found so far; empty: nothing yet
    LOST = 12  # the call's worker was lost; nothing follows
    GONE = 13  # no worker can compute the call; nothing follows
    STATE = 14  # the state of the workers, as JSON; also a sign of life
    FAILED = 15  # why the driver gives up, as text; it ends


class Terms(NamedTuple):
    """How to compute a group of parts: every `step`-th one, for no longer than `left_ms`, noting what was found every
    `interval_ms` (0: never)."""

    step: int
    interval_ms: int
    left_ms: float


_TERMS = struct.Struct("<HId")
_CALL = struct.Struct("<QH")


def write_groups(first: Sequence[int], terms: Terms, job: bytes) -> bytes:
    """Write groups of the parts of a job, each by the number of its first part."""
    return struct.pack(f"<H{len(first)}H", len(first), *first) + _TERMS.pack(*terms) + job


def calls_of(payload: bytes, call: int) -> dict[int, bytes]:
    """Return the message of each group to its worker, by the numbers of their calls, from `call` on."""
    (n,) = struct.unpack_from("<H", payload)
    groups, rest = struct.unpack_from(f"<{n}H", payload, 2), payload[2 + 2 * n :]
    return {number: _CALL.pack(number, first) + rest for number, first in enumerate(groups, call)}


def read_call(message: bytes) -> tuple[int, int, Terms, bytes]:
    """Read a message to a worker: the numbers of the call and of its first part, its terms, and the job."""
    call, first = _CALL.unpack_from(message)
    end = _CALL.size + _TERMS.size
    return call, first, Terms(*_TERMS.unpack_from(message, _CALL.size)), message[end:]


class Frame(NamedTuple):
    kind: Kind
    call: int
    payload: bytes


class Channel:
    """One end of the connection. Any thread may send, one receives."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._file = end.makefile("rb", buffering=2**16)
        self._lock = Lock()

    def send(self, kind: Kind, call: int = 0, payload: bytes = b"") -> bool:
        """Send a frame; return whether that was possible."""
        try:
            with self._lock:
                self._end.sendall(_HEAD.pack(len(payload), kind, call) + payload)
        except OSError:
            return False
        return True

    def receive(self) -> Frame | None:
        """Return the next frame; None at the end, or if the other side is silent for too long."""
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
        # The other side, and a thread that waits in `receive`, see the end at once.
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

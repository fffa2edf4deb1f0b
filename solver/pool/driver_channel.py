"""Exchange frames between the client process and the Ray driver process: a kind, a call's number, and a payload."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from multiprocessing.connection import Connection
from threading import Lock
from typing import NamedTuple

_HEAD = struct.Struct("<BQ")
FRAME_MAX = 2**28


class FrameKind(IntEnum):
    # To the driver.
    SEARCH = 1  # groups of the parts of a question, one call each, numbered from this one: `write_groups`
    BATCH = 2  # whole questions, packed
    STOP = 3  # end a call soon
    PEEK = 4  # request the progress of a search
    ALONE = 5  # like BATCH, on a worker without any other call
    RETRY = 6  # like SEARCH, but only on a worker that is ready now
    # From the driver.
    RESULT = 10  # the result of a call; the call's last frame
    PROGRESS = 11  # the shares of a search so far; empty: none yet
    LOST = 12  # the call's worker was lost; the call's last frame
    NO_WORKER = 13  # no worker can compute the call; the call's last frame
    STATE = 14  # the state of the workers, as JSON; also the heartbeat
    FAILED = 15  # the reason why the driver gives up, as text; it ends


class GroupOptions(NamedTuple):
    """Hold how to compute a group of parts.

    A group is every `step`-th part. It runs for at most `left_ms`, and its progress is noted every `interval_ms`
    (0: never).
    """

    step: int
    interval_ms: int
    left_ms: float


_OPTIONS = struct.Struct("<HId")
_CALL = struct.Struct("<QH")


def write_groups(first: Sequence[int], options: GroupOptions, job: bytes) -> bytes:
    """Write groups of the parts of a job, each by the number of its first part."""
    return struct.pack(f"<H{len(first)}H", len(first), *first) + _OPTIONS.pack(*options) + job


def calls_of(payload: bytes, call: int) -> dict[int, bytes]:
    """Return the message to each group's worker by the number of its call; calls are numbered from `call` on."""
    (n,) = struct.unpack_from("<H", payload)
    groups, rest = struct.unpack_from(f"<{n}H", payload, 2), payload[2 + 2 * n :]
    return {number: _CALL.pack(number, first) + rest for number, first in enumerate(groups, call)}


def read_call(message: bytes) -> tuple[int, int, GroupOptions, bytes]:
    """Read a message to a worker: the numbers of the call and of its first part, its options, and the job."""
    call, first = _CALL.unpack_from(message)
    end = _CALL.size + _OPTIONS.size
    return call, first, GroupOptions(*_OPTIONS.unpack_from(message, _CALL.size)), message[end:]


class Frame(NamedTuple):
    kind: FrameKind
    call: int
    payload: bytes


class Channel:
    """One end of the connection.

    Any thread may send; only one may receive. With a timeout, a peer that neither sends nor reads for that long counts
    as disconnected.
    """

    def __init__(self, end: socket.socket, timeout_s: float = 0.0) -> None:
        limit = struct.pack("ll", int(timeout_s), int(timeout_s % 1 * 1e6))  # a timeval; 0: no timeout
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        self._end, self._connection = end, Connection(os.dup(end.fileno()))
        self._lock = Lock()

    def send(self, kind: FrameKind, call: int = 0, payload: bytes = b"") -> bool:
        """Send a frame; return whether that succeeded."""
        try:
            with self._lock:
                self._connection.send_bytes(_HEAD.pack(kind, call) + payload)
        except OSError:
            return False
        return True

    def receive(self) -> Frame | None:
        """Return the next frame; None at the end, after a timeout, or if the bytes are not a frame."""
        try:
            frame = self._connection.recv_bytes(FRAME_MAX)
            kind, call = _HEAD.unpack_from(frame)
            return Frame(FrameKind(kind), call, frame[_HEAD.size :])
        except (EOFError, OSError, ValueError, struct.error):
            return None

    def close(self) -> None:
        """Shut the connection down; the peer, and a thread that waits in `receive`, notice at once.

        Only the garbage collector closes the connection's file, as a waiting thread may still use it.
        """
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._end.close()

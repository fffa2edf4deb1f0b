"""End a method of an installed game that does not return: a deal of a match has no deadline of its own."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

LIMIT_S = 60.0  # of one call of a method


class HangError(Exception):
    """A method has not returned for too long."""

    def __str__(self) -> str:
        return f"did not return for {LIMIT_S:g} s"


@contextmanager
def hang_watch(package: str, limit_s: float = LIMIT_S) -> Iterator[None]:
    """Raise HangError in a call of a Python function of `package` on this thread that takes longer than `limit_s`.

    The exception ends Python code. A call that blocks in C for twice that time, such as a wait for a socket, ends this
    process. Compiled functions have no frames in Python and are not watched.
    """
    over = threading.Event()
    watch = threading.Thread(
        target=_watch, args=(threading.get_ident(), package, limit_s, over), name="hang watch", daemon=True
    )
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()


def _watch(thread: int, package: str, limit_s: float, over: threading.Event) -> None:
    watched: FrameType | None = None
    since = time.monotonic()
    told = False
    while not over.wait(limit_s / 10):
        call = _call_of(package, sys._current_frames().get(thread))
        if call is not watched or call is None:
            watched, since, told = call, time.monotonic(), False
            continue
        took = time.monotonic() - since
        if took > limit_s and not told:
            told = True
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(HangError))
        elif took > 2 * limit_s:
            print(
                f"error: game: {call.f_code.co_qualname} of {package} has not returned for {took:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            os._exit(1)


def _call_of(package: str, frame: FrameType | None) -> FrameType | None:
    """Return the outermost frame of the package: the call by which the engine entered it."""
    outermost = None
    while frame is not None:
        if str(frame.f_globals.get("__name__")).partition(".")[0] == package:
            outermost = frame
        frame = frame.f_back
    return outermost

"""A process that serves this one over a connection."""

from __future__ import annotations

import signal
from collections.abc import Callable
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock
from typing import Any

SPAWN = get_context("spawn")  # not fork: a forked process would keep locks that other threads hold


class ChildProcess:
    """A process that calls `serve` with its end of a connection. After `discard`, `start` begins another one.

    One thread starts and discards it. Any thread may end it, once and for all.
    """

    def __init__(self, serve: Callable[..., object], *arguments: Any) -> None:
        self.connection: Connection | None = None
        self._serve, self._arguments = serve, arguments
        self._process: BaseProcess | None = None
        self._starting = Lock()
        self._is_over = False

    @property
    def pid(self) -> int | None:
        process = self._process
        return process.pid if process is not None and process.is_alive() else None

    def start(self) -> Connection:
        """Return the connection to the process; start it first if none runs. Raises EOFError after `end`."""
        with self._starting:
            if self._is_over:
                raise EOFError("the process has been ended")
            if self.connection is None:
                self._process, self.connection = _start(self._serve, self._arguments)
            return self.connection

    def end(self) -> None:
        with self._starting:
            self._is_over = True
            if self._process is not None:
                self._process.kill()

    def exit_code(self, seconds: float) -> int | None:
        """Wait for the end of the process; return its exit code, or None if it still runs."""
        assert self._process is not None
        self._process.join(seconds)
        return self._process.exitcode

    def discard(self) -> None:
        """Kill the process, if one runs, and close the connection."""
        if self.connection is not None:
            self.connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join(10)
        self.connection = self._process = None


def _start(serve: Callable[..., object], arguments: tuple[Any, ...]) -> tuple[BaseProcess, Connection]:
    """Start a process that calls `serve` with its end of a connection; return the process and the other end."""
    parent_end, child_end = SPAWN.Pipe()
    process = SPAWN.Process(target=serve, args=(child_end, *arguments), daemon=True)
    # Start multiprocessing's tracker first, as that unblocks SIGINT.
    resource_tracker.ensure_running()
    # The child inherits the signal mask: only this process handles Ctrl-C.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    child_end.close()
    return process, parent_end

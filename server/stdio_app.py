"""The server without a port: it answers JSON lines on standard input and output (rpc/json_lines.py)."""

from __future__ import annotations

import asyncio
from typing import Any

from server.app import App
from server.rpc.handlers import handlers_of
from server.rpc.json_lines import LINE_MAX, JsonLines, Room
from server.settings import Settings


class StdioApp(App):
    """A server for the one process that started it. The end of the input ends it, once all requests are answered."""

    async def run(self) -> int:
        """Answer lines until the input ends, or until SIGTERM or SIGINT; return the process's exit code."""
        self._prepare()
        handlers: dict[str, Any] = {}
        for service, servicer in self._services():
            handlers |= handlers_of(service, servicer, self._telemetry, self._callers, plugins=self._plugins)
        self._lines = JsonLines(handlers, room_of(self._settings))
        self._error: Exception | None = None
        try:
            await self._serve_until_stopped()
        finally:
            self._close()
            await self._drain(self._lines.stop)
        if self._error is not None:
            raise self._error
        return self._code

    async def _open(self) -> None:
        await super()._open()
        if self._stopping.is_set():
            return
        self._lines.start()
        try:
            await self._lines.wait()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # such as a closed pipe
            self._error = error
        self._stopping.set()


def room_of(settings: Settings) -> Room:
    """Return the room for pending requests: within a caller's limits, of which the batch takes one call."""
    requests = min(settings.caller_calls - 1, settings.caller_positions)
    return Room(max(requests, 1), max(settings.caller_bytes - LINE_MAX, 0))

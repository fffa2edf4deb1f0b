"""The HTTP server: uvicorn in the event loop of the gRPC server, impatient with silent and slow connections."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from server.settings import Settings, SettingsError
from server.web.door import HEADERS

# Time in which the head of a request must arrive, in which a client must read, and in which an idle connection closes.
HEAD_SECONDS = 5.0
SLOW_SECONDS = 10.0
IDLE_SECONDS = 60
HEAD_MAX = 16_384


class _Impatient(H11Protocol):
    """A connection that is closed if the head of a request does not arrive, or its answer is not read."""

    _head: asyncio.TimerHandle | None = None
    _slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        if len(self.connections) >= (self.limit_concurrency or 0):
            self.transport = transport
            transport.abort()
            return
        super().connection_made(transport)
        self._head = self.loop.call_later(HEAD_SECONDS, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_between = self.cycle is None or self.cycle.response_complete
        if not is_between:
            self._end_head()
        elif self._head is None and not self.transport.is_closing():
            self._head = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Refuse malformed HTTP, with the headers of every answer."""
        own = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"connection", b"close"),
            (b"cache-control", b"no-store"),
        ]
        head = h11.Response(status_code=400, headers=[*own, *HEADERS], reason="Bad Request")
        for event in (head, h11.Data(data=msg.encode("ascii")), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._slow = self._slow or self.loop.call_later(SLOW_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._end_slow()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():  # it closes once the answer is read
            self._slow = self._slow or self.loop.call_later(SLOW_SECONDS, self.transport.abort)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._slow = self._slow or self.loop.call_later(SLOW_SECONDS, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_head()
        self._end_slow()
        super().connection_lost(exc)

    def _end_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _end_slow(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen on the socket; a client has HEAD_SECONDS for the handshake of TLS, too."""
        assert sockets is not None
        self.servers = [
            await asyncio.get_running_loop().create_server(
                lambda: _Impatient(self.config, self.server_state, {}),
                sock=listening,
                ssl=self.config.ssl,
                ssl_handshake_timeout=HEAD_SECONDS if self.config.ssl else None,
                backlog=self.config.backlog,
            )
            for listening in sockets
        ]
        self.started = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to the application."""
        yield


class Listener:
    """The port of the door: bound at once, served from `start` until `stop`."""

    def __init__(self, settings: Settings) -> None:
        host, _, port = settings.web.rpartition(":")
        host = host.strip("[]")
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, int(port)), family=family, backlog=128)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror  # of a host's name
            raise SettingsError(f'web: {settings.web}: {why} (--web "" serves no HTTP)') from None
        scheme = "https" if settings.tls_cert else "http"
        shown = f"[{host}]" if ":" in host else host
        self.address = f"{scheme}://{shown}:{self._socket.getsockname()[1]}"
        self._settings = settings
        self._server: _Server | None = None
        self._serving: asyncio.Future[None] | None = None

    def start(self, door: Any) -> None:
        settings = self._settings
        # Its lines name addresses of clients; calls have lines of their own.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            door,
            http=_Impatient,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            reset_contextvars=True,
            server_header=False,
            limit_concurrency=settings.connections,
            timeout_keep_alive=IDLE_SECONDS,
            h11_max_incomplete_event_size=HEAD_MAX,
            ssl_certfile=settings.tls_cert or None,
            ssl_keyfile=settings.tls_key or None,
            **_client_certificates(settings),
        )
        self._server = _Server(config)
        self._serving = asyncio.ensure_future(self._server.serve([self._socket]))

    async def stop(self, seconds: float) -> None:
        """Refuse new connections, wait for pending calls, and close."""
        if self._server is None or self._serving is None:
            self._socket.close()
            return
        self._server.config.timeout_graceful_shutdown = max(int(seconds), 1)
        self._server.should_exit = True
        await self._serving


def _client_certificates(settings: Settings) -> dict[str, Any]:
    import ssl

    return {"ssl_ca_certs": settings.client_ca, "ssl_cert_reqs": ssl.CERT_REQUIRED} if settings.client_ca else {}

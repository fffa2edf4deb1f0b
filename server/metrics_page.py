"""The metrics page for Prometheus: prometheus_client serves it, here with limits on threads and on request time."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer

REQUESTS_MAX = 4
READ_SECONDS = 2.0


class _BoundedServer(ThreadingWSGIServer):
    """An HTTP server that answers REQUESTS_MAX requests at a time, and closes the connections of others."""

    daemon_threads = True
    # A shorter backlog drops connections, which clients repeat after seconds.
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: Any) -> None:
        self._free = threading.BoundedSemaphore(REQUESTS_MAX)
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        # A socket timeout would not end a request that arrives byte by byte.
        timer = threading.Timer(READ_SECONDS, _cut, [request])
        timer.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            timer.cancel()
            self._free.release()


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the log is for calls."""


def serve_metrics(host: str, port: int, registry: CollectorRegistry) -> WSGIServer:
    """Serve the metrics page on a thread of its own."""
    server = make_server(host, port, make_wsgi_app(registry), _BoundedServer, handler_class=_SilentHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _cut(request: socket.socket) -> None:
    with suppress(OSError):  # the connection is closed already
        request.shutdown(socket.SHUT_RDWR)

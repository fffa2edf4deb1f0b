"""The server process: it listens at once, serves after a self-test, and answers pending calls before it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import health as health_names
from grpc_reflection.v1alpha import reflection, reflection_pb2

from eminence.v1 import rules_pb2
from engine_cy.registry import keep_installed_out
from server.messages.requests import Caps
from server.metrics_page import serve_metrics
from server.rpc.auth import TokenAuth, read_clients
from server.rpc.callers import Bounds, Callers
from server.rpc.handlers import Unimplemented, add_service
from server.rpc.routes import MESSAGE_MAX, Routes
from server.services import referee, rules, tables
from server.services import solver as solver_service
from server.services.health import NOT_SERVING, SERVING, HealthService
from server.services.health import SERVICE as HEALTH
from server.services.plugins import Plugins, ServedRules
from server.services.referee import RefereeService
from server.services.solver import SolverService
from server.services.tables import TableService
from server.settings import Settings, SettingsError
from server.telemetry import Telemetry
from solver.expected_signature import DIGESTS, SIGNATURE
from solver.extras import importing
from solver.pool.ray_pool import Health
from solver.signature import published

REFLECTION: Any = reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]
METADATA_MAX = 8192
SERVICES = (solver_service.SERVICE, rules.SERVICE, referee.SERVICE, tables.SERVICE)
# Grace period of a call after its search was stopped, to write and send the answer.
LAST_SECONDS = 3.0
# Time that a thread holds the GIL while the event loop or another thread waits for it.
SWITCH_SECONDS = 0.0003
# Time in which new calls are refused as UNAVAILABLE before connections close.
REFUSING_SECONDS = 0.2
WRONG_SIGNATURE = 3
# Ray's name in the health service, and the interval of its health checks.
RAY = "ray"
FOLLOW_SECONDS = 0.1

_log = logging.getLogger(__name__)


class App:
    """A server with all services, from start to drain."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._telemetry = Telemetry()
        self._callers = Callers(
            Bounds(
                settings.caller_calls, settings.caller_bytes, settings.caller_positions, self._telemetry.count_refusal
            )
        )
        self._telemetry.follow_callers(self._callers)
        keep_installed_out("on a server, only worker processes run installed games")
        self._plugins = Plugins(settings, self._telemetry)
        self._solver = SolverService(settings, self._telemetry, self._plugins)
        self._tables = TableService(settings, self._telemetry, self._solver, self._plugins)
        self._health = HealthService()
        self._traces = _open_traces(settings.traces, self._telemetry) if settings.traces else None
        self._stopping = asyncio.Event()
        self._code = 0
        self._names = [service.full_name for service in SERVICES]

    async def run(self) -> int:
        """Serve until SIGTERM, SIGINT or a failed self-test; return the process's exit code."""
        self._prepare()
        listener = _open_listener(self._settings) if self._settings.web else None
        routes = self._routes()
        server = self._server(routes)
        port = self._listen(server)
        self._health.set(["", *self._names], NOT_SERVING)
        await server.start()
        if listener is not None:
            listener.start(self._door(routes))
        try:
            _greet(self._settings, port, listener.address if listener else "")
            await self._serve_until_stopped()
        finally:
            self._close()
            # gRPC cancels calls that arrive during its shutdown: refuse calls for a while first, so that clients stop.
            await asyncio.sleep(REFUSING_SECONDS)
            stops = [server.stop, *([listener.stop] if listener else [])]
            await self._drain(lambda seconds: asyncio.gather(*(stop(seconds) for stop in stops)))
        return self._code

    def _prepare(self) -> None:
        sys.setswitchinterval(SWITCH_SECONDS)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):  # before the greeting, after which a signal may come
            loop.add_signal_handler(number, self._stop)
        if self._settings.metrics:  # first: if it fails, nothing needs to be stopped
            self._serve_metrics(self._settings.metrics)

    async def _serve_until_stopped(self) -> None:
        lag = asyncio.ensure_future(self._telemetry.measure_lag())
        ray = asyncio.ensure_future(self._follow_ray())
        opening = asyncio.ensure_future(self._open())
        await self._stopping.wait()
        opening.cancel()
        lag.cancel()
        ray.cancel()

    def _serve_metrics(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        try:
            serve_metrics(host.strip("[]"), int(port), self._telemetry.registry)
        except OSError as error:
            raise SettingsError(f"metrics: {address}: {error.strerror}") from None

    def _routes(self) -> Routes:
        """Return the methods that gRPC and HTTP serve, and the interceptors before them."""
        settings = self._settings
        interceptors: list[grpc.aio.ServerInterceptor] = [self._traces] if self._traces else []
        if settings.tokens:
            interceptors.append(TokenAuth(read_clients(settings.tokens, self._callers.bounds), self._telemetry))
        routes = Routes(interceptors)
        add = partial(add_service, routes, telemetry=self._telemetry, callers=self._callers)
        for service, servicer in self._services():
            add(service, servicer, plugins=self._plugins)
        add(tables.SERVICE, self._tables)
        add(HEALTH, self._health, is_logged=False)
        return routes

    def _server(self, routes: Routes) -> grpc.aio.Server:
        settings = self._settings
        longest_ms = settings.time_max_ms + 10_000
        server = grpc.aio.server(
            interceptors=routes.interceptors,
            options=[
                ("grpc.so_reuseport", 0),  # fail if another process listens on the port
                ("grpc.max_receive_message_length", MESSAGE_MAX),
                ("grpc.max_metadata_size", METADATA_MAX),
                ("grpc.max_allowed_incoming_connections", settings.connections),
                ("grpc.max_concurrent_streams", 100),
                # Buffer 64 KiB of each stream; by default gRPC measures the bandwidth and buffers megabytes.
                ("grpc.http2.bdp_probe", 0),
                ("grpc.http2.lookahead_bytes", 2**16),
                # Ping a silent client after 4 s, and drop it 3 s later: no dead connection holds a search for longer.
                ("grpc.keepalive_time_ms", 4_000),
                ("grpc.http2.ping_timeout_ms", 3_000),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.max_connection_idle_ms", 300_000),
                ("grpc.max_connection_age_ms", 600_000),
                ("grpc.max_connection_age_grace_ms", longest_ms),
                ("grpc.server_handshake_timeout_ms", 5_000),
            ],
        )
        server.add_generic_rpc_handlers(tuple(routes.handlers))
        if settings.reflection:
            names = [*self._names, health_names.SERVICE_NAME, reflection.SERVICE_NAME]
            add_service(server, REFLECTION, reflection.aio.ReflectionServicer(names), self._telemetry, self._callers)
        server.add_generic_rpc_handlers((Unimplemented(self._telemetry),))
        return server

    def _services(self) -> list[tuple[ServiceDescriptor, object]]:
        return [
            (solver_service.SERVICE, self._solver),
            (rules.SERVICE, ServedRules(self._plugins, self._describe())),
            (referee.SERVICE, RefereeService()),
        ]

    def _describe(self) -> rules_pb2.GetServerResponse:
        settings = self._settings
        return rules.server_info(Caps.of(settings), settings.search_threads, bool(settings.tokens))

    def _door(self, routes: Routes) -> Any:
        from server.web.door import Door
        from server.web.files import read_files

        settings = self._settings
        names = [name.strip() for name in settings.web_hosts.split(",") if name.strip()]
        return Door(routes, [*SERVICES, HEALTH], read_files(), settings.web, names, self._telemetry, self._callers)

    def _listen(self, server: grpc.aio.Server) -> int:
        settings = self._settings
        if not settings.tls_cert:
            return _add_port(settings.address, server.add_insecure_port)
        credentials = grpc.ssl_server_credentials(
            [(_read_pem(settings.tls_key, "tls_key"), _read_pem(settings.tls_cert, "tls_cert"))],
            root_certificates=_read_pem(settings.client_ca, "client_ca") if settings.client_ca else None,
            require_client_auth=bool(settings.client_ca),
        )
        return _add_port(settings.address, partial(server.add_secure_port, server_credentials=credentials))

    async def _open(self) -> None:
        """Run the self-test, which compares the signature of fixed games and searches; then serve."""
        if self._settings.self_test:
            signature = await asyncio.get_running_loop().run_in_executor(None, published)
            if signature != (SIGNATURE, DIGESTS):
                _log.error(
                    "self-test: the signature is %s, not %s: this engine is not served", signature.total, SIGNATURE
                )
                self._code = WRONG_SIGNATURE
                self._stopping.set()
                return
        await asyncio.get_running_loop().run_in_executor(None, self._solver.load)
        await asyncio.get_running_loop().run_in_executor(None, self._tables.load)
        # Objects made so far live as long as the server: exclude them from full garbage collections.
        gc.collect()
        gc.freeze()
        self._solver.open()
        self._tables.open()
        self._plugins.open()
        self._health.set(["", *self._names], SERVING)
        _log.info("serving")

    async def _follow_ray(self) -> None:
        """Report Ray's health while the server runs; return at once if searches run on threads.

        The health of the server does not depend on Ray's: without Ray, searches run on threads of this process.
        """
        reported: Health | None = None
        while (ray := self._solver.searches.follow_ray()) is not None:
            self._telemetry.set_ray_workers(ray.workers)
            if reported is None or (ray.state, ray.note) != (reported.state, reported.note):
                is_ready = ray.state == "ready"
                level = logging.INFO if is_ready and not ray.note else logging.WARNING
                self._health.set([RAY], SERVING if is_ready else NOT_SERVING)
                _log.log(level, "ray: %s", ray.note or ray.state)
                reported = ray
            await asyncio.sleep(FOLLOW_SECONDS)

    def _stop(self) -> None:
        if self._stopping.is_set():
            self._hurry()  # a second signal
        self._stopping.set()

    def _hurry(self) -> None:
        self._solver.stop_searches()
        self._plugins.stop_searches()

    def _close(self) -> None:
        """Refuse new calls."""
        self._solver.close()
        self._tables.close()
        self._plugins.close()
        self._health.end()

    async def _drain(self, stop: Callable[[float], Awaitable[object]]) -> None:
        """Answer the pending calls: `stop` waits for them, at most for this number of seconds."""
        stopped = asyncio.ensure_future(stop(self._settings.drain_ms / 1000 + LAST_SECONDS))
        await asyncio.wait([stopped], timeout=self._settings.drain_ms / 1000)
        self._hurry()
        await stopped
        # No call is pending: Ray can shut down.
        await asyncio.to_thread(self._tables.end)
        await asyncio.to_thread(self._solver.end)
        await asyncio.to_thread(self._plugins.end)
        if self._traces:
            self._traces.end()


def _add_port(address: str, add: Callable[[str], int]) -> int:
    try:
        return add(address)
    except RuntimeError as error:
        raise SettingsError(f"address: {error}") from None


def _read_pem(path: str, name: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"{name}: {path} cannot be read: {error.strerror}") from None


def _open_traces(address: str, telemetry: Telemetry) -> Any:
    with importing("telemetry", "--traces"):
        from server.traces import Traces
    return Traces(address, telemetry)


def _open_listener(settings: Settings) -> Any:
    with importing("server", "--web"):
        from server.web.listener import Listener
    return Listener(settings)


def _greet(settings: Settings, port: int, web: str) -> None:
    host = settings.address.rpartition(":")[0]
    address = settings.address if settings.address.startswith("unix:") else f"{host}:{port}"
    print(f"listening on {address}", flush=True)
    if web:
        print(f"HTTP, and the page for browsers, on {web}", flush=True)
    if settings.is_loopback and not settings.tls_cert:
        print(
            "for an answer, paste:\n"
            f"  .venv/bin/python -m server.client --address {address} oriflamme en-2019 3 "
            "'A:? >B:Heir C:?(1) | round 2 | points 1 2 3 | seen by B'",
            flush=True,
        )

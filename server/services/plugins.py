"""The calls of a server that name an installed game. Each is handed whole to a worker process."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, nullcontext, suppress
from functools import partial
from threading import Lock
from typing import Any

from google.protobuf.message import Message

from eminence.v1 import rules_pb2
from eminence.v1 import solver_pb2 as pb
from engine_cy.registry import game_sources, refused_games
from server.game_named import installed_game
from server.messages.requests import Caps
from server.plugin_worker import MEGABYTE, Setup
from server.plugins import PluginCall, PluginPool
from server.refusals import Refusal
from server.rpc.admission import RETRY_LEAST_SECONDS, Admission, Kind, Wording, retry_when_full
from server.rpc.callers import Context, current_caller
from server.rpc.deadline import Deadline
from server.services.rules import RulesService, info_of
from server.services.searches import NICENESS
from server.settings import Settings
from server.telemetry import Telemetry

SEARCHES = ("Suggest", "Analyze", "Compare", "CompareStream", "Review", "BatchItem")
# Bytes of answers that the client has not read.
UNREAD_MAX = 2**23
# Time in which ListGames waits for the games of packages, and in which it remembers that one failed.
LISTING_S = 4.0
NOT_DESCRIBED = "not known yet: the worker processes are busy"
FAULT_KEPT_S = 60.0

_log = logging.getLogger(__name__)


class Plugins:
    """Admission to the worker processes, and the answers from them. Belongs to the event loop's thread."""

    def __init__(self, settings: Settings, telemetry: Telemetry) -> None:
        workers, queue = settings.plugin_workers, settings.plugin_queue
        memory = min(settings.memory_max_mb, settings.plugin_memory_mb // 2) * MEGABYTE
        caps = Caps.of(settings)._replace(memory_bytes=memory, memory_default=memory)
        method_s = settings.plugin_method_ms / 1000
        self._setup = Setup("default", caps, 1, settings.plugin_memory_mb, method_s, NICENESS)
        self._workers, self._network_ms = workers, float(settings.network_ms)
        self._bytes_max, self._bytes = settings.plugin_bytes, 0
        self._telemetry = telemetry
        self._state = "starting"
        self._pool: PluginPool | None = None
        self._running: set[PluginCall] = set()
        self._infos: dict[str, tuple[float, rules_pb2.GameInfo]] = {}  # with the end of their validity
        self._describing: asyncio.Task[None] | None = None
        self._installed = [source.id for source in game_sources() if source.package is not None]
        self._admission = Admission(
            workers,
            0,
            {"interactive": queue, "bulk": queue},
            for_others=settings.threads_for_others,
            wording=Wording(
                {"interactive": "plugin_queue", "bulk": "plugin_queue"},
                "calls of installed games",
                f"plugin_workers: all {workers} are busy, and the call would wait for much of its time",
                f"plugin_workers: all {workers} were busy until the call's deadline",
            ),
        )
        telemetry.follow_plugins(
            lambda: len(self._pool.pids) if self._pool else 0,
            lambda: self._admission.running,
            lambda: self._admission.waiting("interactive") + self._admission.waiting("bulk"),
            lambda: self._bytes,
        )

    # --- start and end ---

    def open(self) -> None:
        """Start the worker processes, if there are installed games."""
        for refusal in refused_games():
            _log.warning("plugins: %s", refusal)
        if self._installed:
            self._pool = PluginPool(self._workers, self._setup, self._count_lost)
        self._state = "serving"
        self._describing = asyncio.ensure_future(self._describe_all())

    def close(self) -> None:
        """Refuse new calls."""
        self._state = "stopping"
        if self._describing is not None:
            self._describing.cancel()

    def stop_searches(self) -> None:
        """Stop every call, so that it ends soon with the result so far."""
        for call in self._running:
            call.stop(pb.STOP_REASON_SHUTDOWN)
        self._admission.admit_all()

    def end(self) -> None:
        if self._pool is not None:
            self._pool.close()

    def _count_lost(self) -> None:
        self._telemetry.count_lost_plugin()
        _log.warning("plugins: a worker process was lost and is replaced")

    # --- calls ---

    def game_of(self, request: Message) -> str | None:
        return installed_game(request)

    async def answer(self, game_id: str, method: str, request: Message, context: Context) -> bytes:
        return await self._only(game_id, method, request, Deadline.of(context, self._network_ms), "interactive")

    async def stream(
        self, game_id: str, method: str, request: Message, context: Context
    ) -> AsyncGenerator[bytes, None]:
        deadline = Deadline.of(context, self._network_ms)
        async with aclosing(self._answers(game_id, method, request, deadline, "interactive")) as answers:
            async for answer in answers:
                if method == "Review" and pb.ReviewResponse.FromString(answer).HasField("decision"):
                    await retry_when_full(_count_position)
                yield answer

    async def answer_in_bulk(self, game_id: str, method: str, request: Message) -> bytes:
        """Answer a call that a table of the server makes; retry while the queue is full."""
        return await retry_when_full(partial(self._only, game_id, method, request, Deadline.within(None), "bulk"))

    async def suggest_item(
        self,
        game_id: str,
        item: pb.BatchItem,
        deadline: Deadline,
        report: Callable[[pb.Suggestion], None] | None,
        on_start: Callable[[Any], None],
        is_cancelled: Callable[[], bool],
    ) -> pb.Suggestion:
        """Answer an item of a batch. Its time counts from its own start."""

        def start(call: PluginCall) -> None:
            on_start(call)
            if is_cancelled():
                call.stop(pb.STOP_REASON_CANCELLED)

        async with aclosing(self._answers(game_id, "BatchItem", item, deadline, "bulk", start)) as answers:
            async for raw in answers:
                response = pb.AnalyzeResponse.FromString(raw)
                if response.last:
                    return response.suggestion
                if report:
                    report(response.suggestion)
        raise AssertionError("the last answer is missing")

    async def infos(self) -> list[rules_pb2.GameInfo]:
        """Return the descriptions of the installed games; that of a faulty one says why it cannot be played."""
        if self._describing is not None and self._describing.done() and self._undescribed():
            self._describing = asyncio.ensure_future(self._describe_all())
        if self._describing is not None:
            await asyncio.wait([self._describing], timeout=LISTING_S)
        infos = self._infos
        return [infos[id][1] if id in infos else info_of(id, NOT_DESCRIBED) for id in self._installed]

    # --- admission ---

    async def _only(self, game_id: str, method: str, request: Message, deadline: Deadline, kind: Kind) -> bytes:
        """Return the only answer of a call."""
        async with aclosing(self._answers(game_id, method, request, deadline, kind)) as answers:
            return await anext(answers)

    async def _answers(
        self,
        game_id: str,
        method: str,
        request: Message,
        deadline: Deadline,
        kind: Kind,
        on_start: Callable[[PluginCall], None] = lambda _: None,
    ) -> AsyncGenerator[bytes, None]:
        """Yield the answers of a call, as a worker process sends them."""
        if self._pool is None or self._state != "serving":
            raise Refusal("UNAVAILABLE", "", f"the server is {self._state}", retry_after=1.0)
        async with self._admitted(method, request, deadline, kind) as hold:
            job = self._pool.job(game_id, method, request, deadline, self._setup.caps.time_ms)
            unread = _Unread(newest_only=method in ("Analyze", "CompareStream", "BatchItem"))
            call = self._pool.submit(job, unread.put)
            call.add_done_callback(unread.end)
            hold(call)
            try:
                on_start(call)
                async for answer in unread.answers():
                    yield answer
                call.result()
            finally:
                if not call.done():
                    call.abandon()

    @asynccontextmanager
    async def _admitted(
        self, method: str, request: Message, deadline: Deadline, kind: Kind
    ) -> AsyncIterator[Callable[[PluginCall], None]]:
        """Wait for a worker process; yield a function that holds it until the end of a call."""
        deadline.check()
        with self._holding(request.ByteSize()), current_caller().searching() if method in SEARCHES else nullcontext():
            budget = getattr(request, "budget", None)
            time_ns = budget.time.ToNanoseconds() if budget is not None and budget.HasField("time") else None
            try:
                ticket = await self._admission.enter(
                    kind, 1, time_ns, deadline.begin_by_ns, caller=current_caller().key
                )
            except Refusal as refusal:
                self._telemetry.count_refusal_by(refusal.why.partition(":")[0])
                raise
            loop = asyncio.get_running_loop()
            is_held = False

            def leave(call: PluginCall) -> None:
                self._running.discard(call)
                self._admission.leave(ticket)

            def leave_soon(call: Any) -> None:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(leave, call)

            def hold(call: PluginCall) -> None:
                nonlocal is_held
                is_held = True
                self._running.add(call)
                call.add_done_callback(leave_soon)

            try:
                yield hold
            finally:
                if not is_held:
                    self._admission.leave(ticket)

    @contextmanager
    def _holding(self, size: int) -> Iterator[None]:
        if self._bytes + size > self._bytes_max:
            self._telemetry.count_refusal_by("plugin_bytes")
            why = f"plugin_bytes: pending calls of installed games may have {self._bytes_max}, and have {self._bytes}"
            raise Refusal("OVERLOADED", "", why, retry_after=RETRY_LEAST_SECONDS)
        self._bytes += size
        try:
            yield
        finally:
            self._bytes -= size

    # --- descriptions ---

    async def _describe_all(self) -> None:
        """Describe, one after the other, the installed games that are unknown or whose fault was seen long ago."""
        for game_id in self._undescribed():
            request = rules_pb2.ListRulesetsRequest(game_id=game_id)
            try:
                raw = await self.answer_in_bulk(game_id, "GameInfo", request)
                self._infos[game_id] = float("inf"), rules_pb2.GameInfo.FromString(raw)
            except Refusal as refusal:
                _log.warning("plugins: %s", refusal)
                self._infos[game_id] = time.monotonic() + FAULT_KEPT_S, info_of(game_id, str(refusal))

    def _undescribed(self) -> list[str]:
        now = time.monotonic()
        return [game_id for game_id in self._installed if self._infos.get(game_id, (0.0, None))[0] < now]


class ServedRules(RulesService):
    """RulesService, whose ListGames includes the installed games that worker processes describe."""

    def __init__(self, plugins: Plugins, server: rules_pb2.GetServerResponse | None = None) -> None:
        super().__init__(server)
        self._plugins = plugins

    async def ListGames(  # type: ignore[override]
        self, request: rules_pb2.ListGamesRequest, context: Context
    ) -> rules_pb2.ListGamesResponse:
        built_in = [info_of(source.id) for source in game_sources() if source.package is None]
        return rules_pb2.ListGamesResponse(games=[*built_in, *await self._plugins.infos()])


class _Unread:
    """The answers of a call that its reader has not taken. A pool's thread puts them, the event loop takes them."""

    def __init__(self, *, newest_only: bool) -> None:
        self._answers: deque[bytes] = deque(maxlen=1 if newest_only else None)
        self._lock = Lock()
        self._is_over = False
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()

    def put(self, answer: bytes) -> None:
        with self._lock:
            self._answers.append(answer)
            size = sum(map(len, self._answers))
        if size > UNREAD_MAX:
            raise Refusal("OVERLOADED", "", "the client does not read the answers")
        self._wake()

    def end(self, _: object) -> None:
        self._is_over = True
        self._wake()

    def _wake(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._changed.set)

    async def answers(self) -> AsyncGenerator[bytes, None]:
        while True:
            self._changed.clear()
            is_over = self._is_over
            while self._answers:
                with self._lock:
                    answer = self._answers.popleft()
                yield answer
            if is_over:
                return
            await self._changed.wait()


async def _count_position() -> None:
    current_caller().count_call()

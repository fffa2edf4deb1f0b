"""SolverService, the adviser. Each handler reads a request, submits its question, and writes the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any, TypeVar

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy.registry import has_installed
from server.answer_cache import Cache, key_of
from server.answer_cache_file import CacheFile
from server.codec.fields import required
from server.messages import answers
from server.messages.requests import (
    Caps,
    Grant,
    ReviewGrant,
    check_to_act,
    read_comparison,
    read_interval,
    read_review,
    read_search,
)
from server.refusals import Refusal, under
from server.report.page import shown_decisions, write_page
from server.report.reading import read_language
from server.report.reading import read_review as read_reported
from server.rpc.admission import Kind, retry_when_full
from server.rpc.callers import Context, current_caller
from server.rpc.deadline import Deadline
from server.rpc.status import refusal_of
from server.services import core
from server.services.batch import Batch
from server.services.plugins import Plugins
from server.services.searches import AdmittedSearch, Searches, SearchTerms
from server.settings import Settings
from server.telemetry import Telemetry
from solver.expected_signature import signature_of
from solver.pool.base import SearchLostError
from solver.question import SHARES_MAX
from solver.review import Prospect, Step, Verdict

T = TypeVar("T")
M = TypeVar("M", pb.Suggestion, pb.Comparison)

SERVICE = pb.DESCRIPTOR.services_by_name["SolverService"]

# The version of a cache file: a hash of the contract, and of the format of keys, whose version is the last number. (The
# editions of games have nothing to do with it.) A server empties a file of another version. The signature of the engine
# and its weights is a part of each key: a new engine does not find older answers, which newer ones displace in time.
CACHE_VERSION = key_of([file.serialized_pb for file in (pb.DESCRIPTOR, *pb.DESCRIPTOR.dependencies)], 4)

# Time in which a request is refused after its search killed workers.
LOST_SECONDS = 600.0
# Longer batch items are read on another thread.
READ_HERE_BYTES = 1_000


class SolverService(solver_pb2_grpc.SolverServiceServicer):
    """The solver's methods. Belongs to the event loop's thread.

    A thread of its own reads long requests, and others search and write answers: no work on the event loop grows with
    a request.
    """

    def __init__(self, settings: Settings, telemetry: Telemetry, plugins: Plugins | None = None) -> None:
        self._plugins = plugins
        self.searches = Searches(settings)
        self._caps = Caps.of(settings)
        self._network_ms = float(settings.network_ms)
        file = CacheFile(settings.cache_file, CACHE_VERSION) if settings.cache_file else None
        self._cache = Cache(settings.cache_mb * 2**20, file)
        self._lost: dict[bytes, float] = {}  # keys of questions that killed workers, and the end of their refusal
        self._readers = ThreadPoolExecutor(1, "reader")
        self._telemetry = telemetry
        self._state = "starting"
        telemetry.follow(self.searches.admission)

    # --- start and end ---

    def load(self) -> None:
        """Load the answer cache from its file. Do not call it on the event loop's thread."""
        self._cache.load()

    def open(self) -> None:
        self._state = "serving"

    def close(self) -> None:
        """Refuse new calls."""
        self._state = "stopping"

    def stop_searches(self) -> None:
        """Stop every search, so that each call is answered soon; waiting calls, too."""
        self._state = "stopping at once"
        self.searches.stop_searches()

    def end(self) -> None:
        self.searches.end()
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._cache.close()

    # --- calls ---

    async def Suggest(self, request: pb.SuggestRequest, context: Context) -> pb.SuggestResponse:
        deadline = self._arrive(context)
        grant = await self._read(read_search, request, self._caps)
        check_to_act(grant.view)
        return pb.SuggestResponse(suggestion=await self._answer(grant, "interactive", deadline))

    async def Analyze(self, request: pb.AnalyzeRequest, context: Context) -> AsyncIterator[pb.AnalyzeResponse]:
        deadline = self._arrive(context)
        interval = read_interval(request)
        grant = await self._read(read_search, request, self._caps)
        begin = partial(self._answer, grant, "interactive", deadline, interval)
        async with aclosing(_growing(begin)) as answers_so_far:
            async for suggestion, is_last in answers_so_far:
                yield pb.AnalyzeResponse(suggestion=suggestion, last=is_last)

    async def AnalyzeBatch(
        self, requests: AsyncIterator[pb.AnalyzeBatchRequest], context: Context
    ) -> AsyncIterator[pb.AnalyzeBatchResponse]:
        deadline = self._arrive(context)
        batch = Batch(self._answer_item, self.searches.admission.threads_for("bulk", SHARES_MAX))
        async with aclosing(batch.answers(requests, deadline)) as responses:
            async for response in responses:
                yield response

    async def Review(self, request: pb.ReviewRequest, context: Context) -> AsyncIterator[pb.ReviewResponse]:
        deadline = self._arrive(context)
        async with current_caller().turn():
            grant = await self._in_thread(read_review, request, self._caps)
        writer = answers.ReviewWriter(grant)
        key = key_of(current_caller().identity, request.SerializeToString(deterministic=True))
        if (begun := writer.begun()) is not None:
            yield pb.ReviewResponse(begun=begun)
        while (step := await self._next_step(grant)) is not None:
            await retry_when_full(_count_position)
            with self._unless_lost(key):
                judged = await retry_when_full(partial(self._judge, grant, step, deadline))
            if self._state == "stopping at once":
                raise Refusal("UNAVAILABLE", "", "the server is stopping, and the review is incomplete")
            if (decision := writer.add(judged)) is not None:
                yield pb.ReviewResponse(decision=decision)
        yield pb.ReviewResponse(summary=await self._in_thread(writer.summary))

    async def WriteReport(self, request: pb.WriteReportRequest, context: Context) -> pb.WriteReportResponse:
        deadline = self._arrive(context)
        language = read_language(request)
        caller = current_caller()
        async with caller.turn():
            review = await self._in_thread(read_reported, request)
        decisions, shown = [], shown_decisions(review, language)
        while True:
            # One at a time: a report takes as long as many other calls.
            deadline.check()
            async with caller.turn():
                decision = await self._in_thread(next, shown, None)
            if decision is None:
                break
            decisions.append(decision)
        async with caller.turn():
            html = await self._in_thread(write_page, review, decisions, language)
        return pb.WriteReportResponse(html=html)

    async def suggest_in_bulk(self, request: pb.SuggestRequest) -> pb.Suggestion:
        """Suggest a move for a table of the server, in the bulk queue; retry while the queue is full."""
        grant = await self._in_thread(read_search, request, self._caps)
        return await retry_when_full(partial(self._answer, grant, "bulk", Deadline.within(None)))

    async def Compare(self, request: pb.CompareRequest, context: Context) -> pb.CompareResponse:
        deadline = self._arrive(context)
        grant = await self._read(read_comparison, request, self._caps)
        return pb.CompareResponse(comparison=await self._compare(grant, deadline))

    async def CompareStream(
        self, request: pb.CompareStreamRequest, context: Context
    ) -> AsyncIterator[pb.CompareStreamResponse]:
        deadline = self._arrive(context)
        interval = read_interval(request)
        required(request, "compare", "")
        with under("compare"):
            grant = await self._read(read_comparison, request.compare, self._caps)
        async with aclosing(_growing(partial(self._compare, grant, deadline, interval))) as answers_so_far:
            async for comparison, is_last in answers_so_far:
                yield pb.CompareStreamResponse(comparison=comparison, last=is_last)

    async def _compare(
        self,
        grant: Grant,
        deadline: Deadline,
        every_ms: float = 0.0,
        report: Callable[[pb.Comparison], None] | None = None,
    ) -> pb.Comparison:
        """Answer a comparison; `report` receives answers so far."""
        question, key = grant.question, self._key(grant)
        assert question is not None
        cached: pb.Comparison | None = self._cached(key, pb.Comparison, grant, deadline)
        if cached is not None:
            return cached
        report = answers.timed_report(report, deadline.arrival_ns)
        shares = 1 if question.in_lockstep else question.n_parts
        with self._unless_lost(key):
            async with self.searches.admitted(_terms(grant, "interactive", deadline, shares)) as slot:
                comparison = await core.compare(grant, slot, every_ms, report)
        self._telemetry.count_search(comparison)
        if comparison.reproducible:
            self._cache.put(key, comparison)
        return _timed(comparison, deadline)

    # --- reading ---

    def _arrive(self, context: Context) -> Deadline:
        if self._state != "serving":
            raise Refusal("UNAVAILABLE", "", f"the server is {self._state}", retry_after=1.0)
        return Deadline.of(context, self._network_ms)

    async def _read(self, read: Callable[..., T], request: Any, *arguments: Any) -> T:
        """Read a request; if that may take long, check the queue first, then read it on another thread."""
        if not (request.view.HasField("history") or getattr(request, "actions", ()) or request.options.restrict_to):
            return read(request, *arguments)
        async with current_caller().turn():
            self.searches.admission.check_room("interactive", current_caller().key)
            return await self._in_thread(read, request, *arguments)

    async def _read_item(self, item: bytes) -> Grant:
        """Read a batch item. Parsed long items are large, so each caller has one at a time in memory."""
        if len(item) <= READ_HERE_BYTES:
            return _read_item(item, self._caps)
        async with current_caller().turn():
            return await self._in_thread(_read_item, item, self._caps)

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, call, *arguments)

    # --- answering ---

    async def _answer(
        self,
        grant: Grant,
        kind: Kind,
        deadline: Deadline,
        every_ms: float = 0.0,
        report: Callable[[pb.Suggestion], None] | None = None,
        on_start: Callable[[AdmittedSearch], None] | None = None,
    ) -> pb.Suggestion:
        """Answer a search; `report` receives answers so far, `on_start` the slot, which can stop the search."""
        if not core.needs_search(grant):
            # It needs no search thread. It is not cached either: computing it again is as fast.
            return _timed(await self._in_thread(core.suggest_at_once, grant), deadline)
        question, key = grant.question, self._key(grant)
        assert question is not None
        cached: pb.Suggestion | None = self._cached(key, pb.Suggestion, grant, deadline)
        if cached is not None:
            return cached
        report = answers.timed_report(report, deadline.arrival_ns)
        with self._unless_lost(key):
            async with self.searches.admitted(_terms(grant, kind, deadline, question.n_parts)) as slot:
                if on_start:
                    on_start(slot)
                suggestion = await core.suggest(grant, slot, every_ms, report)
        self._telemetry.count_search(suggestion)
        if suggestion.reproducible:
            note, suggestion.note = suggestion.note, ""  # the note is about this run alone
            self._cache.put(key, suggestion)
            suggestion.note = note
        return _timed(suggestion, deadline)

    async def _answer_item(
        self,
        item: bytes,
        deadline: Deadline,
        every_ms: float,
        report: Callable[[pb.Suggestion], None] | None,
        on_start: Callable[[Any], None],
        is_cancelled: Callable[[], bool],
    ) -> pb.Suggestion:
        """Answer a batch item. Its time counts from its own start."""
        if self._plugins is not None and has_installed():
            message = pb.BatchItem.FromString(item)
            if game_id := self._plugins.game_of(message):
                return await self._plugins.suggest_item(game_id, message, deadline, report, on_start, is_cancelled)
        item_deadline = deadline.restarted()
        grant = await self._read_item(item)
        if is_cancelled() and grant.question is not None:
            return _timed(await self._in_thread(core.suggest_cancelled, grant), item_deadline)
        return await retry_when_full(partial(self._answer, grant, "bulk", item_deadline, every_ms, report, on_start))

    async def _next_step(self, grant: ReviewGrant) -> Step | None:
        """Replay the game up to the next step. All steps of many waiting reviews would take much memory."""
        async with current_caller().turn():
            return await self._in_thread(next, grant.steps, None)

    async def _judge(self, grant: ReviewGrant, step: Step, deadline: Deadline) -> Verdict | Prospect:
        """Judge one step. Its time counts from its own start."""
        judge = grant.judge
        step_deadline = deadline.restarted()
        question = await self._in_thread(judge.search, step)
        budget = question.budget
        assert budget.time_ms is not None
        terms = SearchTerms("bulk", grant.shares, budget.memory_mb, budget.time_ms, grant.is_timed, step_deadline)
        async with self.searches.admitted(terms) as slot:
            return await core.judge(judge, step, question, slot)

    # --- cached and refused answers ---

    def _key(self, grant: Grant) -> bytes:
        """Return the cache key: a hash of the caller's identity and of every input of the answer."""
        assert grant.encoded is not None
        shown = (grant.candidates, grant.samples, grant.information)
        return key_of(current_caller().identity, *grant.encoded, signature_of(grant.view.game), *shown)

    def _cached(self, key: bytes, kind: type[Any], grant: Grant, deadline: Deadline) -> Any:
        """Return the cached answer, with the budget of this request, or None."""
        answer: Any = self._cache.get(key, kind)
        if answer is None:
            return None
        self._telemetry.count_cached_answer()
        answer.budget.CopyFrom(answers.budget_of(grant))
        return _timed(answer, deadline)

    @contextmanager
    def _unless_lost(self, key: bytes) -> Iterator[None]:
        """Refuse a request whose search killed workers lately, and record one that does."""
        now = time.monotonic()
        self._lost = {lost: until for lost, until in self._lost.items() if until > now}
        if key in self._lost:
            raise refusal_of(SearchLostError())
        try:
            yield
        except SearchLostError:
            self._lost[key] = time.monotonic() + LOST_SECONDS
            raise


def _read_item(item: bytes, caps: Caps) -> Grant:
    return read_search(pb.BatchItem.FromString(item), caps, "item")


async def _growing(
    begin: Callable[[Callable[[M], None]], Coroutine[Any, Any, M]],
) -> AsyncGenerator[tuple[M, bool], None]:
    """Yield the answers so far that `begin` reports, then the last one. A newer report replaces an unsent one."""
    latest: list[M] = []  # empty or one
    changed = asyncio.Event()
    loop = asyncio.get_running_loop()

    def put(so_far: M) -> None:
        latest[:] = [so_far]
        changed.set()

    def report(so_far: M) -> None:
        loop.call_soon_threadsafe(put, so_far)

    answer = asyncio.ensure_future(begin(report))
    answer.add_done_callback(lambda _: changed.set())
    try:
        while not answer.done():
            await changed.wait()
            changed.clear()
            if latest and not answer.done():
                yield latest.pop(), False
        yield await answer, True
    finally:
        answer.cancel()


async def _count_position() -> None:
    current_caller().count_call()


def _timed(message: M, deadline: Deadline) -> M:
    answers.set_elapsed(message, deadline.arrival_ns)
    return message


def _terms(grant: Grant, kind: Kind, deadline: Deadline, parts: int) -> SearchTerms:
    budget = grant.budget
    assert budget.time_ms is not None
    return SearchTerms(kind, parts, budget.memory_mb, budget.time_ms, grant.is_timed, deadline)

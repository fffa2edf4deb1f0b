"""SolverService: the adviser. Each handler reads a request, has it computed, and writes the answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from functools import partial
from typing import Any, TypeVar

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from server.answer_cache import Cache, key_of
from server.answer_cache_file import CacheFile
from server.messages import answers
from server.messages.requests import (
    Asked,
    AskedReview,
    Caps,
    check_to_act,
    read_comparison,
    read_interval,
    read_review,
    read_search,
)
from server.refusals import Refusal
from server.rpc.admission import Kind, patiently
from server.rpc.callers import Context, current_caller
from server.rpc.deadline import Deadline
from server.rpc.status import refusal_of
from server.services import core
from server.services.batch import Batch
from server.services.searches import AdmittedSearch, Searches, SearchTerms
from server.settings import Settings
from server.telemetry import Telemetry
from solver.expected_signature import signature_of
from solver.pool.base import SearchLostError
from solver.question import SHARES_MAX
from solver.review import Decision, Verdict

T = TypeVar("T")
M = TypeVar("M", pb.Suggestion, pb.Comparison)

SERVICE = pb.DESCRIPTOR.services_by_name["SolverService"]

# Which servers can use kept answers: those that speak the same contract, with the same keys, which the last number
# stands for. The keys say which engine and weights answered.
EDITION = key_of([file.serialized_pb for file in (pb.DESCRIPTOR, *pb.DESCRIPTOR.dependencies)], 4)

# How long a request is refused after workers were lost over it.
LOST_SECONDS = 600.0
# Longer items of a batch are read on another thread.
READ_HERE_BYTES = 1_000


class SolverService(solver_pb2_grpc.SolverServiceServicer):
    """Belongs to the event loop's thread. Long requests are read on a thread of their own, and searches, with all that
    belongs to them, run on others: nothing whose cost grows with a request is computed on the loop."""

    def __init__(self, settings: Settings, telemetry: Telemetry) -> None:
        self.searches = Searches(settings)
        self._caps = Caps.of(settings)
        self._network_ms = float(settings.network_ms)
        file = CacheFile(settings.cache_file, EDITION) if settings.cache_file else None
        self._cache = Cache(settings.cache_mb * 2**20, file)
        self._lost: dict[bytes, float] = {}  # questions that cost workers, and until when they are refused
        self._readers = ThreadPoolExecutor(1, "reader")
        self._telemetry = telemetry
        self._state = "starting"
        telemetry.follow(self.searches.admission)

    # --- coming and going ---

    def load(self) -> None:
        """Load the answers that were kept in a file. Not on the event loop's thread."""
        self._cache.load()

    def open(self) -> None:
        self._state = "serving"

    def close(self) -> None:
        """Take nothing new."""
        self._state = "stopping"

    def hurry(self) -> None:
        """Have every call answered soon with what was found: those that wait, too."""
        self._state = "hurrying"
        self.searches.hurry()

    def end(self) -> None:
        self.searches.end()
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._cache.close()

    # --- calls ---

    async def Suggest(self, request: pb.SuggestRequest, context: Context) -> pb.SuggestResponse:
        deadline = self._arrive(context)
        asked = await self._read(read_search, request, self._caps)
        check_to_act(asked.view)
        return pb.SuggestResponse(suggestion=await self._answer(asked, "interactive", deadline))

    async def Analyze(self, request: pb.AnalyzeRequest, context: Context) -> AsyncIterator[pb.AnalyzeResponse]:
        deadline = self._arrive(context)
        interval = read_interval(request)
        asked = await self._read(read_search, request, self._caps)
        latest: list[pb.Suggestion] = []  # none or one: what was not sent in time is stale
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def put(so_far: pb.Suggestion) -> None:
            latest[:] = [so_far]
            changed.set()

        def report(so_far: pb.Suggestion) -> None:
            loop.call_soon_threadsafe(put, so_far)

        answer = asyncio.ensure_future(self._answer(asked, "interactive", deadline, interval, report))
        answer.add_done_callback(lambda _: changed.set())
        try:
            while not answer.done():
                await changed.wait()
                changed.clear()
                if latest and not answer.done():
                    yield pb.AnalyzeResponse(suggestion=latest.pop())
            yield pb.AnalyzeResponse(suggestion=await answer, last=True)
        finally:
            answer.cancel()

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
            asked = await self._in_thread(read_review, request, self._caps)
        reviewed = answers.Reviewed(asked)
        key = key_of(current_caller().identity, request.SerializeToString(deterministic=True))
        for decision in asked.decisions:
            await patiently(_count_position)
            with self._unless_lost(key):
                verdict = await patiently(partial(self._judge, asked, decision, deadline))
            if self._state == "hurrying":
                raise Refusal("UNAVAILABLE", "", "the server stops, and the game is not reviewed to its end")
            yield pb.ReviewResponse(decision=reviewed.add(verdict))
        yield pb.ReviewResponse(summary=await self._in_thread(reviewed.summary))

    async def Compare(self, request: pb.CompareRequest, context: Context) -> pb.CompareResponse:
        deadline = self._arrive(context)
        asked = await self._read(read_comparison, request, self._caps)
        question, key = asked.question, self._key(asked)
        assert question is not None
        comparison: Any = self._kept(key, pb.Comparison, asked, deadline)
        if comparison is None:
            shares = 1 if question.meets else question.n_parts
            terms = _terms(asked, "interactive", deadline, shares)
            with self._unless_lost(key):
                async with self.searches.admitted(terms) as slot:
                    comparison = await core.compare(asked, slot)
            self._telemetry.searched(comparison)
            if comparison.reproducible:
                self._cache.put(key, comparison)
            _timed(comparison, deadline)
        return pb.CompareResponse(comparison=comparison)

    # --- reading ---

    def _arrive(self, context: Context) -> Deadline:
        if self._state != "serving":
            raise Refusal("UNAVAILABLE", "", f"the server is {self._state}", retry_after=1.0)
        return Deadline.of(context, self._network_ms)

    async def _read(self, read: Callable[..., T], request: Any, *arguments: Any) -> T:
        """Read a request; one that may take long on another thread, if there is room for its search."""
        if not (request.view.HasField("history") or getattr(request, "actions", ()) or request.options.restrict_to):
            return read(request, *arguments)
        async with current_caller().turn():
            self.searches.admission.check_room("interactive", current_caller().key)
            return await self._in_thread(read, request, *arguments)

    async def _read_item(self, item: bytes) -> Asked:
        """Read an item of a batch. The messages of long ones are large, so one of a caller is in memory at a time."""
        if len(item) <= READ_HERE_BYTES:
            return _read_item(item, self._caps)
        async with current_caller().turn():
            return await self._in_thread(_read_item, item, self._caps)

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, call, *arguments)

    # --- answering ---

    async def _answer(
        self,
        asked: Asked,
        kind: Kind,
        deadline: Deadline,
        every_ms: float = 0.0,
        report: Callable[[pb.Suggestion], None] | None = None,
        begun: Callable[[AdmittedSearch], None] | None = None,
    ) -> pb.Suggestion:
        """Answer a search; `report` gets answers on the way, `begun` what can stop it."""
        if not core.needs_search(asked):
            # No search thread is needed; nor is the answer kept, as it is found as soon again.
            return _timed(await self._in_thread(core.suggest_at_once, asked), deadline)
        question, key = asked.question, self._key(asked)
        assert question is not None
        kept: pb.Suggestion | None = self._kept(key, pb.Suggestion, asked, deadline)
        if kept is not None:
            return kept
        report = answers.timed_report(report, deadline.arrival_ns)
        with self._unless_lost(key):
            async with self.searches.admitted(_terms(asked, kind, deadline, question.n_parts)) as slot:
                if begun:
                    begun(slot)
                suggestion = await core.suggest(asked, slot, every_ms, report)
        self._telemetry.searched(suggestion)
        if suggestion.reproducible:
            note, suggestion.note = suggestion.note, ""  # it is of this time only
            self._cache.put(key, suggestion)
            suggestion.note = note
        return _timed(suggestion, deadline)

    async def _answer_item(
        self,
        item: bytes,
        deadline: Deadline,
        every_ms: float,
        report: Callable[[pb.Suggestion], None] | None,
        begun: Callable[[AdmittedSearch], None],
        is_cancelled: Callable[[], bool],
    ) -> pb.Suggestion:
        """Answer an item of a batch. The time of an item counts from when it begins."""
        mine = deadline.restarted()
        asked = await self._read_item(item)
        if is_cancelled() and asked.question is not None:  # nothing was found yet
            return _timed(await self._in_thread(core.suggest_cancelled, asked), mine)
        return await patiently(partial(self._answer, asked, "bulk", mine, every_ms, report, begun))

    async def _judge(self, asked: AskedReview, decision: Decision, deadline: Deadline) -> Verdict:
        """Judge one decision; its time counts from when it begins."""
        judge = asked.judge
        mine = deadline.restarted()
        question = await self._in_thread(judge.search, decision)
        budget = question.budget
        assert budget.time_ms is not None
        terms = SearchTerms("bulk", asked.shares, budget.memory_mb, budget.time_ms, asked.is_timed, mine)
        async with self.searches.admitted(terms) as slot:
            return await core.judge(judge, decision, question, slot)

    # --- kept and refused answers ---

    def _key(self, asked: Asked) -> bytes:
        """All that an answer depends on, and whose it is."""
        assert asked.encoded is not None
        signature = signature_of(asked.view.game)
        return key_of(current_caller().identity, *asked.encoded, signature, asked.candidates, asked.information)

    def _kept(self, key: bytes, kind: type[Any], asked: Asked, deadline: Deadline) -> Any:
        """The answer that was kept, with the budget of this request."""
        kept: Any = self._cache.get(key, kind)
        if kept is None:
            return None
        self._telemetry.cached()
        kept.budget.CopyFrom(answers.budget_of(asked))
        return _timed(kept, deadline)

    @contextmanager
    def _unless_lost(self, key: bytes) -> Iterator[None]:
        """Refuse a request whose search killed workers before, and remember one that does."""
        now = time.monotonic()
        self._lost = {lost: until for lost, until in self._lost.items() if until > now}
        if key in self._lost:
            raise refusal_of(SearchLostError())
        try:
            yield
        except SearchLostError:
            self._lost[key] = time.monotonic() + LOST_SECONDS
            raise


def _read_item(item: bytes, caps: Caps) -> Asked:
    return read_search(pb.BatchItem.FromString(item), caps, "item")


async def _count_position() -> None:
    current_caller().count_call()


def _timed(message: M, deadline: Deadline) -> M:
    answers.set_elapsed(message, deadline.arrival_ns)
    return message


def _terms(asked: Asked, kind: Kind, deadline: Deadline, parts: int) -> SearchTerms:
    budget = asked.budget
    assert budget.time_ms is not None
    return SearchTerms(kind, parts, budget.memory_mb, budget.time_ms, asked.is_timed, deadline)

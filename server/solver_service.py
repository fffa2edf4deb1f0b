"""SolverService: the adviser. Requests are read here, searched on other threads, and answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy import View
from server.admission import Admission, Kind, Ticket, patiently
from server.batches import Batch
from server.cache import Cache, key_of
from server.cache_file import CacheFile
from server.calls import Context
from server.clients import Client, current_client
from server.codec import views
from server.codec.words import required, under, write_seat
from server.effort import effort
from server.errors import refusal_of
from server.limits import (
    NO_OPTIONS,
    SHARES_MAX,
    Caps,
    Chosen,
    Granted,
    canonical,
    check_information,
    check_to_act,
    derived_seed,
    read_actions,
    read_budget,
    read_interval,
    read_options,
)
from server.refusals import Refusal
from server.reviews import Reviewed, ReviewQuestion, read_review
from server.searches import (
    Comparison,
    Judgement,
    Overrun,
    Question,
    Search,
    Work,
    answer_forced,
    search_pool,
    set_elapsed,
)
from server.settings import Settings
from server.telemetry import Telemetry
from solver.backends.base import Backend
from solver.backends.cluster import WORKERS_MAX, Health, RayActors, SearchLostError
from solver.backends.threads import Threads
from solver.review import Decision, Verdict
from solver.version import SIGNATURE

SERVICE = pb.DESCRIPTOR.services_by_name["SolverService"]

# Who can use kept answers: the same engine and weights, speaking the same contract, asking by the same keys and drawing
# moves alike, which is the last number here.
EDITION = key_of(SIGNATURE, [file.serialized_pb for file in (pb.DESCRIPTOR, *pb.DESCRIPTOR.dependencies)], 2)

# An answer leaves so long before the call's deadline, that it may arrive in time; of short ones, in the middle.
DEADLINE_MARGIN_NS = 10_000_000
# With less than this left, nothing is begun.
DEADLINE_LEAST_NS = 5_000_000
COMPARED_MAX = 16
# How long a search may take that begins when the server is about to stop, or whose time is gone.
LAST_NS = 10_000_000
# Histories longer than this are replayed on another thread than the event loop's.
LONG_HISTORY = 24
# For so long a request is refused over which workers were lost.
LOST_SECONDS = 600.0


class Run(NamedTuple):
    """What admission has to know, and the clock."""

    kind: Kind
    shares: int
    budget: Granted
    arrival_ns: int
    deadline_ns: int | None

    def until(self) -> tuple[int, bool]:
        """When the work has to end that begins now, and whether because of the call's deadline."""
        now = time.monotonic_ns()
        # Time counts from the arrival; in a batch, where the client itself makes positions wait, from the beginning.
        begun = self.arrival_ns if self.kind == "interactive" else now
        until = max(begun + int(self.budget.time_ms * 1e6), now + LAST_NS)
        if self.deadline_ns is None:
            return until, False
        last = self.deadline_ns - min(DEADLINE_MARGIN_NS, max(self.deadline_ns - now, 0) // 2)
        return min(until, last), last < until


class SolverService(solver_pb2_grpc.SolverServiceServicer):
    """Belongs to the event loop's thread; only searches, and the replay of long histories, are elsewhere."""

    def __init__(self, settings: Settings, telemetry: Telemetry) -> None:
        threads = settings.search_threads
        self.admission = Admission(
            threads,
            settings.reserved,
            {"interactive": settings.interactive_queue, "bulk": settings.bulk_queue},
        )
        self._caps = Caps.of(settings)
        self._usual_budget = read_budget(pb.Budget(), NO_OPTIONS, self._caps)
        file = CacheFile(settings.cache_file, EDITION) if settings.cache_file else None
        self._cache = Cache(settings.cache_mb * 2**20, file)
        self._ray: RayActors | None = None
        if settings.backend == "ray":
            # A thread waits for each search, and searches if there is no Ray.
            self.pool = search_pool(max(threads, WORKERS_MAX))
            self._ray = RayActors(
                settings.ray_workers or None, address=settings.ray_address, wait=False, executor=self.pool
            )
        else:
            self.pool = search_pool(threads)
        self._lost: dict[bytes, float] = {}  # questions that cost workers, and until when they are refused
        self._readers = ThreadPoolExecutor(1, "reader")
        self._telemetry = telemetry
        self._overrun = Overrun()
        self._under_way: set[Work] = set()
        self._state = "starting"
        telemetry.follow(self.admission)

    # --- coming and going ---

    def load(self) -> None:
        """Have the answers that were kept in a file. Not on the event loop's thread."""
        self._cache.load()

    def open(self) -> None:
        self._state = "serving"

    @property
    def ray_health(self) -> Health | None:
        """How Ray is, if searches run there; and as many of them are let in as there are workers."""
        if self._ray is None:
            return None
        self.admission.resize(self._ray.width)
        return self._ray.health

    def close(self) -> None:
        """Take nothing new."""
        self._state = "stopping"

    def hurry(self) -> None:
        """Have every call answered soon with what was found: those that wait, too."""
        self._state = "hurrying"
        for work in self._under_way:
            work.stop(pb.STOP_REASON_SHUTDOWN)
        self.admission.admit_all()

    def end(self) -> None:
        if self._ray:
            self._ray.close()
        self.pool.shutdown(wait=False, cancel_futures=True)
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._cache.close()

    # --- calls ---

    async def Suggest(self, request: pb.SuggestRequest, context: Context) -> pb.SuggestResponse:
        question = await self._read(request, context)
        check_to_act(question.view)
        return pb.SuggestResponse(suggestion=await self._answer(question, "interactive"))

    async def Analyze(self, request: pb.AnalyzeRequest, context: Context) -> AsyncIterator[pb.AnalyzeResponse]:
        interval = read_interval(request)
        question = await self._read(request, context)
        latest: list[pb.Suggestion] = []  # none or one: what was not sent in time is stale
        changed = asyncio.Event()
        loop = asyncio.get_running_loop()

        def put(so_far: pb.Suggestion) -> None:
            latest[:] = [so_far]
            changed.set()

        def tell(so_far: pb.Suggestion) -> None:
            loop.call_soon_threadsafe(put, so_far)

        answer = asyncio.ensure_future(self._answer(question, "interactive", interval, tell))
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
        self._check_state()
        batch = Batch(self._read_item, self._answer, self.admission.threads_for("bulk", SHARES_MAX))
        deadline_ns = _deadline(context, time.monotonic_ns())
        async with aclosing(batch.answers(requests, deadline_ns)) as answers:
            async for answer in answers:
                yield answer

    async def Review(self, request: pb.ReviewRequest, context: Context) -> AsyncIterator[pb.ReviewResponse]:
        self._check_state()
        deadline_ns = _deadline(context, time.monotonic_ns())
        loop = asyncio.get_running_loop()
        asked = await loop.run_in_executor(self._readers, read_review, request, self._caps)
        reviewed = Reviewed(asked)
        for decision in asked.decisions:
            verdict = await self._judge(asked, decision, deadline_ns)
            yield pb.ReviewResponse(decision=reviewed.add(verdict))
        yield pb.ReviewResponse(summary=reviewed.summary())

    async def Compare(self, request: pb.CompareRequest, context: Context) -> pb.CompareResponse:
        question = await self._read(request, context, refused=("restrict_to", "lines", "information"))
        check_to_act(question.view)
        if question.budget.share_iterations:
            raise Refusal("CONTRADICTION", "budget.share_iterations", "a comparison has `iterations` for each move")
        actions = read_actions(request.actions, question.view, COMPARED_MAX, "actions")
        if len(actions) < 2:
            raise Refusal("OUT_OF_RANGE", "actions", f"{len(actions)} moves; 2 to {COMPARED_MAX} are possible")
        key = key_of(question.key, [str(action) for action in actions])
        kept = self._cache.get(key, pb.Comparison)
        if isinstance(kept, pb.Comparison):
            self._telemetry.cached()
            kept.budget.CopyFrom(question.budget.message)
            set_elapsed(kept, question.arrival_ns)
            return pb.CompareResponse(comparison=kept)

        def begin(until_ns: int, by_deadline: bool) -> Work:
            return Comparison(question, actions, until_ns, by_deadline=by_deadline)

        comparison: pb.Comparison = await self._run(
            Run("interactive", 1, question.budget, question.arrival_ns, question.deadline_ns), begin
        )
        self._telemetry.searched(comparison)
        if comparison.reproducible:
            self._cache.put(key, comparison)
        return pb.CompareResponse(comparison=comparison)

    async def _judge(self, asked: ReviewQuestion, decision: Decision, deadline_ns: int | None) -> Verdict:
        def begin(until_ns: int, by_deadline: bool) -> Work:
            return Judgement(decision, asked.budget, asked.options, asked.seed, until_ns)

        run = Run("bulk", asked.options.shares, asked.budget, time.monotonic_ns(), deadline_ns)
        verdict: Verdict = await patiently(partial(self._run, run, begin))
        if self._state == "hurrying":
            raise Refusal("UNAVAILABLE", "", "the server stops, and the game is not reviewed to its end")
        return verdict

    # --- how a question is read ---

    async def _read_item(self, item: pb.BatchItem, deadline_ns: int | None) -> Question:
        required(item, "view", "item")
        return self._read_now(item, "item", (), time.monotonic_ns(), deadline_ns, current_client())

    async def _read(self, request: Any, context: Context, field: str = "", refused: tuple[str, ...] = ()) -> Question:
        arrival_ns = time.monotonic_ns()
        self._check_state()
        deadline_ns = _deadline(context, arrival_ns)
        required(request, "view", field)
        if len(request.view.history.actions) > LONG_HISTORY:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                self._readers, self._read_now, request, field, refused, arrival_ns, deadline_ns, current_client()
            )
        return self._read_now(request, field, refused, arrival_ns, deadline_ns, current_client())

    def _read_now(
        self,
        request: Any,
        field: str,
        refused: tuple[str, ...],
        arrival_ns: int,
        deadline_ns: int | None,
        client: Client,
    ) -> Question:
        view, history = views.read_view_and_history(request.view, under(field, "view"))
        options, budget = self._read_thinking(request, field, view, refused)
        check_information(view, options, under(field, "options.information"))
        asked = canonical(view, history, options)
        seed = derived_seed(asked) if options.seed is None else options.seed
        key = b""
        if self._cache.keeps or self._ray:  # searches that cost workers are known by it, too
            limits = (budget.iterations, budget.memory_bytes, budget.confidence, budget.share_iterations)
            key = key_of(client.identity, asked, limits, seed, SIGNATURE)
        return Question(view, history, options, budget, seed, arrival_ns, deadline_ns, key)

    def _read_thinking(self, request: Any, field: str, view: View, refused: tuple[str, ...]) -> tuple[Chosen, Granted]:
        """How to think, and how much."""
        if request.HasField("options"):
            options = read_options(request.options, view.game, view, under(field, "options"), refused)
        else:
            options = NO_OPTIONS
        if request.HasField("budget") or options is not NO_OPTIONS:
            return options, read_budget(request.budget, options, self._caps, under(field, "budget"))
        return options, self._usual_budget

    def _check_state(self) -> None:
        if self._state != "serving":
            raise Refusal("UNAVAILABLE", "", f"the server is {self._state}", retry_after=1.0)

    # --- how it is answered ---

    async def _answer(
        self,
        question: Question,
        kind: Kind,
        every_ms: float = 0,
        tell: Callable[[pb.Suggestion], None] | None = None,
        begun: Callable[[Work], None] | None = None,
    ) -> pb.Suggestion:
        """The answer to a question; `tell` gets those on the way, `begun` what stops the search."""
        if question.view.is_over:
            return _game_over(question)
        if question.view.forced_action is not None and not question.options.information:
            # There is nothing to search, so no thread is needed; nor is it kept, as to find it again takes no longer.
            return answer_forced(question)
        kept = self._cache.get(question.key, pb.Suggestion)
        if kept is not None:
            assert isinstance(kept, pb.Suggestion)
            self._telemetry.cached()
            kept.budget.CopyFrom(question.budget.message)
            set_elapsed(kept, question.arrival_ns)
            return kept
        self._check_lost(question)

        def begin(until_ns: int, by_deadline: bool) -> Work:
            search = Search(question, until_ns, by_deadline=by_deadline)
            if begun:
                begun(search)
            return search

        run = Run(kind, question.options.shares, question.budget, question.arrival_ns, question.deadline_ns)
        try:
            answer: pb.Suggestion = await self._run(run, begin, every_ms, tell)
        except SearchLostError:
            self._lost[question.key] = time.monotonic() + LOST_SECONDS
            raise
        self._telemetry.searched(answer)
        if answer.reproducible:
            note, answer.note = answer.note, ""  # it is of this time only
            self._cache.put(question.key, answer)
            answer.note = note
        return answer

    def _check_lost(self, question: Question) -> None:
        """Refuse what has cost workers before: it would cost others."""
        now = time.monotonic()
        self._lost = {key: until for key, until in self._lost.items() if until > now}
        if question.key in self._lost:
            raise refusal_of(SearchLostError())

    async def _run(
        self,
        run: Run,
        begin: Callable[[int, bool], Work],
        every_ms: float = 0,
        tell: Callable[[Any], None] | None = None,
    ) -> Any:
        """Work on other threads, once there are some free; to the end, unless the caller leaves."""
        deadline_ns = run.deadline_ns
        if deadline_ns is not None and deadline_ns - time.monotonic_ns() < DEADLINE_LEAST_NS:
            raise Refusal("DEADLINE_TOO_SHORT", "", "too little time is left for a first answer")
        seconds = run.budget.time_ms / 1000 if run.budget.is_timed else None
        latest = None if deadline_ns is None else (deadline_ns - DEADLINE_LEAST_NS) / 1e9
        taken, asked = effort.get(), time.monotonic()
        with current_client().searching():
            ticket = await self.admission.enter(run.kind, run.shares, seconds, latest)
            try:
                until_ns, by_deadline = run.until()
                until_ns -= self._overrun.of(until_ns - time.monotonic_ns())
                work = begin(until_ns, by_deadline)
                future = self.pool.submit(work.run, self._backend(ticket.weight), every_ms, tell)
            except BaseException:
                self.admission.leave(ticket)
                raise
            self._under_way.add(work)
            if self._state == "hurrying":
                work.stop(pb.STOP_REASON_SHUTDOWN)
            # The threads are free when the work has ended, not when its caller has left.
            loop = asyncio.get_running_loop()
            future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._leave, work, ticket))
            if taken is not None:
                taken.begin(ticket.begun - asked)
            try:
                answer = await asyncio.shield(asyncio.wrap_future(future))
            except asyncio.CancelledError:
                work.stop(pb.STOP_REASON_CANCELLED)
                raise
            if taken is not None:
                taken.end(time.monotonic() - ticket.begun, getattr(answer, "iterations", 0))
        ended_ns = time.monotonic_ns()
        if ended_ns > until_ns:
            self._overrun.learn(ended_ns - until_ns)
        return answer

    def _backend(self, threads: int) -> Backend:
        return self._ray or Threads(threads, self.pool)

    def _leave(self, work: Work, ticket: Ticket) -> None:
        self._under_way.discard(work)
        self.admission.leave(ticket)


def _deadline(context: Context, arrival_ns: int) -> int | None:
    remaining = context.time_remaining()
    return None if remaining is None else arrival_ns + int(remaining * 1e9)


def _game_over(question: Question) -> pb.Suggestion:
    """Nothing is left to find out."""
    view = question.view
    message = pb.Suggestion(
        stop_reason=pb.STOP_REASON_GAME_OVER,
        budget=question.budget.message,
        seed=question.seed,
        shares=question.options.shares,
        engine_signature=SIGNATURE,
        reproducible=True,
        knowledge="none",
    )
    for seat, (share, points) in enumerate(zip(view.payoffs, view.scores, strict=True)):
        value = message.seats.add(seat=write_seat(seat))
        value.win.mean, value.points.mean = share, points
    set_elapsed(message, question.arrival_ns)
    return message

"""SolverService: the adviser. Requests are read here, searched on other threads, and answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc
from engine_cy import View
from engine_cy.seats import SEATS
from server.admission import Admission, Kind
from server.cache import Cache, key_of
from server.calls import Context
from server.clients import Client, current_client
from server.codec import views
from server.codec.words import required, under, write_seat
from server.errors import Refusal
from server.limits import Caps, Chosen, canonical, derived_seed, read_budget, read_interval, read_options
from server.searches import Question, Search, search_pool, set_elapsed
from server.settings import Settings
from server.telemetry import Telemetry
from solver.solve import all_see_it_is_forced
from solver.version import SIGNATURE

SERVICE = pb.DESCRIPTOR.services_by_name["SolverService"]

# An answer leaves so long before the call's deadline, that it may arrive in time; of short ones, in the middle.
DEADLINE_MARGIN_NS = 10_000_000
# With less than this left, nothing is begun.
DEADLINE_LEAST_NS = 5_000_000
# How long a search may take that begins when the server is about to stop, or whose time is gone.
LAST_NS = 10_000_000
# Histories longer than this are replayed on another thread than the event loop's.
LONG_HISTORY = 24


class SolverService(solver_pb2_grpc.SolverServiceServicer):
    """Belongs to the event loop's thread; only searches, and the replay of long histories, are elsewhere."""

    def __init__(self, settings: Settings, telemetry: Telemetry) -> None:
        threads = settings.search_threads
        self.admission = Admission(
            threads,
            min(settings.reserved, threads - 1),
            {"interactive": settings.interactive_queue, "bulk": settings.bulk_queue},
        )
        self._caps = Caps.of(settings)
        self._cache = Cache(settings.cache_mb * 2**20)
        self.pool = search_pool(threads)
        self._readers = ThreadPoolExecutor(1, "reader")
        self._telemetry = telemetry
        self._searches: set[Search] = set()
        self._state = "starting"
        telemetry.follow(self.admission)

    # --- coming and going ---

    def open(self) -> None:
        self._state = "serving"

    def close(self) -> None:
        """Take nothing new."""
        self._state = "stopping"

    def hurry(self) -> None:
        """Have every call answered soon with what was found: those that wait, too."""
        self._state = "hurrying"
        for search in self._searches:
            search.stop(pb.STOP_REASON_SHUTDOWN)
        self.admission.admit_all()

    def end(self) -> None:
        self.pool.shutdown(wait=False, cancel_futures=True)
        self._readers.shutdown(wait=False, cancel_futures=True)

    # --- calls ---

    async def Suggest(self, request: pb.SuggestRequest, context: Context) -> pb.SuggestResponse:
        question = await self._read(request, context)
        self._check_to_act(question.view)
        return pb.SuggestResponse(suggestion=await self._answer(question, "interactive"))

    async def Analyze(self, request: pb.AnalyzeRequest, context: Context) -> AsyncIterator[pb.AnalyzeResponse]:
        interval = read_interval(request)
        question = await self._read(request, context)
        latest: asyncio.Queue[pb.Suggestion] = asyncio.Queue(1)
        loop = asyncio.get_running_loop()

        def put(so_far: pb.Suggestion) -> None:
            if latest.full():
                latest.get_nowait()  # it was not sent in time, and is stale now
            latest.put_nowait(so_far)

        def tell(so_far: pb.Suggestion) -> None:
            loop.call_soon_threadsafe(put, so_far)

        answer = asyncio.ensure_future(self._answer(question, "interactive", interval, tell))
        try:
            while not answer.done():
                step = asyncio.ensure_future(latest.get())
                await asyncio.wait((answer, step), return_when=asyncio.FIRST_COMPLETED)
                if answer.done() or not step.done():
                    step.cancel()
                else:
                    yield pb.AnalyzeResponse(suggestion=step.result())
            yield pb.AnalyzeResponse(suggestion=await answer, last=True)
        finally:
            answer.cancel()

    # --- how a question is read ---

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
        options = read_options(request.options, view, under(field, "options"), refused)
        budget = read_budget(request.budget, options, self._caps, under(field, "budget"))
        self._check_information(view, options, under(field, "options.information"))
        asked = canonical(view, history, options)
        seed = derived_seed(asked) if options.seed is None else options.seed
        limits = (budget.iterations, budget.memory_bytes, budget.confidence, budget.share_iterations)
        key = key_of(type(request).__name__ == "CompareRequest", client.name, asked, limits, seed, SIGNATURE)
        return Question(view, history, options, budget, seed, arrival_ns, deadline_ns, key)

    def _check_state(self) -> None:
        if self._state != "serving":
            raise Refusal("UNAVAILABLE", "", f"the server is {self._state}", retry_after=1.0)

    @staticmethod
    def _check_to_act(view: View) -> None:
        if view.is_over:
            raise Refusal("GAME_OVER", "view", "nothing can be played any more")
        if view.to_act != view.observer:
            acting = "chance" if view.to_act is None or view.to_act < 0 else SEATS[view.to_act]
            why = f"{acting} is to act, not {SEATS[view.observer]}, who sees this view"
            raise Refusal("NOT_TO_ACT", "view", why)

    @staticmethod
    def _check_information(view: View, options: Chosen, field: str) -> None:
        if options.information and not view.game.has_suspicions:
            raise Refusal("CONTRADICTION", field, f"{view.game.id} has no cards that others may name")
        if options.information and view.to_act != view.observer:
            raise Refusal("CONTRADICTION", field, "only who is to act can reveal a card")

    # --- how it is answered ---

    async def _answer(
        self,
        question: Question,
        kind: Kind,
        every_ms: float = 0,
        tell: Callable[[pb.Suggestion], None] | None = None,
    ) -> pb.Suggestion:
        if question.view.is_over:
            return _game_over(question)
        kept = self._cache.get(question.key, pb.Suggestion)
        if kept is not None:
            assert isinstance(kept, pb.Suggestion)
            self._telemetry.cached()
            kept.budget.CopyFrom(question.budget.message)
            set_elapsed(kept, question.arrival_ns)
            return kept
        if self._is_forced(question):
            # There is nothing to search, so no thread is needed.
            answer = Search(question, 0, by_deadline=False).run(1, self.pool)
        else:
            answer = await self._search(question, kind, every_ms, tell)
            self._telemetry.searched(answer)
        if answer.reproducible:
            self._cache.put(question.key, answer)
        return answer

    @staticmethod
    def _is_forced(question: Question) -> bool:
        view = question.view
        return (
            view.to_act == view.observer
            and not question.options.information
            and len(view.legal_actions()) == 1
            and all_see_it_is_forced(view)
        )

    async def _search(
        self, question: Question, kind: Kind, every_ms: float, tell: Callable[[pb.Suggestion], None] | None
    ) -> pb.Suggestion:
        """Search on other threads, once there are some free; to the end, unless the caller leaves."""
        deadline_ns = question.deadline_ns
        if deadline_ns is not None and deadline_ns - time.monotonic_ns() < DEADLINE_LEAST_NS:
            raise Refusal("DEADLINE_TOO_SHORT", "", "too little time is left for a first answer")
        seconds = question.budget.time_ms / 1000 if question.budget.is_timed else None
        latest = None if deadline_ns is None else (deadline_ns - DEADLINE_LEAST_NS) / 1e9
        with current_client().searching():
            ticket = await self.admission.enter(kind, question.options.shares, seconds, latest)
            try:
                search = self._begin(question, kind)
                future = self.pool.submit(search.run, ticket.weight, self.pool, every_ms, tell)
            except BaseException:
                self.admission.leave(ticket)
                raise
            self._searches.add(search)
            if self._state == "hurrying":
                search.stop(pb.STOP_REASON_SHUTDOWN)
            # The threads are free when the search has ended, not when its caller has left.
            loop = asyncio.get_running_loop()
            future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._leave, search, ticket))
            try:
                return await asyncio.shield(asyncio.wrap_future(future))
            except asyncio.CancelledError:
                search.stop(pb.STOP_REASON_CANCELLED)
                raise

    def _begin(self, question: Question, kind: Kind) -> Search:
        now = time.monotonic_ns()
        # Time counts from the arrival; in a batch, where the client itself makes positions wait, from the beginning.
        begun = question.arrival_ns if kind == "interactive" else now
        until = begun + int(question.budget.time_ms * 1e6)
        by_deadline = False
        if question.deadline_ns is not None:
            margin = min(DEADLINE_MARGIN_NS, max(question.deadline_ns - now, 0) // 2)
            by_deadline = question.deadline_ns - margin < until
            until = min(until, question.deadline_ns - margin)
        return Search(question, max(until, now + LAST_NS) if not by_deadline else until, by_deadline=by_deadline)

    def _leave(self, search: Search, ticket: Any) -> None:
        self._searches.discard(search)
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

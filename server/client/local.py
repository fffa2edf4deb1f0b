"""A client that needs no server: it runs the services of this package in its own process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property, partial
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.descriptor import ServiceDescriptor

from eminence.v1 import record_pb2, rules_pb2, seat_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.client.pace import check_pace, pause
from server.client.refusals import Refused, refused_with
from server.client.requests import PROMPT_SECONDS, REFEREE, RULES, analyze_request, compare_stream_request
from server.client.streams import Stream
from server.codec.fields import required
from server.game_named import installed_game
from server.messages import answers
from server.messages.requests import Caps, check_to_act, read_comparison, read_interval, read_review, read_search
from server.refusals import under
from server.rpc.deadline import Deadline
from server.services import core
from server.services.local import CAPS, LocalSlot, run_now, suggest
from solver.config import Config, read_config
from solver.control import Control
from solver.pool.base import Pool
from solver.pool.threads import Threads
from solver.review import Prospect, Step, Verdict

if TYPE_CHECKING:
    from server.plugins import PluginPool

T = TypeVar("T")


class LocalClient:
    """The interface of `Client` without a server: no caps, no quotas, no queues.

    `config` replaces the default configuration. A single question uses all cores, and Ctrl-C ends it with the result so
    far. A batch computes `workers` positions at a time, by default one for each core. More than two workers are
    processes, which import the program's main file: it needs `if __name__ == "__main__":`. With `ray_address`, a Ray
    cluster computes everything, with at most `workers` workers.

    `caps` limit the budgets of requests, and `threads` the threads of one question. With `isolates`, worker processes
    answer the calls that name an installed game, except on a cluster.
    """

    def __init__(
        self,
        *,
        config: str | Config = "default",
        workers: int | None = None,
        ray_address: str | None = None,
        caps: Caps = CAPS,
        threads: int | None = None,
        isolates: bool = False,
    ) -> None:
        if workers is not None and workers < 1:
            raise ValueError(f"workers: {workers} is less than 1")
        self._config, self._caps = read_config(config), caps
        self._is_closed = False
        self._workers, self._ray_address = workers, ray_address
        self._pool: Pool = Threads(threads) if ray_address is None else _open_ray(ray_address, workers)
        self._isolates = isolates and ray_address is None
        self._plugins: PluginPool | None = None

    # --- the services ---

    @cached_property
    def rules(self) -> Any:
        return _Service(self, RULES)

    @cached_property
    def referee(self) -> Any:
        return _Service(self, REFEREE)

    # --- calls ---

    def _deadline(self, seconds: float | None) -> Deadline:
        """Return the deadline of a call that arrives now."""
        if self._is_closed:
            raise ValueError("the client is closed")
        return Deadline.within(seconds)

    def suggest(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seconds: float | None = None,
        think_at_least: float = 0.0,
    ) -> pb.Suggestion:
        """Return the best move of the view's observer, with the figures of all moves.

        The answer arrives after `think_at_least` seconds at the earliest, but never after the deadline.
        """
        check_pace(think_at_least)
        begun = time.monotonic()
        request = pb.SuggestRequest(view=view, budget=budget, options=options)
        response: pb.SuggestResponse = next(self._answers("Suggest", request, seconds))
        time.sleep(pause(begun, think_at_least, seconds))
        return response.suggestion

    def analyze(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
        *,
        seconds: float | None = None,
    ) -> Stream[pb.AnalyzeResponse]:
        """Search, and yield the answer so far about every `interval_ms`."""
        return self._answers("Analyze", analyze_request(view, budget, options, interval_ms), seconds)

    def compare(
        self,
        view: view_pb2.View,
        actions: Sequence[view_pb2.Action],
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seconds: float | None = None,
    ) -> pb.Comparison:
        """Compare several moves on the same sampled worlds."""
        request = pb.CompareRequest(view=view, actions=actions, budget=budget, options=options)
        response: pb.CompareResponse = next(self._answers("Compare", request, seconds))
        return response.comparison

    def review(
        self,
        record: record_pb2.Record,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        *,
        seat: seat_pb2.Seat.ValueType = seat_pb2.SEAT_UNSPECIFIED,
        seconds: float | None = None,
    ) -> Stream[pb.ReviewResponse]:
        """Judge the decisions of a game; yield one after the other, then a summary."""
        request = pb.ReviewRequest(record=record, seat=seat, budget=budget, options=options)
        return self._answers("Review", request, seconds)

    def write_report(
        self,
        record: record_pb2.Record,
        decisions: Iterable[pb.ReviewedDecision],
        summary: pb.ReviewSummary,
        options: pb.Options | None = None,
        *,
        seat: seat_pb2.Seat.ValueType = seat_pb2.SEAT_UNSPECIFIED,
        language: str = "",
        seconds: float = PROMPT_SECONDS,
    ) -> str:
        """Return the report of a review, one HTML page, from the decisions and the summary of `review`."""
        request = pb.WriteReportRequest(
            record=record, seat=seat, decisions=decisions, summary=summary, options=options, language=language
        )
        response: pb.WriteReportResponse = next(self._answers("WriteReport", request, seconds))
        return response.html

    def analyze_batch(
        self, requests: Iterable[pb.AnalyzeBatchRequest], *, seconds: float | None = None
    ) -> Stream[pb.AnalyzeBatchResponse]:
        """Answer a stream of positions. Another thread reads `requests` while answers arrive."""
        from server.services.local_batch import LocalBatch  # not above: most programs send no batches

        cluster = self._pool if self._ray_address else None
        workers = self._workers or self._pool.width
        batch = LocalBatch(self._config, workers, cluster, self._deadline(seconds), isolates=self._isolates)
        return Stream(_with_refusals(batch.responses(requests)), batch.cancel)

    def describe(self, game_id: str) -> rules_pb2.GameInfo:
        """Return the description of a game; that of a game whose code fails says why it cannot be played."""
        from server.services.rules import info_of

        try:
            request = rules_pb2.ListRulesetsRequest(game_id=game_id)
            info: rules_pb2.GameInfo = next(self._answers("GameInfo", request, None))
        except Refused as refused:
            if refused.reason != "GAME_FAULT":
                raise
            return info_of(game_id, refused.message)
        return info

    def _answers(self, method: str, request: Any, seconds: float | None) -> Stream[Any]:
        deadline = self._deadline(seconds)
        with refusing():
            answers, stop = self.begin(method, request, deadline)
        return Stream(_with_refusals(answers), partial(stop, pb.STOP_REASON_CANCELLED))

    # --- any method by its name ---

    def begin(self, method: str, request: Any, deadline: Deadline) -> tuple[Iterator[Any], Callable[[Any], None]]:
        """Return the answers to a request, and a function that stops its searches with a reason.

        A stopped call ends with the results so far. `method` may also be "BatchItem", whose answers are those of
        Analyze, "GameInfo", with the request of ListRulesets, or "TableStep" of `table_steps`. Errors are raised as
        they are.
        """
        if self._isolates and (game_id := installed_game(request)):
            self._plugins = self._plugins or open_plugins(1, self._config)
            return self._plugins.begin(game_id, method, request, deadline, self._caps.time_ms)
        slot = LocalSlot(self._pool, deadline)
        match method:
            case "Suggest":
                return self._suggest(request, slot), slot.stop
            case "Analyze":
                return self._grow(request, slot, read_interval(request), ""), slot.stop
            case "BatchItem":
                every_ms = read_interval(request) if request.HasField("interval") else 0.0
                slot = LocalSlot(self._pool, deadline.restarted())
                return self._grow(request, slot, every_ms, "item"), slot.stop
            case "Compare":
                return self._compare(request, slot), slot.stop
            case "CompareStream":
                return self._grow_comparison(request, slot, read_interval(request)), slot.stop
            case "Review":
                stopping = Control()
                return self._judge(request, deadline, stopping), lambda _: stopping.stop()
            case "WriteReport":
                return _only(self._report, request), lambda _: None
            case "GameInfo":
                from server.services.rules import info_of

                return _only(info_of, request.game_id), lambda _: None
            case "TableStep":
                from server.services.table_steps import take_step

                return _only(take_step, request), lambda _: None
        return _only(getattr(servicer_of(method), method), request), lambda _: None

    def _suggest(self, request: pb.SuggestRequest, slot: LocalSlot) -> Iterator[pb.SuggestResponse]:
        grant = read_search(request, self._caps, "", self._config)
        check_to_act(grant.view)
        yield pb.SuggestResponse(suggestion=run_now(suggest(grant, slot)))

    def _grow(
        self, request: pb.AnalyzeRequest | pb.BatchItem, slot: LocalSlot, every_ms: float, field: str
    ) -> Iterator[pb.AnalyzeResponse]:
        so_far: SimpleQueue[pb.Suggestion | None] = SimpleQueue()  # None at the end
        grant = read_search(request, self._caps, field, self._config)
        if slot.stopped_for and grant.question is not None:
            yield pb.AnalyzeResponse(suggestion=core.suggest_cancelled(grant), last=True)
            return
        begun = suggest(grant, slot, every_ms, so_far.put if every_ms else None)
        for suggestion, is_last in _growing(begun, so_far, slot):
            yield pb.AnalyzeResponse(suggestion=suggestion, last=is_last)

    def _compare(self, request: pb.CompareRequest, slot: LocalSlot) -> Iterator[pb.CompareResponse]:
        grant = read_comparison(request, self._caps, self._config)
        slot.begin(grant.budget.time_ms)
        comparison = run_now(core.compare(grant, slot))
        answers.set_elapsed(comparison, slot.deadline.arrival_ns)
        yield pb.CompareResponse(comparison=comparison)

    def _grow_comparison(
        self, request: pb.CompareStreamRequest, slot: LocalSlot, every_ms: float
    ) -> Iterator[pb.CompareStreamResponse]:
        so_far: SimpleQueue[pb.Comparison | None] = SimpleQueue()  # None at the end
        required(request, "compare", "")
        with under("compare"):
            grant = read_comparison(request.compare, self._caps, self._config)
        slot.begin(grant.budget.time_ms)
        arrival_ns = slot.deadline.arrival_ns
        begun = core.compare(grant, slot, every_ms, answers.timed_report(so_far.put, arrival_ns))
        for comparison, is_last in _growing(begun, so_far, slot):
            answers.set_elapsed(comparison, arrival_ns)
            yield pb.CompareStreamResponse(comparison=comparison, last=is_last)

    def compare_stream(
        self,
        view: view_pb2.View,
        actions: Sequence[view_pb2.Action],
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
        *,
        seconds: float | None = None,
    ) -> Stream[pb.CompareStreamResponse]:
        """Compare several moves, and yield the answer so far about every `interval_ms`."""
        request = compare_stream_request(view, actions, budget, options, interval_ms)
        return self._answers("CompareStream", request, seconds)

    def _judge(self, request: pb.ReviewRequest, deadline: Deadline, stopping: Control) -> Iterator[pb.ReviewResponse]:
        """Judge steps in parallel, up to the number of threads; yield the verdicts in the game's order."""

        def judge(step: Step) -> Verdict | Prospect:
            slot = LocalSlot(self._pool, deadline.restarted())
            slot.begin(grant.judge.budget.time_ms)
            with stopping.stopping(slot.cancel):
                return run_now(core.judge(grant.judge, step, grant.judge.search(step), slot))

        grant = read_review(request, self._caps, self._config)
        writer = answers.ReviewWriter(grant)
        executor = ThreadPoolExecutor(max(self._pool.width // grant.shares, 1), "judge")
        try:
            if (begun := writer.begun()) is not None:
                yield pb.ReviewResponse(begun=begun)
            for judged in executor.map(judge, grant.steps):
                if (decision := writer.add(judged)) is not None:
                    yield pb.ReviewResponse(decision=decision)
        finally:
            stopping.stop()
            executor.shutdown(cancel_futures=True)
        yield pb.ReviewResponse(summary=writer.summary())

    def _report(self, request: pb.WriteReportRequest) -> pb.WriteReportResponse:
        from server.report.page import write_report  # not above: most programs write no reports
        from server.report.reading import read_language, read_review

        language = read_language(request)
        return pb.WriteReportResponse(html=write_report(read_review(request, self._config), language))

    def close(self) -> None:
        self._is_closed = True
        self._pool.close()
        if self._plugins is not None:
            self._plugins.close()

    def __enter__(self) -> LocalClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _growing(begun: Coroutine[Any, Any, T], so_far: SimpleQueue[T | None], slot: LocalSlot) -> Iterator[tuple[T, bool]]:
    """Yield the answers in `so_far`, until it holds None at the end, then the last answer."""
    with ThreadPoolExecutor(1, "growing") as executor:
        answer = executor.submit(run_now, begun)
        answer.add_done_callback(lambda _: so_far.put(None))
        try:
            while (latest := slot.wait(so_far.get)) is not None:
                yield latest, False
            yield answer.result(), True
        finally:
            slot.cancel()


class _Service:
    """The methods of a service that needs no search."""

    def __init__(self, client: LocalClient, service: ServiceDescriptor) -> None:
        for name in service.methods_by_name:
            setattr(self, name, partial(_call, client, name))


def _call(client: LocalClient, method: str, request: Any, timeout: float | None = None) -> Any:
    """Call a method. `timeout` is ignored: it exists for the interface of `Client`."""
    return next(client._answers(method, request, None))


@cache
def servicer_of(method: str) -> Any:
    """Return the servicer of a method of RulesService or RefereeService."""
    if method in RULES.methods_by_name:
        from server.services.rules import RulesService

        return RulesService()
    from server.services.referee import RefereeService

    return RefereeService()


def _only(handle: Callable[[Any], Any], request: Any) -> Iterator[Any]:
    yield handle(request)


def open_plugins(workers: int, config: Config) -> PluginPool:
    """Open worker processes for installed games. Together they may use half of this machine's memory."""
    from server.plugin_worker import MEGABYTE, Setup
    from server.plugins import PluginPool

    memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // (2 * workers * MEGABYTE)
    return PluginPool(workers, Setup(config, CAPS, None if workers == 1 else 1, memory_mb))


def _open_ray(address: str, workers: int | None) -> Pool:
    from solver.pool.ray_pool import RayPool

    return RayPool(workers, address=address)


# --- errors -----------------------------------------------------------------------------------------------------


@contextmanager
def refusing() -> Iterator[None]:
    """Raise refusals as `Refused`, like a client of a server; other exceptions pass unchanged."""
    try:
        yield
    except Exception as error:
        from server.rpc.status import expected_refusal_of, status_of

        refusal = expected_refusal_of(error)
        if refusal is None:
            raise
        raise refused_with(status_of(refusal)) from None


def _with_refusals(answers: Iterator[T]) -> Iterator[T]:
    with refusing():
        yield from answers

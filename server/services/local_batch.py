"""AnalyzeBatch without a server: threads, processes or a cluster answer the positions."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from queue import SimpleQueue
from threading import RLock, Semaphore, Thread, Timer

from eminence.v1 import solver_pb2 as pb
from server.game_named import installed_game
from server.messages.requests import check_id, read_interval, read_priority
from server.plugins import PluginPool
from server.refusals import Refusal, missing
from server.rpc.deadline import Deadline
from server.rpc.status import refusal_of, status_of
from server.services.local import CAPS, LocalSlot, answer_bytes, answer_item, run_later, until_done
from solver.config import Config
from solver.control import Control
from solver.pool.base import AHEAD, Pool
from solver.pool.processes import Processes
from solver.pool.threads import Threads

THREADS_MAX = 2


@dataclass(eq=False, slots=True)
class _LocalItem:
    message: pb.BatchItem
    every_ms: float = 0.0  # interval of progress reports; 0: none
    is_running: bool = False
    is_cancelled: bool = False
    stop: Callable[[], None] = lambda: None
    stop_late: Callable[[], None] = lambda: None  # for the deadline, if the pool does not know it


class LocalBatch:
    """One AnalyzeBatch call. A thread of its own reads the requests.

    A worker parses the bytes of a position and returns the bytes of its answer. One or two workers are threads, which
    start at once; more are processes, because the GIL allows one thread at a time outside searches. With a cluster,
    this process parses positions and writes answers, and the cluster computes the questions. With `isolates`, worker
    processes of their own answer the positions of installed games.
    """

    def __init__(
        self, config: Config, workers: int, cluster: Pool | None, deadline: Deadline, *, isolates: bool = False
    ) -> None:
        self._isolates = isolates
        self._plugins: PluginPool | None = None
        self._config, self._workers, self._cluster, self._deadline = config, workers, cluster, deadline
        self._pool: Processes | Threads | None = None
        self._at_once = AHEAD
        self._room = Semaphore(AHEAD)  # for positions read and not answered
        self._responses: SimpleQueue[pb.AnalyzeBatchResponse | BaseException | None] = SimpleQueue()  # None: the end
        self._lock = RLock()
        # The lock guards the following attributes.
        self._items: dict[str, _LocalItem] = {}  # without a last answer
        self._waiting: list[tuple[int, int, _LocalItem]] = []  # a heap; cancelled items stay until they are popped
        self._order = count()
        self._n_running = 0
        self._is_beginning = False
        self._is_read = False
        self._is_late = False  # the deadline has passed
        self._is_cancelled = False

    def cancel(self) -> None:
        """Stop all work, from any thread."""
        with self._lock:
            self._is_cancelled = True
            for item in self._items.values():
                item.stop()
        self._room.release()
        self._responses.put(None)

    def responses(self, requests: Iterable[pb.AnalyzeBatchRequest]) -> Iterator[pb.AnalyzeBatchResponse]:
        """Read requests on another thread, and yield the answers as they arrive."""
        with ExitStack() as stack:
            if self._cluster is None:
                kind = Threads if self._workers <= THREADS_MAX else Processes
                self._pool = kind(self._workers)
                self._at_once = 2 * self._pool.width  # a free worker finds the next position in the pool's queue
                stack.callback(self._pool.close)
            stack.callback(self._close_plugins)
            stack.callback(self.cancel)
            if (left_s := self._deadline.left_seconds()) is not None:
                timer = Timer(left_s, self._end_late)
                timer.daemon = True
                timer.start()
                stack.callback(timer.cancel)
            Thread(target=self._read, args=(requests,), name="requests", daemon=True).start()
            while not self._is_cancelled and (response := self._responses.get()) is not None:
                if isinstance(response, BaseException):
                    raise response
                if not response.HasField("progress"):
                    self._room.release()
                yield response

    def _close_plugins(self) -> None:
        if self._plugins is not None:
            self._plugins.close()

    # --- requests ---

    def _read(self, requests: Iterable[pb.AnalyzeBatchRequest]) -> None:
        try:
            for request in requests:
                if request.HasField("item"):
                    self._room.acquire()
                with self._lock:
                    if self._is_cancelled or self._is_late:
                        return
                    self._take(request)
            with self._lock:
                self._is_read = True
                self._end_if_done()
        except BaseException as error:
            self._responses.put(error)

    def _take(self, request: pb.AnalyzeBatchRequest) -> None:
        match request.WhichOneof("command"):
            case "item":
                self._add(request.item)
            case "cancel":
                self._cancel(request.cancel.id)
            case "cancel_all":
                for name in list(self._items):
                    self._cancel(name)
            case _:
                raise missing("command", "one of item, cancel, cancel_all is required")

    def _add(self, message: pb.BatchItem) -> None:
        check_id(message.id, self._items)
        item = self._items[message.id] = _LocalItem(message)
        try:
            priority = read_priority(message)
            if message.HasField("interval"):
                item.every_ms = read_interval(message, "item.interval")
        except Refusal as refusal:
            self._refuse(item, refusal)
            return
        heapq.heappush(self._waiting, (-priority, next(self._order), item))
        self._begin_some()

    def _cancel(self, name: str) -> None:
        item = self._items.get(name)
        if item is None or item.is_cancelled:
            return
        item.is_cancelled = True
        if item.is_running:
            item.stop()
        else:
            self._begin(item)  # it needs no search, so no worker

    # --- answers ---

    def _begin_some(self) -> None:
        """Start waiting positions while the pool has room.

        A position that ends at once calls this method again; the inner call returns, and the outer loop goes on.
        """
        if self._is_beginning:
            return
        self._is_beginning = True
        try:
            while self._waiting and self._n_running < self._at_once:
                _, _, item = heapq.heappop(self._waiting)
                if not item.is_running:
                    self._begin(item)
        finally:
            self._is_beginning = False

    def _begin(self, item: _LocalItem) -> None:
        item.is_running = True
        self._n_running += 1
        try:
            answer = self._answer(item)
        except Exception as error:
            answer = Future()
            answer.set_exception(error)
        answer.add_done_callback(partial(self._end, item))

    def _answer(self, item: _LocalItem) -> Future[pb.Suggestion | bytes]:
        """Submit a position to a worker or the cluster."""
        if self._isolates and (game_id := installed_game(item.message)):
            return self._answer_isolated(item, game_id)
        message, every_ms = item.message, item.every_ms
        report = partial(self._report, message.id) if every_ms else None
        if self._pool is None or item.is_cancelled:
            slot = LocalSlot(self._cluster, self._deadline.restarted(), until_done, spreads=False)
            item.stop, item.stop_late = slot.cancel, partial(slot.stop, pb.STOP_REASON_DEADLINE)
            if item.is_cancelled:
                slot.cancel()
            return run_later(answer_item(message, self._config, slot, every_ms, report))
        control = Control(report, every_ms)
        item.stop = control.stop
        return self._pool.call(answer_bytes, (message.SerializeToString(), self._config, self._deadline), control)

    def _answer_isolated(self, item: _LocalItem, game_id: str) -> Future[pb.Suggestion | bytes]:
        """Submit a position of an installed game to a worker process."""
        from server.client.local import open_plugins

        plugins = self._plugins = self._plugins or open_plugins(self._workers, self._config)
        answer: Future[pb.Suggestion | bytes] = Future()
        last = pb.Suggestion()

        def receive(raw: bytes) -> None:
            response = pb.AnalyzeResponse.FromString(raw)
            if response.last:
                last.CopyFrom(response.suggestion)
            else:
                self._report(item.message.id, response.suggestion)

        def end(call: Future[None]) -> None:
            error = call.exception()
            if error is None:
                answer.set_result(last)
            else:
                answer.set_exception(error)

        call = plugins.submit(plugins.job(game_id, "BatchItem", item.message, self._deadline, CAPS.time_ms), receive)
        item.stop = partial(call.stop, pb.STOP_REASON_CANCELLED)
        item.stop_late = partial(call.stop, pb.STOP_REASON_DEADLINE)
        if item.is_cancelled:
            item.stop()
        call.add_done_callback(end)
        return answer

    def _report(self, name: str, suggestion: pb.Suggestion | bytes) -> None:
        self._responses.put(pb.AnalyzeBatchResponse(id=name, progress=_suggestion(suggestion)))

    def _end(self, item: _LocalItem, answer: Future[pb.Suggestion | bytes]) -> None:
        """Send the last answer of a position, and start the next one."""
        with self._lock:
            self._n_running -= 1
            if self._is_cancelled:
                return
            error = answer.exception()
            if error is None:
                self._finish(pb.AnalyzeBatchResponse(id=item.message.id, suggestion=_suggestion(answer.result())))
            else:
                self._refuse(item, error)
            self._begin_some()

    def _refuse(self, item: _LocalItem, error: BaseException) -> None:
        if not isinstance(error, Exception):
            self._responses.put(error)
        else:
            self._finish(pb.AnalyzeBatchResponse(id=item.message.id, error=status_of(refusal_of(error))))

    def _finish(self, response: pb.AnalyzeBatchResponse) -> None:
        del self._items[response.id]
        self._responses.put(response)
        self._end_if_done()

    def _end_late(self) -> None:
        """Stop running positions at the deadline, and read no more requests; the start of waiting ones refuses them."""
        with self._lock:
            self._is_late = True
            for item in list(self._items.values()):
                item.stop_late()
            self._end_if_done()

    def _end_if_done(self) -> None:
        if self._items:
            return
        if self._is_read:
            self._responses.put(None)
        elif self._is_late:
            self._responses.put(Refusal("DEADLINE_TOO_SHORT", "", "the deadline passed before the requests ended"))


def _suggestion(suggestion: pb.Suggestion | bytes) -> pb.Suggestion:
    return pb.Suggestion.FromString(suggestion) if isinstance(suggestion, bytes) else suggestion

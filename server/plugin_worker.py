"""The worker process of installed games: a `LocalClient` that answers the calls of its parent, one at a time.

Answers go to the parent as bytes of messages, and refusals as JSON: it unpickles nothing that an installed game may
have made. A thread watches the game. Once a second it sends a beat; without beats, the parent kills the process. If a
method of the game does not return in time, it reports the method and the line, and ends the process.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Mapping
from functools import cache
from multiprocessing.connection import Connection
from pathlib import PurePath
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from google.protobuf.message_factory import GetMessageClass
from google.protobuf.wrappers_pb2 import BytesValue

from eminence.v1 import rules_pb2, solver_pb2
from engine_cy.registry import module_of_installed
from server.client.requests import REFEREE, RULES
from server.messages.requests import Caps
from server.refusals import Refusal
from server.rpc.deadline import Deadline
from solver.config import Config

# The first byte of each message to the parent. ANSWER has the bytes of a message, REFUSAL and FAULT the JSON of a
# refusal. The last four end a call; after RETIRING (half of the memory is used) and FAULT, the process ends, too.
READY, BEAT, BEGUN, ANSWER, END, RETIRING, REFUSAL, FAULT = b"!", b".", b">", b"a", b"e", b"x", b"r", b"f"
BEAT_S = 1.0
# Interval between two looks at the methods that run.
WATCH_S = 0.1
MEGABYTE = 2**20
# The parts of calls about several games, which name one: their requests and answers.
PARTS = {
    "BatchItem": (solver_pb2.BatchItem, solver_pb2.AnalyzeResponse),
    "GameInfo": (rules_pb2.ListRulesetsRequest, rules_pb2.GameInfo),
    "TableStep": (BytesValue, BytesValue),
}


class Setup(NamedTuple):
    """The settings of worker processes. Each method of a game must return within `method_s`."""

    config: str | Config
    caps: Caps
    threads: int | None = None
    memory_mb: int = 1024
    method_s: float = 5.0
    niceness: int = 0


class Job(NamedTuple):
    """A call: the name of a method in the contract, or one of PARTS, and the bytes of its request.

    It ends at `end_ns` on the monotonic clock, or when there is no answer for `answer_s`.
    """

    game_id: str
    method: str
    request: bytes
    deadline: Deadline
    end_ns: int
    answer_s: float


class Stop(NamedTuple):
    """A request to end the call with the result so far; `reason` is a StopReason."""

    reason: int


def serve_parent(connection: Connection, setup: Setup) -> NoReturn:
    """Answer the parent's calls until it closes the connection."""
    os.dup2(2, 1)  # standard output belongs to the parent
    os.nice(setup.niceness)
    _limit_memory(setup.memory_mb)
    from server.client.local import LocalClient

    worker = _Worker(connection, setup, LocalClient(config=setup.config, caps=setup.caps, threads=setup.threads))
    worker.run()


class _Worker:
    """The calls on the main thread, the parent's messages and the watch of the game on a second one."""

    def __init__(self, connection: Connection, setup: Setup, client: Any) -> None:
        self._connection, self._setup, self._client = connection, setup, client
        self._sending = threading.Lock()
        self._changed = threading.Condition()
        # The condition guards these attributes.
        self._job: Job | None = None
        self._watch: _Watch | None = None
        self._stop: Any = None  # the function that stops the running call
        self._stop_reason = 0

    def run(self) -> NoReturn:
        threading.Thread(target=self._listen, name="parent", daemon=True).start()
        self._send(READY)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._job)
                job = self._job
            assert job is not None
            last = self._answer(job)
            is_large = _resident_bytes() > self._setup.memory_mb * MEGABYTE / 2
            with self._changed:
                self._job = self._watch = self._stop = None
                self._stop_reason = 0
            self._send(RETIRING if last == END and is_large else last)

    def _answer(self, job: Job) -> bytes:
        """Send the answers to a call; return its last message."""
        self._send(BEGUN)
        try:
            request = request_class(job.method).FromString(job.request)
            answers, stop = self._client.begin(job.method, request, job.deadline)
            with self._changed:
                self._stop, reason = stop, self._stop_reason
            if reason:
                stop(reason)
            for answer in answers:
                self._send(ANSWER + answer.SerializeToString())
                if self._watch is not None:
                    self._watch.answered_at = time.monotonic()
            return END
        except BaseException as error:
            return REFUSAL + _as_json(_refusal_of(error, job.game_id))

    def _send(self, message: bytes) -> None:
        with self._sending:
            self._connection.send_bytes(message)

    # --- the second thread ---

    def _listen(self) -> None:
        """Take the parent's messages, and watch the running methods; end the process with the parent."""
        beat_at = time.monotonic() + BEAT_S
        try:
            while True:
                if self._connection.poll(WATCH_S):
                    message = pickle.loads(self._connection.recv_bytes())
                    self._take(message)
                if time.monotonic() >= beat_at:
                    self._send(BEAT)
                    beat_at = time.monotonic() + BEAT_S
                with self._changed:  # no call ends meanwhile
                    if self._watch is not None and (fault := self._watch.fault()):
                        self._send(FAULT + _as_json(Refusal("GAME_FAULT", "", fault)))
                        os._exit(1)
        except (EOFError, OSError):
            os._exit(0)

    def _take(self, message: Job | Stop) -> None:
        with self._changed:
            if isinstance(message, Job):
                self._job, self._watch = message, _Watch(message, self._setup.method_s)
                self._changed.notify()
            elif self._job is not None:
                self._stop_reason = message.reason
                if self._stop is not None:
                    self._stop(message.reason)


class _Watch:
    """The watch of one call: it finds methods of the game that do not return.

    It compares frames, so a search may call a method for as long as it likes, but no single call may last.
    """

    def __init__(self, job: Job, method_s: float) -> None:
        self._job, self._method_s = job, method_s
        self.answered_at = time.monotonic()
        self._running: dict[int, tuple[FrameType, float]] = {}  # by thread: a method, and when it was seen first

    def fault(self) -> str:
        """Return what is wrong, or an empty text."""
        now, game_id = time.monotonic(), self._job.game_id
        seen, self._running = self._running, {}
        is_over = time.monotonic_ns() > self._job.end_ns or now - self.answered_at > self._job.answer_s
        for thread, frame in sys._current_frames().items():
            lines = _stack(frame)
            method = _outermost(lines, game_id)
            if method is None:
                continue
            before = seen.get(thread)
            since = before[1] if before and before[0] is method else now
            self._running[thread] = method, since
            if is_over or now - since > self._method_s:
                within = "by the end of the call" if is_over else f"within {self._method_s:g} s"
                return f"{_place(game_id, lines, method)}: did not return {within}; its process was ended"
        return f"{game_id}: no answer by the end of the call; its process was ended" if is_over else ""


def _stack(frame: FrameType) -> dict[FrameType, int]:
    """Return the frames of a thread and their lines, the outermost first."""
    return dict([*traceback.walk_stack(frame)][::-1])


def _outermost(frames: Iterable[FrameType], game_id: str) -> FrameType | None:
    """Return the first frame in the package of an installed game: the method that the engine called."""
    package = module_of_installed(game_id)
    return next((frame for frame in frames if frame.f_globals.get("__name__", "").split(".")[0] == package), None)


def _place(game_id: str, lines: Mapping[FrameType, int], method: FrameType) -> str:
    """Return the method, and the innermost line in its file."""
    code = method.f_code
    *_, line = (line for frame, line in lines.items() if frame.f_code.co_filename == code.co_filename)
    return f"{game_id}: {code.co_qualname} ({PurePath(code.co_filename).name}, line {line})"


def _refusal_of(error: BaseException, game_id: str) -> Refusal:
    """Return the refusal for an error; an unexpected one in the game's package is its fault, not ours."""
    from server.rpc.status import expected_refusal_of, refusal_of

    expected = expected_refusal_of(error) if isinstance(error, Exception) else None
    if expected is not None:
        return expected
    lines = dict(traceback.walk_tb(error.__traceback__))
    method = _outermost(lines, game_id)
    if method is None and isinstance(error, Exception):
        return refusal_of(error)
    place = game_id if method is None else _place(game_id, lines, method)
    return Refusal("GAME_FAULT", "", f"{place}: {type(error).__name__}: {error}")


@cache
def _method(name: str) -> Any:
    """Return the descriptor of a method of the contract."""
    services = (solver_pb2.DESCRIPTOR.services_by_name["SolverService"], RULES, REFEREE)
    return next(service.methods_by_name[name] for service in services if name in service.methods_by_name)


def request_class(method: str) -> Any:
    return PARTS[method][0] if method in PARTS else GetMessageClass(_method(method).input_type)


def response_class(method: str) -> Any:
    return PARTS[method][1] if method in PARTS else GetMessageClass(_method(method).output_type)


def _as_json(refusal: Refusal) -> bytes:
    return json.dumps([refusal.reason, refusal.field, refusal.why, refusal.retry_after]).encode()


def _limit_memory(megabytes: int) -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (megabytes * MEGABYTE,) * 2)


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

"""JSON lines: requests and answers of the contract over a pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.protobuf import json_format
from process import OTHERS_TURN, REVEAL, refusal, server, stub, suggest, view
from program import ROOT
from waiting import HANG_S, wait_until

from eminence.v1 import rules_pb2
from eminence.v1 import solver_pb2 as pb
from engine_cy import new_game
from engine_cy.record import Record
from server.codec import records
from server.codec.json_mapping import from_json, read_object, to_json
from server.refusals import Refusal
from server.rpc.json_lines import LINE_MAX, Room, lines_of

LONG = 10**12
COMPARED = {"view": to_json(view()), "actions": [{"text": "reveal"}, {"text": "keep"}]}


class Engine:
    """An engine process, and its lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self.input, self.output = process.stdin, process.stdout

    def write(self, *lines: Any) -> None:
        for line in lines:
            raw = line if isinstance(line, bytes) else json.dumps(line).encode()
            self.input.write(raw + b"\n")
        self.input.flush()

    def read(self) -> Any:
        return json.loads(self.output.readline())

    def ask(self, *lines: Any) -> Any:
        self.write(*lines)
        return self.read()

    def end(self) -> tuple[list[Any], int]:
        """Close the input; return the rest of the answers, and the exit code."""
        self.input.close()
        answers = [json.loads(line) for line in self.output]
        return answers, self.process.wait(HANG_S)


@contextmanager
def engine(*flags: str) -> Iterator[Engine]:
    command = [sys.executable, "-m", "server", "--stdio", "--no-self-test", "--log", "error", *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield Engine(process)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def shared() -> Iterator[Engine]:
    with engine("--threads", "2") as running:
        yield running


def line(id: str, method: str = "Suggest", *, text: str = REVEAL, **budget: Any) -> dict[str, Any]:
    request = to_json(suggest(text, **(budget or {"iterations": 50})))
    return {"id": id, "method": method, "request": request}


def without_time(message: Any) -> Any:
    message.ClearField("elapsed")
    return message


# --- the mapping --------------------------------------------------------------------------------------------------


def test_the_writer_agrees_with_the_library(shared: Engine) -> None:
    suggestion = json_format.ParseDict(shared.ask(line("mapping"))["answer"], pb.SuggestResponse())
    games = rules_pb2.ListGamesResponse(games=[rules_pb2.GameInfo(game_id="x", players=[3, 4])])
    odd = pb.Estimate(mean=float("nan"), spread=float("inf"), raw_mean=-0.0)
    many = pb.Budget(share_iterations=[1, -(2**63)], confidence=0.5)
    for message in (suggestion, games, odd, many, pb.Options(seed=2**64 - 1, information=True), suggest(time_ms=1.5)):
        assert to_json(message) == json_format.MessageToDict(message)


WRONG = {
    "{": ("MALFORMED_MESSAGE", ""),
    "[1]": ("MALFORMED_MESSAGE", ""),
    '{"a": NaN}': ("MALFORMED_MESSAGE", ""),
    '{"view": {}, "view": {}}': ("MALFORMED_MESSAGE", ""),
    '{"a": ' + "[" * 100_000: ("MALFORMED_MESSAGE", ""),
    '{"options": {"seed": ' + "9" * 5000 + "}}": ("MALFORMED_MESSAGE", ""),
    '{"viw": {}}': ("UNKNOWN_FIELD", "viw"),
    '{"view": {"oriflamme": {"table": {"slots": [{}, {"cads": []}]}}}}': (
        "UNKNOWN_FIELD",
        "view.oriflamme.table.slots[1].cads",
    ),
    '{"view": 3}': ("MALFORMED_MESSAGE", "view"),
    '{"view": {"text": {"a": 1}}}': ("MALFORMED_MESSAGE", "view.text"),
    '{"view": {"text": "a", "oriflamme": {}}}': ("CONTRADICTION", "view.oriflamme"),
    '{"budget": {"iterations": "many"}}': ("MALFORMED_MESSAGE", "budget.iterations"),
    '{"budget": {"time": 5}}': ("MALFORMED_MESSAGE", "budget.time"),
    '{"budget": {"shareIterations": [1, null]}}': ("MALFORMED_MESSAGE", "budget.share_iterations[1]"),
    '{"budget": {"shareIterations": 1}}': ("MALFORMED_MESSAGE", "budget.share_iterations"),
    '{"options": {"shares": 4294967297}}': ("MALFORMED_MESSAGE", "options.shares"),
    '{"options": {"information": "yes"}}': ("MALFORMED_MESSAGE", "options.information"),
    '{"options": {"models": [{"seat": "SEAT_Q"}]}}': ("UNKNOWN_VALUE", "options.models[0].seat"),
    '{"view": {"typed": {"@type": "x"}}}': ("MALFORMED_MESSAGE", "view.typed"),
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:40])
def test_json_that_is_no_message_is_refused_by_its_path(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        from_json(read_object(text), pb.SuggestRequest())
    assert (refused.value.reason, refused.value.field) == WRONG[text]
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


# --- lines --------------------------------------------------------------------------------------------------------


def lines(*chunks: bytes) -> list[tuple[int, bytes | None]]:
    source, sink = os.pipe()

    def write() -> None:
        for chunk in chunks:
            os.write(sink, chunk)
        os.close(sink)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        return list(lines_of(source))
    finally:
        writer.join()
        os.close(source)


def test_a_line_that_is_too_long_is_skipped_and_the_next_one_is_read() -> None:
    long = b"x" * (LINE_MAX + 1)
    assert lines(b"a\nb", b"c\n") == [(1, b"a"), (2, b"bc")]
    assert lines(b"a\n" + long + b"\nb\n", b"last") == [(1, b"a"), (2, None), (3, b"b"), (4, b"last")]
    assert lines(*[b"y" * 2**16] * 40, b"\nb") == [(1, None), (2, b"b")]
    assert lines(long) == [(1, None)]
    assert lines(b"z" * LINE_MAX + b"\n") == [(1, b"z" * LINE_MAX)]


def test_a_request_waits_while_too_many_or_too_large_ones_are_pending() -> None:
    room = Room(requests=2, size=10)
    room.take(5)
    room.take(6)
    taken = threading.Event()

    def take_another() -> None:
        room.take(1)
        taken.set()

    threading.Thread(target=take_another, daemon=True).start()
    room.release(0)  # a place, and no bytes
    assert not taken.wait(0.05)
    room.release(5)
    assert taken.wait(HANG_S)


@pytest.mark.slow
def test_answers_are_those_of_the_service(shared: Engine) -> None:
    request = suggest(iterations=200)
    answer = shared.ask(line("same", iterations=200))
    with server("--threads", "1", "--cache-mb", "0") as running, running.channel() as channel:
        expected = stub(channel).Suggest(request, timeout=HANG_S)
        assert answer["id"] == "same"
        assert "more" not in answer
        ours = from_json(answer["answer"], pb.SuggestResponse())
        assert without_time(ours.suggestion) == without_time(expected.suggestion)

        wrong = {"B": suggest("A:? >B:Hei | seen by B"), "C": suggest(OTHERS_TURN), "D": suggest(iterations=0)}
        for id, bad in wrong.items():
            error = shared.ask({"id": id, "method": "Suggest", "request": to_json(bad)})["error"]
            assert (error["code"], error["reason"], error.get("field", "")) == refusal(stub(channel).Suggest, bad)


def test_every_unary_method_answers(shared: Engine) -> None:
    assert len(shared.ask({"id": "games", "method": "ListGames"})["answer"]["games"]) >= 3
    game = to_json(view().game)
    dealt = shared.ask({"id": "deal", "method": "Deal", "request": {"game": game, "seed": "7"}})
    assert dealt["id"] == "deal"
    assert "answer" in dealt
    compared = {
        "view": to_json(view()),
        "actions": [{"text": "reveal"}, {"text": "keep"}],
        "budget": {"iterations": 50},
    }
    answer = shared.ask({"id": "compare", "method": "Compare", "request": compared})
    assert [action["action"]["text"] for action in answer["answer"]["comparison"]["actions"]] == ["reveal", "keep"]


def test_growing_answers_are_marked_until_the_last(shared: Engine) -> None:
    asked = line("grows", "Analyze", time_ms=300)
    asked["request"]["interval"] = "0.05s"
    steps = [shared.ask(asked)]
    while steps[-1].get("more"):
        steps.append(shared.read())
    assert len(steps) > 1
    assert {step["id"] for step in steps} == {"grows"}
    assert steps[-1]["answer"]["last"] is True
    assert "last" not in steps[0]["answer"]
    visits = [int(step["answer"]["suggestion"]["iterations"]) for step in steps]
    assert visits == sorted(visits)


def test_a_review_sends_its_decisions_and_then_a_summary(shared: Engine) -> None:
    position = new_game("kuhn_poker", players=2).deal(1)
    actions: list[str] = []
    start = position
    while not position.is_over:
        action = position.legal_actions()[0]
        actions.append(str(action))
        position = position.play(action)
    asked = {"record": to_json(records.write(Record(start, tuple(actions)))), "budget": {"iterations": 20}}
    steps = [shared.ask({"id": "review", "method": "Review", "request": asked})]
    while steps[-1].get("more"):
        steps.append(shared.read())
    assert [next(iter(step["answer"])) for step in steps] == ["decision"] * (len(steps) - 1) + ["summary"]
    assert len(steps) > 1


@pytest.mark.slow
def test_many_at_once_are_answered_out_of_order_and_each_once() -> None:
    with engine("--threads", "1") as running:
        running.write(line("slow", iterations=60_000), *[line(f"{i}") | {"priority": 1} for i in range(40)])
        answers, code = running.end()
    ids = [answer["id"] for answer in answers]
    assert sorted(ids) == sorted(["slow", *map(str, range(40))])
    assert all("answer" in answer for answer in answers)
    assert code == 0


def test_a_cancelled_position_is_answered_with_what_was_found(shared: Engine) -> None:
    shared.write(line("long", iterations=LONG), line("quick"))
    assert shared.read()["id"] == "quick"
    stopped = shared.ask({"cancel": "long"})
    assert stopped["id"] == "long"
    assert stopped["answer"]["suggestion"]["stopReason"] == "STOP_REASON_CANCELLED"


def test_a_cancelled_call_ends_with_its_code(shared: Engine) -> None:
    compared = {"view": to_json(view()), "actions": [{"text": "reveal"}, {"text": "keep"}], "budget": {"time": "50s"}}
    shared.write(
        {"id": "endless", "method": "Compare", "request": compared}, {"cancel": "endless"}, {"cancel": "endless"}
    )
    answers = [shared.read(), shared.read()]
    assert {"id": "endless", "error": {"code": "CANCELLED", "message": "the request was cancelled"}} in answers


BAD_LINES: list[tuple[Any, str, str, str]] = [
    (b"nonsense", "line", "MALFORMED_MESSAGE", ""),
    (b'"text"', "line", "MALFORMED_MESSAGE", ""),
    (b"\xff\xfe{}", "line", "MALFORMED_MESSAGE", ""),
    (b"x" * (LINE_MAX + 10), "line", "TOO_LONG", ""),
    ({"method": "ListGames"}, "line", "MISSING_FIELD", "id"),
    ({"id": 3, "method": "ListGames"}, "line", "OUT_OF_RANGE", "id"),
    ({"id": "x" * 65, "method": "ListGames"}, "line", "OUT_OF_RANGE", "id"),
    ({"id": "in use", "method": "ListGames"}, "line", "CONTRADICTION", "id"),
    ({"cancel": "nobody"}, "line", "OUT_OF_RANGE", "cancel"),
    ({"cancel": "in use", "id": "a"}, "line", "CONTRADICTION", "cancel"),
    ({"id": "a"}, "id", "MISSING_FIELD", "method"),
    ({"id": "a", "method": "Sugest"}, "id", "UNKNOWN_VALUE", "method"),
    ({"id": "a", "method": ["Suggest"]}, "id", "UNKNOWN_VALUE", "method"),
    ({"id": "a", "method": "AnalyzeBatch"}, "id", "UNKNOWN_VALUE", "method"),
    ({"id": "a", "method": "ListGames", "extra": 1}, "id", "UNKNOWN_FIELD", "extra"),
    ({"id": "a", "method": "ListGames", "request": []}, "id", "MALFORMED_MESSAGE", "request"),
    ({"id": "a", "method": "ListGames", "priority": 1}, "id", "CONTRADICTION", "priority"),
    ({"id": "a", "method": "ListGames", "request": {"game": 1}}, "id", "UNKNOWN_FIELD", "game"),
    (line("a") | {"priority": 101}, "id", "OUT_OF_RANGE", "priority"),
    (line("a") | {"priority": True}, "id", "OUT_OF_RANGE", "priority"),
    (line("a", iterations=0), "id", "OUT_OF_RANGE", "budget.iterations"),
    ({"id": "a", "method": "Suggest"}, "id", "MISSING_FIELD", "view"),
]


def test_a_bad_line_gets_one_sentence_and_the_stream_goes_on(shared: Engine) -> None:
    shared.write(line("in use", iterations=LONG))
    for bad, place, reason, field in BAD_LINES:
        answer = shared.ask(bad)
        error = answer["error"]
        assert (error["reason"], error.get("field", "")) == (reason, field), answer
        assert place in answer
        assert len(answer) == 2
        assert "\n" not in error["message"]
        assert "item." not in error["message"]
    assert shared.ask(line("b"))["id"] == "b"
    assert shared.ask({"cancel": "in use"})["id"] == "in use"


def test_the_line_on_the_page_is_answered(shared: Engine) -> None:
    block = (ROOT / "docs" / "json_lines.md").read_text().split("```json\n")[1].split("```")[0]
    answer = shared.ask(block.strip().encode())
    assert answer["id"] == "1"
    assert answer["answer"]["suggestion"]["best"]["text"] == "reveal"


# --- the ends -----------------------------------------------------------------------------------------------------


def test_the_end_of_the_input_answers_what_is_pending() -> None:
    with engine() as running:
        running.write(b"", b"  ", line("a", iterations=20_000))
        running.input.write(json.dumps(line("b")).encode())  # without the end of the line
        answers, code = running.end()
    assert sorted(answer["id"] for answer in answers) == ["a", "b"]
    assert code == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_searches_and_answers_them(number: int) -> None:
    with engine("--drain-ms", "0") as running:
        assert running.ask(line("a"))["id"] == "a"
        running.write(line("b", iterations=LONG), line("c"))
        assert running.read()["id"] == "c"  # so b is running, or waits
        running.process.send_signal(number)
        answer = running.read()
        assert answer["id"] == "b"
        assert answer["answer"]["suggestion"]["stopReason"] == "STOP_REASON_SHUTDOWN"
        assert running.process.wait(HANG_S) == 0


@pytest.mark.slow
def test_a_closed_output_ends_the_engine() -> None:
    with engine() as running:
        assert running.ask(line("a"))["id"] == "a"
        running.output.close()
        running.write(line("b", iterations=LONG), line("c"))
        assert running.process.wait(HANG_S) == 141
        assert running.process.stderr is not None
        assert running.process.stderr.read() == b""


@pytest.mark.slow
def test_a_slow_reader_stops_the_reading_of_input() -> None:
    with engine("--threads", "2") as running:
        assert running.ask(line("first"))["id"] == "first"
        os.set_blocking(running.input.fileno(), False)
        asked = b"".join(json.dumps(line(f"{number}")).encode() + b"\n" for number in range(20_000))
        written = 0

        def fill() -> bool:
            """Write what the pipe takes; return whether it is full for good."""
            nonlocal written
            before = written
            try:
                while written < len(asked):
                    written += os.write(running.input.fileno(), asked[written : written + 2**16])
            except BlockingIOError:
                pass
            return written == before

        full = 0

        def is_full() -> bool:
            nonlocal full
            full = full + 1 if fill() else 0
            return full >= 100  # for a second, while no answer is read

        wait_until(is_full)
        assert written < len(asked)
        pending = asked[:written].count(b"\n")
        read = [running.read() for _ in range(pending - 1)]
        assert all("answer" in answer for answer in read)


def test_settings_of_the_listening_server_are_refused() -> None:
    command = [sys.executable, "-m", "server", "--stdio", "--address", "127.0.0.1:0"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert result.returncode == 1
    assert result.stderr == "eminence: address: cannot be used with stdio, which does not listen\n"


@pytest.mark.slow
def test_the_example_prints_a_move_for_each_position() -> None:
    example = ROOT / "examples" / "python" / "json_lines.py"
    assert len([text for text in example.read_text().splitlines() if text.strip()]) <= 23  # 20, and its docstring
    command = [
        sys.executable,
        str(example),
        sys.executable,
        "-m",
        "server",
        "--stdio",
        "--no-self-test",
        "--log",
        "error",
    ]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_S)
    assert sorted(text.split(" -> ")[1] for text in result.stdout.splitlines()) == ["keep", "reveal"]

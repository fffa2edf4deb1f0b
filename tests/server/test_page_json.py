"""The page reads and writes messages by code of its own (server/web/board/src/protobuf.ts), as protobuf does."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.message import Message
from waiting import HANG_S

from benchmarks.promises import random_message
from eminence.v1 import record_pb2, rules_pb2, solver_pb2, table_pb2, view_pb2

BOARD = Path(__file__).parents[2] / "server" / "web" / "board"
RUN = """
import {{ createInterface }} from "node:readline";
import {{ echo }} from "{module}";
for await (const line of createInterface({{ input: process.stdin }})) console.log(echo(line));
"""
# The page calls no method with these.
NOT_SENT = ("AnalyzeBatch", "Batch", "Cancel")
KINDS = [
    kind
    for file in (record_pb2, rules_pb2, solver_pb2, table_pb2, view_pb2)
    for name, kind in sorted(file.DESCRIPTOR.message_types_by_name.items())
    if not name.startswith(NOT_SENT)
]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[str]]:
    """Return a function that sends lines "type JSON" through the code of the page."""
    if not (BOARD / "node_modules" / "vite").exists() or not (BOARD / "generated").exists():
        pytest.skip("the tools of the page are not installed; .ci/web installs them")
    folder = tmp_path_factory.mktemp("echo")
    command = ["npx", "vite", "build", "--ssr", "echo.ts", "--outDir", str(folder), "--logLevel", "error"]
    subprocess.run(command, cwd=BOARD, check=True, timeout=HANG_S, capture_output=True)
    script = RUN.format(module=next(folder.glob("echo.*js")))

    def run(lines: list[str]) -> list[str]:
        node = ["node", "--input-type=module", "--eval", script]
        sent = "".join(f"{line}\n" for line in lines)
        done = subprocess.run(node, input=sent, capture_output=True, text=True, check=True, timeout=HANG_S)
        return done.stdout.splitlines()

    return run


def messages(number: int) -> Iterator[Message]:
    """Yield random messages of all kinds that have JSON."""
    draw = random.Random(17)
    for _ in range(number):
        for kind in KINDS:
            message = random_message(kind, draw, 0)
            try:
                json_format.MessageToJson(message)
            except (json_format.SerializeToJsonError, ValueError, TypeError):
                continue  # a duration out of range, or an unknown type in an Any
            yield message


@pytest.mark.slow
def test_the_page_writes_the_json_that_it_reads(echo: Callable[[list[str]], list[str]]) -> None:
    sent = [(message.DESCRIPTOR.full_name, json_format.MessageToDict(message)) for message in messages(20)]
    assert len(sent) > 10 * len(KINDS)
    answers = echo([f"{name} {json.dumps(fields)}" for name, fields in sent])
    for (name, fields), answer in zip(sent, answers, strict=True):
        assert json.loads(answer) == fields, name


REFUSED: dict[str, Any] = {
    "a field that is not in the contract": {"colour": 1},
    "a list for a message": {"game": []},
    "a text for a number": {"game": {"players": "three"}},
    "a fraction for a whole number": {"game": {"players": 2.5}},
    "a number for a text": {"text": 3},
    "a message for a list": {"history": {"actions": {}}},
    "an unknown value of an enum": {"history": {"actions": [{"seat": "SEAT_Z"}]}},
}


@pytest.mark.slow
def test_json_of_another_shape_is_refused(echo: Callable[[list[str]], list[str]]) -> None:
    answers = echo([f"eminence.v1.View {json.dumps(fields)}" for fields in REFUSED.values()])
    assert [why for why, answer in zip(REFUSED, answers, strict=True) if not answer.startswith("refused: ")] == []

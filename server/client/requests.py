"""The code that the clients share: options of a channel, and deadlines of calls."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from eminence.v1 import record_pb2, referee_pb2, rules_pb2, table_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb

RULES = rules_pb2.DESCRIPTOR.services_by_name["RulesService"]
REFEREE = referee_pb2.DESCRIPTOR.services_by_name["RefereeService"]
TABLES = table_pb2.DESCRIPTOR.services_by_name["TableService"]

# Time of a call beyond its budget's time: network latency and retries.
MARGIN_SECONDS = 5.0
# Deadline without a time budget: the longest search of a server with the default cap, and the margin.
DEFAULT_SECONDS = 65.0
# Deadline of calls that need no search.
PROMPT_SECONDS = 10.0
# Deadline of batches and reviews, whose length depends on their input.
LONG_SECONDS = 3600.0

# At most five attempts, after the server's retry delay or else with exponential backoff. While most calls fail, retries
# are throttled (gRFC A6). Refusals of a request itself are not retried.
SERVICE_CONFIG = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": f"eminence.v1.{name}Service"} for name in ("Solver", "Rules", "Referee")],
                "retryPolicy": {
                    "maxAttempts": 5,
                    "initialBackoff": "0.1s",
                    "maxBackoff": "2s",
                    "backoffMultiplier": 2,
                    "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
                },
            }
        ],
        "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
    }
)
OPTIONS = [
    ("grpc.service_config", SERVICE_CONFIG),
    ("grpc.enable_retries", 1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5_000),
]

PORT_MAX = 65_535

Metadata = tuple[tuple[str, str], ...]
Answer = Callable[[Callable[[], Any]], Any]


def check_address(address: str) -> str:
    """Return the address; refuse a port out of range, which gRPC would take modulo 65536."""
    port = address.rpartition(":")[2]
    if port.isdecimal() and not 1 <= int(port) <= PORT_MAX:
        raise ValueError(f"address: {address!r}: port {port} is not in 1..{PORT_MAX}")
    return address


def text_view(game_id: str, edition: str, players: int, text: str) -> view_pb2.View:
    """Return the message of a view in text notation (docs/notation.md)."""
    ruleset = view_pb2.Ruleset(edition=edition)
    return view_pb2.View(game=view_pb2.GameSpec(game_id=game_id, players=players, ruleset=ruleset), text=text)


def seconds_for(budget: pb.Budget | None) -> float:
    """Return the deadline of a call with this budget."""
    if budget is None or budget.ByteSize() == 0:
        return 1.0 + MARGIN_SECONDS
    if budget.HasField("time"):
        return budget.time.ToMilliseconds() / 1000 + MARGIN_SECONDS
    return DEFAULT_SECONDS


def review_seconds(record: record_pb2.Record, budget: pb.Budget | None) -> float:
    """Return the deadline of a review: an hour, or longer if the budget of all actions takes longer.

    Each seat may be searched before and after an action of chance, with half of the budget.
    """
    actions = max(len(record.whole.actions), len(record.seen.actions), record.text.count("\n"))
    return max(LONG_SECONDS, 2 * actions * seconds_for(budget))


def analyze_request(
    view: view_pb2.View, budget: pb.Budget | None, options: pb.Options | None, interval_ms: int
) -> pb.AnalyzeRequest:
    request = pb.AnalyzeRequest(view=view, budget=budget, options=options)
    request.interval.FromMilliseconds(interval_ms)
    return request


def compare_stream_request(
    view: view_pb2.View,
    actions: Sequence[view_pb2.Action],
    budget: pb.Budget | None,
    options: pb.Options | None,
    interval_ms: int,
) -> pb.CompareStreamRequest:
    compare = pb.CompareRequest(view=view, actions=actions, budget=budget, options=options)
    request = pb.CompareStreamRequest(compare=compare)
    request.interval.FromMilliseconds(interval_ms)
    return request


def metadata_of(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),) if token else ()


def equip(
    stub: Any, service: ServiceDescriptor, metadata: Metadata, answer: Answer, stream: Answer | None = None
) -> None:
    """Add the client's token and a deadline to all calls of a stub.

    `answer` makes a call and converts its errors, `stream` one with several answers.
    """
    for name, method in service.methods_by_name.items():
        if method.server_streaming:
            assert stream is not None
            setattr(stub, name, _StubMethod(getattr(stub, name), metadata, stream, LONG_SECONDS))
        else:
            setattr(stub, name, _StubMethod(getattr(stub, name), metadata, answer, PROMPT_SECONDS))


class _StubMethod:
    """A method of a stub, with the client's token and a default deadline."""

    def __init__(self, method: Any, metadata: Metadata, answer: Answer, seconds: float) -> None:
        self._method, self._metadata, self._answer, self._seconds = method, metadata, answer, seconds

    def __call__(self, request: Any, timeout: float | None = None) -> Any:
        seconds = self._seconds if timeout is None else timeout
        return self._answer(lambda: self._method(request, timeout=seconds, metadata=self._metadata))

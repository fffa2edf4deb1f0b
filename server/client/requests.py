"""What both clients do alike: how a channel is set up, and how long a call may take."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor

from eminence.v1 import record_pb2, referee_pb2, rules_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb

RULES = rules_pb2.DESCRIPTOR.services_by_name["RulesService"]
REFEREE = referee_pb2.DESCRIPTOR.services_by_name["RefereeService"]

# What a call may take beyond the time that its budget grants, on its way there and back and waiting to be tried again.
MARGIN_SECONDS = 5.0
# Where no budget of time says it: as long as a server searches at most, if it has the usual cap.
DEFAULT_SECONDS = 65.0
# For calls that are answered at once.
PROMPT_SECONDS = 10.0
# For batches and reviews, which are as long as what they are about.
LONG_SECONDS = 3600.0

# At most five attempts, when the server says so or else after a pause that doubles, and fewer and fewer while most
# calls fail (gRFC A6). Refusals of what was asked are final.
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
    """The address, unless its port is none: gRPC would take that modulo 65536, and call somebody else."""
    port = address.rpartition(":")[2]
    if port.isdecimal() and not 1 <= int(port) <= PORT_MAX:
        raise ValueError(f"address: {address!r}: port {port} is not in 1..{PORT_MAX}")
    return address


def text_view(game_id: str, edition: str, players: int, text: str) -> view_pb2.View:
    """A view in text notation (docs/notation.md)."""
    ruleset = view_pb2.Ruleset(edition=edition)
    return view_pb2.View(game=view_pb2.GameSpec(game_id=game_id, players=players, ruleset=ruleset), text=text)


def seconds_for(budget: pb.Budget | None) -> float:
    """A deadline for a call with this budget."""
    if budget is None or budget.ByteSize() == 0:
        return 1.0 + MARGIN_SECONDS
    if budget.HasField("time"):
        return budget.time.ToMilliseconds() / 1000 + MARGIN_SECONDS
    return DEFAULT_SECONDS


def review_seconds(record: record_pb2.Record, budget: pb.Budget | None) -> float:
    """A deadline for a review: an hour, or longer if every action may take as long as this budget grants."""
    actions = max(len(record.whole.actions), len(record.seen.actions), record.text.count("\n"))
    return max(LONG_SECONDS, actions * seconds_for(budget))


def analyze_request(
    view: view_pb2.View, budget: pb.Budget | None, options: pb.Options | None, interval_ms: int
) -> pb.AnalyzeRequest:
    request = pb.AnalyzeRequest(view=view, budget=budget, options=options)
    request.interval.FromMilliseconds(interval_ms)
    return request


def metadata_of(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),) if token else ()


def equip(stub: Any, service: ServiceDescriptor, metadata: Metadata, answer: Answer) -> None:
    """Give every call of a stub the client's token and a deadline; `answer` makes the call and converts its errors."""
    for name in service.methods_by_name:
        setattr(stub, name, _Equipped(getattr(stub, name), metadata, answer))


class _Equipped:
    """A method of a stub."""

    def __init__(self, method: Any, metadata: Metadata, answer: Answer) -> None:
        self._method, self._metadata, self._answer = method, metadata, answer

    def __call__(self, request: Any, timeout: float = PROMPT_SECONDS) -> Any:
        return self._answer(lambda: self._method(request, timeout=timeout, metadata=self._metadata))

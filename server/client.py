"""A client in Python, with and without asyncio: deadlines on every call, retries that cannot become a storm.

```
from server.client import Client, text_view
with Client("127.0.0.1:50051") as client:
    print(client.suggest(text_view("oriflamme", "en-2019", 3, "...seen by B")).best.text)
```

It knows nothing but gRPC and the contract, and so can be copied out of this package.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import Any

import grpc

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc, view_pb2

# What a call may take beyond the budget that it grants.
MARGIN_SECONDS = 5.0
DEFAULT_SECONDS = 65.0

# At most three attempts, and fewer and fewer while most calls fail (gRFC A6). Refusals of what was asked are final.
SERVICE_CONFIG = json.dumps(
    {
        "methodConfig": [
            {
                "name": [{"service": "eminence.v1.SolverService"}],
                "retryPolicy": {
                    "maxAttempts": 3,
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


class Client:
    """For programs without asyncio. `credentials` turn TLS on; `token` goes with every call."""

    def __init__(self, address: str, *, token: str = "", credentials: grpc.ChannelCredentials | None = None) -> None:
        if credentials is None:
            self._channel = grpc.insecure_channel(address, OPTIONS)
        else:
            self._channel = grpc.secure_channel(address, credentials, OPTIONS)
        self.stub: Any = solver_pb2_grpc.SolverServiceStub(self._channel)
        self._metadata = _metadata(token)

    def suggest(
        self, view: view_pb2.View, budget: pb.Budget | None = None, options: pb.Options | None = None
    ) -> pb.Suggestion:
        """The best move, and why."""
        request = pb.SuggestRequest(view=view, budget=budget, options=options)
        response = self.stub.Suggest(request, timeout=seconds_for(budget), metadata=self._metadata)
        found: pb.Suggestion = response.suggestion
        return found

    def analyze(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
    ) -> Iterator[pb.AnalyzeResponse]:
        """The answer growing; to leave the loop stops the search."""
        request = pb.AnalyzeRequest(view=view, budget=budget, options=options)
        request.interval.FromMilliseconds(interval_ms)
        responses = self.stub.Analyze(request, timeout=seconds_for(budget), metadata=self._metadata)
        try:
            yield from responses
        finally:
            responses.cancel()

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient:
    """The same for asyncio. A call whose task is cancelled is cancelled at the server, too."""

    def __init__(self, address: str, *, token: str = "", credentials: grpc.ChannelCredentials | None = None) -> None:
        if credentials is None:
            self._channel = grpc.aio.insecure_channel(address, OPTIONS)
        else:
            self._channel = grpc.aio.secure_channel(address, credentials, OPTIONS)
        self.stub: Any = solver_pb2_grpc.SolverServiceStub(self._channel)
        self._metadata = _metadata(token)

    async def suggest(
        self, view: view_pb2.View, budget: pb.Budget | None = None, options: pb.Options | None = None
    ) -> pb.Suggestion:
        """The best move, and why."""
        request = pb.SuggestRequest(view=view, budget=budget, options=options)
        call = self.stub.Suggest(request, timeout=seconds_for(budget), metadata=self._metadata)
        try:
            found: pb.Suggestion = (await call).suggestion
            return found
        finally:
            call.cancel()  # grpc.aio does not always cancel what is left alone

    async def analyze(
        self,
        view: view_pb2.View,
        budget: pb.Budget | None = None,
        options: pb.Options | None = None,
        interval_ms: int = 500,
    ) -> AsyncIterator[pb.AnalyzeResponse]:
        """The answer growing. Who leaves the loop early should close it (`contextlib.aclosing`), to stop the search."""
        request = pb.AnalyzeRequest(view=view, budget=budget, options=options)
        request.interval.FromMilliseconds(interval_ms)
        call = self.stub.Analyze(request, timeout=seconds_for(budget), metadata=self._metadata)
        try:
            async for response in call:
                yield response
        finally:
            call.cancel()

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _metadata(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),) if token else ()


def main() -> None:
    """One question from the command line."""
    parser = argparse.ArgumentParser(prog="python -m server.client", description="Ask a server what to play.")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--token", default="")
    parser.add_argument("--time-ms", type=int, default=1000)
    parser.add_argument("game", help="such as oriflamme")
    parser.add_argument("edition", help="such as en-2019")
    parser.add_argument("players", type=int)
    parser.add_argument("view", help="in text notation, such as 'A:? >B:Heir C:? | round 2 | seen by B'")
    given = parser.parse_args()
    budget = pb.Budget()
    budget.time.FromMilliseconds(given.time_ms)
    try:
        with Client(given.address, token=given.token) as client:
            found = client.suggest(text_view(given.game, given.edition, given.players, given.view), budget)
    except grpc.RpcError as error:
        call: Any = error
        raise SystemExit(f"{call.code().name}: {call.details()}") from None
    print(f"{found.best.text}  ({found.iterations} iterations)")
    for candidate in found.candidates[:8]:
        win, error_of = candidate.win.mean * 100, candidate.win.standard_error * 100
        print(f"  {candidate.action.text:24} win {win:5.1f} % ± {error_of:.1f}   points {candidate.points.mean:5.1f}")


if __name__ == "__main__":
    main()

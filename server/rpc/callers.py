"""Callers, and what each of them may hold at a time: calls, bytes of requests, positions of batches.

A caller is a token; without tokens it is an address (an IPv6 address counts by its /64 network). Callers on a unix
socket are one caller, because gRPC does not tell their connections apart.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Any, Literal, TypeAlias
from urllib.parse import unquote

import grpc

from server.refusals import Refusal

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Bound = Literal["calls", "bytes", "positions"]

BOUNDS: tuple[Bound, ...] = ("calls", "bytes", "positions")
RETRY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that one caller may hold. The settings have the same names, after `caller_`."""

    calls: int = sys.maxsize
    bytes: int = sys.maxsize
    positions: int = sys.maxsize
    on_refusal: Callable[[Bound], None] = lambda _: None


class Caller:
    """What a caller holds, and its quotas: `at_once` searches, and `per_minute` calls and positions; 0: no limit.

    `identity` is a token's digest, because a name may pass to another client; callers without a token have none.
    `key` stands for the caller after its last call, too."""

    def __init__(
        self,
        bounds: Bounds | None = None,
        identity: bytes = b"",
        at_once: int = 0,
        per_minute: int = 0,
        address: str = "",
    ) -> None:
        self.identity = identity
        self.key = identity or address
        self.holds: Counter[Bound] = Counter()
        self._turn = asyncio.Lock()
        self._in_line = 0
        self._bounds = bounds or Bounds()
        self._at_once, self._per_minute = at_once, per_minute
        self._searches = 0
        self._calls_left, self._filled_at = float(per_minute), time.monotonic()

    def take(self, bound: Bound, amount: int = 1) -> None:
        """Have the caller hold more; refuse what would be too much."""
        most: int = getattr(self._bounds, bound)
        if self.holds[bound] + amount > most:
            self._bounds.on_refusal(bound)
            why = f"caller_{bound}: one caller may hold {most}, and this one holds {self.holds[bound]}"
            raise Refusal("QUOTA_EXHAUSTED", "", why, retry_after=RETRY_SECONDS)
        self.holds[bound] += amount

    def release(self, bound: Bound, amount: int = 1) -> None:
        self.holds[bound] -= amount

    @contextmanager
    def holding(self, bound: Bound, amount: int = 1) -> Iterator[None]:
        self.take(bound, amount)
        try:
            yield
        finally:
            self.release(bound, amount)

    def count_call(self) -> None:
        """Count a call or a position; refuse it if the last minute had too many."""
        if not self._per_minute:
            return
        now, rate = time.monotonic(), self._per_minute / 60
        self._calls_left = min(self._calls_left + (now - self._filled_at) * rate, float(self._per_minute))
        self._filled_at = now
        if self._calls_left < 1:
            why = f"calls_per_minute: more than {self._per_minute} calls and positions a minute"
            raise Refusal("QUOTA_EXHAUSTED", "", why, retry_after=(1 - self._calls_left) / rate)
        self._calls_left -= 1

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for this caller's turn on a thread that reads long requests; a caller has one at a time. If it has more
        in line, the next waits for as long as this one took: callers share the interpreter, too."""
        self._in_line += 1
        try:
            await self._turn.acquire()
        finally:
            self._in_line -= 1
        begun = time.monotonic()
        try:
            yield
        finally:
            if self._in_line:
                asyncio.get_running_loop().call_later(time.monotonic() - begun, self._turn.release)
            else:
                self._turn.release()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Count a search; refuse it if the caller has too many."""
        if self._at_once and self._searches >= self._at_once:
            why = f"searches_at_once: more than {self._at_once} searches at once"
            raise Refusal("QUOTA_EXHAUSTED", "", why, retry_after=RETRY_SECONDS)
        self._searches += 1
        try:
            yield
        finally:
            self._searches -= 1


_NOBODY = Caller()
_current: ContextVar[Caller] = ContextVar("caller", default=_NOBODY)


def current_caller() -> Caller:
    """Return the caller whose call this task answers."""
    return _current.get()


def set_caller(caller: Caller) -> None:
    _current.set(caller)


class Callers:
    """All callers that have calls under way. Belongs to the event loop's thread."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self._by_address: dict[str, Caller] = {}
        self._active: set[Caller] = set()

    def most(self, bound: Bound) -> int:
        """Return the most that any caller holds."""
        # Prometheus asks on a thread of its own.
        return max((caller.holds[bound] for caller in tuple(self._active)), default=0)

    @contextmanager
    def calling(self, context: Context) -> Iterator[Caller]:
        """Count a call, and make its caller the task's. A caller without a token is known by its address."""
        caller, address = current_caller(), ""
        if not caller.identity:
            address = address_of(context.peer())
            caller = self._by_address.get(address) or Caller(self.bounds, address=address)
            self._by_address[address] = caller
            set_caller(caller)
        self._active.add(caller)
        try:
            with caller.holding("calls"):
                yield caller
        finally:
            if not caller.holds["calls"]:
                self._active.discard(caller)
                self._by_address.pop(address, None)


def address_of(peer: str) -> str:
    """Return the part of a peer's name in gRPC that its connections share."""
    kind, _, place = peer.partition(":")
    if kind == "ipv4":
        return place.rpartition(":")[0]
    if kind == "ipv6":
        host = unquote(place).rpartition(":")[0].strip("[]").partition("%")[0]
        return str(IPv6Address(int(IPv6Address(host)) >> 64 << 64))
    return kind

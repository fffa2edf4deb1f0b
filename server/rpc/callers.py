"""Callers, and their limits: pending calls, bytes of pending requests, pending positions of batches.

A token identifies a caller; without tokens, an address does (of an IPv6 address, its /64 network). All connections to a
unix socket are one caller, because gRPC gives them the same peer name.
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
    """The limits of one caller. The setting of each is its name with the prefix `caller_`."""

    calls: int = sys.maxsize
    bytes: int = sys.maxsize
    positions: int = sys.maxsize
    on_refusal: Callable[[Bound], None] = lambda _: None


class Caller:
    """A caller's pending calls, bytes and positions, and its quotas.

    The quotas are `at_once` searches, and `per_minute` calls and positions; 0: no limit. `identity` is a token's
    digest, because a client's name may be reassigned; it is empty without a token. `key` identifies the caller even
    after its last call.
    """

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
        self._queue_length = 0
        self._bounds = bounds or Bounds()
        self._at_once, self._per_minute = at_once, per_minute
        self._searches = 0
        self._calls_left, self._filled_at = float(per_minute), time.monotonic()

    def take(self, bound: Bound, amount: int = 1) -> None:
        """Add to the amount that the caller holds; refuse an amount above the limit."""
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
        """Count a call or a position against the quota per minute; refuse it if the quota is used up."""
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
        """Wait for this caller's turn on the thread that reads long requests; a caller has one turn at a time.

        If more of its requests are queued, the next waits for as long as this one took: callers share the GIL, too.
        """
        self._queue_length += 1
        try:
            await self._turn.acquire()
        finally:
            self._queue_length -= 1
        started = time.monotonic()
        try:
            yield
        finally:
            if self._queue_length:
                asyncio.get_running_loop().call_later(time.monotonic() - started, self._turn.release)
            else:
                self._turn.release()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Count a running search; refuse it if the caller's quota is used up."""
        if self._at_once and self._searches >= self._at_once:
            why = f"searches_at_once: more than {self._at_once} searches at once"
            raise Refusal("QUOTA_EXHAUSTED", "", why, retry_after=RETRY_SECONDS)
        self._searches += 1
        try:
            yield
        finally:
            self._searches -= 1


_UNKNOWN = Caller()
_current: ContextVar[Caller] = ContextVar("caller", default=_UNKNOWN)


def current_caller() -> Caller:
    """Return the caller whose call this task answers."""
    return _current.get()


def set_caller(caller: Caller) -> None:
    _current.set(caller)


class Callers:
    """All callers with pending calls. Belongs to the event loop's thread."""

    def __init__(self, bounds: Bounds | None = None) -> None:
        self.bounds = bounds or Bounds()
        self._by_address: dict[str, Caller] = {}
        self._active: set[Caller] = set()

    def most(self, bound: Bound) -> int:
        """Return the largest amount that any caller holds."""
        # Copy the set: Prometheus reads this on a thread of its own.
        return max((caller.holds[bound] for caller in tuple(self._active)), default=0)

    @contextmanager
    def calling(self, context: Context) -> Iterator[Caller]:
        """Count a call, and set the task's caller: by its address, unless a token identified it."""
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
    """Return the part of a gRPC peer name that all connections of a caller share."""
    kind, _, place = peer.partition(":")
    if kind == "ipv4":
        return place.rpartition(":")[0]
    if kind == "ipv6":
        host = unquote(place).rpartition(":")[0].strip("[]").partition("%")[0]
        return str(IPv6Address(int(IPv6Address(host)) >> 64 << 64))
    return kind

"""Who calls: clients by their tokens, and what each may ask for."""

from __future__ import annotations

import hashlib
import hmac
import time
import tomllib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import grpc

from server.calls import Context
from server.errors import abort
from server.refusals import Refusal
from server.settings import SettingsError

# Who asks for a server's health need not say who he is.
OPEN_TO_ALL = "/grpc.health.v1.Health/"
RETRY_SECONDS = 0.5


class Client:
    """Somebody who calls, and what he has under way. `at_once` searches, and `per_minute` calls; 0: no limit. He is
    known by his token's digest: a name may come to be another's."""

    def __init__(self, identity: bytes, at_once: int = 0, per_minute: int = 0) -> None:
        self.identity = identity
        self._at_once, self._per_minute = at_once, per_minute
        self._searches = 0
        self._calls_left, self._filled_at = float(per_minute), time.monotonic()

    def count_call(self) -> None:
        """Refuse the call if there were too many of late."""
        if not self._per_minute:
            return
        now, rate = time.monotonic(), self._per_minute / 60
        self._calls_left = min(self._calls_left + (now - self._filled_at) * rate, float(self._per_minute))
        self._filled_at = now
        if self._calls_left < 1:
            why = f"more than {self._per_minute} calls a minute"
            raise Refusal("QUOTA_EXHAUSTED", "", why, retry_after=(1 - self._calls_left) / rate)
        self._calls_left -= 1

    @contextmanager
    def searching(self) -> Iterator[None]:
        """A search of this client's, unless it has too many already."""
        if self._at_once and self._searches >= self._at_once:
            why = f"more than {self._at_once} searches at once"
            raise Refusal("QUOTA_EXHAUSTED", "", why, retry_after=RETRY_SECONDS)
        self._searches += 1
        try:
            yield
        finally:
            self._searches -= 1


ANYBODY = Client(b"")
_current: ContextVar[Client] = ContextVar("client", default=ANYBODY)


def current_client() -> Client:
    """Whose call this task answers."""
    return _current.get()


class Doorman(grpc.aio.ServerInterceptor):
    """Lets in who has a token, before anything of a request is read."""

    def __init__(self, clients: dict[bytes, Client]) -> None:
        self._clients = clients

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> Any:
        if details.method.startswith(OPEN_TO_ALL):
            return await continuation(details)
        said = dict(details.invocation_metadata or ()).get("authorization", "")
        client = self._client(said if isinstance(said, str) else "")
        if client is None:
            return _refusing(Refusal("UNAUTHENTICATED", "", "authorization: Bearer <token> is required"))
        try:
            client.count_call()
        except Refusal as refusal:
            return _refusing(refusal)
        _current.set(client)
        return await continuation(details)

    def _client(self, said: str) -> Client | None:
        kind, _, token = said.partition(" ")
        digest = hashlib.sha256(token.encode()).digest()
        found = None
        # All are looked at, so that the time it takes says nothing.
        for known, client in self._clients.items():
            if hmac.compare_digest(known, digest):
                found = client
        return found if kind.lower() == "bearer" else None


def _refusing(refusal: Refusal) -> grpc.RpcMethodHandler[Any, Any]:
    async def refuse(requests: Any, context: Context) -> None:
        await abort(context, refusal)

    # Whatever kind of call it was: nothing of it is read.
    return grpc.stream_stream_rpc_method_handler(refuse)


def read_clients(path: str) -> dict[bytes, Client]:
    """The clients in a file, by the digests of their tokens: the file holds no token.

    A table a client: `[alice]`, `token_sha256 = "..."`, and perhaps `searches_at_once = 2`, `calls_per_minute = 600`.
    """
    try:
        tables = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"tokens: {path} cannot be read: {error}") from None
    clients: dict[bytes, Client] = {}
    for name, table in tables.items():
        where = f"tokens: {name}"
        if not isinstance(table, dict):
            raise SettingsError(f"{where}: is not a table such as [{name}]")
        quotas = {"searches_at_once": 0, "calls_per_minute": 0}
        for key in table:
            if key != "token_sha256" and key not in quotas:
                raise SettingsError(f"{where}.{key}: is none of token_sha256, {', '.join(quotas)}")
        for key in quotas:
            quota = table.get(key, 0)
            if type(quota) is not int or not 0 <= quota <= 10**9:
                raise SettingsError(f"{where}.{key}: {quota!r} is not in 0..1000000000")
            quotas[key] = quota
        try:
            digest = bytes.fromhex(table["token_sha256"])
        except (KeyError, TypeError, ValueError):
            digest = b""
        if len(digest) != 32 or digest in clients:
            raise SettingsError(f"{where}.token_sha256: 64 hexadecimal digits, no client's twice, are required")
        clients[digest] = Client(digest, quotas["searches_at_once"], quotas["calls_per_minute"])
    if not clients:
        raise SettingsError(f"tokens: {path} names no client")
    return clients

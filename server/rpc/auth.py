"""Authentication of calls by tokens, and the quotas of each client."""

from __future__ import annotations

import hashlib
import hmac
import tomllib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc

from server.refusals import Refusal
from server.rpc.callers import Bounds, Caller, Context, set_caller
from server.rpc.status import abort, code_of
from server.settings import SettingsError
from server.telemetry import Telemetry

# Calls without a token: health checks of load balancers, and the one that says whether a token is needed.
OPEN = frozenset({"/grpc.health.v1.Health/Check", "/eminence.v1.RulesService/GetServer"})


class TokenAuth(grpc.aio.ServerInterceptor):
    """Refuses calls without a known token, before their requests are read."""

    def __init__(self, clients: dict[bytes, Caller], telemetry: Telemetry) -> None:
        self._clients, self._telemetry = clients, telemetry

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], details: grpc.HandlerCallDetails
    ) -> Any:
        if details.method in OPEN:
            return await continuation(details)
        header = dict(details.invocation_metadata or ()).get("authorization", "")
        client = self._client(header if isinstance(header, str) else "")
        if client is None:
            refusal = Refusal("UNAUTHENTICATED", "", "authorization: Bearer <token> is required")
            return self._refusing(refusal, details.method)
        try:
            client.count_call()
        except Refusal as refusal:
            return self._refusing(refusal, details.method)
        set_caller(client)
        return await continuation(details)

    def _client(self, header: str) -> Caller | None:
        kind, _, token = header.partition(" ")
        digest = hashlib.sha256(token.encode()).digest()
        owner = None
        # Compare with every digest, each in constant time: the response time reveals nothing about tokens.
        for client_digest, client in self._clients.items():
            if hmac.compare_digest(client_digest, digest):
                owner = client
        return owner if kind.lower() == "bearer" else None

    def _refusing(self, refusal: Refusal, path: str) -> grpc.RpcMethodHandler[Any, Any]:
        method = self._telemetry.method_at(path)

        async def refuse(requests: Any, context: Context) -> None:
            with method.call() as call:
                call.code, call.reason = code_of(refusal), refusal.reason
                await abort(context, refusal)

        # This handler serves every kind of call: it reads no request.
        return grpc.stream_stream_rpc_method_handler(refuse)


def read_clients(path: str, bounds: Bounds | None = None) -> dict[bytes, Caller]:
    """Read a file of clients; return them by the SHA-256 digests of their tokens, which the file has instead of tokens.

    The file has a table for each client: `[alice]`, `token_sha256 = "..."`, and optionally `searches_at_once = 2` and
    `calls_per_minute = 600`.
    """
    try:
        tables = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"tokens: {path} cannot be read: {error}") from None
    clients: dict[bytes, Caller] = {}
    for name, table in tables.items():
        prefix = f"tokens: {name}"
        if not isinstance(table, dict):
            raise SettingsError(f"{prefix}: is not a table such as [{name}]")
        quotas = {"searches_at_once": 0, "calls_per_minute": 0}
        for key in table:
            if key != "token_sha256" and key not in quotas:
                raise SettingsError(f"{prefix}.{key}: is not a key of a client (token_sha256, {', '.join(quotas)})")
        for key in quotas:
            quota = table.get(key, 0)
            if type(quota) is not int or not 0 <= quota <= 10**9:
                raise SettingsError(f"{prefix}.{key}: {quota!r} is not in 0..1000000000")
            quotas[key] = quota
        try:
            digest = bytes.fromhex(table["token_sha256"])
        except (KeyError, TypeError, ValueError):
            digest = b""
        if len(digest) != 32 or digest in clients:
            raise SettingsError(f"{prefix}.token_sha256: 64 hexadecimal digits, unique to the client, are required")
        clients[digest] = Caller(bounds, digest, quotas["searches_at_once"], quotas["calls_per_minute"])
    if not clients:
        raise SettingsError(f"tokens: {path} names no client")
    return clients

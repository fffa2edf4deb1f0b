"""The checks before a request over HTTP is answered, and its way to the calls or to a file.

A browser sends requests for any web site that its user visits. The door therefore answers only its own page, and
programs that are no browsers: the name in `Host` must be this server's (against DNS rebinding), `Origin` and
`Sec-Fetch-Site` must be those of its own page, and calls need a content type that other sites cannot send unasked.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import quote, urlsplit

from connectrpc.errors import ConnectError
from google.protobuf.descriptor import ServiceDescriptor

from server.rpc.callers import Callers
from server.rpc.routes import CallDetails, Routes
from server.rpc.status import code_of, refusal_of
from server.settings import is_loopback
from server.telemetry import Telemetry
from server.web.calls import BODY_MAX, Call, application, current_call
from server.web.files import File

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

# Time in which the body of a request must arrive.
BODY_SECONDS = 5.0
# Longer bodies are read BODIES_AT_ONCE at a time: thousands of slow ones would take much memory.
SMALL_BODY = 8_192
BODIES_AT_ONCE = 32
CALL_TYPES = frozenset(
    {
        *("application/proto", "application/json", "application/connect+proto", "application/connect+json"),
        *("application/grpc-web", "application/grpc-web+proto", "application/grpc-web+json"),
    }
)
# The page loads nothing from elsewhere, runs no script that was not built with it, and no other site may frame it.
POLICY = (
    "default-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'; "
    "require-trusted-types-for 'script'; trusted-types svelte-trusted-html"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
# The headers that gRPC's interceptors read.
METADATA = frozenset({"authorization", "traceparent", "tracestate"})
# Compressed answers would tell the length of secrets beside text that others chose.
NOT_PASSED = frozenset({b"accept-encoding", b"connect-accept-encoding", b"grpc-accept-encoding"})
# The codes of the door's own refusals, by their HTTP status.
_CODES = {
    400: "INVALID_ARGUMENT",
    403: "PERMISSION_DENIED",
    404: "UNIMPLEMENTED",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    413: "RESOURCE_EXHAUSTED",
    415: "UNIMPLEMENTED",
    501: "UNIMPLEMENTED",
}


class _RefusedError(Exception):
    """A request that the door does not let in: the status, and a sentence."""

    def __init__(self, status: int, why: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(status, why)
        self.status, self.why, self.headers = status, why, headers


class _GoneError(Exception):
    """The client left before its request had arrived."""


class Door:
    """The ASGI application. Belongs to the event loop's thread.

    `address` is where it listens, `names` are further names of this server, such as those of a proxy before it.
    """

    def __init__(
        self,
        routes: Routes,
        services: Iterable[ServiceDescriptor],
        files: dict[str, File],
        address: str,
        names: Iterable[str],
        telemetry: Telemetry,
        callers: Callers,
    ) -> None:
        self._routes, self._files, self._telemetry = routes, files, telemetry
        self._host = address.rpartition(":")[0].strip("[]")
        self._is_loopback = is_loopback(address)
        self._names = {"localhost", self._host.lower(), *(name.lower() for name in names)}
        services = tuple(services)
        self._paths = {f"/{service.full_name}/{method.name}" for service in services for method in service.methods}
        self._conversations = {
            f"/{service.full_name}/{method.name}"
            for service in services
            for method in service.methods
            if method.client_streaming
        }
        self._calls = application(services, telemetry, callers)
        self._bodies = asyncio.Semaphore(BODIES_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_begun = False

        async def send_noted(message: dict[str, Any]) -> None:
            nonlocal is_begun
            is_begun = True
            await send(message)

        try:
            await self._answer(scope, receive, _with_headers(send_noted))
        except _RefusedError as refused:
            await self._refuse(send, refused.status, _CODES[refused.status], refused.why, refused.headers)
        except _GoneError:
            pass
        except ConnectError:  # its client left before the answer
            raise
        except Exception as error:
            if is_begun:
                raise
            refusal = refusal_of(error)
            await self._refuse(send, 500, code_of(refusal), str(refusal))

    async def _refuse(
        self, send: Send, status: int, code: str, why: str, headers: Sequence[tuple[bytes, bytes]] = ()
    ) -> None:
        """Count and answer a refused request, in Connect's form, which its clients read."""
        with self._telemetry.method_at("").call() as call:
            call.code = code
        body = json.dumps({"code": code.lower(), "message": why}).encode()
        headers = [(b"connection", b"close"), *headers]
        await _send_whole(_with_headers(send), status, "application/json", body, headers)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = _read_headers(scope)
        path = scope["path"]
        self._check_host(headers)
        is_call = path in self._paths
        if not is_call and scope["method"] in ("GET", "HEAD"):
            self._check_site(scope, headers, may_navigate=True)
            file = self._files.get(path)
            if file is None:
                raise _RefusedError(404, f"nothing is at {quote(path[:200])}")
            await _send_file(send, file, may_pack="gzip" in headers.get("accept-encoding", ""))
            return
        self._check_site(scope, headers, may_navigate=False)
        if not is_call:
            raise _RefusedError(404, f"no method is at {quote(path[:200])}")
        if scope["method"] != "POST":
            raise _RefusedError(405, "calls are made by POST", [(b"allow", b"POST")])
        if headers.get("content-type", "").partition(";")[0].strip().lower() not in CALL_TYPES:
            raise _RefusedError(415, f"the content type of a call is one of {', '.join(sorted(CALL_TYPES))}")
        if path in self._conversations:
            raise _RefusedError(501, "a stream in both directions needs gRPC")
        metadata = tuple((key, value) for key, value in headers.items() if key in METADATA)
        handler = await self._routes.find(CallDetails(path, metadata))
        current_call.set(Call(handler, _peer_of(scope)))
        body = await self._read_body(headers, receive)
        passed = [(key, value) for key, value in scope["headers"] if key not in NOT_PASSED]
        await self._calls({**scope, "headers": passed}, _replaying(body, receive), send)

    def _check_host(self, headers: dict[str, str]) -> None:
        host = headers.get("host", "")
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = ""
        if name not in self._names and not self._is_own_number(name):
            raise _RefusedError(403, "Host is not a name of this server (web_hosts adds names)")

    def _is_own_number(self, name: str) -> bool:
        """Return whether a host in numbers may be this server: no other site can have its pages there."""
        try:
            number = ip_address(name)
        except ValueError:
            return False
        return number.is_loopback or not self._is_loopback

    def _check_site(self, scope: Scope, headers: dict[str, str], *, may_navigate: bool) -> None:
        """Refuse requests that a browser sends for another site; a link from there to the page may be followed."""
        origin = headers.get("origin")
        if origin is not None and origin.lower().partition("://")[2] != headers["host"].lower():
            raise _RefusedError(403, "Origin is another site")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
            if not (may_navigate and navigates):
                raise _RefusedError(403, "Sec-Fetch-Site is another site")

    async def _read_body(self, headers: dict[str, str], receive: Receive) -> bytes:
        """Read the body of a call, within BODY_SECONDS and BODY_MAX."""
        length = headers.get("content-length", "")
        if length.isdecimal() and int(length) > BODY_MAX:
            raise _RefusedError(413, f"a request has at most {BODY_MAX} bytes")
        try:
            async with asyncio.timeout(BODY_SECONDS):
                if length.isdecimal() and int(length) <= SMALL_BODY:
                    return await _read(receive)
                async with self._bodies:
                    return await _read(receive)
        except TimeoutError:
            raise _RefusedError(408, f"the request did not arrive within {BODY_SECONDS:g} s") from None


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _GoneError
        body += message.get("body", b"")
        if len(body) > BODY_MAX:
            raise _RefusedError(413, f"a request has at most {BODY_MAX} bytes")
        if not message.get("more_body", False):
            return bytes(body)


def _replaying(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives a body that was read, then what follows it: the end of the connection."""
    is_given = False

    async def replay() -> dict[str, Any]:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {key for key, _ in message["headers"]}
            cached = [] if b"cache-control" in own else [(b"cache-control", b"no-store")]
            message = {**message, "headers": [*message["headers"], *HEADERS, *cached]}
        await send(message)

    return send_with_headers


async def _send_file(send: Send, file: File, *, may_pack: bool) -> None:
    headers = [*file.headers, (b"vary", b"accept-encoding")]
    if may_pack:
        headers.append((b"content-encoding", b"gzip"))
    await _send_whole(send, 200, file.kind, file.packed if may_pack else file.content, headers)


async def _send_whole(
    send: Send, status: int, kind: str, body: bytes, headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    whole = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": whole})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def _read_headers(scope: Scope) -> dict[str, str]:
    """Return the headers; refuse a second one of those that the checks read."""
    headers: dict[str, str] = {}
    for raw_key, value in scope["headers"]:
        key = raw_key.decode("latin-1")
        if key in headers and key in ("host", "origin", "content-type", "sec-fetch-site"):
            raise _RefusedError(400, f"{key}: occurs twice")
        headers[key] = value.decode("latin-1")
    return headers


def _peer_of(scope: Scope) -> str:
    """Return the address of a client, as gRPC writes it."""
    host, port = scope["client"] or ("", 0)
    return f"ipv6:{quote(f'[{host}]')}:{port}" if ":" in host else f"ipv4:{host}:{port}"

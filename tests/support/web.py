"""Requests over HTTP, in the protocols of the door: Connect with bytes or JSON, and gRPC-Web."""

from __future__ import annotations

import base64
import http.client
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from google.protobuf.message import Message
from google.rpc import error_details_pb2
from waiting import HANG_S


class Reply(NamedTuple):
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def request(
    web: str, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    address = urlsplit(web)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=HANG_S)
    try:
        connection.request(method, path, body, dict(headers or {}))
        response = connection.getresponse()
        return Reply(response.status, {key.lower(): value for key, value in response.getheaders()}, response.read())
    finally:
        connection.close()


def post(web: str, path: str, body: bytes, kind: str, **headers: str) -> Reply:
    return request(web, "POST", path, body, {"content-type": kind, **headers})


def post_json(web: str, path: str, body: Any, **headers: str) -> Reply:
    return post(web, path, json.dumps(body).encode(), "application/json", **headers)


def enveloped(body: bytes) -> bytes:
    return struct.pack(">BI", 0, len(body)) + body


def envelopes(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the flags and the content of each part of a stream."""
    while body:
        flags, size = struct.unpack(">BI", body[:5])
        yield flags, body[5 : 5 + size]
        body = body[5 + size :]


class Outcome(NamedTuple):
    """The end of a call, in either door's words: the code, the text, the details, and the answers."""

    code: str
    text: str
    reason: str
    fields: tuple[tuple[str, str], ...]
    answers: tuple[bytes, ...]


def connect_outcome(web: str, path: str, raw: bytes, *, streams: bool) -> Outcome:
    """Call a method by Connect, with bytes of protobuf."""
    if not streams:
        reply = post(web, path, raw, "application/proto")
        return Outcome("OK", "", "", (), (reply.body,)) if reply.status == 200 else _refused(reply.json, ())
    reply = post(web, path, enveloped(raw), "application/connect+proto")
    assert reply.status == 200
    *answers, (flags, last) = envelopes(reply.body)
    assert flags == 2
    end = json.loads(last)
    bodies = tuple(answer for _, answer in answers)
    return _refused(end["error"], bodies) if "error" in end else Outcome("OK", "", "", (), bodies)


def _refused(error: Any, answers: tuple[bytes, ...]) -> Outcome:
    info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
    for detail in error.get("details", ()):
        raw = base64.b64decode(detail["value"] + "==")
        part: Message | None = {"google.rpc.ErrorInfo": info, "google.rpc.BadRequest": bad}.get(detail["type"])
        if part is not None:
            part.ParseFromString(raw)
    fields = tuple((violation.field, violation.description) for violation in bad.field_violations)
    code = error["code"].upper().replace("CANCELED", "CANCELLED")
    return Outcome(code, error["message"], info.reason, fields, answers)

"""Parse messages from bytes, and refuse those with fields that this server does not know."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from server.codec.fields import path_in
from server.refusals import Refusal

# Limits of the search for the name of an unknown field: submessages visited, and bytes of unknown fields.
SEARCHED_MAX, UNKNOWN_BYTES_MAX = 1_000, 4_096


def read_message(raw: bytes, kind: type[Message]) -> Message:
    """Parse a message; refuse malformed bytes and unknown fields."""
    message = _parse(raw, kind)
    message.DiscardUnknownFields()
    # Fast path: most clients serialize a message to the same bytes as we do.
    if message.SerializeToString() != raw:
        _check_fields(kind.FromString(raw), message)
    return message


def _parse(raw: bytes, kind: type[Message]) -> Message:
    try:
        return kind.FromString(raw)
    except (DecodeError, UnicodeDecodeError):
        raise Refusal("MALFORMED_MESSAGE", "", f"these bytes are not a {kind.DESCRIPTOR.full_name}") from None


def _check_fields(whole: Message, stripped: Message) -> None:
    """Refuse a message with unknown fields; `stripped` is the message without them.

    The refusal names an unknown field by its number.
    """
    unknown_bytes = whole.ByteSize() - stripped.ByteSize()
    if not unknown_bytes:
        return
    first = next(_unknown(whole, "", iter(range(SEARCHED_MAX))), None) if unknown_bytes <= UNKNOWN_BYTES_MAX else None
    if first is None:
        raise Refusal("UNKNOWN_FIELD", "", "the message has a field that is not known to this server")
    path, number = first
    raise Refusal("UNKNOWN_FIELD", path_in(path, str(number)), f"field {number} is not known to this server")


def _unknown(message: Message, path: str, visits: Iterator[int]) -> Iterator[tuple[str, int]]:
    """Yield the message's path and the number of each unknown field. Each submessage takes one of `visits`."""
    for unknown in UnknownFieldSet(message):  # type: ignore[attr-defined]
        yield path, unknown.field_number
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        name = path_in(path, field.name)
        parts = ((f"{name}[{i}]", part) for i, part in enumerate(value)) if field.is_repeated else [(name, value)]
        for part_path, part in parts:
            if next(visits, None) is None:
                return
            yield from _unknown(part, part_path, visits)

"""Damage messages at random, and walk through their parts and types."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, TypeVar

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

M = TypeVar("M", bound=Message)

NUMBERS = (-(2**31), -7, -1, 0, 1, 2, 3, 4, 5, 6, 9, 14, 15, 16, 31, 99, 1000, 2**31 - 1)
TEXTS = (
    "",
    "?",
    "reveal",
    "place Spy front",
    "select 9",
    "rob B",
    "A:Spy | seen by A",
    "castle 9A",
    "oriflamme",
    "x" * 9000,
)


def reachable(descriptor: Descriptor) -> dict[str, Descriptor]:
    """Return every message type that one may contain, itself included, by full name."""
    reached: dict[str, Descriptor] = {}
    queue = [descriptor]
    while queue:
        current = queue.pop()
        if current.full_name not in reached:
            reached[current.full_name] = current
            queue += [field.message_type for field in current.fields if field.message_type is not None]
    return reached


def parts(message: Message) -> Iterator[Message]:
    """Yield the message and every message in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if field.is_repeated else [value]:
                yield from parts(part)


def damaged(message: M, draw: random.Random) -> M:
    """Return a copy of `message` with one to four random changes."""
    copy = type(message)()
    copy.CopyFrom(message)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        part = draw.choice(list(parts(copy)))
        if part.DESCRIPTOR.fields:
            fields: list[Any] = list(part.DESCRIPTOR.fields)
            _damage(part, draw.choice(fields), draw)
    return copy


def bytes_without_elapsed(message: Message) -> bytes:
    """Serialize a message without its field `elapsed`, which differs from run to run."""
    copy: Any = type(message)()
    copy.CopyFrom(message)
    copy.ClearField("elapsed")
    raw: bytes = copy.SerializeToString(deterministic=True)
    return raw


def _damage(part: Message, field: FieldDescriptor, draw: random.Random) -> None:
    if draw.randrange(5) == 0:
        part.ClearField(field.name)
        return
    value: Any = getattr(part, field.name)
    if field.is_repeated:
        if value and draw.randrange(3) == 0:
            del value[draw.randrange(len(value))]
        elif field.message_type is not None:
            new = value.add()
            if len(value) > 1:
                new.CopyFrom(draw.choice(value))
        elif value and draw.randrange(2):
            value[draw.randrange(len(value))] = _scalar(field, draw)
        else:
            value.extend([_scalar(field, draw)] * draw.choice((1, 1, 1, 2, 700)))
    elif field.message_type is not None:
        value.SetInParent()
    else:
        setattr(part, field.name, _scalar(field, draw))


def _scalar(field: FieldDescriptor, draw: random.Random) -> Any:
    if field.enum_type is not None:
        return draw.choice([*field.enum_type.values_by_number, 17, -1])
    elif field.type == FieldDescriptor.TYPE_STRING:
        return draw.choice(TEXTS)
    elif field.type == FieldDescriptor.TYPE_BYTES:
        return draw.choice((b"", b"\x08\x01", b"\xff"))
    elif field.type == FieldDescriptor.TYPE_BOOL:
        return bool(draw.randrange(2))
    elif field.type == FieldDescriptor.TYPE_UINT64:
        return draw.choice((0, 1, 2**64 - 1))
    return draw.choice(NUMBERS)

"""The oneofs of shared messages that hold a game's own message: in its member, or as `typed` outside the contract."""

from __future__ import annotations

from typing import Any

from google.protobuf.message import Message

from server.codec.fields import which
from server.codec.wire import read_message
from server.games.adapter import TYPED, GameAdapter
from server.refusals import Refusal, under


def read_member(
    message: Any, oneof: str, adapter: GameAdapter, expected: type[Message] | None, field: str, member: str = ""
) -> tuple[Any, str]:
    """Return the game's own message in a oneof, and its path.

    Refuse the message of another game, and any if the game has none (`expected` is None).
    """
    kind = which(message, oneof, field)
    path = f"{field}.{kind}"
    if expected is None or kind != (member or adapter.member or TYPED):
        raise Refusal("CONTRADICTION", path, f"is for another game than {adapter.game_id}")
    part = getattr(message, kind)
    if kind != TYPED:
        return part, path
    if not part.Is(expected.DESCRIPTOR):
        raise Refusal("CONTRADICTION", path, f"{part.TypeName()!r} is not {expected.DESCRIPTOR.full_name!r}")
    with under(path):
        return read_message(part.value, expected), path


def write_member(message: Any, adapter: GameAdapter, part: Message | None, member: str = "") -> bool:
    """Write the game's own message, if it is not None, into the oneof of a shared message; return whether it did."""
    if part is None:
        return False
    member = member or adapter.member
    if member:
        getattr(message, member).CopyFrom(part)
    else:
        message.typed.Pack(part)
    return True

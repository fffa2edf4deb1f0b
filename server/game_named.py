"""Find the installed game that a request names, without running its code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message

from eminence.v1 import record_pb2, view_pb2
from engine_cy.record import game_named
from engine_cy.registry import has_installed, is_installed

# The fields through which requests name games.
_FIELDS = ("game_id", "game", "view", "record", "standing", "position")


def installed_game(request: Any) -> str | None:
    """Return the id of the first installed game that a request names, or None."""
    if not has_installed():
        return None
    return next((game_id for game_id in _games(request) if is_installed(game_id)), None)


def _games(message: Message) -> Iterator[str]:
    if isinstance(message, view_pb2.GameSpec):
        yield message.game_id
        return
    for name in _FIELDS:
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            continue
        value: Any = getattr(message, name)
        if isinstance(value, str):
            yield (value if name == "game_id" else game_named(value)) or ""
        elif message.HasField(name):
            yield from _games(value)
    if isinstance(message, record_pb2.Record):
        yield game_named(message.text) or ""

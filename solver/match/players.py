"""Read the players of a match: configurations of the search, by name and settings, and guests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast, get_args, get_origin, get_type_hints

from engine_cy import Action, Position, View
from engine_cy.action_log import History
from engine_cy.errors import quoted
from engine_cy.record import Record
from solver.config import CONFIGS, Budget, Config, InvalidQuestionError, read_config

Variant = TypeVar("Variant")


class Turn(NamedTuple):
    """Hold a decision to take: the position, the log of the player to act, and the position after the deal."""

    position: Position
    history: History  # the actions as the player to act saw them
    start: Position

    @property
    def view(self) -> View:
        """The position as the player to act sees it."""
        return self.position.view(self._player)

    @property
    def seen(self) -> Record:
        """The game as the player to act saw it."""
        return Record(self.start.view(self._player), self.history.actions)

    @property
    def _player(self) -> int:
        assert self.position.to_act is not None
        return self.position.to_act


class Guest(Protocol):
    """A player other than our search: a dataclass whose fields are its settings.

    It may use only the information of a turn that the player to act sees or has seen.
    """

    @property
    def name(self) -> str: ...

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        """Return its choice among two options or more, and the iterations that it took."""


def read_player(text: str, guests: Mapping[str, Callable[[str, str], Guest]] | None = None) -> Config | Guest:
    """Read a configuration with optional settings, such as `plain:nodes=own,exploration=0.7`, or a guest.

    `guests` maps the name of a kind of guest to a function of the whole text and the part after the first colon.
    """
    name, _, settings = text.partition(":")
    if guests and name in guests:
        return guests[name](text, settings)
    try:
        return with_settings(read_config(name), text, settings)
    except InvalidQuestionError as error:
        if not guests or name in CONFIGS:
            raise
        accepted = ", ".join([error.accepted, *guests])
        raise InvalidQuestionError(
            error.field, f"{quoted(name)} is not one of {accepted}", value=quoted(name), accepted=accepted
        ) from None


def with_settings(variant: Variant, text: str, settings: str) -> Variant:
    """Return the player with changed settings; its name is the whole text."""
    if not settings:
        return variant
    kinds = get_type_hints(type(variant))
    names = [field for field in kinds if field != "name"]
    changes: dict[str, Any] = {}
    for setting in settings.split(","):
        field, _, value = setting.partition("=")
        if field not in names:
            raise InvalidQuestionError(text, f"{field!r} is not one of {', '.join(names)}", accepted=", ".join(names))
        changes[field] = read_setting(field, value, kinds[field])
    player: Any = variant
    return cast(Variant, replace(player, **changes, name=text))


def read_setting(field: str, value: str, kind: Any) -> Any:
    """Parse the value of a setting as the type of its field."""
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        accepted = ", ".join(get_args(kind))
        raise InvalidQuestionError(field, f"{value!r} is not one of {accepted}", value=value, accepted=accepted)
    kinds = get_args(kind) or (kind,)
    try:
        if bool in kinds:
            return {"True": True, "False": False}[value]
        if value == "None" and type(None) in kinds:
            return None
        return int(value) if int in kinds else float(value) if float in kinds else value
    except (KeyError, ValueError):
        raise InvalidQuestionError(field, f"{value!r} is not of the kind {kind}", value=value) from None

"""The adapter of a game with messages: they have the fields of the engine's tables and actions, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

from google.protobuf.message import Message

from eminence.v1 import view_pb2
from engine_cy import Action, EngineError, Position, View
from engine_cy.tables import Fault
from server.codec.action_plans import ActionPlans
from server.codec.fields import NoValueError, seat_index
from server.codec.plans import Plan
from server.games.adapter import Draft, GameAdapter, Names
from server.refusals import Refusal, at, under


class Plans(NamedTuple):
    """The plans of a game's messages.

    `view`, `position` and `deal` make the tables of the engine, `draft` a view whose message may leave fields out.
    """

    view: Plan
    position: Plan
    deal: Plan
    actions: ActionPlans
    draft: Plan


class MessageAdapter(GameAdapter):
    """A game with messages. Its class in the engine has `from_parts`, `from_deal`, `deal_of` and `shape`."""

    plans: ClassVar[Plans]
    changes: Plan | None

    def __init__(self, game_id: str, names: Names | None = None, changes: Plan | None = None) -> None:
        super().__init__(game_id, names)
        self.changes = changes

    # --- rulesets ---

    def read_changes(self, message: Any, field: str) -> dict[str, Any]:
        assert self.changes is not None
        with under(field):
            changes: dict[str, Any] = self.changes.read(message, 0)
        return changes

    def write_changes(self, changes: Mapping[str, Any]) -> Message:
        assert self.changes is not None
        message: Message = self.changes.message()
        self.changes.write(changes, message)
        return message

    # --- tables ---

    def read_view(self, game: Any, message: Any, field: str, known: View | None) -> View:
        with under(field):
            parts = self.plans.view.read(message, game.n_players)
        parts = self.prepare(game, parts, field, known)
        with at(field, partial(_field_of, field, self.plans.view)):
            view: View = game.from_parts(parts)
        return view

    def read_draft(self, game: Any, message: Any, field: str, *, fills_in: bool) -> Draft:
        plan = self.plans.draft if fills_in else self.plans.view
        if fills_in and not message.HasField("own"):
            copy = type(message)()
            copy.CopyFrom(message)
            copy.own.SetInParent()
            message = copy
        with under(field):
            parts = plan.read(message, game.n_players)
        parts = without_empty_hand(parts) if fills_in else self.prepare(game, parts, field, None)
        faults = game.faults(parts)
        path_of = partial(_field_of, field, self.plans.view)
        problems = [problem for fault in faults for problem in _refusals_of(fault, path_of)]
        written = None
        with suppress(EngineError, NoValueError):
            written = self._written(game, self.plans.view, game.complete(parts))
        return Draft(problems, None if faults else game.from_parts(parts), written)

    def prepare(self, game: Any, parts: Any, field: str, known: View | None) -> Any:
        """Refuse tables that only text may send, and fill in fields of a view that follow from its history.

        `known` is the view at the end of the history, or None.
        """
        return parts

    def write_view(self, view: View) -> Message | None:
        return self._written(view.game, self.plans.view, view.parts)

    def read_position(self, game: Any, message: Any, field: str) -> Position:
        with under(field):
            parts = self.plans.position.read(message, game.n_players)
        parts = self.prepare(game, parts, field, None)
        with at(field, partial(_field_of, field, self.plans.position)):
            position: Position = game.from_parts(parts)
        return position

    def write_position(self, position: Position) -> Message | None:
        return self._written(position.game, self.plans.position, position.parts)

    def read_deal(self, game: Any, message: Any, field: str) -> Position:
        with under(field):
            deal = self.plans.deal.read(message, game.n_players)
        with at(field, partial(_field_of, field, self.plans.deal)):
            start: Position = game.from_deal(deal)
        return start

    def write_deal(self, start: Position) -> Message | None:
        deal = start.game.deal_of(start)  # type: ignore[attr-defined]
        return None if deal is None else self._written(start.game, self.plans.deal, deal)

    def has_values(self, game: Any) -> bool:
        """Return whether the contract has a value for every card of the edition. If not, text replaces all its tables.

        The form of a message must not depend on the cards of a table, because these may be hidden.
        """
        return True

    def _written(self, game: Any, plan: Plan, value: Any) -> Message | None:
        if not self.has_values(game):
            return None
        message: Message = plan.message()
        plan.write(value, message)
        return message

    # --- actions ---

    def read_action(self, game: Any, message: Any, field: str) -> Action:
        return self.plans.actions.read(message, game, field)

    def write_action(self, action: Action, message: view_pb2.Action) -> None:
        # Text and message come from the same fields, and the message is written in its place.
        fields = action.fields
        message.text = self.plans.actions.text(fields, action.game.shape)  # type: ignore[attr-defined]
        own = getattr(message, self.member) if self.member else self.plans.actions.message()
        if not self.plans.actions.write(fields, own):
            message.ClearField("action")
        elif not self.member:
            message.typed.Pack(own)

    # --- cards ---

    def read_card(self, game: Any, message: view_pb2.Card, field: str) -> str:
        if message.WhichOneof("card") != (self.member or None):
            return super().read_card(game, message, field)
        numbered = self.card_of(game, getattr(message, self.member), f"{field}.{self.member}")
        if message.name and super().read_card(game, message, field) != numbered:
            raise Refusal("CONTRADICTION", f"{field}.name", f"{message.name!r} contradicts {self.member}: {numbered!r}")
        return numbered

    def write_card(self, game: Any, name: str) -> view_pb2.Card:
        message = super().write_card(game, name)
        with suppress(NoValueError):
            setattr(message, self.member, self.number_of(game, name))
        return message

    def card_of(self, game: Any, number: int, field: str) -> str:
        """Return the name of the card with this value in the contract."""
        raise NotImplementedError

    def number_of(self, game: Any, name: str) -> int:
        """Return the value of a card in the contract. Raises NoValueError if it has none."""
        raise NotImplementedError


def without_empty_hand(parts: Any) -> Any:
    """Return a view's parts whose empty hand counts as left out."""
    return parts if parts.own.hand else replace(parts, own=replace(parts.own, hand=None))


def _refusals_of(fault: Fault, path_of: Callable[[str], str]) -> list[Refusal]:
    """Return a refusal for each place of a fault."""
    reason = "INVALID_VIEW" if fault.error.reason == "UNSPECIFIED" else fault.error.reason
    places = fault.places or (fault.path,)
    return [Refusal(reason, path_of(f"view.{place}"), f"{fault.value!r} {fault.why}") for place in places]


def _field_of(field: str, plan: Plan, path: str) -> str:
    """Return the field for a path of the engine, such as `view.table.points[B]`."""
    inner = plan.field_of(seat_index(path).removeprefix("view").removeprefix("position").removeprefix("."))
    return f"{field}.{inner}" if inner else field

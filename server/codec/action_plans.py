"""The generic codec between actions and messages, by the declared names of verbs and arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.message import Message

from engine_cy import Action, Game
from engine_cy.actions import Actions, Argument, Fields
from engine_cy.errors import listed
from server.codec.fields import NoValueError, Words, check_complete, which
from server.codec.plans import Plan
from server.refusals import Refusal, missing


class ActionPlans:
    """The conversion of a game's declared actions: a message for each verb, with a field for each argument."""

    def __init__(self, message: type[Message], actions: Actions, words: Mapping[str, Words] | None = None) -> None:
        self.message = message
        self._actions = actions
        verbs: Any = message.DESCRIPTOR.oneofs_by_name["action"].fields
        declared = {name: {argument.name for argument in verb.arguments} for name, verb in actions.verbs.items()}
        check_complete(f"the message {message.DESCRIPTOR.name}", [verb.name for verb in verbs], declared)
        for verb in verbs:
            check_complete(
                f"the message {verb.message_type.name}",
                [field.name for field in verb.message_type.fields],
                declared[verb.name],
            )
        # All parts of an argument are required, such as the value and the owner of a card in a row.
        arguments = [field for verb in verbs for field in verb.message_type.fields if field.message_type]
        required = {part.name for field in arguments for part in field.message_type.fields}
        self._plans = {verb.name: Plan(verb.message_type, required=required, words=words) for verb in verbs}
        # For each argument: its name, its value if the observer does not know it, and the function that writes it.
        self._writers = {
            name: [
                (argument.name, argument.kind.unknown, self._plans[name].writer(argument.name))
                for argument in verb.arguments
            ]
            for name, verb in actions.verbs.items()
        }

    def read(self, message: Any, game: Game, field: str) -> Action:
        verb = which(message, "action", field)
        nested = getattr(message, verb)
        try:
            fields = {"type": verb, **self._plans[verb].read(nested, game.n_players)}
            for alternatives in self._actions.places[verb]:
                _check(fields, alternatives, nested, game.shape)  # type: ignore[attr-defined]
        except Refusal as refusal:
            raise refusal.under(f"{field}.{verb}") from None
        return game.action_from_fields(fields)

    def text(self, fields: Fields, shape: Any) -> str:
        return self._actions.write(fields, shape)

    def write(self, fields: Fields, message: Any) -> bool:
        """Write an action into a message; return whether the contract has a value for each of its cards."""
        verb = fields["type"]
        nested = getattr(message, verb)
        nested.SetInParent()
        try:
            for name, unknown, write in self._writers[verb]:
                value = fields.get(name, unknown)
                if value != unknown:
                    write(value, nested)
        except NoValueError:
            return False
        return True


def _check(fields: Fields, alternatives: Sequence[Argument], message: Any, shape: Any) -> None:
    """Check the argument in a place of an action; give one that the observer does not know its value for that."""
    first = alternatives[0]
    for argument in alternatives:
        if argument.name in fields:
            value, kind = fields[argument.name], argument.kind
            if not kind.accepts(value, shape):
                shown = repr(value) if isinstance(value, str) else kind.write(value, shape)
                accepted = kind.accepted or f"one of {listed(kind.values(shape))}"
                raise Refusal("INVALID_NOTATION", argument.name, f"{shown} is not {accepted}")
            return
    if first.kind.unknown is not None:
        fields[first.name] = first.kind.unknown
    elif len(alternatives) == 1:
        raise missing(first.name)
    else:
        oneof = message.DESCRIPTOR.fields_by_name[first.name].containing_oneof.name
        raise missing(oneof, f"one of {listed(argument.name for argument in alternatives)} is required")

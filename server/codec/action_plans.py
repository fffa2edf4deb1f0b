"""The generic codec between actions and messages, by the declared names of verbs and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message

from engine_cy import Action, Game
from engine_cy.actions import Actions, Verb
from engine_cy.errors import listed
from server.codec.fields import NoValueError, Words, which
from server.codec.plans import Plan
from server.refusals import at, missing, under


class ActionPlans:
    """The conversion of a game's declared actions: a message for each verb, with a field for each argument."""

    def __init__(self, message: type[Message], actions: Actions, words: Mapping[str, Words] | None = None) -> None:
        self.message = message
        self._actions = actions
        verbs = message.DESCRIPTOR.oneofs_by_name["action"].fields
        declared = {name: {argument.name for argument in verb.arguments} for name, verb in actions.verbs.items()}
        if declared != {verb.name: {field.name for field in verb.message_type.fields} for verb in verbs}:
            raise TypeError(f"actions: {message.DESCRIPTOR.name} differs from the declared actions")
        self._plans = {verb.name: Plan(verb.message_type, words=words) for verb in verbs}

    def read(self, message: Any, game: Game, field: str) -> Action:
        verb = which(message, "action", field)
        path = f"{field}.{verb}"
        with under(path):
            fields = {"type": verb, **self._plans[verb].read(getattr(message, verb), game.n_players)}
            _fill_in(fields, self._actions.verbs[verb], getattr(message, verb).DESCRIPTOR)
        with at(path):
            return game.action(self._actions.write(fields, game.shape))  # type: ignore[attr-defined]

    def write(self, action: Action) -> Message | None:
        """Write an action; return None if it names a card without a value in the contract."""
        fields = action.fields
        verb = fields["type"]
        message = self.message()
        nested = getattr(message, verb)
        nested.SetInParent()
        known = {
            argument.name: fields[argument.name]
            for argument in self._actions.verbs[verb].arguments
            if argument.name in fields and fields[argument.name] != argument.kind.unknown
        }
        try:
            self._plans[verb].write(known, nested)
        except NoValueError:
            return None
        return message


def _fill_in(fields: dict[str, Any], verb: Verb, message: Descriptor) -> None:
    """Set arguments that the observer does not know to the `unknown` value of their kind; refuse other missing ones."""
    for alternatives in verb.places():
        if any(argument.name in fields for argument in alternatives):
            continue
        first = alternatives[0]
        if first.kind.unknown is not None:
            fields[first.name] = first.kind.unknown
        elif len(alternatives) == 1:
            raise missing(first.name)
        else:
            oneof = message.fields_by_name[first.name].containing_oneof.name
            raise missing(oneof, f"one of {listed(argument.name for argument in alternatives)} is required")

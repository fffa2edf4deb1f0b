"""Actions declared once: their text, fields, steps and help, and OpenSpiel's list of them, come from the declaration.

A game declares its verbs with their arguments, such as `Verb("rob", (VERB_ROB,), [Argument("player", SEAT)])`. Verbs
and arguments have the names of the contract's messages and fields; the kind of an argument reads and writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import product
from typing import Any, NamedTuple

from engine_cy.errors import NotationError, listed
from engine_cy.seats import SEATS

Fields = dict[str, Any]


class Kind:
    """A kind of argument, such as a seat: its words in text, its values in fields, its numbers in steps.

    `shape` is the `shape` of a game, which has what differs between tables, such as the names of its cards.
    """

    unknown: Any = None  # the value that the observer of a record does not know, if there is one

    def __init__(self, label: str, accepted: str = "") -> None:
        self.label = label  # in help
        self.accepted = accepted  # the accepted words, for refusals; empty: these list the forms of all actions

    def read(self, word: str, shape: Any) -> Any:
        """Return the value of a word; None if it is not one of this kind."""
        raise NotImplementedError

    def write(self, value: Any, shape: Any) -> str:
        return str(value)

    def accepts(self, value: Any, shape: Any) -> bool:
        """Return whether a value, of the type of this kind's values, is one of them."""
        return True

    def pack(self, value: Any, shape: Any) -> int:
        """Return the number of a value in a step."""
        return int(value)

    def unpack(self, number: int, shape: Any) -> Any:
        """Return the value of a number in a step; None if it is not one of this kind."""
        return number

    def values(self, shape: Any) -> Iterable[Any]:
        """Return all values at a table, for lists of all actions."""
        raise NotImplementedError


class Number(Kind):
    """A number from 0 to `most`; in steps, `flag` is added to it. `count` gives the numbers of a table."""

    def __init__(self, label: str, accepted: str, most: int, count: Callable[[Any], int], flag: int = 0) -> None:
        super().__init__(label, accepted)
        self._most, self._flag, self._count = most, flag, count

    def read(self, word: str, shape: Any) -> int | None:
        return int(word) if re.fullmatch(r"[0-9]{1,2}", word) and int(word) <= self._most else None

    def accepts(self, value: int, shape: Any) -> bool:
        return 0 <= value <= self._most

    def pack(self, value: int, shape: Any) -> int:
        return value | self._flag

    def unpack(self, number: int, shape: Any) -> int | None:
        value = number - self._flag
        return value if 0 <= value <= self._most else None

    def values(self, shape: Any) -> Iterable[int]:
        return range(self._count(shape))


class OneOf(Kind):
    """One of a few words."""

    def __init__(self, label: str, numbers: Mapping[str, int], accepted: str = "") -> None:
        super().__init__(label, accepted)
        self._numbers = numbers
        self._words = {number: word for word, number in numbers.items()}

    def read(self, word: str, shape: Any) -> str | None:
        return word if word in self._numbers else None

    def accepts(self, value: str, shape: Any) -> bool:
        return value in self._numbers

    def pack(self, value: str, shape: Any) -> int:
        return self._numbers[value]

    def unpack(self, number: int, shape: Any) -> str | None:
        return self._words.get(number)

    def values(self, shape: Any) -> Iterable[str]:
        return self._numbers


class _Seat(Kind):
    """The letter of a seat."""

    def read(self, word: str, shape: Any) -> int | None:
        return SEATS.index(word) if len(word) == 1 and word in SEATS else None

    def write(self, value: int, shape: Any) -> str:
        return SEATS[value]

    def values(self, shape: Any) -> Iterable[int]:
        return range(shape.n_players)


SEAT = _Seat("SEAT", f"a seat ({listed(SEATS)})")


class Argument(NamedTuple):
    """An argument of a verb: its name in fields and messages, and its place in the steps."""

    name: str
    kind: Kind
    shift: int = 8  # its lowest bit in the step
    step: int = 0


class Verb(NamedTuple):
    """A verb: its name, the number of each of its steps, and its arguments.

    `ask` is the number of the question that it answers, of two halves the first. A question has the name of the first
    verb that answers it, and its task in words. `forms` are the texts of the verb with its arguments in braces: by
    default, its name and all arguments. Two arguments in order are sorted in the steps, so their order does not matter.
    """

    name: str
    numbers: tuple[int, ...]
    arguments: Sequence[Argument] = ()
    ask: int | None = None
    task: str = ""
    forms: Sequence[str] = ()
    in_order: bool = False

    def by_place(self) -> list[list[Argument]]:
        """Return the arguments by their places in the steps. Those of one place exclude each other."""
        places: dict[tuple[int, int], list[Argument]] = {}
        for argument in self.arguments:
            places.setdefault((argument.step, argument.shift), []).append(argument)
        return list(places.values())


class _Form(NamedTuple):
    """A form of a verb as text: its words, with a kind where an argument stands, and the names of its fields."""

    verb: Verb
    words: Sequence[tuple[str, Kind | None]]
    names: Set[str]


class Actions:
    """The declared actions of a game. A step is the number of its verb, shifted by `shift`, and its arguments."""

    def __init__(self, shift: int, verbs: Sequence[Verb]) -> None:
        self.verbs = {verb.name: verb for verb in verbs}
        self._shift = shift
        self.places = {verb.name: verb.by_place() for verb in verbs}
        self.questions: dict[str, int] = {}
        for verb in verbs:
            if verb.ask is not None and verb.ask not in self.questions.values():
                self.questions[verb.name] = verb.ask
        self._of_number = {verb.numbers[0]: verb for verb in verbs}
        self._forms = {verb.name: [_form_of(verb, form) for form in verb.forms or [_form(verb)]] for verb in verbs}
        self.help = [
            " ".join(kind.label if kind else word for word, kind in form.words)
            for forms in self._forms.values()
            for form in forms
        ]

    # --- text ---

    def read(self, text: str, shape: Any) -> Fields:
        """Read the fields of an action from its text."""
        words = text.split()
        why = None
        for form in self._forms.get(words[0], ()) if words else ():
            if len(words) != len(form.words):
                continue
            fields: Fields = {"type": form.verb.name}
            for word, (name, kind) in zip(words, form.words, strict=True):
                if kind is None:
                    if word != name:
                        break
                    continue
                value = kind.read(word, shape)
                if value is None:
                    if kind.accepted:
                        why = f"action: {word!r} in {text!r} is not {kind.accepted}"
                    break
                fields[name] = value
            else:
                return fields
        raise NotationError(why or f"action: {text!r} is not one of {listed(self.help)}")

    def write(self, fields: Mapping[str, Any], shape: Any) -> str:
        """Write the text of an action from its fields."""
        for form in self._forms.get(fields["type"], ()):
            if form.names == fields.keys():
                return " ".join(
                    [word if kind is None else kind.write(fields[word], shape) for word, kind in form.words]
                )
        raise NotationError(f"action: {dict(fields)} are not the fields of an action ({listed(self.help)})")

    # --- steps ---

    def pack(self, fields: Mapping[str, Any], shape: Any) -> tuple[int, ...]:
        """Return the steps of an action from its fields."""
        verb = self.verbs[fields["type"]]
        fields = _sorted(verb, fields)
        steps = [number << self._shift for number in verb.numbers]
        for argument in verb.arguments:
            if argument.name in fields:
                steps[argument.step] |= argument.kind.pack(fields[argument.name], shape) << argument.shift
        return tuple(steps)

    def unpack(self, steps: Sequence[int], shape: Any) -> Fields:
        """Return the fields of an action from its steps."""
        verb = self._of_number.get(steps[0] >> self._shift)
        if verb is None or tuple([step >> self._shift for step in steps]) != verb.numbers:
            raise NotationError(f"steps: {steps} are not an action")
        fields: Fields = {"type": verb.name}
        for alternatives in self.places[verb.name]:
            for argument in alternatives:
                value = argument.kind.unpack(steps[argument.step] >> argument.shift & 0xFF, shape)
                if value is not None:
                    fields[argument.name] = value
                    break
        return fields

    # --- questions ---

    def check_questions(self, asks: Iterable[Any], *others: int) -> None:
        """Refuse to be imported unless a verb answers each question but the `others`."""
        lacking = [ask.name for ask in asks if ask not in (*self.questions.values(), *others)]
        if lacking:
            raise ImportError(f"actions.py: no verb answers {listed(lacking)}")

    def explain_other(self, fields: Mapping[str, Any], question: str, seat: str) -> str | None:
        """Explain why an action does not answer a question; return None if it does."""
        if self.verbs[fields["type"]].ask == self.questions[question]:
            return None
        return f"{seat} must {self.verbs[question].task}"

    # --- lists ---

    def texts(self, shape: Any, *verbs: str) -> Iterator[str]:
        """Yield the texts of all actions with these verbs at a table: the last argument changes first."""
        for verb in map(self.verbs.__getitem__, verbs):
            for fields in self._all_fields(verb, shape):
                yield self.write(fields, shape)

    def _all_fields(self, verb: Verb, shape: Any) -> Iterator[Fields]:
        choices = [
            [(argument.name, value) for argument in alternatives for value in argument.kind.values(shape)]
            for alternatives in self.places[verb.name]
        ]
        for chosen in product(*choices):
            if not verb.in_order or chosen[0][1] < chosen[1][1]:
                yield {"type": verb.name, **dict(chosen)}


def _form(verb: Verb) -> str:
    return " ".join([verb.name, *(f"{{{argument.name}}}" for argument in verb.arguments)])


def _form_of(verb: Verb, text: str) -> _Form:
    kinds = {f"{{{argument.name}}}": argument.kind for argument in verb.arguments}
    words = [(word.strip("{}"), kinds.get(word)) for word in text.split()]
    return _Form(verb, words, {"type", *(word for word, kind in words if kind)})


def _sorted(verb: Verb, fields: Mapping[str, Any]) -> Mapping[str, Any]:
    if not verb.in_order:
        return fields
    names = [argument.name for argument in verb.arguments]
    return {"type": verb.name, **dict(zip(names, sorted(fields[name] for name in names), strict=True))}

"""The generic codec between plain values and messages, by the names of fields.

A `Plan` is made once for a message class and a class of the engine with the same fields, or `dict`. It converts seats
to numbers, values of enums to words, nested messages to values by plans of their own, and a message that only wraps a
list to that list. It refuses messages without a value in the engine: missing fields, unknown values, lists that are too
long.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Mapping
from types import NoneType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from eminence.v1.seat_pb2 import Seat
from engine_cy.errors import listed
from engine_cy.seats import SEATS
from engine_cy.tables import OMITTED
from server.codec.fields import Words, check_length, members, read_optional_seat, words_of, write_seat
from server.refusals import Refusal, missing, under

# An item of a list that a message wraps, in a list of such messages.
_NESTED_INDEX = re.compile(r"(\w+)(\[\w+\])(\[\w+\])")

# A function that reads a value of a message at a table with this number of players.
Reader = Callable[[Any, int], Any]


class _Values(NamedTuple):
    """The conversion of the values of a field. Without a function, they stay unchanged."""

    read: Reader | None = None
    write: Callable[[Any], Any] | None = None  # returns a scalar of the message
    fill: Callable[[Any, Any], None] | None = None  # fills in a nested message
    required: str = ""  # the reason of the refusal if the field is required and not set


class _Field(NamedTuple):
    name: str
    read: Reader  # from the message that has the field
    write: Callable[[Any, Any], None]  # a value into the message that has the field


class Plan:
    """The conversion between a message class, or its descriptor, and a class with the same fields, or `dict`.

    Fields are required if the class gives them no default, or if they are in `required`; an empty list is its default.
    `most` has the maximum lengths of lists by the names of their fields, and `words` the words of enums by their names,
    where they are not the values in lower case. All three serve nested messages, too.
    """

    def __init__(
        self,
        message: Any,
        make: Any = dict,
        *,
        required: Collection[str] = (),
        most: Mapping[str, int] | None = None,
        words: Mapping[str, Words] | None = None,
    ) -> None:
        descriptor: Descriptor = getattr(message, "DESCRIPTOR", message)
        hints = {} if make is dict else get_type_hints(make)
        names = {field.name for field in descriptor.fields}
        if make is not dict and hints.keys() != names:
            differing = listed(sorted(hints.keys() ^ names))
            raise TypeError(f"plan: {descriptor.name} and {make.__name__} differ in the fields {differing}")
        self.message = message
        self._make = make
        self._required, self._most, self._words = required, most or {}, words or {}
        self._wrapped: dict[str, str] = {}  # the fields of lists of messages that wrap a list, and the field in those
        defaults = dict.fromkeys(names) if make is dict else _defaults(make)
        self._fields = [
            self._list(field, hints.get(name), name in required, defaults.get(name, ()))
            if field.is_repeated
            else self._field(field, hints.get(name), name in required or name not in defaults, defaults.get(name, ...))
            for name in hints or descriptor.fields_by_name
            for field in (descriptor.fields_by_name[name],)
        ]
        self._readers = [field.read for field in self._fields]

    def read(self, message: Any, n_players: int) -> Any:
        """Return the value of a message. Refusals have the path of the field within it."""
        values = [read(message, n_players) for read in self._readers]
        if self._make is not dict:
            return self._make(*values)
        return {field.name: value for field, value in zip(self._fields, values, strict=True) if value is not None}

    def write(self, value: Any, message: Any) -> None:
        """Write a value into an empty message."""
        for field in self._fields:
            part = value.get(field.name) if self._make is dict else getattr(value, field.name)
            if part is not None:
                field.write(part, message)

    def writer(self, name: str) -> Callable[[Any, Any], None]:
        """Return the function that writes the value of one field into a message."""
        return next(field.write for field in self._fields if field.name == name)

    def field_of(self, path: str) -> str:
        """Return the field for a path of a value, in which the messages that wrap lists have no names.

        For instance, `table.piles[2][0]` is the field `table.piles[2].cards[0]`.
        """
        return _NESTED_INDEX.sub(lambda found: f"{found[1]}{found[2]}.{self._wrapped[found[1]]}{found[3]}", path)

    # --- fields ---

    def _field(self, field: FieldDescriptor, hint: Any, is_required: bool, default: Any = ...) -> _Field:
        name, values, has_presence = field.name, self._values(field, hint), field.has_presence
        is_nullable = hint is None or NoneType in get_args(hint) or default is OMITTED

        def read_plain(message: Any, n_players: int) -> Any:
            return getattr(message, name)

        def read(message: Any, n_players: int) -> Any:
            value = getattr(message, name)
            if not (message.HasField(name) if has_presence else value):
                if is_required:
                    raise missing(name, values.required.format(seats=listed(SEATS[:n_players])) or "is required")
                return None
            if values.read is None:
                return value
            try:
                return values.read(value, n_players)
            except Refusal as refusal:
                raise refusal.under(name) from None

        def write_plain(value: Any, message: Any) -> None:
            setattr(message, name, value)

        def write_converted(value: Any, message: Any) -> None:
            setattr(message, name, convert(value))

        def write_nested(value: Any, message: Any) -> None:
            nested = getattr(message, name)
            nested.SetInParent()
            fill(value, nested)

        convert: Any = values.write
        fill: Any = values.fill
        write = write_nested if fill else write_converted if convert else write_plain
        is_plain = values.read is None and not (has_presence or is_required or is_nullable)
        return _Field(name, read_plain if is_plain else read, write)

    def _list(self, field: FieldDescriptor, hint: Any, is_required: bool, empty: Any = ()) -> _Field:
        name, most, item = field.name, self._most[field.name], self._values(field, _item_hint(hint))

        def read(message: Any, n_players: int) -> Any:
            values = getattr(message, name)
            if not values:
                if is_required:
                    raise missing(name)
                return empty
            check_length(values, most, name)
            if item.read is None:
                return tuple(values)
            try:
                return tuple([item.read(value, n_players) for value in values])
            except Refusal:
                for i, value in enumerate(values):
                    with under(f"{name}[{i}]"):
                        item.read(value, n_players)
                raise

        def write(values: Any, message: Any) -> None:
            entries = getattr(message, name)
            if item.fill is None:
                entries.extend(values if item.write is None else map(item.write, values))
            else:
                for value in values:
                    item.fill(value, entries.add())

        return _Field(name, read, write)

    def _values(self, field: FieldDescriptor, hint: Any) -> _Values:
        if field.enum_type is Seat.DESCRIPTOR:
            return _Values(_read_seat, write_seat, required="a seat is required ({seats})")
        elif field.enum_type is not None:
            words = self._words.get(field.enum_type.name) or words_of(field.enum_type)
            is_nullable = NoneType in get_args(hint)
            return _Values(
                lambda value, _: None if is_nullable and not value else words.read(value, ""),
                (lambda value: 0 if value is None else words.write(value)) if is_nullable else words.write,
                required=f"a {words.name} is required ({listed(words.words.values())})",
            )
        elif field.message_type is None:
            return _Values()
        nested, make = field.message_type, _class_in(hint)
        if make is dict and len(nested.fields) == 1 and nested.fields[0].is_repeated:
            self._wrapped[field.name] = nested.fields[0].name
            wrapped = self._list(nested.fields[0], hint, False)
            return _Values(wrapped.read, fill=wrapped.write)
        elif make is dict and len(nested.oneofs) == 1 and len(nested.fields) == len(nested.oneofs[0].fields):
            return self._choice(nested)
        plan = Plan(nested, make, required=self._required, most=self._most, words=self._words)
        self._wrapped |= plan._wrapped
        return _Values(plan.read, fill=plan.write)

    def _choice(self, nested: Descriptor) -> _Values:
        """Return the conversion of a message with one oneof of a number and a word: its value is either."""
        fields = {field.name: self._field(field, None, False) for field in nested.fields}
        number, word = sorted(nested.fields, key=lambda field: field.enum_type is not None)
        oneof = nested.oneofs[0].name

        def read(message: Any, n_players: int) -> Any:
            name = message.WhichOneof(oneof)
            if name is None:
                raise missing(oneof, f"one of {members(message, oneof)} is required")
            return fields[name].read(message, n_players)

        def fill(value: Any, message: Any) -> None:
            fields[word.name if isinstance(value, str) else number.name].write(value, message)

        return _Values(read, fill=fill)


def _read_seat(value: int, n_players: int) -> int | None:
    return read_optional_seat(value, n_players, "")


def _defaults(make: Any) -> dict[str, Any]:
    """Return the defaults of the fields of a dataclass or NamedTuple."""
    if dataclasses.is_dataclass(make):
        fields = dataclasses.fields(make)
        return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    return dict(make._field_defaults)


def _item_hint(hint: Any) -> Any:
    """Return the type of the items of `tuple[item, ...]`, or of `tuple[item, ...] | None`."""
    for choice in (hint, *get_args(hint)):
        if get_origin(choice) is tuple:
            return get_args(choice)[0]
    return None


def _class_in(hint: Any) -> Any:
    """Return the class with fields in a type, such as `RowCard | None`; `dict` for a type without one."""
    for choice in (hint, *get_args(hint)):
        if dataclasses.is_dataclass(choice) or hasattr(choice, "_fields"):
            return choice
    return dict

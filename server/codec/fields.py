"""The fields that all messages share: seats, enums, texts, lists with a maximum length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from functools import cache
from typing import Any, TypeVar

from google.protobuf.message import Message

from eminence.v1.seat_pb2 import Seat
from engine_cy.errors import listed
from engine_cy.seats import SEATS
from server.refusals import Refusal, missing

T = TypeVar("T")

TABLE_TEXT_MAX = 4_000
ACTION_TEXT_MAX = 100
RECORD_TEXT_MAX = 64_000
RULESET_TEXT_MAX = 1_000
ACTIONS_MAX = 512


class NoValueError(LookupError):
    """A word without a value in the contract, such as a card of an edition that a server adds."""


def check_complete(what: str, known: Iterable[object], words: Iterable[object]) -> None:
    """Refuse to be imported unless `what` has an entry for each word of the engine, and no other."""
    known, words = set(known), set(words)
    lacking = sorted(str(getattr(word, "name", word)) for word in words - known)
    extra = sorted(str(getattr(word, "name", word)) for word in known - words)
    if lacking:
        raise ImportError(f"{what} lacks {listed(lacking)}, which the engine has")
    if extra:
        raise ImportError(f"{what} has {listed(extra)}, which the engine lacks")


class Words:
    """An enum of the contract, and the engine's words for its values: the names in lower case, except for `other`."""

    def __init__(self, enum: Any, other: Mapping[str, str] | None = None) -> None:
        enum = getattr(enum, "DESCRIPTOR", enum)
        name = enum.name
        zero = enum.values_by_number[0].name
        prefix = zero.removesuffix("UNSPECIFIED")
        self.name = name
        self.words: dict[int, str] = {
            value.number: (other or {}).get(word, word)
            for value in enum.values
            if value.number
            for word in (value.name.removeprefix(prefix).lower(),)
        }
        self._number_of = {word: number for number, word in self.words.items()}

    def read(self, number: int, field: str) -> str:
        """Return the engine's word for a value; refuse UNSPECIFIED."""
        word = self.words.get(number)
        if word is None:
            raise self.refusal(number, field)
        return word

    def has_all(self, words: Iterable[str]) -> bool:
        """Return whether the contract has a value for each word."""
        return self._number_of.keys() >= set(words)

    def write(self, word: str) -> Any:
        """Return the value for a word. Raises NoValueError if the contract has none."""
        number = self._number_of.get(word)
        if number is None:
            raise NoValueError(word)
        return number

    def refusal(self, number: int, field: str) -> Refusal:
        possible = listed(self.words.values())
        if not number:
            return missing(field, f"a {self.name} is required ({possible})")
        return Refusal("UNKNOWN_VALUE", field, f"{number} is not a {self.name} ({possible})")


words_of = cache(Words)


def read_optional_seat(seat: int, n_players: int, field: str) -> int | None:
    """Return a seat's number, or None for UNSPECIFIED."""
    if 1 <= seat <= n_players:
        return seat - 1
    elif not seat:
        return None
    if seat not in Seat.values():
        raise Refusal("UNKNOWN_VALUE", field, f"{seat} is not a Seat ({listed(SEATS[:n_players])})")
    raise Refusal("OUT_OF_RANGE", field, f"{SEATS[seat - 1]} is not at this table ({listed(SEATS[:n_players])})")


def read_seat(seat: int, n_players: int, field: str) -> int:
    """Return a seat's number; refuse UNSPECIFIED."""
    number = read_optional_seat(seat, n_players, field)
    if number is None:
        raise missing(field, f"a seat is required ({listed(SEATS[:n_players])})")
    return number


def write_seat(seat: int | None) -> Any:
    """Return a seat's value of the enum; UNSPECIFIED for chance and for None."""
    return 0 if seat is None or seat < 0 else seat + 1


def check_length(entries: Sized, most: int, field: str) -> None:
    if len(entries) > most:
        raise Refusal("TOO_LONG", field, f"{len(entries)} entries; at most {most} are possible")


def check_text(text: str, most: int, field: str) -> str:
    if len(text) > most:
        raise Refusal("TOO_LONG", field, f"{len(text)} characters; at most {most} are possible")
    return text


def in_range(value: Any, least: Any, most: Any, field: str) -> Any:
    # Not `value < least or value > most`: NaN would pass.
    if not least <= value <= most:
        raise Refusal("OUT_OF_RANGE", field, f"{value} is not in {least}..{most}")
    return value


def per_seat(entries: Sequence[T], n_players: int, field: str) -> Sequence[T]:
    """Return a list; refuse it unless it has an entry for each seat."""
    if len(entries) != n_players:
        kind = missing(field).reason if not entries else "OUT_OF_RANGE"
        raise Refusal(kind, field, f"{len(entries)} entries, not one for each of {n_players} players")
    return entries


def path_in(field: str, name: str) -> str:
    """Return the path of a field in the message at the path `field`; a request has the empty path."""
    return f"{field}.{name}" if field else name


def required(message: Message, name: str, field: str) -> None:
    if not message.HasField(name):
        raise missing(path_in(field, name))


def which(message: Message, oneof: str, field: str) -> str:
    """Return the name of the set member of a oneof; refuse a message without one."""
    name: str | None = message.WhichOneof(oneof)
    if name is None:
        raise missing(path_in(field, oneof), f"one of {members(message, oneof)} is required")
    return name


def members(message: Message, oneof: str) -> str:
    return listed(member.name for member in message.DESCRIPTOR.oneofs_by_name[oneof].fields)


def seat_index(path: str) -> str:
    """Replace the seats' letters in a path of the engine by indices: points[B] -> points[1]."""
    for number, letter in enumerate(SEATS):
        path = path.replace(f"[{letter}]", f"[{number}]")
    return path

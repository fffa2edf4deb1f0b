"""Moves in words: the parts of a sentence that the games share.

A game's adapter tells a move from two tables that the reader may see, before and after it. It knows nothing else, so a
sentence cannot reveal a hidden card.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from engine_cy.seats import SEATS
from server.codec.fields import check_complete
from server.languages import DEFAULT, LANGUAGES, Noun, Phrase, Words, words_of

COMMON = "server.games"

Card = TypeVar("Card", str, int)  # a card as a game's tables name it


class Reader(NamedTuple):
    """The reader of a sentence: their language, their seat if it is to be "you", and the names of the seats."""

    language: str = DEFAULT
    you: int | None = None
    names: Sequence[str] = SEATS


class Effects(NamedTuple):
    """The effects of an action, from the tables before and after it. Cards are those of the adapter's `write_card`."""

    # The points or gold of each seat that it changed; less than 0 for a loss.
    gains: Mapping[int, int]
    # The cards that brought gains, by seat, where it was not the action alone.
    sources: Mapping[int, Sequence[str]] = MappingProxyType({})
    # The owners and cards of those that left the table.
    discarded: Sequence[tuple[int, str]] = ()


def changed(then: Iterable[int], now: Iterable[int]) -> dict[int, int]:
    """Return the changes of the seats whose points or gold differ."""
    changes = {seat: after - before for seat, (before, after) in enumerate(zip(then, now, strict=True))}
    return {seat: change for seat, change in changes.items() if change}


def piled(then: Sequence[Sequence[Card]], now: Sequence[Sequence[Card]]) -> list[tuple[int, Card]]:
    """Return the cards that were added to piles, with the seats of the piles."""
    added = (Counter(after) - Counter(before) for before, after in zip(then, now, strict=True))
    return [(seat, card) for seat, cards in enumerate(added) for card in cards.elements()]


def without(discarded: Iterable[tuple[int, Card]], named: Counter[tuple[int, Card]]) -> Iterator[tuple[int, Card]]:
    """Yield the cards that left the table, except for those that a sentence names already."""
    left = named.copy()
    for lost in discarded:
        if left[lost]:
            left[lost] -= 1
        else:
            yield lost


# English, about seats by their letters.
ANYONE = Reader()


def check_catalogues(
    area: str, words: Mapping[str, Iterable[Enum | str]], choices: Iterable[str], nouns: Iterable[str]
) -> None:
    """Refuse to be imported unless a game's catalogue in each language has every word of the engine, and no other.

    `words` are those with a message, by the first part of its key, as in `deed.STEAL`; `choices` are verbs.
    """
    for language in LANGUAGES:
        catalogue = words_of(area, language)
        file = f"{area.replace('.', '/')}/words/{language}.py"
        keys = [key.split(".") for key in catalogue.messages]
        for kind, members in words.items():
            named = [member.name if isinstance(member, Enum) else member for member in members]
            check_complete(
                file, {f"{kind}.{key[1]}" for key in keys if key[0] == kind}, [f"{kind}.{name}" for name in named]
            )
        check_complete(file, {key[0] for key in keys if key[-1] == "choice"}, choices)
        check_complete(f"NOUNS of {file}", catalogue.nouns, nouns)


class Narrator:
    """The sentences of one game for a reader."""

    def __init__(self, area: str, reader: Reader) -> None:
        self.words: Words = words_of(area, reader.language)
        self._common = words_of(COMMON, reader.language)
        self.reader = reader

    def say(self, key: str, **values: object) -> str:
        """Return a message of the game as a sentence."""
        return self.words.begin(self.words.say(key, **values))

    def say_of(self, key: str, seat: int, **values: object) -> str:
        """Return a message about a seat, which its variant for the reader addresses."""
        if seat == self.reader.you:
            return self.say(f"{key}.you", **values)
        return self.say(key, who=self.person(seat), **values)

    def person(self, seat: int) -> Phrase:
        return self.words.person(self._name(seat))

    def owned(self, noun: Noun, seat: int) -> Phrase:
        return self.words.owned(noun, self._name(seat))

    def _name(self, seat: int) -> str | None:
        return None if seat == self.reader.you else self.reader.names[seat]

    def told(
        self,
        sentence: str,
        actor: int | None,
        gains: Mapping[int, int],
        sources: Mapping[int, Sequence[str]] = MappingProxyType({}),
        discarded: Iterable[Phrase] = (),
    ) -> str:
        """Return a sentence with everything that followed: gains, the cards that brought them, and discarded cards.

        A gain of the actor alone needs no name. `sources` holds the names of cards that brought gains, by seat.
        """
        gains = {seat: gain for seat, gain in gains.items() if gain}
        if actor in gains and not sources.get(actor):
            sentence = self._common.say("gain", sentence=sentence, amount=f"{gains.pop(actor):+d}")
        parts = [sentence]
        for seat, gain in gains.items():
            cards = ", ".join(sources.get(seat, ()))
            key = "gain.by" if cards else "gain.of"
            parts.append(self._common.say(key, who=self.person(seat), amount=f"{gain:+d}", cards=cards))
        cards = ", ".join(f"{card}" for card in discarded)
        if cards:
            parts.append(self._common.say("discarded", cards=cards))
        return self._common.say("and").join(parts)

    def drawing(self, told: str, seat: int, cards: Sequence[str]) -> str:
        """Return a sentence with the cards that a seat drew."""
        key = "draws.you" if seat == self.reader.you else "draws"
        drawn = self._common.say(key, who=self.person(seat), cards=", ".join(cards))
        return self._common.say("and").join((told, drawn))


def shown_cards(seen: str) -> tuple[str, list[str]]:
    """Split the text of a seen action into the action and the cards that it shows, as in `reveal = Heir`."""
    action, _, names = seen.partition(" = ")
    return action, names.split(",") if names else []

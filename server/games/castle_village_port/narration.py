"""The moves and prompts of Castle, Village, Port in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine_cy import CHANCE, Position, View
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.castle_village_port.cards import Card
from engine_cy.castle_village_port.table import RowCard
from server.games.narration import ANYONE, Effects, Narrator, Reader, changed, piled, shown_cards, without
from server.languages import Noun, Phrase, Words

AREA = "server.games.castle_village_port"
# The nouns that are not cards of the house.
NO_CARDS = ("other", "unnamed", "selected")


def title_of(words: Words, card: Card) -> str:
    """Return the name of a card without its value; that of a caller's own card is the same in each language."""
    return words.nouns[card.name].name if card.name in words.nouns else card.name


def noun_of(words: Words, card: Card) -> Noun:
    """Return the name of a card and its value."""
    if not card.name:
        return words.nouns["unnamed"].noted(str(card.value))
    if card.name in words.nouns:
        return words.nouns[card.name].noted(f"({card.value})")
    other = words.nouns["other"]
    return other._replace(name=other.name.format(name=f"{card.name} ({card.value})"))


def choice(before: View | Position, action: str, reader: Reader = ANYONE) -> str:
    """Return a move that the seat to act may choose."""
    return _Telling(before, reader, "").choice(before.game.action(action).fields)


def narrate(before: View | Position, seen: str, after: View | Position, reader: Reader = ANYONE) -> str:
    """Return a move and what followed."""
    action, shown = shown_cards(seen)
    fields = before.game.action(action).fields
    is_other = fields["type"] == "place" and isinstance(before, View) and before.to_act != before.observer
    placed = shown.pop(0) if is_other else ""
    return _Telling(before, reader, placed).whole(fields, after, shown)


def effects(before: View | Position, seen: str, after: View | Position) -> Effects:
    """Return what an action did; cards are values in text."""
    table = before.table
    discarded = [(owner, str(value)) for owner, value in piled(table.piles, after.table.piles)]
    return Effects(changed(table.known_gold, after.table.known_gold), discarded=discarded)


def prompt(view: View | Position, reader: Reader = ANYONE) -> str:
    """Return the question to the reader, who is to act."""
    return _Telling(view, reader, "").prompt()


class _Telling:
    """The sentences about one table. `placed` is the card that the next action shows as it is placed."""

    def __init__(self, before: View | Position, reader: Reader, placed: str) -> None:
        assert isinstance(before.game, CastleVillagePort)
        self._narrator = Narrator(AREA, reader)
        self._say, self._words = self._narrator.say, self._narrator.words
        self._shape, self._before, self._table = before.game.shape, before, before.table
        self._placed = placed

    # --- parts of a sentence ---

    @property
    def _actor(self) -> int | None:
        """The seat to act; None for chance."""
        seat: int = self._table.to_act
        return None if seat == CHANCE else seat

    def _noun(self, value: int | str) -> Noun:
        return noun_of(self._words, self._shape.card(int(value)))

    def _the(self, value: int | str) -> Phrase:
        """Return a card of the actor; one that the reader does not know is any card."""
        if value == "?":
            hidden = self._words.say("a_card")
            return Phrase(hidden, hidden)
        return self._words.the(self._noun(value))

    def _row_card(self, card: Mapping[str, int] | RowCard) -> Phrase:
        value, owner = (card.value, card.owner) if isinstance(card, RowCard) else (card["value"], card["owner"])
        return self._narrator.owned(self._noun(value), owner)

    def _selected(self) -> str:
        """Return the value of the actor's selected card; `?` if the reader does not know it."""
        assert self._actor is not None
        own = self._before.parts.secrets_of(self._actor)
        return str(own.selected) if own and own.selected else self._placed or "?"

    def _acting(self) -> Phrase:
        """Return the acting card; with the card whose effect it copied."""
        acting = self._table.acting
        card = self._row_card(acting)
        if self._table.effect not in (None, acting.value):
            card = card.noted(self._words.say("as", card=self._noun(self._table.effect).name))
        return card

    def _gold_of(self, victim: int) -> int:
        """Return how much gold the acting card takes from a player."""
        effect = self._table.acting.value if self._table.effect is None else self._table.effect
        return min(self._shape.card(effect).amount, int(self._table.known_gold[victim]))

    def _gold(self, n: int) -> str:
        return self._words.say("gold.one" if n == 1 else "gold", n=n)

    # --- moves ---

    def _message(self, fields: Mapping[str, Any]) -> dict[str, object]:
        """Return the values of a move's message, except for its subject and the players that it names."""
        words, narrator = self._words, self._narrator
        match fields["type"]:
            case "select":
                return {"card": self._the(fields["card"])}
            case "place":
                return {"card": self._the(self._selected()), "place": words.say(fields["location"])}
            case "move":
                return {"card": self._row_card(fields["card"]), "place": words.say(fields["to"])}
            case "rob":
                return {"gold": self._gold(self._gold_of(fields["player"]))}
            case "swap":
                return {"selected": narrator.owned(words.nouns["selected"], fields["player"])}
            case "order":
                return {"place": words.say(fields["location"])}
            case "replace":
                values: dict[str, object] = {"selected": narrator.owned(words.nouns["selected"], self._table.victim)}
                return values if fields["card"] == "?" else {**values, "card": self._the(fields["card"])}
        return {"card": self._row_card(fields["card"])}

    def choice(self, fields: Mapping[str, Any]) -> str:
        values = self._message(fields)
        if fields["type"] == "replace":
            return self._say("replace.known", **values)
        elif fields["type"] in ("rob", "order"):
            values["who"] = self._narrator.person(fields["player"])
        return self._say(f"{fields['type']}.choice", **values)

    def whole(self, fields: Mapping[str, Any], after: View | Position, drawn: Sequence[str]) -> str:
        """Return the sentence of a move; the observer has `drawn` these cards at the end of the round."""
        sentence, gains = self._sentence(fields), Counter(changed(self._table.known_gold, after.table.known_gold))
        if fields["type"] == "rob":
            assert self._actor is not None
            taken = self._gold_of(fields["player"])
            gains[self._actor] -= taken
            gains[fields["player"]] += taken
        told = self._narrator.told(sentence, self._actor, gains, discarded=self._discarded(fields, after))
        if drawn and isinstance(after, View):
            return self._narrator.drawing(told, after.observer, [self._noun(value).name for value in drawn])
        return told

    def _sentence(self, fields: Mapping[str, Any]) -> str:
        verb, values = fields["type"], self._message(fields)
        if verb in ("select", "place"):
            assert self._actor is not None
            return self._narrator.say_of(verb, self._actor, **values)
        elif verb == "replace":
            return self._say("replace.known" if "card" in values else "replace", **values)
        elif verb in ("rob", "order"):
            return self._narrator.say_of(verb, fields["player"], by=self._acting(), **values)
        return self._say(verb, by=self._acting(), **values)

    # --- what followed ---

    def _discarded(self, fields: Mapping[str, Any], after: View | Position) -> Iterator[Phrase]:
        """Yield the cards that left the rows, except for one that the sentence names."""
        named = Counter[tuple[int, int]]()
        if fields["type"] == "discard":
            named[fields["card"]["owner"], fields["card"]["value"]] += 1
        for owner, value in without(piled(self._table.piles, after.table.piles), named):
            yield self._narrator.owned(self._noun(value), owner)

    # --- prompts ---

    def prompt(self) -> str:
        ask = self._table.ask
        if self._actor is None:
            return ""
        elif ask == "select":
            return self._say("ask.select")
        elif ask == "place":
            return self._say("ask.place", card=self._the(self._selected()))
        return self._say(f"ask.{ask}", by=self._acting())

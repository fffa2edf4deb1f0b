"""The moves and prompts of Oriflamme in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from engine_cy import Position, View
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.cards import read_card, write_card
from engine_cy.oriflamme.table import Table, kinds_in_queue
from engine_cy.oriflamme.words import Deed, Nature
from server.games.narration import ANYONE, Effects, Narrator, Reader, changed, piled, shown_cards, without
from server.languages import Noun, Phrase, Words

AREA = "server.games.oriflamme"
# The nouns that are not cards of a family.
NO_CARDS = ("hidden", "other")
# The deeds of cards that act without a question, so that they bring gains after another seat's move.
_UNASKED = (
    Deed.GAIN_IF_SOLE_NAME,
    Deed.GAIN_IF_SOLE_KIND,
    Deed.GAIN_WITH_NEIGHBOURS,
    Deed.GAIN_UNLESS_CROWDED,
)


def noun_of(words: Words, game: Oriflamme, card_id: str) -> Noun:
    """Return the name of a card; that of a card that an edition adds is the same in each language."""
    if card_id in words.nouns:
        return words.nouns[card_id]
    other = words.nouns["other"]
    name = next(card.name for card in game.cards if card.id == card_id)
    return other._replace(name=other.name.format(name=name))


def choice(before: View | Position, action: str, reader: Reader = ANYONE) -> str:
    """Return a move that the seat to act may choose."""
    return _Telling(before, reader).choice(before.game.action(action).fields)


def narrate(before: View | Position, seen: str, after: View | Position, reader: Reader = ANYONE) -> str:
    """Return a move and what followed."""
    action, shown = shown_cards(seen)
    return _Telling(before, reader, shown).whole(before.game.action(action).fields, after)


def effects(before: View | Position, seen: str, after: View | Position) -> Effects:
    """Return what an action did; cards have the names of the notation."""
    action, shown = shown_cards(seen)
    gains, sources, discarded = _Telling(before, ANYONE, shown).effects(before.game.action(action).fields, after)
    assert isinstance(before.game, Oriflamme)
    named = partial(write_card, cards=before.game.cards)
    return Effects(
        gains,
        {seat: list(map(named, kinds)) for seat, kinds in sources.items()},
        [(family, named(kind)) for family, kind in discarded],
    )


def prompt(view: View | Position, reader: Reader = ANYONE) -> str:
    """Return the question to the reader, who is to act."""
    return _Telling(view, reader).prompt()


class _Telling:
    """The sentences about one table, whose `shown` cards the next action turns up."""

    def __init__(self, before: View | Position, reader: Reader, shown: Sequence[str] = ()) -> None:
        assert isinstance(before.game, Oriflamme)
        self._narrator = Narrator(AREA, reader)
        self._say, self._words = self._narrator.say, self._narrator.words
        self._game, self._table = before.game, before.table
        self._kinds = [cards[0] for cards in kinds_in_queue(before.parts)]
        self._shown = iter([read_card(name, before.game.cards) for name in shown])

    # --- parts of a sentence ---

    @property
    def _actor(self) -> int:
        seat: int = self._table.to_act
        return seat

    def _noun(self, card_id: str) -> Noun:
        return noun_of(self._words, self._game, card_id)

    def _turn_up(self, slots: Sequence[int]) -> None:
        """Note the kinds of the cards that the action shows to the reader."""
        for slot in slots:
            if self._kinds[slot] is None:
                self._kinds[slot] = next(self._shown, None)

    def _top(self, slot: int) -> Phrase:
        """Return the top card of a slot with its owner; by its slot if the reader does not know it."""
        kind, family = self._kinds[slot], self._table.slots[slot].family
        if kind is not None:
            return self._narrator.owned(self._noun(kind), family)
        card = self._narrator.owned(self._words.nouns["hidden"], family)
        return card.noted(self._words.say("slot", slot=slot))

    def _own(self, slot: int) -> Phrase:
        """Return the top card of a slot of the actor's."""
        kind = self._kinds[slot]
        if kind is not None:
            return self._words.the(self._noun(kind))
        return self._words.the(self._words.nouns["hidden"]).noted(self._words.say("slot", slot=slot))

    def _acting(self) -> Phrase:
        """Return the acting card; with the card whose ability it uses, if it copied one."""
        card = self._top(self._table.cursor)
        if self._table.acting and self._table.acting != self._kinds[self._table.cursor]:
            card = card.noted(self._words.say("as", card=self._noun(self._table.acting).name))
        return card

    def _points(self, n: int) -> str:
        return self._words.say("points.one" if n == 1 else "points", n=n)

    def _stake(self, victim: int) -> int:
        """Return how many points the acting card takes from a player."""
        card = next(card for card in self._game.cards if card.id == self._table.acting)
        return min(card.amount, int(self._table.points[victim]))

    # --- moves ---

    def choice(self, fields: Mapping[str, Any]) -> str:
        key, values = self._message(fields)
        if fields["type"] == "rob":
            values["who"] = self._narrator.person(fields["player"])
        return self._say(f"{key}.choice", **values)

    def _message(self, fields: Mapping[str, Any]) -> tuple[str, dict[str, object]]:
        """Return the key and the values of a move's message, except for its subject."""
        match fields["type"]:
            case "place":
                hidden = self._words.say("a_card")
                card = Phrase(hidden, hidden) if fields["card"] == "?" else self._words.the(self._noun(fields["card"]))
                if "on" in fields:
                    return "place.on", {"card": card, "other": self._own(fields["on"])}
                return f"place.{fields['at']}", {"card": card}
            case "reveal" | "keep" as verb:
                return verb, {"card": self._own(self._table.cursor)}
            case "rob":
                return "rob", {"points": self._points(self._stake(fields["player"]))}
            case "pair":
                return "pair", {"card": self._top(fields["slot"]), "other": self._top(fields["other"])}
            case "move":
                return self._move(fields)
        return fields["type"], {"card": self._top(fields["slot"])}

    def _move(self, fields: Mapping[str, Any]) -> tuple[str, dict[str, object]]:
        card = self._top(fields["slot"])
        if "on" in fields:
            return "move.on", {"card": card, "other": self._top(fields["on"])}
        elif fields["to"] == 0:
            return "move.front", {"card": card}
        elif fields["to"] == len(self._table.slots):
            return "move.back", {"card": card}
        elif fields["to"] == fields["slot"]:
            return "move.off", {"card": card}
        return "move.to", {"card": card, "other": self._top(fields["to"])}

    def whole(self, fields: Mapping[str, Any], after: View | Position) -> str:
        gains, sources, discarded = self.effects(fields, after)
        sentence = self._sentence(fields)
        if fields["type"] == "keep":
            tokens = self._table.slots[self._table.cursor].cards[0].tokens + self._game.shape.tokens_on_keep
            if tokens:
                sentence = self._say("keep.tokens", sentence=sentence, tokens=tokens)
        return self._narrator.told(
            sentence,
            self._actor,
            self._besides_robbery(fields, gains),
            {seat: [self._noun(kind).name for kind in kinds] for seat, kinds in sources.items()},
            [
                self._narrator.owned(self._noun(kind), family)
                for family, kind in without(discarded, self._named(fields))
            ],
        )

    def effects(self, fields: Mapping[str, Any], after: View | Position) -> Effects:
        """Return what a move did; cards have their ids."""
        self._turn_up(self._pointed_at(fields))
        gains = changed(self._table.points, after.table.points)
        sources = self._sources(fields, self._besides_robbery(fields, gains), after)
        return Effects(gains, sources, piled(self._table.piles, after.table.piles))

    def _besides_robbery(self, fields: Mapping[str, Any], gains: Mapping[int, int]) -> Counter[int]:
        """Return the gains without the points that the move itself takes from a player."""
        besides = Counter(gains)
        if fields["type"] == "rob":
            taken = self._stake(fields["player"])
            besides[self._actor] -= taken
            besides[fields["player"]] += taken
        return besides

    def _pointed_at(self, fields: Mapping[str, Any]) -> list[int]:
        """Return the slots whose cards an action turns up for its spectators, in the order of the notation."""
        match fields["type"]:
            case "reveal":
                return [self._table.cursor]
            case "target" | "copy":
                return [fields["slot"]]
            case "pair":
                return [fields["slot"], fields["other"]]
        return []

    def _sentence(self, fields: Mapping[str, Any]) -> str:
        key, values = self._message(fields)
        verb = fields["type"]
        if verb in ("place", "reveal", "keep"):
            return self._narrator.say_of(key, self._actor, **values)
        by = self._acting()
        if verb == "rob":
            return self._narrator.say_of("rob", fields["player"], by=by, **values)
        elif verb == "target" and fields["slot"] == self._table.cursor:
            return self._say("target.self", by=by)
        elif verb == "target" and by.is_plural:
            key = "target.many"
        return self._say(key, by=by, **values)

    # --- what followed ---

    def _sources(self, fields: Mapping[str, Any], gains: Counter[int], after: View | Position) -> dict[int, list[str]]:
        """Return the cards that brought the gains of each seat, if it is not only the actor's move."""
        sources: dict[int, list[str]] = {}
        for kind, family in self._acted_unasked(after):
            if gains[family] > 0:
                sources.setdefault(family, []).append(kind)
        for slot in self._pointed_at(fields):
            hit, family = self._kinds[slot], self._table.slots[slot].family
            if hit and family != self._actor and gains[family] > 0 and self._nature(hit) & Nature.AMBUSH:
                sources.setdefault(family, []).insert(0, hit)
        if fields["type"] == "keep":
            return sources  # a card that stays face down brings nothing
        own = sources.get(self._actor, [])
        acting = self._kinds[self._table.cursor] if self._table.cursor is not None else None
        if acting is not None and own:
            others = [source for source in own if source != acting]
            # The actor's gain belongs to the move, unless other cards of theirs have a part in it.
            sources[self._actor] = [acting, *others] if others else []
        return sources

    def _acted_unasked(self, after: View | Position) -> Iterator[tuple[str, int]]:
        """Yield the cards that the cursor passed during this action, and whose deeds ask nothing."""
        earlier = {_identity(self._table, slot) for slot in range(self._table.cursor or 0)}
        table, kinds = after.table, kinds_in_queue(after.parts)
        end = len(table.slots) if table.cursor is None else table.cursor
        if self._table.cursor is None and table.ask == "place":
            return  # the next player places a card, so no card has acted
        for slot in range(end):
            kind, top = kinds[slot][0], table.slots[slot].cards[0]
            is_new = _identity(table, slot) not in earlier
            if is_new and top.card and kind and self._deed(kind) in _UNASKED:
                yield kind, table.slots[slot].family

    def _deed(self, card_id: str) -> Deed:
        return Deed(next(card.deed for card in self._game.cards if card.id == card_id))

    def _nature(self, card_id: str) -> Nature:
        return next(card.nature for card in self._game.cards if card.id == card_id)

    def _named(self, fields: Mapping[str, Any]) -> Counter[tuple[int, str]]:
        """Return the cards that leave the queue by the sentence of a move."""
        named = Counter[tuple[int, str]]()
        hit = self._kinds[fields["slot"]] if fields["type"] == "target" else None
        if hit is not None:
            named[self._table.slots[fields["slot"]].family, hit] += 1
        if self._table.cursor is not None:
            acting = self._kinds[self._table.cursor]
            if acting is not None and self._nature(acting) & Nature.ONE_SHOT:
                named[self._actor, acting] += 1
        return named

    # --- prompts ---

    def prompt(self) -> str:
        ask = self._table.ask
        if ask == "place":
            return self._say("ask.place")
        elif ask == "reveal":
            return self._say("ask.reveal", card=self._own(self._table.cursor))
        by = self._acting()
        return self._say("ask.target.many" if ask == "target" and by.is_plural else f"ask.{ask}", by=by)


def _identity(table: Table, slot: int) -> tuple[int, int | None]:
    """Return the identity of a slot's top card: its family and its number there."""
    return table.slots[slot].family, table.slots[slot].cards[0].nth

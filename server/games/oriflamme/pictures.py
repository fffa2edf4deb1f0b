"""The queue of Oriflamme, drawn for the terminal and for reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from engine_cy import Position, View
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.table import PlayedCard, in_queue, kinds_in_queue
from engine_cy.seats import SEATS
from server.games.adapter import (
    DrawnCard,
    Picture,
    StyledText,
    drawn_cards,
    drawn_hands,
    drawn_piles,
    owned_by_letter,
    piles_by_letter,
)
from server.games.oriflamme.narration import AREA, noun_of
from server.languages import DEFAULT, words_of

SLOT = 16  # columns of a slot
PER_LINE = 5  # slots on a line of 80 columns


def draw(view: View | Position, language: str = DEFAULT) -> Iterator[StyledText]:
    """Draw the queue, the piles, and the known hands and cards set aside."""
    table, names = view.table, _names(view, language)
    if not table.slots:
        yield StyledText(words_of(AREA, language).say("no_card") + "\n", "dim")
    kinds = kinds_in_queue(view.parts)
    for begin in range(0, len(table.slots), PER_LINE):
        tops, middles, bottoms = [], [], []
        for number, slot in list(enumerate(table.slots))[begin : begin + PER_LINE]:
            card, seat = slot.cards[0], slot.family
            kind = kinds[number][0]
            mark = f"►{number}" if table.cursor == number else str(number)
            below = f"+{len(slot.cards) - 1}" if len(slot.cards) > 1 else ""
            tokens = f"●{card.tokens}" if card.tokens else ""
            inside = SLOT - 3
            tops.append(StyledText(f"┌{mark:─<{inside}}┐ ", "bold" if table.cursor == number else "", seat))
            bottoms.append(StyledText(f"└{tokens + below:─>{inside}}┘ ", "", seat))
            face = StyledText(_face(card, kind, names, inside - 1))
            middles += [
                StyledText("│", "", seat),
                StyledText(SEATS[seat], "bold", seat),
                face,
                StyledText("│ ", "", seat),
            ]
        for line in (tops, middles, bottoms):
            yield from line
            yield StyledText("\n")
    yield from drawn_piles(table.piles, names.__getitem__, language)
    yield from drawn_hands(view, names.__getitem__, language)
    for seat in range(view.game.n_players):
        aside = set_aside(view, seat)
        if aside is not None:
            yield drawn_cards(view, "aside", seat, map(names.__getitem__, aside), language)


def set_aside(view: View | Position, seat: int) -> list[str] | None:
    """Return the cards that a seat set aside, the rest of its family; None if the observer does not know them."""
    own, table = view.parts.secrets_of(seat), view.table
    if own is None:
        return None
    assert isinstance(view.game, Oriflamme)
    left = view.game.shape.all_cards()
    left.subtract(Counter(own.hand))
    left.subtract(Counter(own.face_down))
    left.subtract(Counter(table.piles[seat]))
    left.subtract(Counter(card.card for card in in_queue(table.slots, view.game.n_players)[seat] if card.card))
    return list((+left).elements())


def _names(view: View | Position, language: str) -> dict[str, str]:
    """Return the names of the cards; those on the table are the engine's in English, as in the notation."""
    assert isinstance(view.game, Oriflamme)
    words = words_of(AREA, language)
    return {
        card.id: card.name if language == DEFAULT else noun_of(words, view.game, card.id).name
        for card in view.game.cards
    }


def names_in(game: Oriflamme, language: str) -> dict[str, str]:
    """Map the engine's names of the cards to those in a language."""
    words = words_of(AREA, language)
    return {card.name: noun_of(words, game, card.id).name for card in game.cards}


def _face(card: PlayedCard, kind: str | None, names: dict[str, str], width: int) -> str:
    """Draw a card: face down hatched, followed by its name if the observer knows it."""
    if kind is None:
        return "▒" * width
    name = names[kind]
    shown = name if len(name) < width else f"{name[: width - 2]}."
    return f"{' ' if card.card else '▒'}{shown:<{width - 1}}"


def picture(view: View, language: str = DEFAULT) -> Picture:
    """Return the queue for a report, each slot from its top card down."""
    table, game = view.table, view.game
    assert isinstance(game, Oriflamme)
    words = words_of(AREA, language)
    names = {card.id: noun_of(words, game, card.id).name for card in game.cards}
    slots = []
    for number, (slot, kinds) in enumerate(zip(table.slots, kinds_in_queue(view.parts), strict=True)):
        cards = []
        for depth, (card, kind) in enumerate(zip(slot.cards, kinds, strict=True)):
            face = "up" if card.card else "back" if kind is None else "known"
            name = "" if kind is None else names[kind]
            acting = table.cursor == number and depth == 0
            cards.append(DrawnCard(SEATS[slot.family], name, face, 0, card.tokens, acting))
        slots.append(cards)
    hand = [names[card] for card in view.parts.own.hand]
    return Picture(
        slots=slots,
        hand=hand,
        owned=owned_by_letter(table.points),
        piles=piles_by_letter(table.piles, names.__getitem__),
        aside=[names[card] for card in set_aside(view, view.observer) or ()],
    )

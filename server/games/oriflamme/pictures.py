"""The queue of Oriflamme, drawn for the terminal and for reports."""

from __future__ import annotations

from collections.abc import Iterator

from engine_cy import Position, View
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.table import PlayedCard, kinds_in_queue
from engine_cy.seats import SEATS
from server.games.adapter import DrawnCard, Picture, StyledText, drawn_hands, owned_by_letter
from server.games.oriflamme.descriptions import names_of

SLOT = 16  # columns of a slot
PER_LINE = 5  # slots on a line of 80 columns


def draw(view: View | Position) -> Iterator[StyledText]:
    """Draw the queue and the known hands."""
    table, game = view.table, view.game
    assert isinstance(game, Oriflamme)
    names = {card.id: card.name for card in game.cards}
    if not table.slots:
        yield StyledText("(no card is on the table)\n", "dim")
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
    yield from drawn_hands(view, lambda card: names[card])


def _face(card: PlayedCard, kind: str | None, names: dict[str, str], width: int) -> str:
    """Draw a card: face down hatched, followed by its name if the observer knows it."""
    if kind is None:
        return "▒" * width
    name = names[kind]
    shown = name if len(name) < width else f"{name[: width - 2]}."
    return f"{' ' if card.card else '▒'}{shown:<{width - 1}}"


def picture(view: View) -> Picture:
    """Return the queue for a report, each slot from its top card down."""
    table, game = view.table, view.game
    assert isinstance(game, Oriflamme)
    names = {card.id: names_of(card).en for card in game.cards}
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
    return Picture(slots=slots, hand=hand, owned=owned_by_letter(table.points))

"""Deal the hidden cards of a position anew without the engine's own sampling of worlds."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter

from engine_cy import Position


def shuffle_hidden(position: Position, player: int, draw: random.Random) -> Position:
    """Shuffle the cards that are hidden from a player: the opponents', and in castle_village_port their own deck."""
    if position.game.id == "castle_village_port":
        return _shuffle_castle(position, player, draw)
    elif position.game.id in ("kuhn_poker", "leduc_poker"):
        return _shuffle_poker(position, player, draw)
    return _shuffle_queue(position, player, draw)


def _shuffle_queue(position: Position, player: int, draw: random.Random) -> Position:
    fields = str(position).split(" | ")
    hands = fields[5].split()[1:]
    words = fields[0].split()
    whole = position.parts
    table = whole.table
    kinds = [card.name for card in position.game.cards]  # type: ignore[attr-defined]
    shape = position.game.shape  # type: ignore[attr-defined]
    for opponent, letter in enumerate(position.game.seats):
        if opponent == player:
            continue
        face_up = [c.card for slot in table.slots if slot.family == opponent for c in slot.cards if c.card]
        pool = shape.all_cards() - Counter(face_up) - Counter(table.piles[opponent])
        cards = [kinds[shape.ids.index(card)] for card in pool.elements()]
        draw.shuffle(cards)
        for w, word in enumerate(words):
            has_cursor, parts = word.startswith(">"), word.removeprefix(">").split("/")
            for p, part in enumerate(parts):
                if part.startswith(letter) and "*" not in part:
                    head, _, tail = part.partition(":")
                    tokens = tail[tail.index("(") :] if "(" in tail else ""
                    parts[p] = f"{head}:{cards.pop()}{tokens}"
            words[w] = ">" * has_cursor + "/".join(parts)
        hands[opponent] = ",".join(cards[: len(whole.secrets[opponent].hand)]) or "-"
    return position.game.position(" | ".join([" ".join(words), *fields[1:5], "hands " + " ".join(hands), fields[6]]))


def _shuffle_castle(position: Position, player: int, draw: random.Random) -> Position:
    parts = position.parts
    secrets, decks = list(parts.secrets), list(parts.decks)
    for p, own in enumerate(parts.secrets):
        hidden = [*decks[p]] if p == player else [*own.hand, *decks[p], *[own.selected] * bool(own.selected)]
        draw.shuffle(hidden)
        decks[p] = tuple(hidden.pop() for _ in decks[p])
        if p != player:
            hand = tuple(sorted((hidden.pop() for _ in own.hand), reverse=True))
            secrets[p] = dataclasses.replace(own, hand=hand, selected=hidden.pop() if own.selected else 0)
    other = position.game.from_parts(dataclasses.replace(parts, secrets=tuple(secrets), decks=tuple(decks)))
    assert isinstance(other, Position)
    return other


def _shuffle_poker(position: Position, player: int, draw: random.Random) -> Position:
    cards, *rest = str(position).split(" | ")
    words = cards.split()
    visible = [words[player], *rest]
    words[1 - player] = draw.choice([card for card in position.game.cards if card not in visible])  # type: ignore[attr-defined]
    return position.game.position(" | ".join([" ".join(words), *rest]))

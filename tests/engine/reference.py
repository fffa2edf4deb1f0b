"""Read the reference games: random games of a slow, plain engine that was written independently of this one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine_cy import Game, Position, new_game
from engine_cy.oriflamme.table import kinds_in_queue

GAMES = Path(__file__).parent.parent / "games"


def reference_games(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the games of a file."""
    with gzip.open(file, "rt") as file_lines:
        for line in file_lines:
            yield json.loads(line)


def game_of(reference: dict[str, Any]) -> Game:
    return new_game(reference["game"], reference["ruleset"], reference["players"])


def start_of(reference: dict[str, Any]) -> Position:
    """Return the position after the deal of a reference game."""
    (deal,) = reference["deal"].values()
    return game_of(reference).start(deal, reference["first_player"])


def move_text(move: dict[str, Any]) -> str:
    """Return a move of a reference game in our notation."""

    def at(place: Any) -> str:
        return place if isinstance(place, str) else " ".join(f"{word} {n}" for word, n in place.items())

    def card(card: dict[str, int]) -> str:
        return f"{card['value']}{'ABCDE'[card['player']]}"

    match move["type"]:
        case "select":
            return f"select {move['card']}"
        case "replacement":
            return f"replace {move['card']}"
        case "place_in":
            return f"place {move['location']} {move['index']}"
        case "move" if "index" in move:
            return f"move {card(move['card'])} to {move['to']} {move['index']}"
        case "copy" | "discard" if "card" in move:
            return f"{move['type']} {card(move['card'])}"
        case "swap":
            return f"swap {'ABCDE'[move['player']]}"
        case "order":
            return f"order {'ABCDE'[move['player']]} {move['location']}"
        case "place":
            return f"place {move['card']} {at(move['at'])}"
        case "target" | "copy":
            return f"{move['type']} {move['slot']}"
        case "rob":
            return f"rob {'ABCDE'[move['player']]}"
        case "move":
            return f"move {move['slot']} {at(move['to']).replace('gap', 'to')}"
        case "pair":
            return "pair {} {}".format(*move["slots"])
        case verb:
            return str(verb)


def table_json(position: Position) -> dict[str, Any]:
    """Return a position in the form in which the reference describes tables."""
    return castle_json(position.parts) if position.game.id == "castle_village_port" else queue_json(position.parts)


def castle_json(parts: Any) -> dict[str, Any]:
    table = parts.table
    return {
        "round": table.round,
        "phase": "end" if table.phase == "over" else table.phase,
        "first": table.first,
        "to_act": table.to_act,
        "hands": [sorted(own.hand) for own in parts.secrets],
        "piles": [sorted(pile) for pile in table.piles],
        "turn": table.turn,
        "gold": list(table.gold),
        "selected": [own.selected or None for own in parts.secrets],
        "rows": {
            location: [[card.value, card.owner] for card in row]
            for location, row in zip(("castle", "village", "port"), table.rows, strict=True)
        },
    }


def queue_json(parts: Any) -> dict[str, Any]:
    table = parts.table
    phase = {"place": "placement", "over": "end"}.get(table.ask, "resolution")
    slots = []
    for slot, kinds in zip(table.slots, kinds_in_queue(parts), strict=True):
        words = []
        for card, kind in zip(slot.cards, kinds, strict=True):
            tokens = f"({card.tokens})" if card.tokens else ""
            words.append(f"{slot.family}:{kind}{'*' if card.card else ''}{tokens}")
        slots.append(words)
    return {
        "round": table.round,
        "phase": phase,
        "first": table.first,
        "to_act": table.to_act,
        "hands": [sorted(own.hand) for own in parts.secrets],
        "piles": [sorted(pile) for pile in table.piles],
        "points": list(table.points),
        "cursor": table.cursor,
        "slots": slots,
    }

"""Reads the reference games: random games by a slow, plain engine that was written apart from this one."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine_cy import Game, Position, new_game

GAMES = Path(__file__).parent.parent / "games"


def reference_games(file: Path) -> Iterator[dict[str, Any]]:
    """The games of one file."""
    with gzip.open(file, "rt") as lines:
        for line in lines:
            yield json.loads(line)


def game_of(reference: dict[str, Any]) -> Game:
    return new_game(reference["game"], reference["ruleset"], reference["players"])


def start_of(reference: dict[str, Any]) -> Position:
    """The position after the deal of a reference game."""
    return game_of(reference).start(reference["deal"]["aside"], reference["first_player"])


def move_text(move: dict[str, Any]) -> str:
    """A move of a reference game in our notation."""

    def at(place: Any) -> str:
        return place if isinstance(place, str) else " ".join(f"{word} {n}" for word, n in place.items())

    match move["type"]:
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
    """A position as the reference describes tables."""
    table = position.table
    phase = {"place": "placement", "over": "end"}.get(table.phase, "resolution")
    slots = []
    for slot in table.slots:
        words = []
        for card in slot:
            tokens = f"({card.tokens})" if card.tokens else ""
            words.append(f"{card.family}:{card.card}{'*' * card.face_up}{tokens}")
        slots.append(words)
    return {
        "round": table.round,
        "phase": phase,
        "first": table.first,
        "to_act": table.to_act,
        "hands": [sorted(hand) for hand in table.hands],
        "piles": [sorted(pile) for pile in table.piles],
        "points": list(table.points),
        "cursor": table.cursor,
        "slots": slots,
    }

"""Pass valid texts and bytes with random damage to every reader.

`python tests/support/mutations.py 1000000` tries a million; any exception but an EngineError stops it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

from tables import ALL_SPECS, random_game

from engine_cy import EngineError, Game, Position, View, new_game
from engine_cy.record import Record, read_record

ALPHABET = (
    "ABCDE123456789:|/>*()?,-= \n#"
    + "ArcherSoldierSpyHeirLordDecreeAmbushplacekeepmovetonaskroundcastleportwalkdueranked"
)

SPECS = [
    *ALL_SPECS,
    (
        "castle_village_port",
        {
            "cards": [
                {"value": 3, "name": "Guard", "when": "end", "effect": "move_neighbour"},
                {"value": 5, "name": "Bard", "when": "end", "effect": "fetch"},
                {"value": 9, "name": "Courtesan", "when": "immediate", "effect": "swap_selected"},
                {"value": 11, "name": "Alchemist", "when": "end", "effect": "copy_neighbour"},
            ],
            "hand_size": 3,
            "turns_per_round": 2,
            "rounds": 2,
            "hidden_gold": True,
        },
        3,
    ),
]


def damaged_text(text: str, draw: random.Random, alphabet: str = ALPHABET) -> str:
    """Insert, remove, replace, exchange or repeat up to five characters or words."""
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(text) + 1)
        match draw.randrange(5):
            case 0:
                text = text[:at] + draw.choice(alphabet) + text[at:]
            case 1:
                text = text[:at] + text[at + 1 :]
            case 2:
                text = text[:at] + draw.choice(alphabet) + text[at + 1 :]
            case 3:
                words = text.split(" ")
                one, other = draw.randrange(len(words)), draw.randrange(len(words))
                words[one], words[other] = words[other], words[one]
                text = " ".join(words)
            case 4:
                words = text.split(" ")
                words.insert(draw.randrange(len(words)), draw.choice(words))
                text = " ".join(words)
    return text


def damaged_bytes(raw: bytes, draw: random.Random) -> bytes:
    """Change up to four bytes, and cut off the last one now and then."""
    changed = bytearray(raw)
    for _ in range(draw.choice((1, 1, 2, 4))):
        changed[draw.randrange(len(changed))] = draw.choice(
            (0, 1, 2, 7, 15, 30, 31, 63, 127, 128, 255, draw.randrange(256))
        )
    return bytes(changed[: draw.choice((len(raw),) * 9 + (len(raw) - 1,))])


def check_usable(table: Position | View) -> None:
    """Check that an accepted table can be played, observed and written as text."""
    assert table.fault is None
    text = str(table)
    if isinstance(table, View):
        assert table.game.view(text) == table
        table.sample_world(1).play_out(1)
        return
    assert table.game.position(text) == table
    for action in table.legal_actions()[:3]:
        assert table.play(action).fault is None
    table.play_out(1)


def attempts(game: Game, draw: random.Random) -> list[Callable[[], object]]:
    """Return a call for each reader that passes it damaged input from some table of a random game."""
    played = list(random_game(game, draw.randrange(2**32)))
    position, action = draw.choice(played[:-1])
    player = draw.randrange(game.n_players)
    view = position.view(player)
    record = str(Record(position, (str(action),)))
    return [
        lambda: check_usable(game.position(damaged_text(str(position), draw))),
        lambda: check_usable(game.view(damaged_text(str(view), draw))),
        lambda: check_usable(position.play(damaged_text(str(action), draw))),
        lambda: check_usable(view.play(damaged_text(position.seen(action, player), draw))) if action else None,
        lambda: check_usable(game.position_from_bytes(damaged_bytes(bytes(position), draw))),
        lambda: check_usable(game.view_from_bytes(damaged_bytes(bytes(view), draw), player)),
        lambda: check_usable(read_record(damaged_text(record, draw)).end),
    ]


def run(count: int, seed: int) -> tuple[int, int]:
    """Try `count` damaged inputs; return the numbers of accepted and refused ones."""
    draw = random.Random(seed)
    accepted = refused = 0
    tries: list[Callable[[], object]] = []
    for number in range(count):
        if number % 200 == 0:
            tries = attempts(new_game(*draw.choice(SPECS)), draw)
        try:
            tries[number % len(tries)]()
            accepted += 1
        except EngineError as error:
            refused += ": " in str(error)  # the message names a field
    return accepted, refused


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    accepted, refused = run(count, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(f"mutations: {count} damaged inputs, {accepted} accepted and playable, {refused} refused, no crash")

"""Play random games of every kind and check every law after every action: `python tests/engine/soak.py`.

Meant for builds with sanitizers; exits with 1 at the first broken law.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator

from laws import Fault, check_random_games

from engine_cy import Game, new_game
from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.editions import EFFECTS, WHEN
from engine_cy.oriflamme.editions import EDITIONS, SWITCHES


def games() -> Iterator[Game]:
    """Yield every edition with every number of players, the game for two in six rounds, and random rulesets."""
    for name, edition in EDITIONS.items():
        for players in edition.players:
            yield new_game(edition.game, name, players)
    yield new_game("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2)
    draw = random.Random(2019)
    for _ in range(12):
        switches = {name: draw.choice(values) for name, values in SWITCHES["oriflamme"].items()}
        yield new_game("oriflamme", switches, draw.choice((3, 4, 5)))
    for players in (3, 4, 5):
        yield new_game("castle_village_port", "house", players)
    for _ in range(24):
        yield new_game("castle_village_port", random_ruleset(draw), draw.choice((3, 4, 5)))
    yield new_game("kuhn_poker", None, 2)
    yield new_game("leduc_poker", None, 2)


def random_ruleset(draw: random.Random) -> dict[str, object]:
    """Return a random ruleset that Castle, Village, Port can be played with."""
    values = draw.sample(range(1, 16), draw.randint(3, 15))
    names = [f"card {value}" for value in values]
    cards: list[dict[str, object]] = []
    for value, name in zip(values, names, strict=True):
        effect = draw.choice(list(EFFECTS))
        when = EFFECTS[effect].only or draw.choice(list(WHEN))
        card: dict[str, object] = {"value": value, "name": name, "when": when, "effect": effect}
        if effect == "leave_if_present":
            card["who"] = draw.choice(names)
        cards.append(card)
    entries = [*range(-3, 6), "per_card", "steal_each", "half_value"]
    turns = draw.randint(1, min(4, len(cards)))
    return {
        "cards": cards,
        "rewards": {location: [draw.choice(entries) for _ in range(draw.randint(0, 8))] for location in LOCATIONS},
        "turns_per_round": turns,
        "hand_size": draw.randint(turns, len(cards)),
        "rounds": draw.randint(1, len(cards) // turns),
        "starting_gold": draw.randint(0, 5),
        "hidden_gold": draw.random() < 0.5,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--games", type=int, default=20_000, help="games in all (default 20000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    all_games = list(games())
    games_each = -(-options.games // len(all_games))
    start = time.monotonic()
    actions = 0
    for game in all_games:
        try:
            actions += check_random_games(game, games_each, options.seed)
        except Fault as fault:
            print(f"soak: {fault}")
            return 1
    print(
        f"soak: {games_each * len(all_games)} games of {len(all_games)} kinds, {actions} actions, no fault,"
        f" {time.monotonic() - start:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

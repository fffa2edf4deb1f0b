"""Plays random games of everything there is, every law checked after every action: `python -m engine_cy.soak`.

Meant for builds under sanitizers; exits with 1 at the first law that is broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator

from engine_cy import Game, game_ids, new_game
from engine_cy.oriflamme.editions import EDITIONS, SWITCHES
from engine_cy.playout import Fault, play_watched


def games() -> Iterator[Game]:
    """Every edition at every number of players, the game for two in six rounds, and some random switches."""
    for name, edition in EDITIONS.items():
        for players in edition.players:
            yield new_game(edition.game, name, players)
    yield new_game("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2)
    draw = random.Random(2019)
    for _ in range(12):
        turned = {name: draw.choice(switch.values) for name, switch in SWITCHES["oriflamme"].items()}
        yield new_game("oriflamme", turned, draw.choice((3, 4, 5)))
    for game in game_ids():
        if game not in SWITCHES:
            yield new_game(game, None, 2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m engine_cy.soak", description=__doc__)
    parser.add_argument("--games", type=int, default=20_000, help="games in all (default 20000)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    everything = list(games())
    share = -(-options.games // len(everything))
    begun = time.monotonic()
    actions = 0
    for game in everything:
        try:
            actions += play_watched(game, share, options.seed)
        except Fault as fault:
            print(f"soak: {fault}")
            return 1
    print(
        f"soak: {share * len(everything)} games of {len(everything)} kinds, {actions} actions, no fault,"
        f" {time.monotonic() - begun:.0f} s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

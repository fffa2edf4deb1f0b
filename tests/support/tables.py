"""Hypothesis strategies: games, and tables that random play reaches."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pytest
from castle_strategies import rulesets
from hypothesis import strategies as st

from engine_cy import Action, Game, Position, new_game
from engine_cy.oriflamme.editions import EDITIONS, SWITCHES

SPECS: list[Any] = [
    *[(edition.game, name, players) for name, edition in EDITIONS.items() for players in edition.players],
    ("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2),
]
SPEC_IDS = [f"{name if isinstance(name, str) else '6x2'}-{players}p" for _, name, players in SPECS]
CASTLE_SPECS: list[Any] = [("castle_village_port", "house", players) for players in (3, 4, 5)]
ALL_SPECS = SPECS + CASTLE_SPECS
ALL_IDS = SPEC_IDS + [f"house-{players}p" for _, _, players in CASTLE_SPECS]

# A ruleset of each kind.
QUICK_IDS = ("en-2019-3p", "prototype-2p", "6x2-2p", "house-3p")


def mostly_slow(values: Iterable[Any], ids: Iterable[str], quick: Collection[str] = QUICK_IDS) -> list[Any]:
    """Return parameters of a test that takes long with all values: those whose id is not in `quick` are slow."""
    return [
        pytest.param(value, id=name, marks=() if name in quick else pytest.mark.slow)
        for value, name in zip(values, ids, strict=True)
    ]


def random_switches() -> st.SearchStrategy[Game]:
    values = {name: st.sampled_from(values) for name, values in SWITCHES["oriflamme"].items()}
    return st.builds(
        lambda switches, players: new_game("oriflamme", switches, players),
        st.fixed_dictionaries({}, optional=values),
        st.sampled_from((3, 4, 5)),
    )


def queue_games() -> st.SearchStrategy[Game]:
    """Draw a game of Oriflamme: an edition and a number of players, or random switches."""
    return st.one_of(st.sampled_from(SPECS).map(lambda spec: new_game(*spec)), random_switches())


def castle_games() -> st.SearchStrategy[Game]:
    """Draw a game of Castle, Village, Port: the house's, or one with a ruleset that a caller may send."""
    house: st.SearchStrategy[dict[str, Any]] = st.just({})
    seats = st.sampled_from((3, 4, 5))
    return st.builds(lambda ruleset, n: new_game("castle_village_port", ruleset, n), house | rulesets(), seats)


def games() -> st.SearchStrategy[Game]:
    return st.one_of(queue_games(), castle_games())


def random_game(game: Game, seed: int) -> Iterator[tuple[Position, Action | None]]:
    """Yield each table of a random game with the action taken there, None at the end."""
    draw = random.Random(seed)
    position = game.deal(seed, seed % game.n_players)
    while not position.is_over:
        action = draw.choice(position.legal_actions())
        yield position, action
        position = position.play(action)
    yield position, None


@st.composite
def tables(draw: st.DrawFn, strategy: st.SearchStrategy[Game] | None = None) -> Position:
    """Draw a table from anywhere in a random game."""
    game = draw(games() if strategy is None else strategy)
    played = list(random_game(game, draw(st.integers(0, 2**32))))
    return played[draw(st.integers(0, len(played) - 1))][0]

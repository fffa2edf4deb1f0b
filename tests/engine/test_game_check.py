"""`check_game` finds no fault in our games, and each kind of fault in broken ones."""

from __future__ import annotations

import random
from typing import Any

import pytest
from liars_dice import LiarsDice, Table
from tables import ALL_IDS, ALL_SPECS, mostly_slow

from engine_cy import CHANCE, new_game, python_game
from engine_cy.game_check import BrokenLawError, check_game


@pytest.mark.parametrize("spec", mostly_slow(ALL_SPECS, ALL_IDS))
def test_our_games_keep_all_laws(spec: tuple[str, str, int]) -> None:
    assert check_game(new_game(*spec), games=1).positions > 20


@pytest.mark.parametrize(("game_id", "worlds"), [("kuhn_poker", 20), ("leduc_poker", 40)])
def test_the_worlds_of_small_games_are_enumerated(game_id: str, worlds: int) -> None:
    assert check_game(new_game(game_id, None, 2), games=40).enumerated_views > worlds


@pytest.mark.parametrize(
    ("ruleset", "players"), [("1x4", 2), ("2x3", 3), pytest.param("5x6", 5, marks=pytest.mark.slow)]
)
def test_liars_dice_keeps_all_laws(ruleset: str, players: int) -> None:
    assert check_game(python_game(LiarsDice, ruleset, players), games=5).positions > 20


class ShowsDice(LiarsDice):
    """The view of a player shows the dice of the next player, too."""

    def observe(self, state: Table, player: int | None) -> Table:
        if player is None or state.called:
            return super().observe(state, player)
        seen = super().observe(state, player)
        other = (player + 1) % self.n_players
        return seen._replace(dice=tuple(state.dice[s] if s == other else hand for s, hand in enumerate(seen.dice)))

    def sample_world(self, view: Table, player: int, rng: random.Random) -> Table:
        dice = super().sample_world(view, player, rng).dice
        return view._replace(dice=tuple(tuple(rng.randint(1, self.sides) for _ in hand) for hand in dice))


class LoadedDice(LiarsDice):
    """The sampler draws ones only."""

    def sample_world(self, view: Table, player: int, rng: random.Random) -> Table:
        return view._replace(dice=tuple(tuple(die or 1 for die in hand) for hand in view.dice))


class SecretTurn(LiarsDice):
    """The seat to act depends on a hidden die."""

    def to_act(self, state: Table) -> int | None:
        seat = super().to_act(state)
        if seat in (None, CHANCE) or len(state.bids) != 1:
            return seat
        return (state.first + max(state.dice[state.first])) % self.n_players


class SecretActions(LiarsDice):
    """The legal actions depend on a hidden die."""

    def legal_actions(self, state: Table) -> list[str]:
        legal = super().legal_actions(state)
        return legal[:-1] if legal[-1] == "liar" and len(legal) > 1 and state.dice[state.first] == (2,) else legal


class LossyText(LiarsDice):
    """The text for people lacks the first player."""

    def write(self, state: Table) -> str:
        return super().write(state)[:-1] + "A"

    def pack(self, state: Table) -> bytes:
        return super().write(state).encode()


class MissingWorld(LiarsDice):
    """The list of worlds lacks those that end with a one."""

    def worlds(self, view: Table, player: int) -> Any:
        return (world for world in super().worlds(view, player) if world.dice[-1][-1:] != (1,))


class WrongPayoffs(LiarsDice):
    """The payoffs are not numbers."""

    def payoffs(self, state: Table) -> list[float]:
        return [float("nan")] * self.n_players


class Endless(LiarsDice):
    """The game goes on after the call."""

    def apply(self, state: Table, action: str) -> Table:
        return state._replace(bids=()) if action == "liar" else super().apply(state, action)


@pytest.mark.parametrize(
    ("rules", "law", "details"),
    [
        (ShowsDice, "a world looks the same to its observer", "can distinguish"),
        (LoadedDice, "drawn worlds are those that are listed", "draws found only"),
        (SecretTurn, "other actions are refused", "another player is to act"),
        (SecretActions, "a view has what its seat may know", "other legal actions"),
        (LossyText, "a copy is equal", "text: another one"),
        (MissingWorld, "drawn worlds are those that are listed", "none is"),
        (WrongPayoffs, "a game ends with payoffs", "payoffs"),
        (Endless, "a game ends", "is not over"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_game_is_reported_with_law_and_position(rules: type[LiarsDice], law: str, details: str) -> None:
    with pytest.raises(BrokenLawError) as broken:
        check_game(python_game(rules, "1x4", 2), games=60)
    assert law in broken.value.law
    assert details in broken.value.details
    assert "first" in broken.value.position

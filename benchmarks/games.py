"""Measure games of one's own: the examples in examples/games, in Python and in Cython.

Searches have the configuration `plain` and nodes distinguished by the player's own dice, as in OpenSpiel's search.
Both sides search the same class of rules, which OpenSpiel's bot gets as an OpenSpiel game in Python. A *decision* is a
choice of a player with two options or more, in random games from the start, where chance rolls the dice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python.algorithms import ismcts, mcts

from benchmarks import loops
from benchmarks.measure import Effort, Figure, Side, alternate, load
from benchmarks.report import Goal, Measured, Result
from benchmarks.report import as_text as report_text
from benchmarks.search import first_decision, searches
from engine_cy import CHANCE, Game, Rng, python_game
from engine_cy.values import Position
from solver.config import Config

EXAMPLES = Path(__file__).parents[1] / "examples" / "games"
for _name in ("liars_dice", "liars_dice_cy"):
    if str(EXAMPLES / _name) not in sys.path:
        sys.path.append(str(EXAMPLES / _name))

import liars_dice as liars_dice  # noqa: E402
import liars_dice_cy as liars_dice_cy  # noqa: E402

RULESET, PLAYERS = "5x6", 3
CONFIG = Config("plain:nodes=own", nodes="own")
ROOTS = 3
# Of OpenSpiel's bot, for payoffs from -1 to 1; ours are half as wide.
EXPLORATION = 2 * CONFIG.exploration

GOALS = {"liars_dice_vs_ismctsbot": Goal(1, 2), "cython_vs_python": Goal(50, 200)}
MEANINGS = {
    "liars_dice_vs_ismctsbot": f"Liar's Dice in Python, {RULESET} for {PLAYERS}: simulations/s of our search "
    "against OpenSpiel's ISMCTSBot in Python on the same class",
    "cython_vs_python": f"Liar's Dice, {RULESET} for {PLAYERS}: random decisions/s of the example in Cython against "
    "the one in Python",
}


class Scale(NamedTuple):
    """Duration of the measurements, and the iterations of a search."""

    effort: Effort = Effort(seconds=0.5)
    iterations: int = 1_000


FULL = Scale()
QUICK = Scale(Effort(rounds=1, seconds=0.002), iterations=20)


def run(scale: Scale = FULL) -> Result:
    """Measure all figures."""
    before = load()
    measured = {"liars_dice_vs_ismctsbot": measure_searches(scale), "cython_vs_python": measure_playouts(scale)}
    figures: dict[str, Figure] = {name: figure for name, (figure, _) in measured.items()}
    return Result(figures, {name: raw for name, (_, raw) in measured.items()}, {}, {"before": before, "after": load()})


def as_text(result: Result) -> str:
    return report_text("games of one's own: Liar's Dice", GOALS, MEANINGS, result)


def measure_playouts(scale: Scale) -> Measured:
    games = {
        "cython": liars_dice_cy.LiarsDice("liars_dice_cy", RULESET, PLAYERS),
        "python": python_game(liars_dice.LiarsDice, RULESET, PLAYERS),
    }
    rounds = alternate([playouts(name, game) for name, game in games.items()], scale.effort)
    raw = {f"{name}_decisions_per_s": rounds.per_second(name) for name in games}
    return rounds.times_as_fast("cython", "python"), raw


def playouts(name: str, game: Game) -> Side:
    """Make a side of random games from the start; a unit is a decision."""
    starts = [game.deal(seed, seed % game.n_players) for seed in range(ROOTS)]
    rng = Rng(7)
    return Side(name, lambda n: loops.play_outs(starts, n, rng))


def measure_searches(scale: Scale) -> Measured:
    game = python_game(liars_dice.LiarsDice, RULESET, PLAYERS)
    roots = [first_decision(game, seed) for seed in range(ROOTS)]
    ours = searches("ours", roots, scale.iterations, config=CONFIG)
    rounds = alternate([ours, bot_searches("ismctsbot", roots, scale.iterations)], scale.effort)
    raw = {f"{name}_simulations_per_s": rounds.per_second(name) for name in ("ours", "ismctsbot")}
    return rounds.times_as_fast("ours", "ismctsbot"), raw


# --- OpenSpiel's side ---------------------------------------------------------------------------------------------


def bot_searches(name: str, roots: list[Position], iterations: int) -> Side:
    """Make a side of searches by OpenSpiel's bot in Python, each with a new tree; a unit is a simulation."""
    game: Any = roots[0].game
    theirs = RulesGame(game.game_rules)
    states = [RulesState(theirs, game.value(position)) for position in roots]

    def run(n: int) -> float:
        for seed in range(n):
            for state in states:
                search_by_bot(state, iterations, np.random.RandomState(seed))
        return n * len(states) * iterations

    return Side(name, run)


def search_by_bot(state: RulesState, iterations: int, random_state: np.random.RandomState) -> None:
    evaluator = mcts.RandomRolloutEvaluator(1, random_state)
    bot = ismcts.ISMCTSBot(state.game, evaluator, EXPLORATION, iterations, random_state=random_state)
    bot.set_resampler(lambda at, player: at.resample_from_infostate(player, random_state.uniform))
    bot.get_policy(state)


class RulesGame(pyspiel.Game):  # type: ignore[misc]
    """A `GameRules` as an OpenSpiel game, without anything that its ISMCTSBot does not call."""

    def __init__(self, rules: Any) -> None:
        self.rules = rules
        self.numbers = {text: number for number, text in enumerate(rules.actions)}
        low, high = rules.payoff_range
        super().__init__(
            pyspiel.GameType(
                short_name="python_rules",
                long_name="GameRules of Eminence",
                dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
                chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
                information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
                utility=pyspiel.GameType.Utility.ZERO_SUM,
                reward_model=pyspiel.GameType.RewardModel.TERMINAL,
                max_num_players=rules.n_players,
                min_num_players=rules.n_players,
                provides_information_state_string=True,
                provides_information_state_tensor=False,
                provides_observation_string=False,
                provides_observation_tensor=False,
                parameter_specification={},
            ),
            pyspiel.GameInfo(
                num_distinct_actions=len(rules.actions),
                max_chance_outcomes=len(rules.actions),
                num_players=rules.n_players,
                min_utility=low,
                max_utility=high,
                utility_sum=0.0,
                max_game_length=1000,
            ),
            {},
        )

    def new_initial_state(self) -> RulesState:
        return RulesState(self, self.rules.start(0))


class RulesState(pyspiel.State):  # type: ignore[misc]
    """A state of a `GameRules` as OpenSpiel's `State`."""

    def __init__(self, game: RulesGame, value: Any) -> None:
        super().__init__(game)
        self.game = game
        self.value = value

    def current_player(self) -> int:
        seat = self.game.rules.to_act(self.value)
        if seat is None:
            return int(pyspiel.PlayerId.TERMINAL)
        return int(pyspiel.PlayerId.CHANCE) if seat == CHANCE else int(seat)

    def is_terminal(self) -> bool:
        return self.game.rules.to_act(self.value) is None

    def _legal_actions(self, _player: int) -> list[int]:
        return sorted([self.game.numbers[text] for text in self.game.rules.legal_actions(self.value)])

    def chance_outcomes(self) -> list[tuple[int, float]]:
        numbers = self._legal_actions(CHANCE)
        return [(number, 1 / len(numbers)) for number in numbers]

    def _apply_action(self, number: int) -> None:
        self.value = self.game.rules.apply(self.value, self.game.rules.actions[number])

    def returns(self) -> list[float]:
        return list(self.game.rules.payoffs(self.value))

    def information_state_string(self, player: int | None = None) -> str:
        return str(self.game.rules.information(self.value, self.current_player() if player is None else player))

    def resample_from_infostate(self, player: int, draw: Any) -> RulesState:
        view = self.game.rules.observe(self.value, player)
        return RulesState(self.game, self.game.rules.sample_world(view, player, Uniform(draw)))

    def clone(self) -> RulesState:
        return RulesState(self.game, self.value)

    def __str__(self) -> str:
        return str(self.game.rules.write(self.value))


class Uniform:
    """The part of `random.Random` that sampling uses, from a function that draws from 0..1."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def choice(self, options: Any) -> Any:
        return options[int(self.draw() * len(options))]

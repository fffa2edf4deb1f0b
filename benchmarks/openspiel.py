"""Make OpenSpiel's sides of the comparisons, through its Python module. "In C++" means that the loop is in C++."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat
from statistics import mean
from typing import Any, Literal

import numpy as np
import pyspiel
from open_spiel.python.algorithms import ismcts, mcts

from benchmarks.measure import Side
from engine_cy import Action, Rng, new_game
from solver import Budget
from solver.match import Turn
from solver.openspiel import ours_in_openspiel as bridge

# Long card games with hidden information. OpenSpiel plays simultaneous moves one by one.
GOOFSPIEL = "goofspiel(imp_info=True,num_cards=13,players=4,points_order=descending)"
ROLLOUT_GAMES = {
    "hearts": "hearts",
    "spades": "spades",
    "skat": "skat",
    "crazy_eights": "crazy_eights",
    "goofspiel_13x4": GOOFSPIEL,
    "goofspiel_24x5": "goofspiel(imp_info=True,num_cards=24,players=5,points_order=descending)",
}

# Long games that its ISMCTS bot plays from Python, and their number of decisions before the search: the passed cards of
# hearts, the bids of oh hell. Leduc poker is a game of ours, too.
ISMCTS_GAMES = {
    "hearts": ("hearts", 14),
    "oh_hell": ("oh_hell(players=4,num_tricks_fixed=10)", 6),
    "leduc": ("leduc_poker", 0),
}
ISMCTS_ROOTS = 3


def load(name: str) -> Any:
    game = pyspiel.load_game(name)
    if game.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        game = pyspiel.convert_to_turn_based(game)
    return game


def first_decision(game: Any, rng: random.Random) -> Any:
    """Return the state after a random deal."""
    state = game.new_initial_state()
    while state.is_chance_node():
        outcomes, chances = zip(*state.chance_outcomes(), strict=True)
        state.apply_action(rng.choices(outcomes, chances)[0])
    return state


def play(state: Any, rng: random.Random, decisions_max: int = 1 << 30) -> int:
    """Play at random, at most `decisions_max` decisions; return their number, forced ones included."""
    decisions = 0
    while not state.is_terminal() and decisions < decisions_max:
        if state.is_chance_node():
            outcomes, chances = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, chances)[0])
        else:
            decisions += 1
            state.apply_action(rng.choice(state.legal_actions()))
    return decisions


def mean_decisions(state: Any, rng: random.Random, playouts: int) -> float:
    return mean(play(state.clone(), rng) for _ in range(playouts))


def rollouts(name: str, playouts_counted: int) -> Side:
    """Make a side of random playouts in C++ from the first decision of one deal; a unit is a decision.

    A bot that searches with one simulation only evaluates the root, by `n` rollouts. These do not report their number
    of decisions; use the mean of playouts from Python from the same state.
    """
    game = load(ROLLOUT_GAMES[name])
    rng = random.Random(7)
    start = first_decision(game, rng)
    decisions = mean_decisions(start, rng, playouts_counted)

    def run(n: int) -> float:
        evaluator = pyspiel.RandomRolloutEvaluator(n, 3)
        bot = pyspiel.MCTSBot(game, evaluator, 1.4, 1, 500, False, 3, False)
        bot.mcts_search(start)
        return n * decisions

    return Side(name, run)


def searches(name: str, iterations: int, playouts_counted: int = 0) -> Side:
    """Make a side of searches by an ISMCTS bot in C++, each with a new tree, from the roots of several deals in turn.

    A unit is a simulation or, if `playouts_counted`, a decision in it. Simulations do not report their number of
    decisions; use the mean of random playouts from the root.
    """
    text, decisions_before = ISMCTS_GAMES[name]
    game = load(text)
    by_observation = not game.get_type().provides_information_state_string
    roots = []
    for seed in range(ISMCTS_ROOTS):
        rng = random.Random(seed)
        root = first_decision(game, rng)
        play(root, rng, decisions_before)
        roots.append((root, mean_decisions(root, rng, playouts_counted) if playouts_counted else 1.0))
    policy = pyspiel.ISMCTSFinalPolicyType.MAX_VISIT_COUNT

    def run(n: int) -> float:
        units = 0.0
        for seed in range(n):
            for root, per_simulation in roots:
                evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
                bot = pyspiel.ISMCTSBot(seed, evaluator, 1.4, iterations, -1, policy, by_observation, by_observation)
                bot.get_policy(root)
                units += iterations * per_simulation
        return units

    return Side(name, run)


def hearts_mid_game() -> Any:
    """Return a state of hearts after half of its decisions."""
    game = load("hearts")
    rng = random.Random(7)
    start = first_decision(game, rng)
    decisions = mean_decisions(start, rng, 20)
    play(start, rng, int(decisions / 2))
    return start


def clones(state: Any) -> Side:
    """Make a side of copies of `state` from Python; a unit is a copy."""

    def run(n: int) -> float:
        clone = state.clone
        for _ in repeat(None, n):
            clone()
        return n

    return Side("openspiel_clone", run)


def empty_calls(state: Any) -> Side:
    """Make a side of almost empty calls from Python."""

    def run(n: int) -> float:
        move_number = state.move_number
        for _ in repeat(None, n):
            move_number()
        return n

    return Side("openspiel_call", run)


def python_playouts(name: str = GOOFSPIEL) -> Side:
    """Make a side of complete random games played from Python; a unit is a decision."""
    game = load(name)
    rng = random.Random(7)

    def run(n: int) -> float:
        return sum(play(game.new_initial_state(), rng) for _ in range(n))

    return Side("openspiel_python", run)


# --- its bot in our matches -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bot:
    """OpenSpiel's ISMCTS bot in Python, which plays our games through the bridge; the bot in C++ cannot.

    Its state begins at the current table, without a history: it gets the information of our search, and samples worlds
    faster than with a history in each.
    """

    name: str
    # The constant of UCT. Payoffs are shares of a win minus a fair share, so it corresponds to `Config.exploration`.
    exploration: float = 0.5
    # Random playouts by OpenSpiel's evaluator, or by our engine: equal in distribution, in a fraction of the time.
    rollouts: Literal["openspiel", "engine"] = "openspiel"

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        """Return the move and the number of simulations done."""
        position = turn.position
        state = bridge.from_position(position)
        random_state = np.random.RandomState(seed % 2**32)
        rollouts = EngineRollouts(Rng(seed)) if self.rollouts == "engine" else None
        bot = CountingBot(
            state.get_game(),
            rollouts or mcts.RandomRolloutEvaluator(1, random_state),
            self.exploration,
            # Its first simulation expands no move: it plays out from the root.
            budget.iterations + 1 if budget.iterations else 1 << 60,
            random_state=random_state,
        )
        # By default, it samples worlds with a generator that cannot be seeded.
        bot.set_resampler(lambda at, player: at.resample_from_infostate(player, random_state.uniform))
        clock = time.monotonic_ns if budget.time_ms else time.thread_time_ns
        milliseconds = budget.time_ms or budget.thread_time_ms
        bot.is_over = deadline(clock, milliseconds) if milliseconds else lambda: False
        number = bot.step(state)
        return position.game.action(state.action_to_string(number)), bot.simulations - 1

    @staticmethod
    def bridge_costs(game: tuple[str, str | Mapping[str, bool | int | str] | None, int]) -> dict[str, float]:
        """Return the nanoseconds of the bridge's calls in random games of `game`."""
        return bridge_costs(new_game(*game))


def deadline(clock: Callable[[], int], milliseconds: float) -> Callable[[], bool]:
    end = clock() + int(milliseconds * 1e6)
    return lambda: clock() >= end


class CountingBot(ismcts.ISMCTSBot):  # type: ignore[misc]
    """The bot, with a time limit and a count of simulations."""

    is_over: Callable[[], bool]
    simulations = 0

    def sample_root_state(self, state: Any) -> Any:
        # Each simulation begins with this call, the only hook in the loop.
        if self.simulations > 1 and self.is_over():
            raise TimeUp
        self.simulations += 1
        return super().sample_root_state(state)

    def run_search(self, state: Any) -> Any:
        try:
            return super().run_search(state)
        except TimeUp:
            return self.get_final_policy(state, self._root_node)


class TimeUp(Exception):
    """The time limit of a search is reached."""


class EngineRollouts(mcts.Evaluator):  # type: ignore[misc]
    """Uniformly random playouts by our engine, with the distribution of OpenSpiel's evaluator."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng

    def evaluate(self, state: Any) -> Any:
        payoffs = bridge.as_position(state).play_out(self.rng).payoffs
        return np.array(payoffs) - 1 / len(payoffs)

    def prior(self, state: Any) -> list[tuple[int, float]]:
        options = state.legal_actions()
        return [(option, 1 / len(options)) for option in options]


def bridge_costs(game: Any, games: int = 5) -> dict[str, float]:
    """Return the nanoseconds of the bridge's `clone` and `apply_action` in random games."""
    rng = random.Random(7)
    spent = {"clone_ns": 0, "apply_ns": 0}
    calls = 0
    for seed in range(games):
        state = bridge.from_position(game.deal(seed))
        while not state.is_terminal():
            action = rng.choice(state.legal_actions())
            start_ns = time.perf_counter_ns()
            other = state.clone()
            clone_end_ns = time.perf_counter_ns()
            other.apply_action(action)
            spent["apply_ns"] += time.perf_counter_ns() - clone_end_ns
            spent["clone_ns"] += clone_end_ns - start_ns
            calls += 1
            state = other
    return {name: round(ns / calls, 1) for name, ns in spent.items()}

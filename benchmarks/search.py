"""Measure the search: its speed against OpenSpiel's ISMCTS bot and against random playouts, and its memory.

Searches have the configuration `plain` and 10 000 iterations, run on one thread, and start at the first decision of
several deals. A *simulated decision* is a decision of a simulation, in the tree or in the playout. Both sides count
simulations times the decisions of random playouts from the root; of ours, only decisions with two options or more.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import count
from statistics import median
from threading import Thread
from typing import Any, NamedTuple

from benchmarks import loops, openspiel
from benchmarks.measure import Effort, Figure, Side, alternate, figure, load
from benchmarks.report import Goal, Measured, Result, table
from engine_cy import CHANCE, Game, Position, Rng, View, new_game
from solver import CONFIGS, Budget, solve
from solver.config import ITERATIONS_MAX, Config
from solver.control import Control
from solver.pool.parts import begin_part, run_parts
from solver.question import SearchQuestion
from solver.search import Searcher

GAME = ("oriflamme", "en-2019", 4)
LEDUC = ("leduc_poker", None, 2)
PLAIN = CONFIGS["plain"]
# Nodes of Leduc are distinguished by the player's own card, as in OpenSpiel's search.
LEDUC_CONFIG = Config("plain:nodes=own", nodes="own")
DEALS = 4
BYTES_MAX = 2**30
THREADS = 2

GOALS = {
    "simulated_decisions_vs_openspiel": Goal(6, 9),
    "leduc_vs_ismctsbot": Goal(3, 5),
    "search_vs_playout": Goal(0.65, 0.80),
    "tree_100k_vs_1k": Goal(0.85, 0.95),
    "threads_per_cpu_second": Goal(0.95, 0.98),
    "bytes_per_iteration": Goal(80, 60),
    "cancel_p99_ms": Goal(50, 5),
}
MEANINGS = {
    "simulated_decisions_vs_openspiel": "simulated decisions/s against OpenSpiel's ISMCTSBot on its best of "
    + ", ".join(openspiel.ISMCTS_GAMES),
    "leduc_vs_ismctsbot": "Leduc poker on both sides: simulations/s, nodes distinguished by private cards",
    "search_vs_playout": "simulations/s against random playouts/s from the same position",
    "tree_100k_vs_1k": "iterations/s of one search of 100 000 against a hundred of 1 000",
    "threads_per_cpu_second": "iterations per CPU second with two threads against one",
    "bytes_per_iteration": "bytes of the tree's nodes and edges per iteration",
    "cancel_p99_ms": "ms from the stop to the end of a search, 99th percentile, in trees of 100 000 iterations",
}


class Scale(NamedTuple):
    """Number and duration of the measurements."""

    effort: Effort = Effort(seconds=0.4)
    iterations: int = 10_000
    small: int = 1_000
    large: int = 100_000
    playouts_counted: int = 5_000  # ours, for the decisions per simulation
    rollouts_counted: int = 300  # OpenSpiel's
    cancel_rounds: int = 50  # a round stops a search of each kind


FULL = Scale()
QUICK = Scale(Effort(rounds=1, seconds=0.002), 50, 50, 200, playouts_counted=20, rollouts_counted=3, cancel_rounds=2)


def run(scale: Scale = FULL) -> Result:
    """Measure all figures."""
    before = load()
    figures: dict[str, Figure] = {}
    raw: dict[str, Any] = {}
    for name, measure in MEASURES.items():
        figures[name], details = measure(scale)
        raw.update(details)
    return Result(figures, raw, {}, {"before": before, "after": load()})


def as_text(result: Result) -> str:
    game, edition, players = GAME
    raw = result.raw
    lines = [
        f"search: {game} {edition}, {players} players, {PLAIN.name}; "
        f"load {result.load['before']} before, {result.load['after']} after",
        "",
        table(GOALS, result.figures),
        "",
        *(f"{name}: {meaning}" for name, meaning in MEANINGS.items()),
        "",
        f"{raw['simulations_per_s'] / 1e3:.0f} k simulations/s of {raw['decisions_per_simulation']:.1f} decisions; "
        f"Leduc: {raw['leduc_simulations_per_s'] / 1e3:.0f} k simulations/s; "
        f"a search of {raw['tree']['iterations']}: {raw['tree']['nodes']} nodes, {raw['tree']['edges']} edges, "
        f"{raw['tree']['tree_bytes']} bytes allocated",
    ]
    return "\n".join(lines)


# --- our sides ------------------------------------------------------------------------------------------------


def roots(spec: tuple[str, str | None, int], deals: int = DEALS) -> list[Position]:
    """Return the first decision of some deals."""
    game = new_game(*spec)
    return [first_decision(game, seed) for seed in range(deals)]


def first_decision(game: Game, seed: int) -> Position:
    rng = Rng(seed)
    position = game.deal(rng, first=seed % game.n_players)
    while position.to_act == CHANCE:
        actions = position.legal_actions()
        position = position.play(actions[rng.below(len(actions))])
    return position


def view_of(position: Position) -> View:
    """Return the view of the player to act."""
    if position.to_act is None:
        raise ValueError("the game is over")
    return position.view(position.to_act)


def search(view: View, config: Config, iterations: int, seed: int) -> Searcher:
    """Run one search; return its searcher with the tree."""
    searcher = Searcher(view, config.settings(iterations), BYTES_MAX, seed, 0)
    searcher.run(iterations)
    return searcher


def searches(
    name: str,
    positions: list[Position],
    iterations: int,
    *,
    config: Config = PLAIN,
    per_simulation: float = 1.0,
    times: int = 1,
) -> Side:
    """Make a side of `times` searches from each position, each with a new tree.

    A unit is a simulation, or a decision if `per_simulation` is their number in a simulation.
    """
    views = [view_of(position) for position in positions]
    seeds = count()

    def run(n: int) -> float:
        for _ in range(n * times):
            for view in views:
                search(view, config, iterations, next(seeds))
        return n * times * len(views) * iterations * per_simulation

    return Side(name, run)


def playouts(positions: list[Position], number: int) -> Side:
    """Make a side of `number` random playouts from each position, each from a clone; a unit is a playout."""
    seeds = count()

    def run(n: int) -> float:
        loops.play_outs(positions, n * number * len(positions), Rng(next(seeds)))
        return n * number * len(positions)

    return Side("playouts", run)


def threaded(name: str, positions: list[Position], iterations: int, threads: int) -> Side:
    """Make a side of searches with `iterations` on each thread, by CPU time of the process; a unit is an iteration."""
    views = [view_of(position) for position in positions]
    seeds = count()

    def run(n: int) -> float:
        budget = Budget(iterations=iterations * threads)
        for _ in range(n):
            for view in views:
                solve(view, budget, config=PLAIN, seed=next(seeds), shares=threads)
        return n * len(views) * iterations * threads

    return Side(name, run, time.process_time_ns)


# --- the figures ----------------------------------------------------------------------------------------------


def measure_simulated_decisions(scale: Scale) -> Measured:
    positions = roots(GAME)
    per_simulation = loops.play_outs(positions, scale.playouts_counted, Rng(1)) / scale.playouts_counted
    peers = [openspiel.searches(name, scale.iterations, scale.rollouts_counted) for name in openspiel.ISMCTS_GAMES]
    ours = searches("ours", positions, scale.iterations, per_simulation=per_simulation)
    rounds = alternate([ours, *peers], scale.effort)
    raw = {
        "simulated_decisions_per_s": rounds.per_second("ours"),
        "openspiel_simulated_decisions_per_s": {name: rounds.per_second(name) for name in openspiel.ISMCTS_GAMES},
        "decisions_per_simulation": round(per_simulation, 2),
    }
    return rounds.times_as_fast("ours", *openspiel.ISMCTS_GAMES, of_others=max), raw


def measure_leduc(scale: Scale) -> Measured:
    ours = searches("ours", roots(LEDUC, openspiel.ISMCTS_ROOTS), scale.iterations, config=LEDUC_CONFIG)
    rounds = alternate([ours, openspiel.searches("leduc", scale.iterations)], scale.effort)
    raw = {
        "leduc_simulations_per_s": rounds.per_second("ours"),
        "openspiel_leduc_simulations_per_s": rounds.per_second("leduc"),
    }
    return rounds.times_as_fast("ours", "leduc"), raw


def measure_playouts(scale: Scale) -> Measured:
    positions = roots(GAME)
    ours = searches("ours", positions, scale.iterations)
    rounds = alternate([ours, playouts(positions, scale.iterations)], scale.effort)
    raw = {"simulations_per_s": rounds.per_second("ours"), "playouts_per_s": rounds.per_second("playouts")}
    return rounds.times_as_fast("ours", "playouts"), raw


def measure_large_tree(scale: Scale) -> Measured:
    positions = roots(GAME, deals=1)
    large = searches("large", positions, scale.large)
    small = searches("small", positions, scale.small, times=scale.large // scale.small)
    rounds = alternate([large, small], scale.effort)
    raw = {"large_tree_per_s": rounds.per_second("large"), "small_tree_per_s": rounds.per_second("small")}
    return rounds.times_as_fast("large", "small"), raw


def measure_threads(scale: Scale) -> Measured:
    positions = roots(GAME)
    one = threaded("one", positions, scale.iterations, 1)
    several = threaded("several", positions, scale.iterations, THREADS)
    rounds = alternate([one, several], scale.effort)
    raw = {"one_thread_per_s": rounds.per_second("one"), "threads_per_s": rounds.per_second("several")}
    return rounds.times_as_fast("several", "one"), raw


def measure_bytes(scale: Scale) -> Measured:
    """Measure memory, not time; trees differ a little between seeds and deals."""
    views = [view_of(position) for position in roots(GAME)]
    trees = [search(view, PLAIN, scale.iterations, seed) for seed, view in enumerate(views)]
    of_one = trees[0]
    raw = {
        "tree": {
            "iterations": of_one.iterations,
            "nodes": of_one.nodes,
            "edges": of_one.edges,
            "used_bytes": of_one.used_bytes,
            "tree_bytes": of_one.tree_bytes,
        }
    }
    return figure([tree.used_bytes / tree.iterations for tree in trees]), raw


def measure_cancelling(scale: Scale) -> Measured:
    """Measure wall time, which other programs on the machine increase."""
    kinds = [(players, threads) for players in (4, 5) for threads in (1, THREADS)]
    views = {players: view_of(first_decision(new_game(*GAME[:2], players), 0)) for players in (4, 5)}
    waits: dict[tuple[int, int], list[float]] = {kind: [] for kind in kinds}
    draw = Rng(1)
    for seed in range(scale.cancel_rounds):
        for players, threads in kinds:
            question = SearchQuestion(
                views[players], Budget(iterations=ITERATIONS_MAX), config=PLAIN, seed=seed, shares=threads
            )
            waits[players, threads].append(time_to_stop(question, scale.large, draw.below(5000) / 1e6))
    everything = [wait for times in waits.values() for wait in times]
    raw = {
        "cancellations": len(everything),
        "cancel_ms": {
            f"{players}p, {threads} threads": {
                "median": round(median(times), 3),
                "worst": round(max(times), 3),
            }
            for (players, threads), times in waits.items()
        },
    }
    halves = [percentile_99(everything[half::2]) for half in (0, 1)]
    value = percentile_99(everything)
    return Figure(value, abs(halves[0] - halves[1]) / value), raw


def time_to_stop(question: SearchQuestion, iterations: int, pause: float) -> float:
    """Stop a search `pause` seconds after each tree has `iterations`; return the ms until the last share ends."""
    question.prepare()
    searchers = [begin_part(question, number) for number in range(question.n_parts)]
    control = Control()
    ended = [0] * question.n_parts

    def run(number: int) -> None:
        run_parts(question, [number], control, searcher=searchers[number])
        ended[number] = time.monotonic_ns()

    threads = [Thread(target=run, args=(number,)) for number in range(question.n_parts)]
    for thread in threads:
        thread.start()
    while min(searcher.iterations for searcher in searchers) < iterations:
        time.sleep(0.001)
    time.sleep(pause)
    stop_time = time.monotonic_ns()
    control.stop()
    for thread in threads:
        thread.join()
    return (max(ended) - stop_time) / 1e6


def percentile_99(values: Sequence[float]) -> float:
    """Return the 99th percentile."""
    return sorted(values)[-(-99 * len(values) // 100) - 1]


MEASURES: Mapping[str, Any] = {
    "simulated_decisions_vs_openspiel": measure_simulated_decisions,
    "leduc_vs_ismctsbot": measure_leduc,
    "search_vs_playout": measure_playouts,
    "tree_100k_vs_1k": measure_large_tree,
    "threads_per_cpu_second": measure_threads,
    "bytes_per_iteration": measure_bytes,
    "cancel_p99_ms": measure_cancelling,
}

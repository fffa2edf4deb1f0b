"""Measure the engine: random playouts, clones and its Python interface, against OpenSpiel, plain C and memcpy.

Full rules, four players. A *decision* of ours has two options or more: forced moves and chance do not count, and a
decision that the engine splits in two counts once. All decisions of OpenSpiel and of the plain-C stand-in count.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import count, repeat
from statistics import mean
from typing import Any, NamedTuple, TypeVar

from benchmarks import floor, loops, openspiel
from benchmarks.measure import Effort, Figure, Rounds, Side, alternate, figure, load
from benchmarks.report import Goal, Measured, Result, aligned, table
from engine_cy import CHANCE, Game, Position, Rng, new_game
from engine_cy.oriflamme.editions import EDITIONS

Counted = TypeVar("Counted")


# Deals differ in speed, so playouts start from many.
DEALS = 64

MEANINGS = {
    "playout_vs_openspiel": "random decisions/s against OpenSpiel's C++ rollouts, median of six games",
    "decision_vs_floor": "ns per decision of a random playout against the plain-C stand-in for Oriflamme",
    "clone_vs_memcpy": "clone inside the engine against libc's memcpy with the same size, known at run time",
    "py_clone_vs_openspiel": "position.clone() against OpenSpiel's state.clone(), hearts mid-game",
    "py_loop_vs_openspiel": "decisions/s driven from Python against the same on OpenSpiel goofspiel 13x4",
}
# Accepted relative deviation of the decisions per game from those of the reference games.
REFERENCE_TOLERANCE = 0.03


class MeasuredGame(NamedTuple):
    """A game to measure: name of the suite, timed game, goals, and the tables whose decisions are counted."""

    name: str
    game: tuple[str, str, int]
    goals: Mapping[str, Goal]
    tables: Mapping[str, tuple[str, tuple[int, ...]]]  # by edition: id of the game, numbers of players
    reference_decisions: Mapping[int, float]  # of the timed edition, by number of players

    def new_game(self) -> Game:
        game, edition, players = self.game
        return new_game(game, edition, players)


ENGINE = MeasuredGame(
    name="engine",
    game=("oriflamme", "en-2019", 4),
    goals={
        "playout_vs_openspiel": Goal(5, 7),
        "decision_vs_floor": Goal(2, 1.5),
        "clone_vs_memcpy": Goal(2, 1.3),
        "py_clone_vs_openspiel": Goal(4, 7),
        "py_loop_vs_openspiel": Goal(1, 2),
    },
    tables={edition: (row.game, row.players) for edition, row in EDITIONS.items()},
    reference_decisions={3: 48.0, 4: 65.1, 5: 82.7},
)
CASTLE = MeasuredGame(
    name="castle",
    game=("castle_village_port", "house", 4),
    goals={"playout_vs_openspiel": Goal(4, None)},
    tables={"house": ("castle_village_port", (3, 4, 5))},
    reference_decisions={},
)


class Scale(NamedTuple):
    """Number and duration of the measurements."""

    effort: Effort = Effort()
    games_counted: int = 20_000  # for decisions_per_game, in the engine
    games_listed: int = 200  # for branching, from Python
    rollouts_counted: int = 1_000  # of OpenSpiel, for its decisions per rollout


FULL = Scale()
QUICK = Scale(Effort(rounds=1, seconds=0.002), games_counted=64, games_listed=2, rollouts_counted=3)


def run(subject: MeasuredGame, scale: Scale = FULL) -> Result:
    """Measure all figures."""
    before = load()
    figures: dict[str, Figure] = {}
    raw: dict[str, Any] = {}
    for name, measure in MEASURES.items():
        figures[name], details = measure(subject, scale)
        raw.update(details)
    counts = {
        "sizeof_state": subject.new_game().state_size,
        "decisions_per_game": each_table(subject, decisions_per_game, scale.games_counted),
        "branching": each_table(subject, branching, scale.games_listed),
    }
    return Result(figures, raw, counts, {"before": before, "after": load()})


def as_text(subject: MeasuredGame, result: Result) -> str:
    per_game = result.counts["decisions_per_game"]
    _, edition, players = subject.game
    lines = [
        f"{subject.name}: {edition}, {players} players; "
        f"load {result.load['before']} before, {result.load['after']} after",
        "",
        table(subject.goals, result.figures),
        "",
        *(f"{name}: {meaning}" for name, meaning in MEANINGS.items()),
        "",
        f"{result.raw['decisions_per_s'] / 1e6:.1f} M decisions/s, {result.raw['decision_ns']:.1f} ns each, "
        f"a state of {result.counts['sizeof_state']} bytes",
        "",
        "decisions per game, chosen uniformly:",
        aligned(
            [
                (name, *(f"{players}p {decisions:.1f}" for players, decisions in counted.items()), "")
                for name, counted in per_game.items()
            ]
        ),
        *(
            against_reference(subject, players, per_game[edition][str(players)])
            for players in subject.reference_decisions
        ),
    ]
    return "\n".join(lines)


def against_reference(subject: MeasuredGame, players: int, decisions: float) -> str:
    reference = subject.reference_decisions[players]
    off = decisions / reference - 1
    verdict = "as expected" if abs(off) <= REFERENCE_TOLERANCE else "UNEXPECTED: the choices differ"
    return f"  {subject.game[1]}, {players} players: {off:+.1%} from the reference games' {reference}, {verdict}"


# --- our sides ------------------------------------------------------------------------------------------------


def deals(game: Game) -> list[Position]:
    return [game.deal(seed, first=seed % game.n_players) for seed in range(DEALS)]


def mid_game(game: Game) -> Position:
    """Return the position after half of a random game."""
    rng = random.Random(7)
    played = [game.deal(1)]
    while not played[-1].is_over:
        played.append(played[-1].play(rng.choice(played[-1].legal_actions())))
    return played[len(played) // 2]


def playouts(game: Game) -> Side:
    """Make the side of random playouts in the engine, each from a clone of a deal; a unit is a decision."""
    positions = deals(game)
    seeds = count()

    def run(n: int) -> float:
        return loops.play_outs(positions, n, Rng(next(seeds)))

    return Side("ours", run)


def play(position: Position, rng: random.Random) -> int:
    """Play at random to the end, from Python; return the number of decisions."""
    decisions = 0
    while not position.is_over:
        actions = position.legal_actions()
        decisions += len(actions) > 1 and position.to_act != CHANCE
        position = position.play(rng.choice(actions))
    return decisions


# --- the figures ----------------------------------------------------------------------------------------------


def measure_playouts(subject: MeasuredGame, scale: Scale) -> Measured:
    peers = [openspiel.rollouts(name, scale.rollouts_counted) for name in openspiel.ROLLOUT_GAMES]
    rounds = alternate([playouts(subject.new_game()), *peers], scale.effort)
    raw = {
        "decisions_per_s": rounds.per_second("ours"),
        "openspiel_decisions_per_s": {name: rounds.per_second(name) for name in openspiel.ROLLOUT_GAMES},
    }
    return rounds.times_as_fast("ours", *openspiel.ROLLOUT_GAMES), raw


def measure_floor(subject: MeasuredGame, scale: Scale) -> Measured:
    rounds = alternate([playouts(subject.new_game()), floor.playouts()], scale.effort)
    raw = {"decision_ns": ns(rounds, "ours"), "floor_decision_ns": ns(rounds, "floor")}
    return rounds.times_as_fast("floor", "ours"), raw


def measure_clone(subject: MeasuredGame, scale: Scale) -> Measured:
    """Compare the game's own copy, whose size the compiler knows, with the memcpy of a search through `GameApi`."""
    position = mid_game(subject.new_game())

    def in_engine(n: int) -> float:
        loops.copy_in_engine(position, n)
        return n

    def by_memcpy(n: int) -> float:
        loops.copy_by_memcpy(position, n)
        return n

    rounds = alternate([Side("clone", in_engine), Side("memcpy", by_memcpy)], scale.effort)
    raw = {"clone_ns": ns(rounds, "clone"), "memcpy_ns": ns(rounds, "memcpy")}
    return rounds.times_as_fast("memcpy", "clone"), raw


def measure_python_clone(subject: MeasuredGame, scale: Scale) -> Measured:
    """Compare gross times, which include the cost of a call from Python on both sides.

    `raw` holds net times, too, without the time of an almost empty call; their ratio would favour us.
    """
    position = mid_game(subject.new_game())
    opaque: Any = position  # its stub omits methods that only Python itself calls
    state = openspiel.hearts_mid_game()

    def clones(n: int) -> float:
        clone = position.clone
        for _ in repeat(None, n):
            clone()
        return n

    def empty_calls(n: int) -> float:
        itself = opaque.__copy__
        for _ in repeat(None, n):
            itself()
        return n

    sides = [
        Side("clone", clones),
        Side("call", empty_calls),
        openspiel.clones(state),
        openspiel.empty_calls(state),
    ]
    rounds = alternate(sides, scale.effort)
    raw = {
        "py_clone_ns": {"gross": ns(rounds, "clone"), "net": net_ns(rounds, "clone", "call")},
        "openspiel_py_clone_ns": {
            "gross": ns(rounds, "openspiel_clone"),
            "net": net_ns(rounds, "openspiel_clone", "openspiel_call"),
        },
    }
    return rounds.times_as_fast("clone", "openspiel_clone"), raw


def measure_python_loop(subject: MeasuredGame, scale: Scale) -> Measured:
    game = subject.new_game()
    rng = random.Random(7)
    seeds = count()

    def python_playouts(n: int) -> float:
        return sum(play(game.deal(next(seeds)), rng) for _ in range(n))

    rounds = alternate([Side("ours", python_playouts), openspiel.python_playouts()], scale.effort)
    raw = {
        "py_loop_decisions_per_s": rounds.per_second("ours"),
        "openspiel_py_loop_decisions_per_s": rounds.per_second("openspiel_python"),
    }
    return rounds.times_as_fast("ours", "openspiel_python"), raw


MEASURES = {
    "playout_vs_openspiel": measure_playouts,
    "decision_vs_floor": measure_floor,
    "clone_vs_memcpy": measure_clone,
    "py_clone_vs_openspiel": measure_python_clone,
    "py_loop_vs_openspiel": measure_python_loop,
}


def ns(rounds: Rounds, name: str) -> float:
    return round(rounds.ns(name), 2)


def net_ns(rounds: Rounds, name: str, empty: str) -> float:
    pairs = zip(rounds.rates[name], rounds.rates[empty], strict=True)
    return round(figure([1e9 / rate - 1e9 / empty_rate for rate, empty_rate in pairs]).value, 2)


# --- counts, for every edition and number of players ----------------------------------------------------------


def each_table(
    subject: MeasuredGame, counted: Callable[[Game, int], Counted], games: int
) -> dict[str, dict[str, Counted]]:
    return {
        edition: {str(n): counted(new_game(game, edition, n), games) for n in players}
        for edition, (game, players) in subject.tables.items()
    }


def decisions_per_game(game: Game, games: int) -> float:
    return round(loops.play_outs(deals(game), games, Rng(1)) / games, 2)


def branching(game: Game, games: int) -> dict[str, dict[str, float]]:
    """Return, for each kind of decision, its frequency in a game and its number of options (two or more)."""
    options: dict[str, list[int]] = {}
    rng = random.Random(1)
    for seed in range(games):
        position = game.deal(seed)
        while not position.is_over:
            actions = position.legal_actions()
            if len(actions) > 1 and position.to_act != CHANCE:
                kind = actions[0].type
                options.setdefault("reveal" if kind == "keep" else kind, []).append(len(actions))
            position = position.play(rng.choice(actions))
    return {
        kind: {"mean": round(mean(counts), 2), "max": max(counts), "per_game": round(len(counts) / games, 2)}
        for kind, counts in sorted(options.items())
    }

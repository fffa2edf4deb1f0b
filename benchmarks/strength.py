"""The yardsticks of strength: whether the win % comes true, and how well hidden cards are guessed.

    python -m benchmarks strength                          en-2019, 3 players, 10 ms
    python -m benchmarks strength --against default-1      ... and the log-loss of both on the same positions

`default` plays games against itself (`--games`, by `--play` iterations a move), and searches some positions of each,
`--time-ms` of CPU time or `--iterations` each, as the player to act and as an onlooker. Printed are

- `ece_mover`, `ece_seats`: the expected calibration error of the win % that a user sees, of the best move and of all
  seats; with the error that true forecasts would have, and with those of the raw means;
- `log_loss_raw`: the surprise of the result by the raw means of the playouts, in the rounds between the first and the
  last; with `--against VERSION`, the difference to another version on the same positions;
- `belief_bits`: the bits of surprise for each face-down card of a player of its own kind, and of other kinds.

Games, searches and beliefs are stored in `--work`, so the command resumes. Positions searched by iterations repeat to
the last digit; a version against itself differs by exactly 0 then.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks import reliability
from benchmarks.frozen import VERSIONS, FrozenBuildError, version_of
from benchmarks.reliability import Forecast, Mean
from engine_cy import CHANCE, EngineError, Position, Rng, View, new_game
from engine_cy.action_log import History
from engine_cy.record import Record
from solver.answer import Answer
from solver.beliefs import Belief, own_spots
from solver.config import CONFIGS, Budget, InvalidQuestionError, check_budget, read_config
from solver.match.elo import Z_95
from solver.pool import cores
from solver.pool.processes import Processes
from solver.question import SearchQuestion
from solver.solve import solve
from solver.training.games import Member, Plan, PlayedGame, make_games, read_games

POSITIONS_STREAM = 6
KINDS = ("default", "plain", "greedy", "random")
SEARCHING = [name for name, config in CONFIGS.items() if config.how == "search"]
BELIEF_ITERATIONS = 400
LEAST_CHANCE = 1e-9


class Task(NamedTuple):
    """Hold what determines the searches of a version."""

    version: str
    budget: Budget
    positions: int


class Row(NamedTuple):
    """Hold one search of a position: its figures, raw and as a user sees them, and the result of the game."""

    game: int
    number: int  # of the position in its game
    round: int
    observer: int
    acting: bool
    raw: list[float]  # all seats over all playouts
    seats: list[float]  # as a user sees them
    move: list[float]  # all seats after the best move, as a user sees them; empty for an onlooker
    raw_move: list[float]
    ranks: list[float]  # of the observer after the best move
    points: list[float]  # mean and spread of the observer's points after the best move
    payoffs: list[float]
    scores: list[int]


# --- searches ---------------------------------------------------------------------------------------------------


class Chosen(NamedTuple):
    """Hold a position to search, from one seat."""

    number: int
    position: Position
    view: View
    history: History
    start: Position
    acting: bool

    @property
    def record(self) -> str:
        return str(Record(self.start.view(self.view.observer), self.history.actions))


def chosen_positions(game: PlayedGame, positions: int) -> Iterator[Chosen]:
    """Yield some decisions of a game, each as the player to act and as an onlooker."""
    rng = Rng(game.seed, (POSITIONS_STREAM << 41) + game.number)
    decisions = [i for i, choice in enumerate(game.choices) if choice.seat != CHANCE and choice.options > 1]
    wanted = {decisions[rng.below(len(decisions))] for _ in range(positions)}
    start = None
    logs: list[History] = []
    for i, (position, choice) in enumerate(game.positions()):
        start = start or position
        logs = logs or [History(position.game) for _ in range(position.game.n_players)]
        if i in wanted:
            for observer in (choice.seat, (choice.seat + 1) % position.game.n_players):
                view, log = position.view(observer), logs[observer].copy()
                log.end = view
                yield Chosen(i, position, view, log, start, observer == choice.seat)
        action = position.legal_actions()[choice.taken]
        for seat, log in enumerate(logs):
            log.add(position, position.seen(action, seat))


def search_game(task: Task, game: PlayedGame) -> list[list[Any]]:
    """Search the chosen positions of a game by a version; return the rows as plain lists."""
    rows = []
    for number, chosen in enumerate(chosen_positions(game, task.positions)):
        seed = Rng(game.seed, (POSITIONS_STREAM << 41) + game.number + (1 << 40)).bits() ^ number
        means = _frozen_means(task, chosen, seed) if task.version in VERSIONS else _means(task, chosen, seed)
        place = [game.number, chosen.number, chosen.view.round, chosen.view.observer, chosen.acting]
        rows.append([*place, *means, list(game.payoffs), list(game.scores)])
    return rows


def _frozen_means(task: Task, chosen: Chosen, seed: int) -> list[list[float]]:
    answer = version_of(VERSIONS[task.version]).ask(
        chosen.view.game.spec, chosen.view, task.budget, seed, "default", chosen.record
    )
    return [answer["means"], answer["means"], answer["best_means"], answer["best_means"], [], []]


def _means(task: Task, chosen: Chosen, seed: int) -> list[list[float]]:
    question = SearchQuestion(chosen.view, task.budget, config=task.version, seed=seed, history=chosen.history, lines=0)
    answer: Answer = solve(question)
    raw = [seat.win.of_playouts for seat in answer.seats]
    seats = [seat.win.mean for seat in answer.seats]
    if not answer.moves:
        return [raw, seats, [], [], [], []]
    best = answer.moves[0]
    tally = answer.total.tallies[answer.question.decisions.index(best.action)]
    raw_move = [payoff / tally.visits for payoff in tally.payoffs] if tally.visits else []
    points = [best.points.mean, best.points.spread] if best.points else []
    return [raw, seats, list(best.seats), raw_move, list(best.ranks), points]


def stored(path: Path, header: Mapping[str, Any], missing: Callable[[set[int]], Iterator[tuple[int, Any]]]) -> Any:
    """Return what a file has for each game; compute what it lacks, and store each game as soon as it is done."""
    known: dict[int, Any] = {}
    first = json.dumps(header)
    if path.exists() and (lines := path.read_text().splitlines()):
        if lines[0] != first:
            raise SystemExit(f"--work: {path} holds other searches: {lines[0]}, not {first}")
        for line in lines[1:]:
            try:
                number, rows = json.loads(line)
            except ValueError:  # a partial last line
                continue
            known[number] = rows
    path.write_text("".join(f"{line}\n" for line in [first, *(json.dumps([n, known[n]]) for n in sorted(known))]))
    with path.open("a") as file:
        for number, rows in missing(set(known)):
            known[number] = rows
            file.write(json.dumps([number, rows]) + "\n")
            file.flush()
    return known


def searches(task: Task, folder: Path, n_games: int, workers: int) -> list[Row]:
    """Return the searches of the games of a folder by a version."""
    header = {"version": task.version, "iterations": task.budget.iterations, "ms": task.budget.thread_time_ms}
    effort = f"{task.budget.iterations}" if task.budget.iterations else f"{task.budget.thread_time_ms:g}ms"
    path = folder / f"{task.version}-{effort}.jsonl"

    def missing(known: set[int]) -> Iterator[tuple[int, Any]]:
        games = [game for game in read_games(folder, n_games) if game.number not in known]
        yield from in_processes(partial(_numbered, partial(search_game, task)), games, workers)

    known = stored(path, {**header, "positions": task.positions}, missing)
    return [Row(*row) for number in sorted(known) if number < n_games for row in known[number]]


def _numbered(call: Callable[[PlayedGame], Any], game: PlayedGame) -> tuple[int, Any]:
    return game.number, call(game)


def in_processes(call: Callable[[PlayedGame], Any], games: Sequence[PlayedGame], workers: int) -> Iterator[Any]:
    """Yield the result of a call for each game, as soon as it is there."""
    if workers == 1 or len(games) < 2:
        yield from map(call, games)
    else:
        with Processes(workers) as processes:
            yield from processes.map(call, games, in_order=False)


# --- beliefs ----------------------------------------------------------------------------------------------------


def card_bits(game: PlayedGame, trust: float) -> list[tuple[int, float]]:
    """Return the surprise of face-down cards in a game, in bits, each with the kind of its player.

    One decision in each round counts, from the seat of the player to act.
    """
    bits: list[tuple[int, float]] = []
    rng = Rng(game.seed, (POSITIONS_STREAM << 41) + game.number)
    by_round: dict[int, list[int]] = {}
    positions = list(game.positions())
    for i, (position, choice) in enumerate(positions):
        if choice.seat != CHANCE:
            by_round.setdefault(position.round, []).append(i)
    wanted = {indices[rng.below(len(indices))] for indices in by_round.values()}
    history = History(positions[0][0].game)
    for i, (position, choice) in enumerate(positions):
        if i in wanted:
            view, log = position.view(choice.seat), history.copy()
            belief = Belief(view, log, trust)
            for seat in range(position.game.n_players):
                if seat == choice.seat or (chances := belief.chances(seat)) is None:
                    continue
                true = dict(own_spots(position.view(seat)))
                for spot, kinds in chances[0].items():
                    chance = max(kinds.get(true[spot], 0.0), LEAST_CHANCE)
                    bits.append((game.members[seat], -math.log2(chance)))
        history.add(position, position.legal_actions()[choice.taken])
    return bits


def belief_bits(spec: Any, folder: Path, n_games: int, seed: int, workers: int) -> dict[str, Mean]:
    """Return the bits for each face-down card by the kind of player, for the beliefs that `default` uses."""
    population = [Member(kind, 1.0 if CONFIGS[kind].how == "search" else 0.0, 1) for kind in KINDS]
    make_games(folder, Plan([spec], BELIEF_ITERATIONS, seed, population), n_games, workers)
    values: dict[str, list[tuple[int, float]]] = {kind: [] for kind in KINDS}
    trust = read_config("default").trust
    for game in read_games(folder, n_games):
        for member, bits in card_bits(game, trust):
            values[KINDS[member]].append((game.number, bits))
    return {kind: reliability.mean_of(bits) for kind, bits in values.items() if bits}


# --- figures ----------------------------------------------------------------------------------------------------


def forecasts(rows: Iterable[Row], field: str) -> list[Forecast]:
    """Return the forecasts of one field of the rows that have it."""
    return [
        Forecast(row.game, row.round, row.observer, tuple(getattr(row, field)), tuple(row.payoffs))
        for row in rows
        if getattr(row, field)
    ]


def by_position(rows: Iterable[Row]) -> dict[tuple[int, int], Forecast]:
    """Return the raw forecasts after the best moves, in the rounds between the first and the last."""
    rows = [row for row in rows if row.acting and row.raw_move]
    last = max((row.round for row in rows), default=0)
    within = [row for row in rows if 1 < row.round < last] or rows
    return {
        (row.game, row.number): Forecast(row.game, row.round, row.observer, tuple(row.raw_move), tuple(row.payoffs))
        for row in within
    }


def figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of the win %, ranks and points of a version."""
    acting = [row for row in rows if row.acting]
    looking = [row for row in rows if not row.acting]
    kinds = {
        "mover": (forecasts(acting, "move"), forecasts(acting, "raw_move"), reliability.of_observer),
        "seats": (forecasts(acting, "seats"), forecasts(acting, "raw"), reliability.of_seats),
        "onlooker": (forecasts(looking, "seats"), forecasts(looking, "raw"), reliability.of_seats),
    }
    values: dict[str, Any] = {}
    for name, (seen, raw, pairs) in kinds.items():
        values[f"ece_{name}"] = reliability.error_of(seen, pairs)
        values[f"ece_{name}_raw"] = reliability.error_of(raw, pairs)
        values[f"ece_{name}_noise"] = reliability.noise_of(seen, pairs)
    values["log_loss_raw"] = reliability.mean_of(
        (forecast.game, reliability.log_loss(forecast)) for forecast in by_position(rows).values()
    )
    values["surplus_by_round"] = reliability.surplus_by_round(kinds["mover"][0])
    values["surplus_by_round_raw"] = reliability.surplus_by_round(kinds["mover"][1])
    values["ranks_error"] = ranks_error(acting)
    values["points_coverage"] = points_coverage(acting)
    values["reliability_mover"] = reliability.reliability(kinds["mover"][0], reliability.of_observer)
    values["reliability_mover_raw"] = reliability.reliability(kinds["mover"][1], reliability.of_observer)
    values["positions"], values["games"] = len(acting), len({row.game for row in rows})
    return values


def ranks_error(rows: Sequence[Row]) -> float:
    """Return the expected calibration error of the chances of the observers' ranks."""
    pairs = []
    for row in rows:
        if row.ranks:
            mine = (row.payoffs[row.observer], row.scores[row.observer])
            rank = sum(
                (row.payoffs[seat], row.scores[seat]) > mine for seat in range(len(row.payoffs)) if seat != row.observer
            )
            pairs += [(chance, float(number == rank)) for number, chance in enumerate(row.ranks)]
    return reliability.calibration_error(pairs)


def points_coverage(rows: Sequence[Row]) -> float:
    """Return the share of results within 1.96 spreads of the expected points."""
    inside = [
        abs(row.scores[row.observer] - row.points[0]) <= Z_95 * max(row.points[1], 0.5) for row in rows if row.points
    ]
    return fmean(inside) if inside else math.nan


# --- the report -------------------------------------------------------------------------------------------------


def as_json(values: Any) -> Any:
    if isinstance(values, Mean | reliability.Bin):
        return as_json(values._asdict())
    if isinstance(values, dict):
        return {str(name): as_json(value) for name, value in values.items()}
    if isinstance(values, list):
        return [as_json(value) for value in values]
    if isinstance(values, float):
        return round(values, 5) if math.isfinite(values) else None
    return values


def flat_means(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with each interval beside its mean, so that every figure is a number under its own name."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mean):
            flat[name], flat[f"{name}_low"], flat[f"{name}_high"] = value
        else:
            flat[name] = value
    return flat


def as_text(values: Mapping[str, Any]) -> str:
    lines = [f"{values['games']} games, {values['positions']} positions"]
    lines.append(f"{'':28}{'shown':>9}{'raw':>9}{'noise':>9}")
    for name, title in (("mover", "best move"), ("seats", "all seats"), ("onlooker", "all seats, onlooker")):
        numbers = [values[f"ece_{name}{part}"] for part in ("", "_raw", "_noise")]
        lines.append(f"calibration error, {title:20}" + "".join(f"{number:9.4f}" for number in numbers))
    lines.append(f"calibration error of ranks      {values['ranks_error']:.4f}")
    lines.append(f"points within 1.96 spreads      {values['points_coverage']:.3f}")
    lines.append(f"log-loss of the raw means       {values['log_loss_raw']}")
    if "log_loss_difference" in values:
        lines.append(f"... minus that of {values['against']:14}{values['log_loss_difference']}")
    lines += ["", "round  promised minus won            raw"]
    raw = values["surplus_by_round_raw"]
    lines += [f"{number:5}  {mean!s:28}  {raw[number]}" for number, mean in values["surplus_by_round"].items()]
    lines += ["", "best move, promised -> won"]
    for row in values["reliability_mover"]:
        won = f"{row.won.mean:.3f} [{row.won.low:.3f}, {row.won.high:.3f}]"
        lines.append(f"  {row.predicted:.3f} -> {won}  of {row.forecasts}")
    if "belief_bits_by_kind" in values:
        lines += ["", "bits for each face-down card, by the kind of its player"]
        lines += [f"  {kind:10} {mean}" for kind, mean in values["belief_bits_by_kind"].items()]
    return "\n".join(lines)


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks strength",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--game", default="oriflamme")
    parser.add_argument("--ruleset", help="default: the first of the game")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--games", type=int, default=100, help="games to search and to guess cards in (default 100)")
    parser.add_argument("--play", type=int, default=5000, metavar="ITERATIONS", help="of the games (default 5000)")
    parser.add_argument("--positions", type=int, default=4, help="of each game (default 4)")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--iterations", type=int, help="for each search")
    limit.add_argument("--time-ms", type=float, default=10.0, help="CPU time for each search (default 10)")
    parser.add_argument("--config", default="default", choices=SEARCHING, metavar="NAME")
    parser.add_argument(
        "--against", choices=[*SEARCHING, *VERSIONS], metavar="VERSION", help="another one, on the same positions"
    )
    parser.add_argument("--seed", type=int, default=20_001)
    parser.add_argument("--workers", type=int, default=cores(), help="default: one per core")
    parser.add_argument("--work", type=Path, default=Path("build/strength"), help="folder of games and searches")
    parser.add_argument("--no-beliefs", action="store_true", help="leave out the bits for each face-down card")
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    options = parser.parse_args(argv)
    if min(options.games, options.play, options.positions, options.workers) < 1:
        parser.error("--games, --play, --positions and --workers are at least 1")
    try:
        values = measure(options)
    except (EngineError, FrozenBuildError, InvalidQuestionError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")
    print(json.dumps(as_json(flat_means(values))) if options.json else as_text(values))


def measure(options: argparse.Namespace) -> dict[str, Any]:
    spec = new_game(options.game, options.ruleset, options.players).spec
    time_ms = None if options.iterations else options.time_ms
    budget = check_budget(Budget(options.iterations, thread_time_ms=time_ms))
    name = f"{options.game}-{spec[1]}-{options.players}-{options.seed}"
    folder = options.work / f"{name}-{options.play}"
    plan = Plan([spec], options.play, options.seed, [Member("default", 1.0, 1)])
    make_games(folder, plan, options.games, options.workers)
    rows = searches(Task(options.config, budget, options.positions), folder, options.games, options.workers)
    values = figures(rows)
    if options.against:
        other = searches(Task(options.against, budget, options.positions), folder, options.games, options.workers)
        values["against"] = options.against
        values["log_loss_difference"] = reliability.difference(by_position(rows), by_position(other))
    if not options.no_beliefs and new_game(*spec).has_beliefs:
        bits = belief_bits(spec, options.work / f"{name}-beliefs", options.games, options.seed, options.workers)
        values["belief_bits"], values["belief_bits_by_kind"] = bits[KINDS[0]], bits
    return values

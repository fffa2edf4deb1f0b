"""Play the games of a match, each decision by a search or a guest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from engine_cy import CHANCE, Action, Rng, new_game
from engine_cy.action_log import History
from engine_cy.annotations import NAME_MAX
from engine_cy.record import Record
from engine_cy.registry import is_installed, module_of_installed
from solver.answer import Answer
from solver.config import Budget, Config
from solver.match.hang_watch import hang_watch
from solver.match.players import Guest, Turn
from solver.pool.base import Pool
from solver.question import SearchQuestion
from solver.solve import solve


@dataclass(frozen=True, slots=True)
class Match:
    """Hold the two players, the game, budget and seed: with a deal's number, they determine its outcome."""

    game: tuple[str, str | Mapping[str, bool | int | str] | None, int]
    a: Config | Guest
    b: Config | Guest
    budget: Budget
    seed: int

    @property
    def players(self) -> int:
        return self.game[2]


class PlayedDeal(NamedTuple):
    """Hold the outcome of a deal: A's share of the win in each seat, and the work of A and of all B together."""

    number: int
    shares: tuple[float, ...]
    decisions: tuple[int, int]  # with two options or more
    iterations: tuple[int, int]
    records: tuple[str, ...] = ()  # the text of each game, if the match keeps them

    @property
    def mean(self) -> float:
        return fmean(self.shares)


class Outcome(NamedTuple):
    """Hold the outcome of a game: A's share of the win, the work of A and of all B together, and the record."""

    share: float
    decisions: tuple[int, int]
    iterations: tuple[int, int]
    record: Record


def play_deal(match: Match, number: int, *, pool: Pool | None = None, keeps_records: bool = False) -> PlayedDeal:
    """Play the same deal once with A in each seat."""
    game = match.game[0]
    with hang_watch(module_of_installed(game)) if is_installed(game) else nullcontext():
        outcomes = [play_game(match, number, seat, pool=pool) for seat in range(match.players)]
    return PlayedDeal(
        number,
        tuple(outcome.share for outcome in outcomes),
        _by_side(outcome.decisions for outcome in outcomes),
        _by_side(outcome.iterations for outcome in outcomes),
        tuple(str(outcome.record) for outcome in outcomes) if keeps_records else (),
    )


def _by_side(work: Iterable[tuple[int, int]]) -> tuple[int, int]:
    a, b = zip(*work, strict=True)
    return sum(a), sum(b)


def play_game(match: Match, number: int, seat_of_a: int, *, pool: Pool | None = None) -> Outcome:
    """Play a game of a deal. Searches run on the pool; without one, on this thread.

    Every seat has a log of its own, so a question never holds hidden information. Logs stay empty in games that do not
    define what a seat sees of an action.
    """
    decisions, iterations = [0, 0], [0, 0]
    chance, seeds = Rng(match.seed, 2 * number), Rng(match.seed, 2 * number + 1)
    game = new_game(*match.game)
    start = position = game.deal(chance, first=0 if game.has_fixed_first else number % match.players)
    logs = [History(position.game) for _ in range(match.players)]
    followed = logs if position.game.has_history else []
    actions: list[str] = []
    while (player := position.to_act) is not None:
        if player == CHANCE:
            options = position.legal_actions()
            action = options[chance.below(len(options))]
        else:
            side = int(player != seat_of_a)
            turn = Turn(position, logs[player].copy(), start)
            action, done = choose(match.b if side else match.a, turn, match.budget, seeds.bits(), pool=pool)
            decisions[side] += done is not None
            iterations[side] += done or 0
        for seat, log in enumerate(followed):
            log.add(position, position.seen(action, seat))
        actions.append(str(action))
        position = position.play(action)
    names = [match.b.name[:NAME_MAX]] * match.players
    names[seat_of_a] = match.a.name[:NAME_MAX]
    record = Record(start, tuple(actions), position.scores, tuple(names))
    share = shares_of_win(position.payoffs)[seat_of_a]
    return Outcome(share, (decisions[0], decisions[1]), (iterations[0], iterations[1]), record)


def shares_of_win(payoffs: Sequence[float]) -> Sequence[float]:
    """Return the share of the win of each seat. If payoffs are no shares, the seats with the highest one share it."""
    if min(payoffs) >= 0 and abs(sum(payoffs) - 1) <= 1e-9:
        return payoffs
    winners = [payoff == max(payoffs) for payoff in payoffs]
    return [is_winner / sum(winners) for is_winner in winners]


def choose(
    player: Config | Guest, turn: Turn, budget: Budget, seed: int, *, pool: Pool | None = None
) -> tuple[Action, int | None]:
    """Return the decision of a player, and the iterations that it took, or None if it was forced."""
    if isinstance(player, Config):
        question = SearchQuestion(turn.view, budget, config=player, seed=seed, history=turn.history, lines=0)
        # Without a control: the pool computes whole questions, as many games run at once.
        answer: Answer = solve(question) if pool is None else pool.submit(question).result()
        assert answer.best is not None
        return answer.best, None if answer.stopped_by == "forced" else answer.iterations
    options = turn.position.legal_actions()
    return player.choose(turn, budget, seed) if len(options) > 1 else (options[0], None)

"""How strong a way to play is: matches of one A against n-1 copies of B.

The same deal is played with A in each seat, so that games = deals x n. The *score* is A's mean share of the win. As the
games of a deal are not independent, each deal's mean is one observation for the 95 % interval. In Elo, a fair share
(1/n) is 0. All random numbers, of deals, chance and searches, follow from the seed and the deal's number: the games of
a deal have them in common, so A against itself scores exactly a fair share, and with a budget of iterations a match
repeats to the last digit, whatever the number of workers.

A file to resume has each deal as soon as it is over. A sequential test stops as soon as one of two strengths is the
likelier one: a generalized one on the deals' means, taken as normally distributed, both errors 5 %.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from multiprocessing import active_children, get_context
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar, cast, get_args, get_origin, get_type_hints

from engine_cy import CHANCE, Action, Position, Rng, View, new_game
from engine_cy.history import History
from engine_cy.record import Record
from solver.backends.base import Job
from solver.batch import Pool, WorkerLostError, analyze_many, end_with_parent, submit_quietly
from solver.config import CONFIGS, Budget, Config, InvalidBudgetError, read_config
from solver.solve import as_analysis, make_job, solve

Z_95 = 1.959964  # standard errors to either side of the mean
LLR_BOUND = math.log(0.95 / 0.05)  # 2.94
# A worker that has finished a deal finds the next one waiting.
DEALS_AHEAD = 2
GAMES_AHEAD = 4


class OtherMatchError(ValueError):
    """The file to resume holds the deals of another match."""


# --- playing --------------------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """A decision that somebody has to take: the table, its history, and how it came about."""

    position: Position
    history: History
    start: Position
    actions: Sequence[Action]

    @property
    def view(self) -> View:
        """What the player to act sees."""
        assert self.position.to_act is not None
        return self.position.view(self.position.to_act)

    @property
    def seen(self) -> Record:
        """What the player to act has seen."""
        assert self.position.to_act is not None
        return Record(self.start, tuple(map(str, self.actions))).seen_from(self.position.to_act)


class Guest(Protocol):
    """Who plays and is no configuration of our search: a dataclass, whose fields are the settings. From a turn it may
    take no more than the player to act sees and has seen."""

    @property
    def name(self) -> str: ...

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        """Its choice among two options or more, and the iterations that took."""


@dataclass(frozen=True, slots=True)
class Match:
    """Who plays what: all that the outcome of a deal depends on, but its number."""

    game: tuple[str, str | Mapping[str, bool | int | str] | None, int]
    a: Config | Guest
    b: Config | Guest
    budget: Budget
    seed: int

    @property
    def players(self) -> int:
        return self.game[2]


class Deal(NamedTuple):
    """What came of one deal: A's share of the win in each seat, and the work of A and of all B together."""

    number: int
    shares: tuple[float, ...]
    decisions: tuple[int, int]  # with two options or more
    iterations: tuple[int, int]

    @property
    def mean(self) -> float:
        return fmean(self.shares)


class Asked(NamedTuple):
    """Somebody who is to decide, and the seed of his search."""

    who: Config | Guest
    turn: Turn
    seed: int


# A decision and the iterations that it took; None: it was forced.
Chosen: TypeAlias = tuple[Action, int | None]


class Outcome(NamedTuple):
    """What came of one game: A's share of the win, and what A and all B together did."""

    share: float
    decisions: tuple[int, int]
    iterations: tuple[int, int]


def play_game(match: Match, number: int, seat_of_a: int) -> Generator[Asked, Chosen, Outcome]:
    """A game of a deal: asks for each decision, and is sent what was chosen."""
    decisions, iterations = [0, 0], [0, 0]
    chance, seeds = Rng(match.seed, 2 * number), Rng(match.seed, 2 * number + 1)
    start = position = new_game(*match.game).deal(chance, first=number % match.players)
    history = History(position.game)
    actions: list[Action] = []
    while (player := position.to_act) is not None:
        if player == CHANCE:
            options = position.legal_actions()
            best = options[chance.below(len(options))]
        else:
            side = int(player != seat_of_a)
            turn = Turn(position, history, start, actions)
            best, done = yield Asked(match.b if side else match.a, turn, seeds.bits())
            decisions[side] += done is not None
            iterations[side] += done or 0
        history.add(position, best)
        actions.append(best)
        position = position.play(best)
    payoffs = position.payoffs
    if min(payoffs) < 0 or abs(sum(payoffs) - 1) > 1e-9:
        raise InvalidBudgetError(f"game: {match.game[0]} pays no shares of a win, so there is no score")
    return Outcome(payoffs[seat_of_a], (decisions[0], decisions[1]), (iterations[0], iterations[1]))


def choose(who: Config | Guest, turn: Turn, budget: Budget, seed: int) -> Chosen:
    """What `who` does, knowing what the player to act sees and has seen."""
    if isinstance(who, Config):
        found = solve(turn.view, budget, config=who, seed=seed, history=turn.history, lines=0)
        return found.best, None if found.stopped_by == "forced" else found.iterations
    options = turn.position.legal_actions()
    return who.choose(turn, budget, seed) if len(options) > 1 else (options[0], None)


def play_deal(match: Match, number: int) -> Deal:
    """The same deal once with A in each seat."""
    return _as_deal(number, [_play_here(match, play_game(match, number, seat)) for seat in range(match.players)])


def _play_here(match: Match, game: Generator[Asked, Chosen, Outcome]) -> Outcome:
    try:
        asked = next(game)
        while True:
            asked = game.send(choose(asked.who, asked.turn, match.budget, asked.seed))
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


def _as_deal(number: int, outcomes: Sequence[Outcome]) -> Deal:
    def both(work: Iterable[tuple[int, int]]) -> tuple[int, int]:
        a, b = zip(*work, strict=True)
        return sum(a), sum(b)

    return Deal(
        number,
        tuple(outcome.share for outcome in outcomes),
        both(outcome.decisions for outcome in outcomes),
        both(outcome.iterations for outcome in outcomes),
    )


def play_deals(match: Match, numbers: Sequence[int], workers: int) -> Iterator[Deal]:
    """Each deal as soon as it is over, in whatever order."""
    if workers == 1:
        yield from (play_deal(match, number) for number in numbers)
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(workers, get_context("spawn"), initializer=end_with_parent)
    left = iter(numbers)
    running: set[Future[Deal]] = set()
    is_left = True
    try:
        while True:
            for number in left:
                running.add(submit_quietly(pool, play_deal, match, number))
                if len(running) >= DEALS_AHEAD * workers:
                    break
            if not running:
                is_left = False
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from sorted(future.result() for future in done)
    except BrokenProcessPool:
        raise WorkerLostError("a worker was lost; deals that were over are in the file to resume") from None
    finally:
        if is_left:
            # Nobody waits for deals under way any more, and they may be long.
            for worker in set(active_children()) - others:
                worker.terminate()
        pool.shutdown(cancel_futures=True)


class _Table(NamedTuple):
    """A game that is played by jobs."""

    number: int
    seat_of_a: int
    game: Generator[Asked, Chosen, Outcome]


class _Tables:
    """Games under way on a pool: every search is a job, and so many games at a time that no worker waits."""

    def __init__(self, match: Match, numbers: Sequence[int], pool: Pool) -> None:
        self._match, self._pool = match, pool
        self._left = ((number, seat) for number in numbers for seat in range(match.players))
        self._ready: deque[tuple[_Table, Job]] = deque()
        self._given: dict[int, tuple[_Table, Job]] = {}
        self._numbered = 0
        self._outcomes: dict[int, dict[int, Outcome]] = defaultdict(dict)

    def play(self) -> Iterator[Deal]:
        for answer in analyze_many(self._jobs(), self._pool, in_order=False):
            table, job = self._given.pop(answer.number)
            if answer.error:
                raise answer.error
            assert answer.found is not None
            found = as_analysis(job, answer.found, time.perf_counter())
            done = None if found.stopped_by == "forced" else found.iterations
            self._go_on(table, (found.best, done))
            outcomes = self._outcomes[table.number]
            if len(outcomes) == self._match.players:
                yield _as_deal(table.number, [outcomes[seat] for seat in range(self._match.players)])
                del self._outcomes[table.number]

    def _jobs(self) -> Iterator[Job | None]:
        while True:
            if self._ready:
                self._given[self._numbered] = self._ready.popleft()
                self._numbered += 1
                yield self._given[self._numbered - 1][1]
            elif len(self._given) < GAMES_AHEAD * self._pool.width and (game := next(self._left, None)):
                self._go_on(_Table(*game, play_game(self._match, *game)), None)
            elif self._given:
                yield None
            else:
                return

    def _go_on(self, table: _Table, chosen: Chosen | None) -> None:
        """Play to the next decision, which becomes a job, or to the end."""
        try:
            asked = next(table.game) if chosen is None else table.game.send(chosen)
        except StopIteration as end:
            self._outcomes[table.number][table.seat_of_a] = end.value
            return
        turn, config = asked.turn, asked.who
        assert isinstance(config, Config)
        job = make_job(turn.view, self._match.budget, config=config, seed=asked.seed, history=turn.history, lines=0)
        self._ready.append((table, job))


def play_deals_on(pool: Pool, match: Match, numbers: Sequence[int]) -> Iterator[Deal]:
    """Each deal as soon as it is over, searched by the workers of a pool, such as a cluster's. Deals come out as they
    do of `play_deals`."""
    for who in (match.a, match.b):
        if not isinstance(who, Config):
            raise InvalidBudgetError(f"{who.name}: only configurations of the search play on a pool")
    return _Tables(match, numbers, pool).play()


# --- the file of deals ----------------------------------------------------------------------------------------


class Book:
    """The deals that are over, by number; with a path, also as JSON lines: first the match, then a deal a line."""

    def __init__(self, match: Match, path: Path | None = None) -> None:
        self.path = path
        self.deals: dict[int, Deal] = {}
        header = as_header(match)
        if path and path.exists() and path.stat().st_size:
            lines, size = whole_lines(path)
            if lines[0] != header:
                raise OtherMatchError(f"{path} holds another match: {json.dumps(lines[0])}, not {json.dumps(header)}")
            for line in lines[1:]:
                deal = Deal(line["deal"], tuple(line["shares"]), tuple(line["decisions"]), tuple(line["iterations"]))
                self.deals[deal.number] = deal
            # What is left of a deal that was being written when the match was killed.
            os.truncate(path, size)
        else:
            self._write(header)

    def add(self, deal: Deal) -> None:
        self.deals[deal.number] = deal
        number, shares, decisions, iterations = deal
        self._write({"deal": number, "shares": shares, "decisions": decisions, "iterations": iterations})

    def first(self, number: int) -> list[Deal]:
        """The first deals, at most so many, as far as none is missing: what the order of their ends does not change."""
        return [self.deals[i] for i in takewhile(self.deals.__contains__, range(number))]

    def _write(self, line: dict[str, Any]) -> None:
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


def as_header(match: Match) -> dict[str, Any]:
    """The match as its file has it. Of configurations it names what differs from a new one, so that a file outlives
    settings that are added later and left as they are."""
    header: dict[str, Any] = {"match": asdict(match)}
    for side in ("a", "b"):
        player = getattr(match, side)
        if isinstance(player, Config):
            usual = asdict(Config(player.name))
            header["match"][side] = {k: v for k, v in asdict(player).items() if k == "name" or v != usual[k]}
    found: dict[str, Any] = json.loads(json.dumps(header))
    return found


def whole_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The lines of a file, at least one, and how many bytes they take; an unfinished one at the end is left out."""
    text = path.read_bytes()
    size = text.rfind(b"\n") + 1
    try:
        lines = [json.loads(line) for line in text[:size].splitlines()]
    except ValueError:
        lines = []
    if not lines:
        raise OtherMatchError(f"{path} is no file of a match")
    return lines, size


# --- arithmetic -----------------------------------------------------------------------------------------------


def elo_of(share: float, players: int) -> float:
    """Elo of who wins so large a share against equal others."""
    return 400 * math.log10(share * (players - 1) / (1 - share))


def share_of(elo: float, players: int) -> float:
    """The other way round."""
    return 1 / (1 + (players - 1) * 10 ** (-elo / 400))


class Score(NamedTuple):
    """A mean share of the win and its 95 % interval."""

    mean: float
    low: float
    high: float
    players: int
    games: int

    def elo(self, share: float) -> float:
        """Elo, at most what it would be if half a game had gone otherwise: nobody is infinitely strong."""
        least = 0.5 / self.games
        return elo_of(min(max(share, least), 1 - least), self.players)


def score_of(means: Sequence[float], players: int) -> Score:
    """The score from each deal's mean; of a single deal, nothing is known of the error."""
    n = len(means)
    mean = fmean(means)
    variance = sum((x - mean) ** 2 for x in means) / (n - 1) if n > 1 else math.inf
    error = Z_95 * math.sqrt(variance / n)
    return Score(mean, max(mean - error, 0.0), min(mean + error, 1.0), players, n * players)


def llr_of(means: Sequence[float], players: int, elo0: float, elo1: float) -> float:
    """How much likelier the deals' means are if A is stronger by `elo1` than by `elo0`, as a logarithm.

    Their variance is that found, with one fair deal of independent games added: the first few may be all alike.
    """
    if not means:
        return 0.0
    n = len(means)
    mean = fmean(means)
    fair = 1 / players
    variance = (sum((x - mean) ** 2 for x in means) + fair * (1 - fair) / players) / n
    p0, p1 = share_of(elo0, players), share_of(elo1, players)
    return n * (p1 - p0) * (2 * mean - p0 - p1) / (2 * variance)


class Sprt(NamedTuple):
    """A sequential test of two strengths."""

    elo0: float
    elo1: float

    def llr(self, deals: Sequence[Deal], players: int) -> float:
        return llr_of([deal.mean for deal in deals], players, self.elo0, self.elo1)

    def decided_after(self, deals: Sequence[Deal], players: int, checked: int = 0) -> int | None:
        """How many of the deals decide the test; those that did not are not checked again. None: not yet."""
        for n in range(checked + 1, len(deals) + 1):
            if abs(self.llr(deals[:n], players)) >= LLR_BOUND:
                return n
        return None


# --- a whole match --------------------------------------------------------------------------------------------


class Report(NamedTuple):
    """What a match came to, and how fast it went."""

    match: Match
    deals: list[Deal]
    sprt: Sprt | None
    workers: int
    moves_per_s: float | None  # None: everything was there already

    @property
    def score(self) -> Score:
        return score_of([deal.mean for deal in self.deals], self.match.players)


def run(
    match: Match,
    deals: int,
    *,
    workers: int = 1,
    pool: Pool | None = None,
    path: Path | None = None,
    sprt: Sprt | None = None,
    tell: Callable[[Sequence[Deal]], None] | None = None,
) -> Report:
    """Play the deals that are not in the file yet; with a sequential test, until it is decided. With a pool, its
    workers search. `tell` is told all deals that are over, at the start and after each."""
    begun = time.perf_counter()
    book = Book(match, path)
    moves = checked = 0
    decided = None

    def is_decided() -> bool:
        nonlocal checked, decided
        if tell:
            tell(list(book.deals.values()))
        if sprt and decided is None:
            known = book.first(deals)
            decided = sprt.decided_after(known, match.players, checked)
            checked = len(known)
        return decided is not None

    wanted = [number for number in range(deals) if number not in book.deals]
    if not is_decided():
        playing = play_deals_on(pool, match, wanted) if pool else play_deals(match, wanted, workers)
        for deal in playing:
            book.add(deal)
            moves += sum(deal.decisions)
            if is_decided():
                break
    moves_per_s = moves / (time.perf_counter() - begun) if moves else None
    return Report(match, book.first(decided or deals), sprt, pool.width if pool else workers, moves_per_s)


def elo_text(score: Score) -> str:
    elo, low, high = (score.elo(share) for share in (score.mean, score.low, score.high))
    return f"score {score.mean:.3f}, Elo {round(elo):+d} [{round(low):+d}, {round(high):+d}]"


def verdict(sprt: Sprt, llr: float) -> str:
    if llr >= LLR_BOUND:
        return f"rather {sprt.elo1:g} than {sprt.elo0:g}"
    if llr <= -LLR_BOUND:
        return f"rather {sprt.elo0:g} than {sprt.elo1:g}"
    return "undecided"


def per_decision(report: Report, side: Literal[0, 1]) -> float:
    """Mean iterations of a side for each decision with two options or more."""
    decisions = sum(deal.decisions[side] for deal in report.deals)
    return sum(deal.iterations[side] for deal in report.deals) / max(decisions, 1)


def as_json(report: Report) -> dict[str, Any]:
    match, score = report.match, report.score
    game, ruleset, players = match.game
    found = {
        "a": match.a.name,
        "b": match.b.name,
        "game": game,
        "ruleset": ruleset,
        "players": players,
        "budget": {name: value for name, value in asdict(match.budget).items() if value is not None},
        "seed": match.seed,
        "games": score.games,
        "deals": len(report.deals),
        "score": round(score.mean, 5),
        "score_low": round(score.low, 5),
        "score_high": round(score.high, 5),
        # + 0.0: a fair share has Elo 0.0, never -0.0.
        "elo": round(score.elo(score.mean), 1) + 0.0,
        "low": round(score.elo(score.low), 1) + 0.0,
        "high": round(score.elo(score.high), 1) + 0.0,
        "decisions": sum(sum(deal.decisions) for deal in report.deals),
        "iterations_per_decision": {"a": round(per_decision(report, 0), 1), "b": round(per_decision(report, 1), 1)},
    }
    if report.sprt:
        llr = report.sprt.llr(report.deals, players)
        found["sprt"] = {**report.sprt._asdict(), "llr": round(llr, 3), "verdict": verdict(report.sprt, llr)}
    moves_per_s = None if report.moves_per_s is None else round(report.moves_per_s, 1)
    return {**found, "workers": report.workers, "moves_per_s": moves_per_s}


def as_text(report: Report) -> str:
    match, score = report.match, report.score
    speed = "all deals were known" if report.moves_per_s is None else f"{report.moves_per_s:.0f} moves/s"
    deals = counted(len(report.deals), "deal")
    lines = [
        f"{match.a.name} against {match.players - 1} x {match.b.name}: {score.games} games ({deals})",
        elo_text(score),
        f"iterations per decision: {per_decision(report, 0):.0f} against {per_decision(report, 1):.0f}",
        f"{speed}, {counted(report.workers, 'worker')}",
    ]
    if report.sprt:
        llr = report.sprt.llr(report.deals, match.players)
        lines.insert(2, f"LLR {llr:.2f} (decided at ±{LLR_BOUND:.2f}): {verdict(report.sprt, llr)}")
    return "\n".join(lines)


def counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


# --- who plays ------------------------------------------------------------------------------------------------


Variant = TypeVar("Variant")


def read_player(text: str, guests: Mapping[str, Callable[[str, str], Guest]] | None = None) -> Config | Guest:
    """A configuration, with other settings if there are any: `plain:nodes=own,exploration=0.7`. Or one of the guests,
    by the name of its kind: its function is given the whole text, and what follows the first colon."""
    name, _, settings = text.partition(":")
    if guests and name in guests:
        return guests[name](text, settings)
    try:
        return with_settings(read_config(name), text, settings)
    except InvalidBudgetError as error:
        if not guests or name in CONFIGS:
            raise
        raise InvalidBudgetError(f"{error}, {', '.join(guests)}") from None


def with_settings(variant: Variant, text: str, settings: str) -> Variant:
    """A player with other settings, named as it was asked for."""
    if not settings:
        return variant
    kinds = get_type_hints(type(variant))
    by_hand = [field for field in kinds if field != "name"]
    changes: dict[str, Any] = {}
    for setting in settings.split(","):
        field, _, value = setting.partition("=")
        if field not in by_hand:
            raise InvalidBudgetError(f"{text}: {field!r} is none of {', '.join(by_hand)}")
        changes[field] = read_setting(field, value, kinds[field])
    found: Any = variant
    return cast(Variant, replace(found, **changes, name=text))


def read_setting(field: str, value: str, kind: Any) -> Any:
    """The value of a setting, of the kind that the setting is of."""
    if get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        raise InvalidBudgetError(f"{field}: {value!r} is none of {', '.join(get_args(kind))}")
    kinds = get_args(kind) or (kind,)
    try:
        if bool in kinds:
            return {"True": True, "False": False}[value]
        if value == "None" and type(None) in kinds:
            return None
        return int(value) if int in kinds else float(value) if float in kinds else value
    except (KeyError, ValueError):
        raise InvalidBudgetError(f"{field}: {value!r} is not of the kind {kind}") from None

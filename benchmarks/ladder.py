"""Rank players of every kind by their Elo, from random play to a cheater that sees all cards.

    python -m benchmarks ladder --minutes 60                       en-2019, 3 players; writes docs/strength.md
    python -m benchmarks ladder --players 4 --entrants level-1 level-2 default@100ms

An entrant is a player of `python -m benchmarks match`, with its own budget: `plain@10ms` has 10 ms of CPU time for
each decision, `openspiel@1000` as many iterations; a level needs none. Matches of one A against n-1 B are played, and
the Elo of all entrants is fitted to all games at once (ratings.py).

Every deal is kept in `--work`, in a file for each pair, so the command resumes: repeated, it adds deals for
`--minutes`, or until every interval is narrower than `--error`. It plays next the pair that narrows the intervals most
for the time that it takes. Another version of the weights or of the search starts anew. Deals depend on the seed and
the pair.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import plots
from benchmarks.frozen import FrozenBuildError
from benchmarks.match import read_player
from benchmarks.pages import DOCS, picture, provenance, replace_section, table
from benchmarks.ratings import Ratings, Result, fit, gain_of
from engine_cy import Action, EngineError, Game, new_game
from solver import Budget, Config, InvalidQuestionError, match
from solver.calibration import weights_digest
from solver.config import check_budget, fit_config
from solver.expected_signature import signature_of
from solver.match import Guest, Match, OtherMatchError, PlayedDeal, Turn, score_of, share_of
from solver.match.book import Book, header_of
from solver.match.play import shares_of_win
from solver.pool import cores
from solver.pool.base import Pool
from solver.pool.processes import Processes
from solver.training.games import SEARCHED, PlayedGame, match_games

LEVELS = tuple(f"level-{level}" for level in range(1, 11))
BOT = "openspiel:rollouts=engine@1000"  # its playouts by our engine: equal in distribution, and faster
# From weak to strong, as far as is known: the first matches are between neighbours.
ENTRANTS = (
    *("random", *LEVELS[:5], "flat@10ms", "pimc@10ms", BOT, "greedy", "plain@10ms", *LEVELS[5:]),
    *("default-1@10ms", "default@10ms", "default@100ms", "default@1s", "cheater@10ms"),
)
NEAR = 3  # pairs are at most this many places apart
CHUNK = 10  # deals that a process plays at a time, where no decision needs Python
BATCH_S = 20.0  # of play between two choices of a pair
PAGE = DOCS / "strength.md"

# Guesses until a pair has been played: decisions of a seat in a game, and seconds.
DECISIONS = 16
SECONDS = {"iteration": 2e-6, "simulation": 1e-3, "decision": 3e-4}


# --- entrants ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entrant:
    """A player of matches with a budget of its own instead of that of the match."""

    name: str
    player: Config | Guest
    budget: Budget

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        action, iterations = match.choose(self.player, turn, self.budget, seed)
        return action, iterations or 0

    @property
    def seconds(self) -> float:
        """The expected time of a decision."""
        budget = self.budget
        if budget.thread_time_ms:
            return budget.thread_time_ms / 1000
        each = "iteration" if isinstance(self.player, Config) else "simulation"
        return SECONDS["decision"] + (budget.iterations or 0) * SECONDS[each]

    @property
    def effort(self) -> str:
        """The budget in words."""
        if self.budget.thread_time_ms:
            return f"{self.budget.thread_time_ms:g} ms"
        searches = not isinstance(self.player, Config) or self.player.how == "search"
        return f"{self.budget.iterations:,} iterations" if searches else "no search"


def read_entrant(text: str) -> Entrant:
    """Read a player with its budget, such as `plain@10ms`, `openspiel@1000` or `level-3`."""
    name, _, limit = text.partition("@")
    player = read_player(name)
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s)?", limit)
    if limit and not parts:
        raise InvalidQuestionError(
            "entrant", f"{text!r} has no budget of the kind 10ms, 1s or 1000", value=text, accepted="NAME@10ms"
        )
    if parts and parts[2]:
        return Entrant(
            text, player, check_budget(Budget(thread_time_ms=float(parts[1]) * (1000 if parts[2] == "s" else 1)))
        )
    own = player.iterations if isinstance(player, Config) else 0
    iterations = int(float(parts[1])) if parts else own
    if not iterations and not (isinstance(player, Config) and player.how != "search"):
        raise InvalidQuestionError(
            "entrant", f"{text!r} needs a budget, such as {name}@10ms", value=text, accepted="NAME@10ms"
        )
    return Entrant(text, player, check_budget(Budget(iterations=iterations or 1)))


def is_possible(entrant: Entrant, game: Game) -> bool:
    """Return whether an entrant can play a game: a game without knowledge has no `greedy`."""
    if not isinstance(entrant.player, Config):
        return True
    try:
        fit_config(entrant.player, game)
    except InvalidQuestionError:
        return False
    return True


# --- matches ----------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """Hold the numbers of two entrants: one A plays against n-1 B."""

    a: int
    b: int


class Matches:
    """The matches of some entrants at one game and number of players, with a file for each pair."""

    def __init__(self, game: Game, entrants: Sequence[Entrant], seed: int, work: Path) -> None:
        self.game, self.entrants, self.seed = game, entrants, seed
        name, ruleset, players = game.spec
        self.folder = work / f"{name}-{ruleset}-{players}-{version_of(game)}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.played: dict[Pair, list[PlayedDeal]] = {}
        self._seconds: dict[Pair, float] = {}  # of a deal
        for pair in self.pairs():
            path = self.path_of(pair)
            if path.exists() and (deals := Book(self.match_of(pair), path).first(sys.maxsize)):
                self.played[pair] = deals

    def pairs(self) -> Iterator[Pair]:
        yield from (Pair(a, b) for a, b in permutations(range(len(self.entrants)), 2))

    def match_of(self, pair: Pair) -> Match:
        a, b = self.entrants[pair.a], self.entrants[pair.b]
        digest = blake2b(f"{self.seed} {a.name} {b.name}".encode(), digest_size=7).digest()
        return Match(self.game.spec, a, b, Budget(iterations=1), int.from_bytes(digest))

    def path_of(self, pair: Pair) -> Path:
        """Return the file of a pair; entrants whose settings differ have other files."""
        the_match = self.match_of(pair)
        digest = blake2b(json.dumps(header_of(the_match), sort_keys=True).encode(), digest_size=4).hexdigest()
        names = "--".join(re.sub(r"[^\w.@-]", "_", player.name) for player in (the_match.a, the_match.b))
        return self.folder / f"{names}-{digest}.jsonl"

    def play(self, pair: Pair, deals: int, pool: Pool | None) -> None:
        """Add deals to those of a pair."""
        started, known = time.monotonic(), len(self.played.get(pair, ()))
        the_match, path = self.match_of(pair), self.path_of(pair)
        if is_fast(the_match):
            self.played[pair] = play_fast(the_match, path, known + deals, pool)
        else:
            self.played[pair] = match.run(the_match, known + deals, pool=pool, path=path).deals
        width = pool.width if pool else 1
        self._seconds[pair] = (time.monotonic() - started) * min(width, deals) / deals

    def seconds_of(self, pair: Pair) -> float:
        """Return the time of a deal on one core."""
        n = self.game.n_players
        a, b = (self.entrants[number].seconds for number in pair)
        return self._seconds.get(pair, n * DECISIONS * (a + (n - 1) * b))

    @property
    def results(self) -> list[Result]:
        return [
            Result(pair.a, pair.b, self.game.n_players, [deal.mean for deal in deals])
            for pair, deals in sorted(self.played.items())
        ]

    def iterations_of(self, number: int) -> float:
        """Return the mean iterations of an entrant for each decision with two options or more."""
        totals = [0, 0]
        for pair, deals in self.played.items():
            if number in pair:
                side = pair.index(number)
                for deal in deals:
                    totals[0] += deal.iterations[side]
                    totals[1] += deal.decisions[side]
        return totals[0] / max(totals[1], 1)


def is_fast(the_match: Match) -> bool:
    """Return whether no decision needs Python: both search a number of iterations."""
    players = [searcher_of(side) for side in (the_match.a, the_match.b)]
    return None not in players and not new_game(*the_match.game).has_fixed_first


def searcher_of(side: Config | Guest) -> Config | None:
    """Return the configuration of an entrant with its iterations; None if it does not search a number of them."""
    if not isinstance(side, Entrant) or not isinstance(side.player, Config) or side.player.how != "search":
        return None
    return None if side.budget.iterations is None else replace(side.player, iterations=side.budget.iterations)


def play_fast(the_match: Match, path: Path, deals: int, pool: Pool | None) -> list[PlayedDeal]:
    """Play the deals that the file lacks, without Python in the decisions; return all."""
    book = Book(the_match, path)
    missing = [number for number in range(deals) if number not in book.deals]
    chunks = [missing[i : i + CHUNK] for i in range(0, len(missing), CHUNK)]
    play = partial(fast_deals, the_match)
    for chunk in pool.map(play, chunks) if pool else map(play, chunks):
        for deal in chunk:
            book.add(deal)
    return book.first(deals)


def fast_deals(the_match: Match, numbers: Sequence[int]) -> list[PlayedDeal]:
    a, b = searcher_of(the_match.a), searcher_of(the_match.b)
    assert a is not None
    assert b is not None
    games = match_games(new_game(*the_match.game), the_match.seed, a, b, numbers)
    iterations = a.iterations, b.iterations
    return [played_deal(number, played, iterations) for number, played in zip(numbers, games, strict=True)]


def played_deal(number: int, games: Sequence[PlayedGame], iterations: tuple[int, int]) -> PlayedDeal:
    """Return the outcome of a deal, given its games by the seat of A."""
    shares = tuple(shares_of_win(game.payoffs)[seat] for seat, game in enumerate(games))
    counts = [0, 0]
    for seat, game in enumerate(games):
        for choice in game.choices:
            counts[choice.seat != seat] += choice.what == SEARCHED
    return PlayedDeal(number, shares, (counts[0], counts[1]), (counts[0] * iterations[0], counts[1] * iterations[1]))


def version_of(game: Game) -> str:
    """Return the version of search and weights: games of another one do not count."""
    return blake2b(f"{signature_of(game)} {weights_digest(game)}".encode(), digest_size=4).hexdigest()


# --- the choice of pairs ----------------------------------------------------------------------------------------


class Ladder:
    """A ladder: all matches between players of similar strength, and the Elo fitted to them."""

    def __init__(self, matches: Matches, anchor: int) -> None:
        self.matches, self.anchor = matches, anchor

    @property
    def ratings(self) -> Ratings:
        return fit(len(self.matches.entrants), self.matches.results, self.anchor)

    def play(self, until: float, error: float, pool: Pool | None) -> None:
        """Play batches of deals until a time, or until all intervals are narrow."""
        while time.monotonic() < until:
            ratings = self.ratings
            if ratings.errors.max() < error:
                break
            pair = self.best_pair(ratings)
            time_left = min(BATCH_S, max(until - time.monotonic(), 1.0)) * (pool.width if pool else 1)
            deals = round(time_left / self.matches.seconds_of(pair))
            # The first deals of a pair only place it; the quickest pairs may have more of them.
            most = max(6 + len(self.matches.played.get(pair, ())), min(deals // 10, 200))
            self.matches.play(pair, min(max(deals, 2), most), pool)
            print(self.progress(pair), file=sys.stderr, flush=True)

    def best_pair(self, ratings: Ratings) -> Pair:
        """Return the pair of similar players whose next deal narrows the intervals most for its time."""
        places = self.places(ratings)
        near = [pair for pair in self.matches.pairs() if abs(places[pair.a] - places[pair.b]) <= NEAR]
        players = self.matches.game.n_players
        return max(near, key=lambda pair: gain_of(ratings, pair.a, pair.b, players) / self.matches.seconds_of(pair))

    def places(self, ratings: Ratings) -> list[int]:
        """Return the place of each entrant; those without games keep that of the list."""
        played = {number for pair in self.matches.played for number in pair}
        if len(played) < len(ratings.elo):
            return list(range(len(ratings.elo)))
        order = sorted(played, key=lambda number: ratings.elo[number])
        return [order.index(number) for number in range(len(order))]

    def progress(self, pair: Pair) -> str:
        a, b = (self.matches.entrants[number].name for number in pair)
        deals, ratings = len(self.matches.played[pair]), self.ratings
        return f"{a} against {b}: {deals} deals; widest interval ±{ratings.errors.max():.0f}"


# --- the report -------------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """Hold the figures of an entrant."""

    name: str
    effort: str
    elo: float
    error: float
    games: int
    iterations: float


def rows_of(ladder: Ladder) -> list[Row]:
    """Return the figures of the entrants with games, the strongest first."""
    matches, ratings = ladder.matches, ladder.ratings
    rows = []
    for number, entrant in enumerate(matches.entrants):
        games = sum(result.games for result in matches.results if number in (result.a, result.b))
        if games:
            elo, error = float(ratings.elo[number]), float(ratings.errors[number])
            rows.append(Row(entrant.name, entrant.effort, elo, error, games, matches.iterations_of(number)))
    return sorted(rows, key=lambda row: -row.elo)


def as_json(ladder: Ladder) -> dict[str, Any]:
    matches, ratings = ladder.matches, ladder.ratings
    name, ruleset, players = matches.game.spec
    pairs = []
    for result in matches.results:
        score = score_of(result.means, players)
        pairs.append(
            {
                "a": matches.entrants[result.a].name,
                "b": matches.entrants[result.b].name,
                "seed": matches.match_of(Pair(result.a, result.b)).seed,
                "deals": len(result.means),
                "games": result.games,
                "score": round(score.mean, 4),
                "fitted_score": round(share_of(ratings.elo[result.a] - ratings.elo[result.b], players), 4),
                "elo": round(score.elo(score.mean), 1) + 0.0,
                "low": round(score.elo(score.low), 1) + 0.0,
                "high": round(score.elo(score.high), 1) + 0.0,
            }
        )
    rows = [{**row._asdict(), "elo": round(row.elo, 1) + 0.0, "error": round(row.error, 1)} for row in rows_of(ladder)]
    anchor = matches.entrants[ladder.anchor].name
    head = {"game": name, "ruleset": ruleset, "players": players, "seed": matches.seed, "anchor": anchor}
    return {**head, "games": sum(pair["games"] for pair in pairs), "entrants": rows, "pairs": pairs}


def as_text(ladder: Ladder) -> str:
    width = max(len(entrant.name) for entrant in ladder.matches.entrants)
    return "\n".join(
        f"{row.name:{width}} {row.elo:+6.0f} ±{row.error:4.0f}  {row.games:6} games" for row in rows_of(ladder)
    )


def write_page(ladder: Ladder, page: Path, command: str) -> None:
    """Write the section of a game and number of players, and its plot."""
    matches = ladder.matches
    name, ruleset, players = matches.game.spec
    title = f"{name}, {ruleset}, {players} players"
    rows, values = rows_of(ladder), as_json(ladder)
    anchor = values["anchor"]
    plot = page.parent / "pictures" / f"strength-{name}-{ruleset}-{players}.svg"
    plot.parent.mkdir(parents=True, exist_ok=True)
    bars = [plots.Interval(row.name, row.elo, row.elo - row.error, row.elo + row.error) for row in rows]
    plot.write_text(plots.intervals(title, f"Elo above {anchor}", bars))
    entrants = [
        (
            f"`{row.name}`",
            row.effort,
            f"{row.elo:+.0f}",
            f"±{row.error:.0f}",
            f"{row.games:,}",
            f"{row.iterations:,.0f}",
        )
        for row in rows
    ]
    pairs = [
        (
            f"`{pair['a']}`",
            f"`{pair['b']}`",
            f"{pair['games']:,}",
            f"{pair['score']:.3f}",
            f"{pair['fitted_score']:.3f}",
            f"{pair['elo']:+.0f} [{pair['low']:+.0f}, {pair['high']:+.0f}]",
        )
        for pair in sorted(values["pairs"], key=lambda pair: (pair["a"], pair["b"]))
    ]
    deals = sum(pair["deals"] for pair in values["pairs"])
    lines = [
        f"## {title}\n",
        picture(plot, page, f"Elo of the players of {title}"),
        table(("player", "budget of a decision", f"Elo above `{anchor}`", "95 %", "games", "iterations"), entrants),
        f"{values['games']:,} games, {deals:,} deals. {provenance(matches.game, command, matches.seed)}",
        "<details><summary>The matches: one A against copies of B</summary>\n",
        table(("A", "B", "games", "share of the win", "fitted", "Elo by this match alone"), pairs),
        "</details>",
    ]
    replace_section(page, f"ladder {name} {ruleset} {players}", "\n".join(lines))


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks ladder", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--game", default="oriflamme")
    parser.add_argument("--ruleset", help="default: the first of the game")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--entrants", nargs="+", default=ENTRANTS, metavar="NAME[@BUDGET]", help="from weak to strong")
    parser.add_argument("--anchor", default="plain@10ms", metavar="ENTRANT", help="has 0 Elo (default plain@10ms)")
    parser.add_argument("--minutes", type=float, default=10.0, help="of play; 0: only write the page (default 10)")
    parser.add_argument("--error", type=float, default=0.0, metavar="ELO", help="stop when all intervals are narrower")
    parser.add_argument("--seed", type=int, default=60_001)
    parser.add_argument("--workers", type=int, default=cores(), help="default: one per core")
    parser.add_argument("--work", type=Path, default=Path("build/ladder"), help="folder of the kept games")
    parser.add_argument("--page", type=Path, default=PAGE, help="default: docs/strength.md")
    parser.add_argument("--no-page", action="store_true", help="do not write the page")
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    options = parser.parse_args(argv)
    if options.workers < 1 or not 0 <= options.minutes < math.inf:
        parser.error("--workers is at least 1, and --minutes at least 0")
    try:
        ladder = run(options)
    except (EngineError, FrozenBuildError, InvalidQuestionError, OtherMatchError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")
    if not ladder.matches.played:
        parser.error("--minutes: there are no games yet")
    if not options.no_page:
        write_page(ladder, options.page, command_of(options))
    print(json.dumps(as_json(ladder)) if options.json else as_text(ladder))


def run(options: argparse.Namespace) -> Ladder:
    game = new_game(options.game, options.ruleset, options.players)
    entrants = [entrant for text in options.entrants if is_possible(entrant := read_entrant(text), game)]
    names = [entrant.name for entrant in entrants]
    if len(set(names)) < max(len(names), 2):
        raise InvalidQuestionError("--entrants", "a ladder has at least two entrants, each once")
    anchor = names.index(options.anchor) if options.anchor in names else 0
    ladder = Ladder(Matches(game, entrants, options.seed, options.work), anchor)
    if options.minutes:
        with Processes(options.workers) as pool:
            ladder.play(time.monotonic() + 60 * options.minutes, options.error, pool)
    return ladder


def command_of(options: argparse.Namespace) -> str:
    game, ruleset, players = new_game(options.game, options.ruleset, options.players).spec
    return f"python -m benchmarks ladder --game {game} --ruleset {ruleset} --players {players}"

"""Make games of the search for training and measurements, and store them.

    python -m solver.training.games oriflamme-3 --games 1000 --iterations 400 --out build/games/oriflamme-3

plays the games of a set among the players of `POPULATION`, on all cores. A game depends on the seed and its number
alone, so the command can be interrupted and repeated, on any number of cores: it adds the missing files of `CHUNK`
games each. With `--ruleset`, all games have one edition; with `--only default`, one kind of player.

A file has a line of JSON, the plan of its games, and behind it the compressed games. `read_games` yields them: each
decision with the visits and the mean payoff of every option, and the mean payoffs of all seats.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import sys
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

from engine_cy import Game, Position, Rng, new_game
from solver.calibration import weights_digest
from solver.config import CONFIGS, Config, read_config
from solver.pool import cores
from solver.training.search_games import SearchGames

CHUNK = 100  # games in a file
Spec = tuple[str, str | Mapping[str, bool | int | str] | None, int]

# The editions of a set, learned together. fr-2019 has the rules of en-2019, which counts twice.
EDITIONS = ("en-2019", "de-2019", "en-2019", "revised")
SETS: dict[str, list[Spec]] = {
    **{f"oriflamme-{n}": [("oriflamme", edition, n) for edition in EDITIONS] for n in (3, 4, 5)},
    **{f"oriflamme_prototype-{n}": [("oriflamme_prototype", "prototype", n)] for n in (2, 3, 4)},
    **{f"castle_village_port-{n}": [("castle_village_port", "house", n)] for n in (3, 4, 5)},
}
SETS["oriflamme_prototype-2"].append(
    ("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2),
)


class Member(NamedTuple):
    """A kind of player: a configuration, its iterations in units of the plan's, and how often seats draw it."""

    config: str
    effort: float
    weight: int
    stray: float = 0.0  # the probability of a random decision instead of its own


# Seven of ten players are the present version, which tries a random decision now and then.
POPULATION = (
    Member("default", 1.0, 70, 0.05),
    Member("level-3", 0.0, 4),
    Member("level-5", 0.0, 4),
    Member("level-7", 0.0, 4),
    Member("plain", 2.0, 8),
    Member("greedy", 0.0, 8),
    Member("random", 0.0, 2),
)

BY_CHANCE, FORCED, UNSEARCHED, SEARCHED, STRAYED = range(5)
_ENTRY = struct.Struct("<hhhh")


class Plan(NamedTuple):
    """Hold what determines the games of a folder, besides their numbers."""

    games: Sequence[Spec]  # in turn
    iterations: int
    seed: int
    population: Sequence[Member]

    @property
    def header(self) -> dict[str, Any]:
        """The first line of a file: the plan, and the version of the weights that play."""
        weights = weights_digest(new_game(*self.games[0]))
        return {**json.loads(json.dumps(self._asdict())), "weights": weights}

    def driver(self, spec: Spec) -> SearchGames:
        members = [(_config(member.config), self._iterations_of(member), member.stray) for member in self.population]
        return SearchGames(new_game(*spec), self.seed, members, [member.weight for member in self.population])

    def _iterations_of(self, member: Member) -> int:
        return round(self.iterations * member.effort) or _config(member.config).iterations

    def spec_of(self, number: int) -> Spec:
        return self.games[number % len(self.games)]


def _config(name: str) -> Config:
    return read_config(name)


class Choice(NamedTuple):
    """Hold a decision of a game, or a draw of chance: the number of its option among all.

    `means` are the mean payoffs of all seats over all iterations, `best_means` those after the best option; they and
    the statistics of the options are empty if nothing was searched.
    """

    what: int  # BY_CHANCE, FORCED, UNSEARCHED, SEARCHED or STRAYED
    seat: int
    options: int
    taken: int
    best: int = 0
    means: tuple[float, ...] = ()
    best_means: tuple[float, ...] = ()
    visits: tuple[int, ...] = ()
    own_means: tuple[float, ...] = ()


class PlayedGame(NamedTuple):
    """Hold a game: its start, the member of the population in each seat, its choices and its end."""

    number: int
    spec: Spec
    seed: int
    first: int
    members: tuple[int, ...]
    choices: tuple[Choice, ...]
    payoffs: tuple[float, ...]
    scores: tuple[int, ...]

    def positions(self) -> Iterator[tuple[Position, Choice]]:
        """Replay the game: yield each position with the choice in it."""
        position = new_game(*self.spec).deal(Rng(self.seed, 2 * self.number), first=self.first)
        for choice in self.choices:
            yield position, choice
            position = position.play(position.legal_actions()[choice.taken])


# --- files ------------------------------------------------------------------------------------------------------


def read_games(folder: Path, limit: int | None = None) -> Iterator[PlayedGame]:
    """Yield the games of a folder in the order of their numbers."""
    n = 0
    for path in sorted(folder.glob("games-*.bin")):
        header, _, packed = path.read_bytes().partition(b"\n")
        plan = json.loads(header)
        data, at = zlib.decompress(packed), 0
        while at < len(data):
            if n == limit:
                return
            game, at = _read_game(data, at, plan)
            yield game
            n += 1


def match_games(game: Game, seed: int, a: Config, b: Config, deals: Sequence[int]) -> Iterator[list[PlayedGame]]:
    """Play deals of A against copies of B, as `solver.match` does; yield the games of each, by the seat of A.

    Both search a number of iterations. Games take a fraction of the time, as no decision passes through Python.
    """
    n, driver = game.n_players, SearchGames(game, seed, [(player, player.iterations, 0.0) for player in (a, b)])
    plan = {"games": [game.spec], "seed": seed}
    for deal in deals:
        data, at = driver.play(n * deal, n * (deal + 1)), 0
        games = []
        while at < len(data):
            played, at = _read_game(data, at, plan)
            games.append(played)
        yield games


def _read_game(data: bytes, at: int, plan: Mapping[str, Any]) -> tuple[PlayedGame, int]:
    number = int.from_bytes(data[at : at + 8], "little")
    game_id, ruleset, n = plan["games"][number % len(plan["games"])]
    first, *members = data[at + 8 : at + 9 + n]
    n_entries = int.from_bytes(data[at + 9 + n : at + 11 + n], "little")
    at += 11 + n
    choices = []
    for _ in range(n_entries):
        choice, at = _read_choice(data, at, n)
        choices.append(choice)
    payoffs, scores = struct.unpack_from(f"<{n}d", data, at), struct.unpack_from(f"<{n}i", data, at + 8 * n)
    game = PlayedGame(
        number, (game_id, ruleset, n), plan["seed"], first, tuple(members), tuple(choices), payoffs, scores
    )
    return game, at + 12 * n


def _read_choice(data: bytes, at: int, n: int) -> tuple[Choice, int]:
    what, seat, options, taken = _ENTRY.unpack_from(data, at)
    at += _ENTRY.size
    if what not in (SEARCHED, STRAYED):
        return Choice(what, seat, options, taken), at
    best, *means = struct.unpack_from(f"<h{2 * n}f", data, at)
    at += 2 + 8 * n
    numbers = struct.unpack_from("<" + "If" * options, data, at)
    at += 8 * options
    return (
        Choice(what, seat, options, taken, best, tuple(means[:n]), tuple(means[n:]), numbers[::2], numbers[1::2]),
        at,
    )


def make_games(folder: Path, plan: Plan, n_games: int, workers: int, *, verbose: bool = False) -> None:
    """Play the games of a plan that the folder lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    header = json.dumps(plan.header).encode()
    for path in folder.glob("games-*.bin"):
        with path.open("rb") as file:
            if file.readline().rstrip(b"\n") != header:
                raise SystemExit(f"--out: {folder} holds games of another plan or other weights, as {path.name} shows")
    begins = [n for n in range(0, n_games, CHUNK) if not (folder / f"games-{n:08}.bin").exists()]
    started, done = time.monotonic(), 0
    # Games hold no GIL, so threads suffice.
    with ThreadPoolExecutor(workers) as threads:
        futures = [threads.submit(_make_chunk, folder, plan, header, begin) for begin in begins]
        try:
            for future in as_completed(futures):
                done += future.result()
                if verbose:
                    rate = done / (time.monotonic() - started)
                    left = (len(begins) * CHUNK - done) / rate
                    print(f"{folder.name}: {done} games, {rate:.1f}/s, {left / 60:.0f} min left", flush=True)
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _make_chunk(folder: Path, plan: Plan, header: bytes, begin: int) -> int:
    drivers = [plan.driver(spec) for spec in plan.games]
    compressor = zlib.compressobj(6)
    path = folder / f"games-{begin:08}.bin"
    partial = path.with_suffix(f".{os.getpid()}.partial")
    with partial.open("wb") as file:
        file.write(header + b"\n")
        for number in range(begin, begin + CHUNK):
            file.write(compressor.compress(drivers[number % len(drivers)].play(number, number + 1)))
        file.write(compressor.flush())
    partial.replace(path)
    return CHUNK


# --- from the command line --------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m solver.training.games",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--ruleset", help="one edition of the set's game (default: those of the set, in turn)")
    parser.add_argument("--games", type=int, required=True, help=f"rounded up to a multiple of {CHUNK}")
    parser.add_argument("--iterations", type=int, default=400, help="of `default` for each decision (default 400)")
    parser.add_argument("--only", choices=CONFIGS, help="one kind of player in all seats, without random decisions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=cores(), help="threads (default: one per core)")
    parser.add_argument("--out", type=Path, required=True, help="folder")
    options = parser.parse_args(arguments)
    if min(options.games, options.iterations, options.workers) < 1:
        parser.error("--games, --iterations and --workers are at least 1")
    games = SETS[options.set]
    if options.ruleset:
        games = [(games[0][0], options.ruleset, games[0][2])]
        new_game(*games[0])
    population = [Member(options.only, 1.0, 1)] if options.only else POPULATION
    plan = Plan(games, options.iterations, options.seed, population)
    try:
        make_games(options.out, plan, options.games, options.workers, verbose=True)
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")


if __name__ == "__main__":
    main()

"""Find the most common costly mistakes in games of middling players; write docs/advice.md.

    python -m benchmarks advice --games 300                    every game
    python -m benchmarks advice --only oriflamme-3

`greedy`, which plays by rule of thumb, and level 5 play games against each other. A short search looks at each
decision; where it would play otherwise, the two moves are compared in the same worlds, given what the player saw. A
mistake is kept if its cost is surely `LEAST` of the win or more; another comparison, with other random numbers, then
says the cost, so that the choice does not exaggerate it. Mistakes are put into words by the kind of the decision and by
the part of the game, and each of the ten that cost most in all is shown with one of its positions.

All searches have fixed iterations and seeds. Games and searches are kept in `--work`, so the command resumes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.calibration import SHOWN
from benchmarks.pages import DOCS, picture, provenance, replace_section, table
from benchmarks.reliability import Mean, mean_of
from benchmarks.strength import in_processes, stored
from engine_cy import CHANCE, Action, EngineError, Rng, View, new_game
from engine_cy.action_log import History
from solver.calibration import weights_digest
from solver.config import Budget, InvalidQuestionError
from solver.match.elo import Z_95
from solver.pool import cores
from solver.solve import compare, solve
from solver.training.games import Member, Plan, PlayedGame, Spec, make_games, read_games

PAGE = DOCS / "advice.md"
PLAYERS = ("greedy", "level-5")
STREAM = 8
LEAST = 0.03  # of the win: the surely lost share that makes a mistake
SHOWN_MISTAKES = 10
FEWEST = 3  # times that a mistake must occur to be common


class Effort(NamedTuple):
    """Hold the iterations of the first look at each decision, and of each move in a comparison."""

    look: int
    compare: int


# An iteration of Castle, Village, Port takes twenty times as long.
EFFORTS = {
    "oriflamme": Effort(600, 4000),
    "oriflamme_prototype": Effort(600, 4000),
    "castle_village_port": Effort(100, 600),
}


class Mistake(NamedTuple):
    """Hold a decision that surely cost a part of the win."""

    game: int
    round: int
    player: str
    view: str
    played: str
    better: str
    cost: float
    error: float  # the standard error of the cost


# --- finding mistakes -------------------------------------------------------------------------------------------


def mistakes_of(effort: Effort, game: PlayedGame) -> tuple[int, list[list[Any]]]:
    """Return the mistakes of a game as plain lists, with its number."""
    rng = Rng(game.seed, (STREAM << 41) + game.number)
    log = History(new_game(*game.spec))
    mistakes = []
    for position, choice in game.positions():
        played = position.legal_actions()[choice.taken]
        if choice.seat != CHANCE and choice.options > 1:
            view = position.view(choice.seat)
            log.end = view
            if judged := judge(view, log, played, effort, rng):
                better, cost, error = judged
                player = PLAYERS[game.members[choice.seat]]
                mistakes.append([position.round, player, str(view), str(played), str(better), cost, error])
        log.add(position, played)
    return game.number, mistakes


def judge(view: View, log: History, played: Action, effort: Effort, rng: Rng) -> tuple[Action, float, float] | None:
    """Return the better move, and what the played one surely cost; None if it was no mistake."""
    history = log.copy() if view.game.has_history else None
    answer = solve(view, Budget(iterations=effort.look), seed=rng.bits(), history=history, lines=0)
    better = answer.moves[0].action
    seeds = rng.bits(), rng.bits()
    if better == played:
        return None
    # The second comparison says what the mistakes chosen by the first one cost.
    chosen, reported = (partial(gain_of, view, history, better, played, effort.compare, seed) for seed in seeds)
    gain, error = chosen()
    if gain - Z_95 * error < LEAST:
        return None
    return better, *reported()


def gain_of(
    view: View, history: History | None, better: Action, played: Action, iterations: int, seed: int
) -> tuple[float, float]:
    """Return how much more often one move wins than another in the same worlds, with the standard error."""
    comparison = compare(view, [played, better], Budget(iterations=iterations), seed=seed, history=history)
    difference = comparison.moves[1].win_difference
    assert difference is not None
    return difference.mean, difference.error


# --- putting them into words ------------------------------------------------------------------------------------

ACTING = re.compile(r">\w\d?:(\w+)\*?(?:\((\d+)\))?")  # the card whose turn it is, and its tokens
LOCATIONS = {"castle", "village", "port"}
PLACES = {"front": "at the front", "back": "at the back", "on": "on an own card"}


def habit_of(mistake: Mistake) -> str:
    """Return what was done wrong, in words; mistakes of one kind have the same words."""
    played, better = mistake.played.split(), mistake.better.split()
    verbs = played[0], better[0]
    if set(verbs) == {"reveal", "keep"}:
        return wrong_reveal(verbs[0], mistake.view)
    if verbs == ("place", "place"):
        return wrong_place(played, better)
    if verbs == ("select", "select"):
        than = "higher" if int(better[1]) > int(played[1]) else "lower"
        return f"Selects the {rank_of(mistake.view, played[1])} card, where a {than} one is better"
    acting = ACTING.search(mistake.view)
    card = f" for the {acting[1]}" if acting and acting[1] != "?" else ""
    if verbs[0] == verbs[1]:
        return f"Chooses the wrong target{card or f' of `{verbs[0]}`'}"
    return f"Chooses `{verbs[0]}`{card}, where `{verbs[1]}` is better"


def wrong_reveal(verb: str, view: str) -> str:
    acting = ACTING.search(view)
    card, tokens = (acting[1], acting[2] or "no") if acting else ("card", "no")
    action = f"Reveals the {card}" if verb == "reveal" else f"Keeps the {card} face down"
    return f"{action} with {tokens} token{'' if tokens == '1' else 's'} on it"


def wrong_place(played: Sequence[str], better: Sequence[str]) -> str:
    if played[1] in LOCATIONS:
        if played[1] == better[1]:
            return f"Places the card at the wrong end of the {played[1]}"
        return f"Places the card in the {played[1]}, where the {better[1]} is better"
    if played[1] != better[1]:
        return f"Places the {played[1]}, where another card is better"
    return f"Places the {played[1]} {PLACES[played[2]]}, where {place_better(played[2], better[2])} is better"


def place_better(played: str, better: str) -> str:
    return "another own card" if played == better else PLACES[better]


def rank_of(view: str, card: str) -> str:
    """Return in words how high a card of the hand is."""
    match = re.search(r"hands (?:\? )*([\d,]+)", view)
    hand = sorted({int(number) for number in match[1].split(",")} | {int(card)}) if match else [int(card)]
    at = hand.index(int(card))
    return "highest" if at == len(hand) - 1 else "lowest" if at == 0 else "middle"


def phase_of(round_number: int, rounds: int) -> str:
    """Return the part of the game in words."""
    if rounds < 2:
        return "at any time"
    part = (round_number - 1) / (rounds - 1)
    return "early in the game" if part < 1 / 3 else "in the middle of the game" if part < 2 / 3 else "late in the game"


class Cluster(NamedTuple):
    """Hold the mistakes of one kind."""

    habit: str
    phase: str
    mistakes: list[Mistake]
    cost: Mean  # with its interval by games

    @property
    def example(self) -> Mistake:
        """A mistake of about the usual cost, among those where the better move is the most frequent."""
        usual = self.better[0][0]
        similar = [mistake for mistake in self.mistakes if kind_of_move(mistake.better) == usual]
        return min(similar, key=lambda mistake: (abs(mistake.cost - self.cost.mean), mistake.game))

    @property
    def better(self) -> list[tuple[str, int]]:
        """The kinds of the better moves, the most frequent first."""
        return Counter(kind_of_move(mistake.better) for mistake in self.mistakes).most_common()


def kind_of_move(text: str) -> str:
    """Return an action without its place or target: `place Spy`, `target`, `keep`."""
    words = text.split()
    return " ".join(words[:2] if words[0] == "place" else words[:1])


def clusters_of(mistakes: Sequence[Mistake]) -> list[Cluster]:
    """Return the common kinds of mistakes, those that cost most in all first."""
    rounds = max((mistake.round for mistake in mistakes), default=1)
    groups: dict[tuple[str, str], list[Mistake]] = defaultdict(list)
    for mistake in mistakes:
        groups[habit_of(mistake), phase_of(mistake.round, rounds)].append(mistake)
    clusters = [
        Cluster(habit, phase, group, mean_of((mistake.game, mistake.cost) for mistake in group))
        for (habit, phase), group in groups.items()
        if len(group) >= FEWEST
    ]
    sure = [cluster for cluster in clusters if cluster.cost.low > 0]
    return sorted(sure, key=lambda cluster: -sum(mistake.cost for mistake in cluster.mistakes))


# --- the page ---------------------------------------------------------------------------------------------------


class Found(NamedTuple):
    """Hold the mistakes in the games of a ruleset, and how often each kind of player played."""

    name: str
    spec: Spec
    mistakes: list[Mistake]
    games: int
    seats: dict[str, int]  # by the kind of player
    seed: int


def find(name: str, spec: Spec, options: argparse.Namespace) -> Found:
    """Play and judge the missing games; return all mistakes."""
    game, effort = new_game(*spec), EFFORTS[spec[0]]
    folder = options.work / f"{name}-{options.seed}-{weights_digest(game)[:8]}"
    plan = Plan([spec], 1, options.seed, [Member(player, 0.0, 1) for player in PLAYERS])
    make_games(folder, plan, options.games, options.workers)

    def missing(known: set[int]) -> Iterator[tuple[int, Any]]:
        games = [played for played in read_games(folder, options.games) if played.number not in known]
        yield from in_processes(partial(mistakes_of, effort), games, options.workers)

    header = {"look": effort.look, "compare": effort.compare, "least": LEAST}
    known = stored(folder / "mistakes.jsonl", header, missing)
    games = list(read_games(folder, options.games))
    mistakes = [Mistake(played.number, *row) for played in games for row in known[played.number]]
    seats = Counter(PLAYERS[member] for played in games for member in played.members[: spec[2]])
    return Found(name, spec, mistakes, len(games), dict(seats), options.seed)


def write_page(page: Path, found: Found, command: str) -> None:
    """Write the section of a game, and the pictures of its positions."""
    game, title = new_game(*found.spec), f"{found.spec[0]}, {found.spec[1]}, {found.spec[2]} players"
    folder = page.parent / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"advice-{found.name}-*.svg"):
        old.unlink()
    clusters = clusters_of(found.mistakes)[:SHOWN_MISTAKES]
    seats = sum(found.seats.values())
    lines = [
        f"## {title}\n",
        f"{len(found.mistakes):,} sure mistakes in {found.games:,} games: {per_100(found, found.mistakes)}.\n",
        table(
            ("", "mistake", "better", "times in 100 games of a player", "cost of each, in wins"),
            [
                (
                    i,
                    f"{cluster.habit}, {cluster.phase}",
                    ", ".join(f"`{kind}`" for kind, _ in cluster.better[:2]),
                    f"{100 * len(cluster.mistakes) / seats:.0f}",
                    costs(cluster.cost),
                )
                for i, cluster in enumerate(clusters, 1)
            ],
        ),
    ]
    for i, cluster in enumerate(clusters, 1):
        mistake = cluster.example
        path = folder / f"advice-{found.name}-{i}.svg"
        path.write_text(game.view(mistake.view).to_svg())
        better = ", ".join(f"`{kind}` ({number})" for kind, number in cluster.better[:3])
        lines += [
            f"### {i}. {cluster.habit}, {cluster.phase}\n",
            f"{per_100(found, cluster.mistakes)}. Better: {better}. In this position, `{mistake.player}` "
            f"played `{mistake.played}`; `{mistake.better}` wins {100 * mistake.cost:.0f} % "
            f"(± {100 * Z_95 * mistake.error:.0f}) more often.\n",
            picture(path, page, f"The position before {mistake.played}"),
            f"```text\n{mistake.view}\n```\n",
        ]
    lines.append(provenance(game, command, found.seed))
    replace_section(page, f"advice {found.name}", "\n".join(lines))


def per_100(found: Found, mistakes: Sequence[Mistake]) -> str:
    """Return in words how often each kind of player makes mistakes."""
    counts = Counter(mistake.player for mistake in mistakes)
    parts = [
        f"{100 * counts[player] / seats:.0f} in 100 games of `{player}`"
        for player, seats in sorted(found.seats.items())
    ]
    return ", ".join(parts)


def costs(cost: Mean) -> str:
    return f"{100 * cost.mean:.0f} % [{100 * cost.low:.0f}, {100 * cost.high:.0f}]"


def as_text(found: Found) -> str:
    lines = [f"{found.name}: {len(found.mistakes)} mistakes in {found.games} games"]
    for cluster in clusters_of(found.mistakes)[:SHOWN_MISTAKES]:
        lines.append(f"  {len(cluster.mistakes):4}  {costs(cluster.cost):16}  {cluster.habit}, {cluster.phase}")
    return "\n".join(lines)


def as_json(found: Found) -> dict[str, Any]:
    clusters = [
        {
            "mistake": cluster.habit,
            "when": cluster.phase,
            "times": len(cluster.mistakes),
            "cost": round(cluster.cost.mean, 4),
            "view": cluster.example.view,
            "played": cluster.example.played,
            "better": cluster.example.better,
        }
        for cluster in clusters_of(found.mistakes)[:SHOWN_MISTAKES]
    ]
    return {"games": found.games, "mistakes": len(found.mistakes), "clusters": clusters}


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks advice", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=SHOWN, default=DEFAULT, metavar="SET", help="such as oriflamme-3")
    parser.add_argument("--games", type=int, default=100, help="of each set (default 100)")
    parser.add_argument("--seed", type=int, default=70_001)
    parser.add_argument("--workers", type=int, default=cores(), help="default: one per core")
    parser.add_argument("--work", type=Path, default=Path("build/advice"), help="folder of games and searches")
    parser.add_argument("--page", type=Path, default=PAGE, help="default: docs/advice.md")
    parser.add_argument("--no-page", action="store_true", help="do not write the page")
    parser.add_argument("--json", action="store_true", help="print one JSON object on the last line")
    options = parser.parse_args(argv)
    if min(options.games, options.workers) < 1:
        parser.error("--games and --workers are at least 1")
    results = {}
    try:
        for name in options.only:
            found = results[name] = find(name, SHOWN[name], options)
            if not options.no_page:
                write_page(options.page, found, f"python -m benchmarks advice --only {name} --games {options.games}")
            if not options.json:
                print(as_text(found), flush=True)
    except (EngineError, InvalidQuestionError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit("interrupted: the same command continues")
    if options.json:
        print(json.dumps({name: as_json(found) for name, found in results.items()}))


DEFAULT = ("oriflamme-3", "oriflamme_prototype-3", "castle_village_port-3")

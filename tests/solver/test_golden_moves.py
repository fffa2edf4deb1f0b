"""Fixed searches give the best move and the visits of every move in tests/cases/golden_moves.json.

A commit that changes the play of the search on purpose regenerates the file and mentions it:

    python tests/solver/test_golden_moves.py > tests/cases/golden_moves.json
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine_cy import Game, Position, new_game
from engine_cy.record import Record, read_record
from solver import Budget, solve

CASES = Path(__file__).parents[1] / "cases" / "golden_moves.json"
SPECS = [
    *[
        ("oriflamme", edition, players)
        for edition in ("fr-2019", "en-2019", "de-2019", "revised")
        for players in (3, 4, 5)
    ],
    *[("oriflamme_prototype", "prototype", players) for players in (2, 3, 4)],
    *[("castle_village_port", "house", players) for players in (3, 4, 5)],
]
POSITIONS = 3  # for each game, edition and number of players
NAMES = ["-".join(map(str, (*spec, index))) for spec in SPECS for index in range(POSITIONS)]
BUDGET = Budget(iterations=500)
SEED = 5


@cache
def golden() -> dict[str, dict[str, Any]]:
    return {case["name"]: case for case in json.loads(CASES.read_text())}


def test_every_case_is_searched() -> None:
    assert list(golden()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_fixed_search_gives_the_golden_answer(name: str) -> None:
    case = golden()[name]
    assert search(case) == {"best": case["best"], "visits": case["visits"]}


def search(case: dict[str, Any]) -> dict[str, Any]:
    """Search the position of a case with its options; return the best move and the visits of each, highest first."""
    answer = solve(
        new_game(*case["game"]).view(case["view"]),
        BUDGET,
        config="default",
        seed=SEED,
        shares=case.get("shares", 1),
        history=read_record("\n".join(case["history"])) if "history" in case else None,
        models=case.get("models"),
        among=case.get("among", ()),
    )
    visits = sorted(((str(move.action), move.visits) for move in answer.moves), key=lambda item: (-item[1], item[0]))
    return {"best": str(answer.best), "visits": dict(visits)}


# --- writing the file ------------------------------------------------------------------------------------------


def golden_cases() -> Iterator[dict[str, Any]]:
    """Yield three cases of each game: one by the view alone, one with the history, one with another option."""
    names = iter(NAMES)
    for number, spec in enumerate(SPECS):
        for index in range(POSITIONS):
            record = random_record(new_game(*spec), seed=100 * number + index)
            position = record.end
            assert isinstance(position, Position)
            assert position.to_act is not None
            seen = record.seen_from(position.to_act)
            case: dict[str, Any] = {
                "name": next(names),
                "game": spec,
                "view": str(position.view(position.to_act)),
            }
            if index == 1:
                case["history"] = str(seen).splitlines()
            if index == 2:
                case |= other_option(position, number)
            yield case | search(case)


def other_option(position: Position, number: int) -> dict[str, Any]:
    """Return `workers`, `models` or `among`, by the number of the game in `SPECS`."""
    legal = [str(action) for action in position.legal_actions()]
    rival = position.game.seats[((position.to_act or 0) + 1) % position.game.n_players]
    model = ("noisy", "greedy", "random")[number // 3 % 3]
    return ({"shares": 2}, {"models": {rival: model}}, {"among": legal[: 1 + len(legal) // 2]})[number % 3]


def random_record(game: Game, seed: int) -> Record:
    """Record random play up to a decision of a player between at least three moves."""
    draw = random.Random(seed)
    while True:
        position = game.deal(draw.randrange(10**6), draw.randrange(game.n_players))
        record = Record(position)
        for _ in range(draw.randrange(3, 40)):
            if position.is_over:
                break
            action = draw.choice(position.legal_actions())
            record, position = record.play(action), position.play(action)
        if (position.to_act or 0) >= 0 and len(position.legal_actions()) > 2:
            return record


def as_json(cases: Iterator[dict[str, Any]]) -> str:
    """Write cases as JSON with one line a field."""
    fields = ([f"{json.dumps(key)}: {json.dumps(value)}" for key, value in case.items()] for case in cases)
    return "[\n" + ",\n".join("{\n" + ",\n".join(lines) + "\n}" for lines in fields) + "\n]"


if __name__ == "__main__":
    print(as_json(golden_cases()))

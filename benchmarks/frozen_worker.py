"""Answer questions in the folder of an earlier version: each line of JSON in gives one out (see frozen.py).

This file runs with the modules of that version, so it uses only names that all versions have.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import Any

from engine_cy import Game, new_game
from engine_cy.record import read_record
from solver import Budget, solve


@cache
def game_of(spec: str) -> Game:
    return new_game(*json.loads(spec))


def answer_to(question: dict[str, Any]) -> dict[str, Any]:
    view = game_of(json.dumps(question["game"])).view(question["view"])
    record = question["record"]
    answer = solve(
        view,
        Budget(iterations=question["iterations"], thread_time_ms=question["thread_time_ms"]),
        config=question["config"],
        seed=question["seed"],
        history=read_record(record) if record else None,
        **question["options"],
    )
    return {
        "best": str(answer.best),
        "iterations": answer.iterations,
        "visits": {str(move.action): move.visits for move in answer.moves},
        "means": raw_means(answer.total.tallies),
        "best_means": raw_means(best_tallies(answer)),
    }


def best_tallies(answer: Any) -> list[Any]:
    """Return the tally of the best move."""
    decisions = list(answer.question.decisions)
    return [answer.total.tallies[decisions.index(move.action)] for move in answer.moves[:1]]


def raw_means(tallies: Any) -> list[float]:
    """Return the mean payoffs of all seats over the playouts of tallies, before any calibration."""
    visits = sum(tally.visits for tally in tallies)
    return (
        [sum(column) / visits for column in zip(*(tally.payoffs for tally in tallies), strict=True)] if visits else []
    )


def main() -> None:
    for line in sys.stdin:
        try:
            answer = answer_to(json.loads(line))
        except Exception as error:  # the parent reports it, with the name of the version
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()

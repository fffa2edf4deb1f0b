"""One question from the command line: python -m server.client."""

from __future__ import annotations

import argparse

from eminence.v1 import solver_pb2 as pb

from .blocking import Client
from .refusals import Refused
from .requests import text_view

CANDIDATES_MAX = 8


def main() -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}", description="Ask a server what to play.")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--token", default="")
    parser.add_argument("--time-ms", type=int, default=1000)
    parser.add_argument("game", help="such as oriflamme")
    parser.add_argument("edition", help="such as en-2019")
    parser.add_argument("players", type=int)
    parser.add_argument("view", help="in text notation, such as 'A:? >B:Heir C:? | round 2 | seen by B'")
    given = parser.parse_args()
    budget = pb.Budget()
    budget.time.FromMilliseconds(given.time_ms)
    try:
        with Client(given.address, token=given.token) as client:
            found = client.suggest(text_view(given.game, given.edition, given.players, given.view), budget)
    except ValueError as error:
        parser.error(str(error))
    except Refused as error:
        raise SystemExit(f"{error.code}: {error}") from None
    print(f"{found.best.text}  ({found.iterations} iterations)")
    for candidate in found.candidates[:CANDIDATES_MAX]:
        win, error_of = candidate.win.mean * 100, candidate.win.standard_error * 100
        print(f"  {candidate.action.text:24} win {win:5.1f} % ± {error_of:.1f}   points {candidate.points.mean:5.1f}")


if __name__ == "__main__":
    main()

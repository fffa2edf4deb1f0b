"""Ask a server one question from the command line: python -m server.client."""

from __future__ import annotations

import argparse

from eminence.v1 import solver_pb2 as pb

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
    arguments = parser.parse_args()
    try:
        from . import Client
    except ImportError as error:
        raise SystemExit(str(error)) from None
    budget = pb.Budget()
    budget.time.FromMilliseconds(arguments.time_ms)
    view = text_view(arguments.game, arguments.edition, arguments.players, arguments.view)
    try:
        with Client(arguments.address, token=arguments.token) as client:
            suggestion = client.suggest(view, budget)
    except ValueError as error:
        parser.error(str(error))
    except Refused as error:
        raise SystemExit(f"{error.code}: {error}") from None
    print(f"{suggestion.best.text}  ({suggestion.iterations} iterations)")
    for candidate in suggestion.candidates[:CANDIDATES_MAX]:
        win, win_error = candidate.win.mean * 100, candidate.win.standard_error * 100
        print(f"  {candidate.action.text:24} win {win:5.1f} % ± {win_error:.1f}   points {candidate.points.mean:5.1f}")


if __name__ == "__main__":
    main()

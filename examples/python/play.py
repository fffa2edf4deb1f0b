"""Play a whole game: RefereeService deals and plays, SolverService suggests the moves of each seat from its view alone.

.venv/bin/python examples/python/play.py --seed 7 --players 3
"""

from __future__ import annotations

import argparse
from pathlib import Path

from eminence.v1 import record_pb2, referee_pb2, seat_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.client import Client, Refused  # with the package eminence-client: from eminence_client

# Time limit of each move, beside that of --iterations; the first limit reached ends the search.
SECONDS = 5
# Intermediate answers in a row with the same best move, after which the client cancels the stream.
STABLE_ANSWERS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description="Play a game in which SolverService chooses all moves.")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--token", default="")
    parser.add_argument("--game", default="oriflamme")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--seed", type=int, help="seed of the deal and of chance; default: an unpredictable one")
    parser.add_argument("--iterations", type=int, default=2000, help="limit of each move")
    parser.add_argument("--record", type=Path, help="write the record to this file")
    arguments = parser.parse_args()
    budget = pb.Budget(iterations=arguments.iterations)
    budget.time.FromSeconds(SECONDS)
    try:
        with Client(arguments.address, token=arguments.token) as client:
            record = play(
                client, view_pb2.GameSpec(game_id=arguments.game, players=arguments.players), budget, arguments.seed
            )
            if arguments.record:
                response = client.referee.GetRecord(referee_pb2.GetRecordRequest(record=record))
                arguments.record.write_text(response.text, "utf-8")
    except Refused as error:
        raise SystemExit(f"{error.code}: {error}") from None


def play(client: Client, game: view_pb2.GameSpec, budget: pb.Budget, seed: int | None) -> record_pb2.Record:
    """Play a game to the end; return its record."""
    dealt = client.referee.Deal(referee_pb2.DealRequest(game=game, seed=seed))
    print(f"{game.game_id}, {game.players} players, seed {dealt.seed}")
    record, to_act, moves, over = dealt.record, dealt.to_act, 0, False
    while not over:
        standing = referee_pb2.Standing(record=record)
        action = None  # without an action, the server plays chance
        if to_act != seat_pb2.SEAT_UNSPECIFIED:
            # SolverService gets only the view of the seat to act.
            [view] = client.referee.GetViews(referee_pb2.GetViewsRequest(standing=standing, seats=[to_act])).views
            if moves == 0:
                show_thinking(client, view)
            suggestion = client.suggest(view, budget)
            print(f"{seat_pb2.Seat.Name(to_act)[-1]}  {describe(suggestion)}")
            action = suggestion.best
        chance = None if seed is None else seed + moves
        played = client.referee.Play(referee_pb2.PlayRequest(standing=standing, action=action, seed=chance))
        record, to_act, over = played.record, played.to_act, played.over
        moves += 1
    result = client.referee.GetResult(referee_pb2.GetResultRequest(standing=referee_pb2.Standing(record=record)))
    print("points", *result.points)
    print("win", *result.win_shares)
    return record


def show_thinking(client: Client, view: view_pb2.View) -> None:
    """Print intermediate answers until the best move is stable."""
    budget = pb.Budget()
    budget.time.FromSeconds(SECONDS)
    last, times = "", 0
    with client.analyze(view, budget, interval_ms=60) as answers:
        for answer in answers:
            print(f"  thinking: {describe(answer.suggestion)}")
            best = answer.suggestion.best.text
            last, times = best, times + 1 if best == last else 1
            if times == STABLE_ANSWERS:
                break  # leaving the block cancels the search


def describe(suggestion: pb.Suggestion) -> str:
    share = ""
    if suggestion.candidates and suggestion.candidates[0].HasField("win"):
        share = f"  win {suggestion.candidates[0].win.mean:.1%}"
    return f"{suggestion.best.text}{share}  ({suggestion.iterations} iterations)"


if __name__ == "__main__":
    main()

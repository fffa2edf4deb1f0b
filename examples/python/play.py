"""A whole game: the Referee deals and plays, and every seat asks the adviser what to do, with nothing but its own view.

.venv/bin/python examples/python/play.py --seed 7 --players 3
"""

from __future__ import annotations

import argparse
from pathlib import Path

from eminence.v1 import record_pb2, referee_pb2, seat_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.client import Client, Refused  # with the package eminence-client: from eminence_client

# So much for each move, or the iterations, whichever comes first.
SECONDS = 5
# Thinking aloud ends when the same move has been best so many times in a row.
SETTLED = 3


def main() -> None:
    parser = argparse.ArgumentParser(description="A game among advisers.")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--token", default="")
    parser.add_argument("--game", default="oriflamme")
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--seed", type=int, help="of the deal and of chance; without, nobody can guess it")
    parser.add_argument("--iterations", type=int, default=2000, help="for each move")
    parser.add_argument("--record", type=Path, help="a file for the record")
    given = parser.parse_args()
    budget = pb.Budget(iterations=given.iterations)
    budget.time.FromSeconds(SECONDS)
    try:
        with Client(given.address, token=given.token) as client:
            record = play(client, view_pb2.GameSpec(game_id=given.game, players=given.players), budget, given.seed)
            if given.record:
                found = client.referee.GetRecord(referee_pb2.GetRecordRequest(record=record))
                given.record.write_text(found.text, "utf-8")
    except Refused as error:
        raise SystemExit(f"{error.code}: {error}") from None


def play(client: Client, game: view_pb2.GameSpec, budget: pb.Budget, seed: int | None) -> record_pb2.Record:
    """Play a game to its end; its record."""
    dealt = client.referee.Deal(referee_pb2.DealRequest(game=game, seed=seed))
    print(f"{game.game_id}, {game.players} players, seed {dealt.seed}")
    record, to_act, moves, over = dealt.record, dealt.to_act, 0, False
    while not over:
        standing = referee_pb2.Standing(record=record)
        action = None  # chance decides for itself
        if to_act != seat_pb2.SEAT_UNSPECIFIED:
            # All that the player gets: what his own seat sees.
            [view] = client.referee.GetViews(referee_pb2.GetViewsRequest(standing=standing, seats=[to_act])).views
            if moves == 0:
                think_aloud(client, view)
            suggestion = client.suggest(view, budget)
            print(f"{seat_pb2.Seat.Name(to_act)[-1]}  {told(suggestion)}")
            action = suggestion.best
        chance = None if seed is None else seed + moves
        played = client.referee.Play(referee_pb2.PlayRequest(standing=standing, action=action, seed=chance))
        record, to_act, over = played.record, played.to_act, played.over
        moves += 1
    result = client.referee.GetResult(referee_pb2.GetResultRequest(standing=referee_pb2.Standing(record=record)))
    print("points", *result.points)
    print("win", *result.win_shares)
    return record


def think_aloud(client: Client, view: view_pb2.View) -> None:
    """Show how the answer grows, until it seems to stay."""
    budget = pb.Budget()
    budget.time.FromSeconds(SECONDS)
    last, times = "", 0
    with client.analyze(view, budget, interval_ms=60) as answers:
        for answer in answers:
            print(f"  thinking: {told(answer.suggestion)}")
            best = answer.suggestion.best.text
            last, times = best, times + 1 if best == last else 1
            if times == SETTLED:
                break  # and the search is stopped


def told(suggestion: pb.Suggestion) -> str:
    share = ""
    if suggestion.candidates and suggestion.candidates[0].HasField("win"):
        share = f"  win {suggestion.candidates[0].win.mean:.1%}"
    return f"{suggestion.best.text}{share}  ({suggestion.iterations} iterations)"


if __name__ == "__main__":
    main()

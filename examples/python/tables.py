"""Several tables at once, with asyncio: as `play.py`, but nobody waits for another table.

.venv/bin/python examples/python/tables.py --tables 4 --seed 7
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from eminence.v1 import referee_pb2, seat_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.client import AsyncClient, Refused  # with the package eminence-client: from eminence_client

# So much for each move, or the iterations, whichever comes first; and for a look at what a move is worth.
SECONDS = 5
LOOK_SECONDS = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description="Games among advisers, at several tables.")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--token", default="")
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7, help="of the first table; the next one has the next seed")
    parser.add_argument("--iterations", type=int, default=2000, help="for each move")
    parser.add_argument("--records", type=Path, help="a folder for the records")
    given = parser.parse_args()
    refusals = []
    try:
        asyncio.run(play_all(given))
    except* Refused as errors:  # of one table, or of several at the same time
        refusals = [error for error in errors.exceptions if isinstance(error, Refused)]
    if refusals:
        raise SystemExit(f"{refusals[0].code}: {refusals[0]}")


async def play_all(given: argparse.Namespace) -> None:
    game = view_pb2.GameSpec(game_id="oriflamme", players=given.players)
    budget = pb.Budget(iterations=given.iterations)
    budget.time.FromSeconds(SECONDS)
    async with AsyncClient(given.address, token=given.token) as client, asyncio.TaskGroup() as tables:
        tables.create_task(look(client, game, given.seed))
        for seed in range(given.seed, given.seed + given.tables):
            tables.create_task(play(client, game, budget, seed, given.records))


async def play(
    client: AsyncClient, game: view_pb2.GameSpec, budget: pb.Budget, seed: int, records: Path | None
) -> None:
    """Play a game to its end."""
    dealt = await client.referee.Deal(referee_pb2.DealRequest(game=game, seed=seed))
    record, to_act, moves, over = dealt.record, dealt.to_act, 0, False
    while not over:
        standing = referee_pb2.Standing(record=record)
        action = None  # chance decides for itself
        if to_act != seat_pb2.SEAT_UNSPECIFIED:
            # All that the player gets: what his own seat sees.
            seen = await client.referee.GetViews(referee_pb2.GetViewsRequest(standing=standing, seats=[to_act]))
            action = (await client.suggest(seen.views[0], budget)).best
        request = referee_pb2.PlayRequest(standing=standing, action=action, seed=seed + moves)
        played = await client.referee.Play(request)
        record, to_act, over = played.record, played.to_act, played.over
        moves += 1
    standing = referee_pb2.Standing(record=record)
    result = await client.referee.GetResult(referee_pb2.GetResultRequest(standing=standing))
    print(f"seed {seed}  points", *result.points, " win", *result.win_shares)
    if records:
        found = await client.referee.GetRecord(referee_pb2.GetRecordRequest(record=record))
        (records / f"{seed}.txt").write_text(found.text, "utf-8")


async def look(client: AsyncClient, game: view_pb2.GameSpec, seed: int) -> None:
    """For a moment, watch the answer to the first table's first move grow."""
    dealt = await client.referee.Deal(referee_pb2.DealRequest(game=game, seed=seed))
    standing = referee_pb2.Standing(record=dealt.record)
    seen = await client.referee.GetViews(referee_pb2.GetViewsRequest(standing=standing, seats=[dealt.to_act]))
    budget = pb.Budget()
    budget.time.FromSeconds(SECONDS)
    try:
        async with asyncio.timeout(LOOK_SECONDS), client.analyze(seen.views[0], budget, interval_ms=60) as answers:
            async for answer in answers:
                print(f"  thinking: {answer.suggestion.best.text}  ({answer.suggestion.iterations} iterations)")
    except TimeoutError:
        pass  # and the search is stopped


if __name__ == "__main__":
    main()

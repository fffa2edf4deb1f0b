"""Play several games concurrently with asyncio, each as in `play.py`.

.venv/bin/python examples/python/tables.py --tables 4 --seed 7
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from eminence.v1 import referee_pb2, seat_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.client import AsyncClient, Refused  # with the package eminence-client: from eminence_client

# Time limit of each move, beside that of --iterations; and the time for which `look` reads intermediate answers.
SECONDS = 5
LOOK_SECONDS = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description="Play several games in which SolverService chooses all moves.")
    parser.add_argument("--address", default="127.0.0.1:50051")
    parser.add_argument("--token", default="")
    parser.add_argument("--tables", type=int, default=4)
    parser.add_argument("--players", type=int, default=3)
    parser.add_argument(
        "--seed", type=int, default=7, help="seed of the first table; each next table has the next seed"
    )
    parser.add_argument("--iterations", type=int, default=2000, help="limit of each move")
    parser.add_argument("--records", type=Path, help="write the records to this folder")
    arguments = parser.parse_args()
    refusals = []
    try:
        asyncio.run(play_all(arguments))
    except* Refused as errors:  # from one table or several
        refusals = [error for error in errors.exceptions if isinstance(error, Refused)]
    if refusals:
        raise SystemExit(f"{refusals[0].code}: {refusals[0]}")


async def play_all(arguments: argparse.Namespace) -> None:
    game = view_pb2.GameSpec(game_id="oriflamme", players=arguments.players)
    budget = pb.Budget(iterations=arguments.iterations)
    budget.time.FromSeconds(SECONDS)
    async with AsyncClient(arguments.address, token=arguments.token) as client, asyncio.TaskGroup() as tables:
        tables.create_task(look(client, game, arguments.seed))
        for seed in range(arguments.seed, arguments.seed + arguments.tables):
            tables.create_task(play(client, game, budget, seed, arguments.records))


async def play(
    client: AsyncClient, game: view_pb2.GameSpec, budget: pb.Budget, seed: int, records: Path | None
) -> None:
    """Play a game to the end and print its result."""
    dealt = await client.referee.Deal(referee_pb2.DealRequest(game=game, seed=seed))
    record, to_act, moves, over = dealt.record, dealt.to_act, 0, False
    while not over:
        standing = referee_pb2.Standing(record=record)
        action = None  # without an action, the server plays chance
        if to_act != seat_pb2.SEAT_UNSPECIFIED:
            # SolverService gets only the view of the seat to act.
            response = await client.referee.GetViews(referee_pb2.GetViewsRequest(standing=standing, seats=[to_act]))
            action = (await client.suggest(response.views[0], budget)).best
        request = referee_pb2.PlayRequest(standing=standing, action=action, seed=seed + moves)
        played = await client.referee.Play(request)
        record, to_act, over = played.record, played.to_act, played.over
        moves += 1
    standing = referee_pb2.Standing(record=record)
    result = await client.referee.GetResult(referee_pb2.GetResultRequest(standing=standing))
    print(f"seed {seed}  points", *result.points, " win", *result.win_shares)
    if records:
        saved = await client.referee.GetRecord(referee_pb2.GetRecordRequest(record=record))
        (records / f"{seed}.txt").write_text(saved.text, "utf-8")


async def look(client: AsyncClient, game: view_pb2.GameSpec, seed: int) -> None:
    """Print intermediate answers to the first move of the first table for `LOOK_SECONDS`."""
    dealt = await client.referee.Deal(referee_pb2.DealRequest(game=game, seed=seed))
    standing = referee_pb2.Standing(record=dealt.record)
    response = await client.referee.GetViews(referee_pb2.GetViewsRequest(standing=standing, seats=[dealt.to_act]))
    budget = pb.Budget()
    budget.time.FromSeconds(SECONDS)
    try:
        async with asyncio.timeout(LOOK_SECONDS), client.analyze(response.views[0], budget, interval_ms=60) as answers:
            async for answer in answers:
                print(f"  thinking: {answer.suggestion.best.text}  ({answer.suggestion.iterations} iterations)")
    except TimeoutError:
        pass  # leaving the block has cancelled the search


if __name__ == "__main__":
    main()

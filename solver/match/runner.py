"""Play a whole match, on this thread or on a pool."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from engine_cy.registry import is_installed
from solver.match.book import Book
from solver.match.elo import Sprt
from solver.match.play import Match, PlayedDeal, play_deal
from solver.match.report import Report
from solver.pool.base import Pool, WorkerLostError
from solver.pool.processes import Processes


def run(
    match: Match,
    deals: int,
    *,
    workers: int = 1,
    pool: Pool | None = None,
    path: Path | None = None,
    games: Path | None = None,
    sprt: Sprt | None = None,
    on_progress: Callable[[Sequence[PlayedDeal]], None] | None = None,
) -> Report:
    """Play the deals that are not in the file yet; with a sequential test, until it is decided.

    Deals are played on the pool; without one, on this thread, or with several `workers`, in processes. The folder
    `games` gets a record of each game, named by its deal and the seat of A; it is made if it is missing. `on_progress`
    is called with all finished deals, at the start and after each deal.
    """
    started = time.perf_counter()
    book = Book(match, path, games)
    moves = checked = 0
    decided = None

    def is_decided() -> bool:
        nonlocal checked, decided
        if on_progress:
            on_progress(list(book.deals.values()))
        if sprt and decided is None:
            finished = book.first(deals)
            decided = sprt.decided_after(finished, match.players, checked)
            checked = len(finished)
        return decided is not None

    missing = [number for number in range(deals) if number not in book.deals]
    if not is_decided():
        # `closing` cancels the deals under way at once, even after an error here: they may take long.
        playing = play_deals(match, missing, workers=workers, pool=pool, keeps_records=games is not None)
        with closing(playing):
            for deal in playing:
                book.add(deal)
                moves += sum(deal.decisions)
                if is_decided():
                    break
    moves_per_s = moves / (time.perf_counter() - started) if moves else None
    return Report(match, book.first(decided or deals), sprt, pool.width if pool else workers, moves_per_s)


def play_deals(
    match: Match,
    numbers: Sequence[int],
    *,
    workers: int = 1,
    pool: Pool | None = None,
    keeps_records: bool = False,
) -> Generator[PlayedDeal, None, None]:
    """Yield each deal as soon as it is over, in any order.

    Closing the generator cancels the deals under way in its own processes; those on a pool run until the pool is
    closed.
    """
    if pool is not None:
        # Games on a reentrant pool search on the same pool.
        play = partial(play_deal, match, pool=pool if pool.is_reentrant else None, keeps_records=keeps_records)
        yield from pool.map(play, numbers, in_order=False)
    elif workers == 1 and not is_installed(match.game[0]):  # a fault could end this process
        yield from (play_deal(match, number, keeps_records=keeps_records) for number in numbers)
    else:
        with Processes(workers) as processes:
            try:
                play = partial(play_deal, match, keeps_records=keeps_records)
                yield from processes.map(play, numbers, in_order=False)
            except WorkerLostError:
                raise WorkerLostError("a worker was lost; the file has the finished deals, to resume from") from None

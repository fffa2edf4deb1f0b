"""The numbers of the graph of win chances."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from server.games import adapter_of
from server.report.review import JudgedDecision, Review


class Series(NamedTuple):
    """The chances of a seat, as points (action, share of the win).

    A drop at one action is the loss of the seat's own decision; a change between two actions is luck.
    """

    seat: int
    path: list[tuple[int, float]]
    decisions: list[JudgedDecision]


class Chart(NamedTuple):
    """The content of the graph. `rounds` holds the number of the first action of each round, beginning with 0."""

    series: list[Series]
    rounds: list[int]
    end: int

    @property
    def scale(self) -> tuple[float, float]:
        """The least and the most of the graph: 0 and 1, unless payoffs are no shares of a win."""
        shares = [share for series in self.series for _, share in series.path]
        return min([0.0, *shares]), max([1.0, *shares])


def chart_of(review: Review) -> Chart:
    record = review.record
    tables = list(record.tables())
    rounds = [adapter_of(record.game.id).round_of(table) for table in tables]
    begin = [0, *(i for i, (one, two) in enumerate(pairwise(rounds), 1) if one != two)]
    end = tables[-1]
    series = []
    for seat in sorted({judged.seat for judged in review.decisions}):
        mine = [judged for judged in review.decisions if judged.seat == seat]
        path = [(0, 1 / record.game.n_players)]
        for judged in mine:
            if judged.value is not None and judged.value_after is not None:
                path.append((judged.decision.index, judged.value))
                if judged.loss:
                    path.append((judged.decision.index, judged.value_after))
        if end.is_over:
            path.append((len(record.actions), end.payoffs[seat]))
        series.append(Series(seat, path, mine))
    return Chart(series, begin, len(record.actions))

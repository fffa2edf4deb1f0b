"""Write the report of a review: one HTML page that loads nothing from the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from engine_cy import View
from engine_cy.pictures import DARK, LIGHT, SIGNS
from engine_cy.seats import SEATS
from server.games import adapter_of
from server.games.adapter import Picture
from server.games.continuation import Step, told
from server.games.narration import Reader
from server.languages import DEFAULT, words_of
from server.messages.answers import GRADES
from server.report import WORDS
from server.report.chart import Chart, chart_of
from server.report.review import BAD, JudgedDecision, Note, Parts, Review
from solver.named_beliefs import SeatBelief, beliefs_of

# Size and margins of the graph, in units of its view box.
WIDTH, HEIGHT = 960, 330
LEFT, RIGHT, TOP, BOTTOM = 46, 24, 14, 34
LABEL = 15  # least distance between two letters at the right of the graph
KINDS_SHOWN = 5


def write_report(review: Review, language: str = DEFAULT) -> str:
    """Return the HTML page of a review."""
    return write_page(review, list(shown_decisions(review, language)), language)


def write_page(review: Review, decisions: Sequence[ShownDecision], language: str) -> str:
    """Return the HTML page of a review with these decisions: all of `shown_decisions`, whose work takes longer."""
    words, reader = words_of(WORDS, language), Reader(language)
    adapter = adapter_of(review.record.game.id)
    return (
        _environment()
        .get_template("review.html")
        .render(
            language=language,
            say=words.say,
            title=adapter.names.in_language(language),
            unit=adapter.unit,
            in_words=lambda judged, move: judged.in_words(move.action.text, reader),
            told=review.told(reader),
            ruleset=adapter.edition(review.record.game),
            record=str(review.shown),
            occasion=" · ".join(filter(None, (review.record.event, review.record.date))),
            start_notes=review.notes(0, _first(review)),
            is_whole=review.seat is None,
            n_players=review.record.game.n_players,
            n_actions=len(review.record.actions),
            summary=review.summary,
            seats=_seats(review),
            graph=_graph(chart_of(review)),
            rounds=_rounds(decisions),
            grades=SIGNS,
            light=LIGHT,
            dark=DARK,
            worst=sorted((j for j in review.chosen if j.grade in BAD), key=lambda decision: -decision.loss)[:5],
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("server.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = lambda share, digits=0: f"{100 * share:.{digits}f}"
    environment.filters["signed"] = lambda share: f"{100 * share:+.1f}".replace("-", "−")
    return environment


# --- seats ----------------------------------------------------------------------------------------------------


class Bar(NamedTuple):
    """A part of the bar of a seat's share of the win; `left` and `width` are percentages of the scale."""

    name: str
    share: float
    left: float
    width: float


class Seat(NamedTuple):
    letter: str
    name: str
    points: int
    share: float | None  # of the win, at the end
    decisions: int
    counts: dict[str, int]
    lost: Any
    outcome: float | None  # its share of the win, or the one that it expected last
    bars: list[Bar]
    scale: tuple[float, float]


def _seats(review: Review) -> list[Seat]:
    end = review.record.end
    names = review.record.names
    ways = {}  # the parts of each seat: causes, and the shares in between
    for seat in review.summary.seats:
        if seat.HasField("luck_parts"):
            parts = Parts.of(seat, review.record.game.n_players)
            causes = {name: part / 1000 for name, part in parts._asdict().items() if part is not None}
            causes.pop("outcome")
            ways[seat.seat] = (causes, [0.0, *accumulate(causes.values())])
    # One scale for all seats makes their bars comparable.
    low = min([0.0, *(share for _, path in ways.values() for share in path)])
    high = max([1.0, *(share for _, path in ways.values() for share in path)])

    def bar(name: str, share: float, begin: float, to: float) -> Bar:
        left, width = min(begin, to) - low, abs(to - begin)
        return Bar(name, share, 100 * left / (high - low), 100 * width / (high - low))

    seats = []
    for seat in review.summary.seats:
        counts = {GRADES.read(entry.grade, "grade"): entry.count for entry in seat.grades}
        bars = []
        if seat.seat in ways:
            causes, path = ways[seat.seat]
            bars = [bar(name, causes[name], *ends) for name, ends in zip(causes, pairwise(path), strict=True)]
        seats.append(
            Seat(
                letter=SEATS[seat.seat - 1],
                name=names[seat.seat - 1] if names else "",
                points=end.scores[seat.seat - 1],
                share=end.payoffs[seat.seat - 1] if end.is_over else None,
                decisions=seat.decisions,
                counts={grade: counts.get(grade, 0) for grade in SIGNS},
                lost=seat.win_loss,
                outcome=seat.outcome if seat.HasField("outcome") else None,
                bars=bars,
                scale=(100 * (0 - low) / (high - low), 100 * (1 - low) / (high - low)),
            )
        )
    return seats


# --- the graph ------------------------------------------------------------------------------------------------


class Dot(NamedTuple):
    x: float
    y: float
    judged: JudgedDecision
    is_bad: bool


class Line(NamedTuple):
    letter: str
    points: str
    dots: list[Dot]
    label: float  # y of its letter at the right of the graph


class Graph(NamedTuple):
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    lines: list[Line]
    rounds: list[tuple[int, float]]
    levels: list[tuple[int, float]]


def _graph(chart: Chart) -> Graph:
    low, high = chart.scale

    def x(action: float) -> float:
        return round(LEFT + action / max(chart.end, 1) * (WIDTH - LEFT - RIGHT), 1)

    def y(share: float) -> float:
        return round(TOP + (high - share) / (high - low) * (HEIGHT - TOP - BOTTOM), 1)

    labels = _separate([y(series.path[-1][1]) for series in chart.series])
    lines = []
    for series, label in zip(chart.series, labels, strict=True):
        dots = [
            Dot(x(judged.decision.index), y(judged.value_after), judged, judged.grade in BAD)
            for judged in series.decisions
            if judged.value_after is not None and not judged.message.forced
        ]
        points = [(x(action), y(share)) for action, share in series.path]
        lines.append(Line(SEATS[series.seat], " ".join(f"{a},{b}" for a, b in points), dots, label))
    return Graph(
        WIDTH,
        HEIGHT,
        LEFT,
        WIDTH - RIGHT,
        TOP,
        HEIGHT - BOTTOM,
        lines,
        rounds=[(number, x(begin)) for number, begin in enumerate(chart.rounds, 1)],
        levels=[(round(100 * level), y(level)) for level in (low + (high - low) * part / 4 for part in range(5))],
    )


def _separate(heights: list[float]) -> list[float]:
    """Return the heights at least `LABEL` apart, in the same order."""
    moved = dict.fromkeys(range(len(heights)), 0.0)
    last = -LABEL * 1.0
    for i in sorted(range(len(heights)), key=heights.__getitem__):
        last = moved[i] = max(heights[i], last + LABEL)
    too_low = max([last - (HEIGHT - BOTTOM), 0.0]) if heights else 0.0
    # Labels that would leave the graph at the bottom move up.
    return [height - too_low if height > HEIGHT / 2 else height for height in moved.values()]


# --- decisions ------------------------------------------------------------------------------------------------


class CardBelief(NamedTuple):
    """Probabilities of a hidden card, or expected copies in a hand, likeliest kinds first."""

    letter: str
    where: str
    kinds: list[tuple[str, float]]
    others: int


class ShownDecision(NamedTuple):
    """A decision with everything that the page shows of it."""

    judged: JudgedDecision
    picture: Picture
    line: list[Step]
    beliefs: list[CardBelief]
    notes: list[Note]

    @property
    def win(self) -> float | None:
        """The share of the win of the best move, to three digits, as a list and a panel show it."""
        return None if self.judged.value is None else round(self.judged.value, 3)

    @property
    def win_played(self) -> float | None:
        """The share of the win of the move played: that of the best move minus the loss, which another search found."""
        return None if self.win is None else max(self.win - round(self.judged.loss, 3), 0.0)


def _first(review: Review) -> int:
    """Return the number of the first action that is shown as a decision, or a number after all actions."""
    return next((judged.number for judged in review.chosen), len(review.record.actions) + 2)


def shown_decisions(review: Review, language: str) -> Iterator[ShownDecision]:
    """Yield the decisions with a choice, as the page shows them."""
    numbers = [judged.number for judged in review.chosen]
    ends = pairwise([*numbers, len(review.record.actions) + 2])
    for judged, (begin, end) in zip(review.chosen, ends, strict=True):
        view = judged.decision.view
        adapter = adapter_of(view.game.id)
        yield ShownDecision(
            judged,
            adapter.picture(view, language),
            told(adapter, view, judged.message.best.principal_variation, Reader(language)),
            _beliefs(judged, review, language),
            review.notes(begin, end),
        )


def _rounds(decisions: Sequence[ShownDecision]) -> list[tuple[int, list[ShownDecision]]]:
    rounds: dict[int, list[ShownDecision]] = {}
    for shown in decisions:
        rounds.setdefault(shown.judged.round, []).append(shown)
    return list(rounds.items())


def _beliefs(judged: JudgedDecision, review: Review, language: str) -> list[CardBelief]:
    view = judged.decision.view
    beliefs = beliefs_of(view, judged.decision.history, review.config)
    return [part for belief in (beliefs.seats if beliefs else ()) for part in _belief(belief, view, language)]


def _belief(belief: SeatBelief, view: View, language: str) -> list[CardBelief]:
    letter = SEATS[belief.seat]
    rows = []
    for card in belief.cards:
        where = adapter_of(view.game.id).place_of(card.place, language)
        rows.append(_likeliest(letter, where, card.kinds, view, language))
    if belief.hand:
        hand = words_of(WORDS, language).say("report.hand")
        rows.append(_likeliest(letter, hand, belief.hand, view, language))
    return rows


def _likeliest(letter: str, where: str, kinds: dict[str, float], view: View, language: str) -> CardBelief:
    names = adapter_of(view.game.id).kind_names(view.game, language)
    ordered = sorted(kinds.items(), key=lambda kind: -kind[1])
    shown = [(names.get(kind, kind), chance) for kind, chance in ordered[:KINDS_SHOWN]]
    return CardBelief(letter, where, shown, max(len(ordered) - KINDS_SHOWN, 0))

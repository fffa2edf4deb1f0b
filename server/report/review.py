"""The graded decisions of a game, for the table, the graph and the report of a review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from eminence.v1 import solver_pb2 as pb
from engine_cy import Position, View
from engine_cy.annotations import Variation
from engine_cy.record import Record, replay
from engine_cy.seats import CHANCE_SEAT, SEATS
from server.games import adapter_of
from server.games.narration import Reader, shown_cards
from server.messages.answers import GRADES
from solver.config import Config
from solver.review import Decision

BAD = ("inaccuracy", "mistake", "blunder")


@dataclass(frozen=True, slots=True)
class JudgedDecision:
    """A decision and its grade."""

    decision: Decision
    message: pb.ReviewedDecision

    @property
    def seat(self) -> int:
        return self.decision.seat

    @property
    def letter(self) -> str:
        return SEATS[self.decision.seat]

    @property
    def number(self) -> int:
        """The number of the action, from 1."""
        return self.decision.index + 1

    @property
    def round(self) -> int:
        view = self.decision.view
        return adapter_of(view.game.id).round_of(view)

    @property
    def grade(self) -> str:
        return GRADES.read(self.message.grade, "grade")

    @property
    def is_best(self) -> bool:
        """Whether the player chose the best known move."""
        return bool(self.message.played.action.text == self.message.best.action.text)

    @property
    def value(self) -> float | None:
        """The share of the win that the seat could expect; None without a search."""
        return self.message.best.win.mean if self.message.best.HasField("win") else None

    @property
    def loss(self) -> float:
        return self.message.win_loss.mean

    @property
    def value_after(self) -> float | None:
        """The share of the win after the loss; at least 0, although the loss is measured in other worlds."""
        return None if self.value is None else max(self.value - self.loss, 0.0)

    @property
    def luck(self) -> pb.LuckParts | None:
        """The causes of the change since the seat's decision before; None if unknown."""
        return self.message.luck_parts if self.message.HasField("luck_parts") else None

    def in_words(self, notation: str, reader: Reader) -> str:
        """Return a move that the seat could choose, in words."""
        view = self.decision.view
        return adapter_of(view.game.id).choice(view, shown_cards(notation)[0], reader)


class Parts(NamedTuple):
    """The way of a seat from a fair share to its outcome, in tenths of a percent, which add up.

    `opponents` is None in a review of one seat; `hidden` includes them there, and the rounding of all parts.
    """

    fair: int
    chance: int
    opponents: int | None
    hidden: int
    own: int
    outcome: int

    @classmethod
    def of(cls, seat: pb.SeatReview, n_players: int) -> Parts:
        luck = seat.luck_parts
        shares = (1 / n_players, luck.chance, -seat.win_loss.mean, seat.outcome, luck.opponents)
        fair, chance, own, outcome, opponents = (round(1000 * share) for share in shares)
        hidden = outcome - fair - chance - own - opponents
        return cls(fair, chance, opponents if luck.HasField("opponents") else None, hidden, own, outcome)


class Note(NamedTuple):
    """A comment or variation of the record, as text, and its place in words."""

    place: str
    text: str
    is_variation: bool


@dataclass(frozen=True, slots=True)
class Review:
    """A reviewed game; `config` is the configuration of the searches, and `seat` the only one reviewed."""

    record: Record
    decisions: Sequence[JudgedDecision]
    summary: pb.ReviewSummary
    config: Config
    seat: int | None = None

    @property
    def shown(self) -> Record:
        """The record that a report may show: of a review of one seat, the part that this seat saw."""
        if self.seat is None or self.record.observer is not None:
            return self.record
        if self.record.game.has_history:
            return self.record.seen_from(self.seat)
        return Record(self.record.end)

    def notes(self, begin: int, end: int) -> list[Note]:
        """Return the comments on the actions from `begin` to before `end`, and the variations instead of them.

        Actions are numbered from 1; 0 is the start.
        """
        record = self.shown
        tables = list(record.tables())
        notes = []
        for comment in record.comments:
            if begin <= comment.after < end:
                notes.append((comment.after, Note(_place(record, tables, comment.after), comment.text, False)))
        for variation in record.variations:
            if begin <= variation.after + 1 < end:
                number = variation.after + 1
                notes.append((number, Note(f"{number}. instead", _line(variation, tables[variation.after]), True)))
        return [note for _, note in sorted(notes, key=lambda numbered: numbered[0])]

    def told(self, reader: Reader) -> dict[int, str]:
        """Return what each decision led to, as a sentence for its seat, by the number of the action."""
        record = self.record
        tables, adapter = list(record.tables()), adapter_of(record.game.id)
        told = {}
        for judged in self.chosen:
            index = judged.decision.index
            before, seen, after = tables[index], record.actions[index], tables[index + 1]
            if isinstance(before, Position) and isinstance(after, Position):
                if record.game.has_history:
                    seen = before.seen(seen, judged.seat)
                before, after = before.view(judged.seat), after.view(judged.seat)
            told[judged.number] = adapter.narrate(before, seen, after, reader)
        return told

    @property
    def chosen(self) -> list[JudgedDecision]:
        """The decisions with a choice."""
        return [judged for judged in self.decisions if not judged.message.forced]


def _place(record: Record, tables: Sequence[Position | View], after: int) -> str:
    """Return the action that a comment is about, with its number and seat."""
    return f"{after}. {_letter(tables[after - 1])} {record.actions[after - 1]}" if after else "start"


def _line(line: Variation, table: Position | View) -> str:
    """Return a variation as text: comments in braces and variations in brackets, as in chess."""
    comments = dict(line.comments)
    words = []
    for number, table_then in enumerate(replay(table, line.actions)):
        if number in comments:
            words.append(f"{{{comments[number]}}}")
        words += [f"({_line(part, table_then)})" for part in line.variations if part.after == number]
        if number < len(line.actions):
            words.append(f"{_letter(table_then)} {line.actions[number]}" + ";" * (number + 1 < len(line.actions)))
    return " ".join(words)


def _letter(table: Position | View) -> str:
    return CHANCE_SEAT if table.to_act is None or table.to_act < 0 else SEATS[table.to_act]

"""A game of people and engines, with all positions. It leaves this module as `Seen` only: the part that a seat sees.

Chance and the engine depend on the seed and the number of the action alone: if a choice is taken back and made again,
the game repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from engine_cy import CHANCE, Action, Game, Position, Rng, View
from engine_cy.record import Record, read_record
from server.games import adapter_of
from server.refusals import Refusal


class Sitter(NamedTuple):
    """The player of a seat; `level` is the engine's strength, 0 for a person."""

    name: str = ""
    level: int = 0


class Result(NamedTuple):
    """The end of a game, when nothing is secret any more."""

    scores: Sequence[int]
    payoffs: Sequence[float]
    seed: int
    record: Record


class Event(NamedTuple):
    """An action as a seat saw it, between two views of that seat."""

    before: View
    seen: str
    after: View


class Seen(NamedTuple):
    """A table as one seat sees it: seats that cannot tell two tables apart get equal values."""

    seat: int
    version: int
    view: View
    history: Record | None
    legal: Sequence[Action]
    to_act: Sequence[int]
    thinking: int | None
    chosen: str | None
    sitters: Sequence[Sitter]
    may_take_back: bool
    taken_back: int
    deal_known: bool
    result: Result | None
    events: Sequence[Event]


class EngineTurn(NamedTuple):
    """The turn of an engine's seat: the view and the history of that seat, and the seed of its choice."""

    version: int
    level: int
    seed: int
    view: View
    history: Record | None


class _Upcoming(NamedTuple):
    """The position in which a seat chooses, and what that seat sees until then."""

    position: Position
    seen: tuple[str, ...]


@dataclass(slots=True)
class Table:
    """A game in progress. One thread at a time may use it."""

    start: Position
    sitters: Sequence[Sitter]
    seed: int
    deal_known: bool
    actions: list[str] = field(default_factory=list)
    waiting: dict[int, str] = field(default_factory=dict)  # choices of people, before their turn in the game's order
    taken_back: int = 0
    version: int = 0
    _positions: list[Position] = field(default_factory=list)
    _seen: list[tuple[str, ...]] = field(default_factory=list)  # each action as each seat saw it

    def __post_init__(self) -> None:
        actions, self.actions = self.actions, []
        self._positions = [self.start]
        for action in actions:
            self._play(action)

    @property
    def game(self) -> Game:
        return self.start.game

    @property
    def record(self) -> Record:
        """The record of the whole game, with every seat's cards."""
        record = Record(self.start, tuple(self.actions))
        return record.ended() if self._position.is_over else record

    @property
    def is_over(self) -> bool:
        return self._position.is_over

    # --- what a seat sees ---

    def see(self, seat: int) -> Seen:
        position, choosers = self._position, self._choosers()
        upcoming = self._upcoming(seat) if seat in choosers else _Upcoming(position, ())
        view = upcoming.position.view(seat)
        to_act = position.to_act
        thinks = to_act is not None and to_act != CHANCE and self.sitters[to_act].level
        return Seen(
            seat=seat,
            version=self.version,
            view=view,
            history=self._history(seat, upcoming.seen),
            legal=view.legal_actions() if seat in choosers else (),
            to_act=choosers,
            thinking=to_act if thinks else None,
            chosen=self.waiting.get(seat),
            sitters=self.sitters,
            may_take_back=self._taken_back_to(seat) is not None,
            taken_back=self.taken_back,
            deal_known=self.deal_known,
            result=Result(position.scores, position.payoffs, self.seed, self.record) if position.is_over else None,
            events=self._events(seat),
        )

    def record_of(self, seat: int) -> Record:
        """Return the record as a seat saw it; after the end, the whole one."""
        return self.record if self.is_over else self.record.seen_from(seat)

    # --- people ---

    def choose(self, seat: int, version: int, action: Action) -> None:
        """Play a person's choice, or keep it until it is their turn in the game's order."""
        self._check_version(version)
        if self.is_over:
            raise Refusal("GAME_OVER", "", "the game is over")
        if seat not in self._choosers():
            raise Refusal("NOT_TO_ACT", "", "this seat has nothing to choose now")
        view = self._upcoming(seat).position.view(seat)
        if action not in view.legal_actions():
            view.play(action)  # refuses the action, and quotes nothing but the view
            raise Refusal("ILLEGAL_ACTION", "action", f"'{action}' is not legal here")
        if self._position.to_act == seat:
            self._play(str(action))
        else:
            self.waiting[seat] = str(action)

    def take_back(self, seat: int, version: int) -> None:
        """Return to before a person's last choice."""
        self._check_version(version)
        number = self._taken_back_to(seat)
        if number is None:
            why = "this seat has made no choice, a card was shown since, or another person has chosen"
            raise Refusal("NOT_TAKEN_BACK", "", why)
        self.waiting.pop(seat, None)
        del self.actions[number:], self._seen[number:], self._positions[number + 1 :]
        self.version += 1
        self.taken_back += 1

    def _check_version(self, version: int) -> None:
        if version != self.version:
            raise Refusal("TABLE_CHANGED", "version", f"{version} is not the table's version {self.version}")

    def _taken_back_to(self, seat: int) -> int | None:
        """Return the number of actions before a seat's last choice, or None if it cannot be taken back."""
        if seat in self.waiting:
            return len(self.actions)
        for number in range(len(self.actions) - 1, -1, -1):
            if not self.game.has_history or any("=" in seen for seen in self._seen[number]):
                return None
            actor = self._positions[number].to_act
            if actor == seat:
                return number
            if actor is not None and actor != CHANCE and not self.sitters[actor].level:
                return None
        return None

    # --- chance and the engine ---

    def advance(self) -> EngineTurn | None:
        """Play chance, and choices that wait for their turn; return the turn of an engine that must choose next."""
        while (seat := self._position.to_act) is not None:
            rng = Rng(self.seed, 1 + len(self.actions))
            if seat == CHANCE:
                options = self._position.legal_actions()
                self._play(str(options[rng.below(len(options))]))
            elif level := self.sitters[seat].level:
                return EngineTurn(self.version, level, rng.bits(), self._position.view(seat), self._history(seat))
            elif seat in self.waiting:
                self._play(self.waiting.pop(seat))
            else:
                return None
        return None

    def play_engine(self, version: int, action: Action) -> None:
        """Play an engine's choice, unless the table has changed since its turn."""
        if version == self.version:
            self._play(str(action))

    # --- as JSON: for files, and for the processes that run installed games ---

    def row(self) -> dict[str, Any]:
        return {
            "record": str(self.record),
            "sitters": [list(sitter) for sitter in self.sitters],
            "seed": self.seed,
            "deal_known": self.deal_known,
            "waiting": {str(seat): action for seat, action in self.waiting.items()},
            "taken_back": self.taken_back,
            "version": self.version,
        }

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Table:
        """Return the table of a row. Raises the engine's errors, KeyError, TypeError or ValueError."""
        record = read_record(row["record"])
        if not isinstance(record.start, Position):
            raise ValueError("the record is not that of a whole game")
        table = cls(
            record.start,
            [Sitter(name, level) for name, level in row["sitters"]],
            row["seed"],
            row["deal_known"],
            list(record.actions),
            {int(seat): action for seat, action in row["waiting"].items()},
            row["taken_back"],
        )
        table.version = row["version"]
        return table

    # --- inside ---

    @property
    def _position(self) -> Position:
        return self._positions[-1]

    def _play(self, action: str) -> None:
        before = self._position
        after = before.play(action)
        seats = range(self.game.n_players) if self.game.has_history else ()
        self._seen.append(tuple(before.seen(action, seat) for seat in seats))
        self._positions.append(after)
        self.actions.append(action)
        self.version += 1

    def _history(self, seat: int, upcoming: tuple[str, ...] = ()) -> Record | None:
        if not self.game.has_history:
            return None
        return Record(self.start.view(seat), (*(seen[seat] for seen in self._seen), *upcoming))

    def _events(self, seat: int) -> list[Event]:
        """Return what a seat saw since its last choice, which is the first event."""
        if not self.game.has_history:
            return []
        own = (number for number in range(len(self.actions)) if self._positions[number].to_act == seat)
        first = max(own, default=0)
        views = [position.view(seat) for position in self._positions[first:]]
        return [
            Event(before, seen[seat], after)
            for before, seen, after in zip(views, self._seen[first:], views[1:], strict=False)
        ]

    def _choosers(self) -> list[int]:
        """Return the people who have to choose; several where choices are simultaneous."""
        seats = [position.to_act for position in self._turns()]
        return [
            seat
            for seat in seats
            if seat is not None and seat != CHANCE and not self.sitters[seat].level and seat not in self.waiting
        ]

    def _turns(self) -> Iterator[Position]:
        """Yield the position, and those of simultaneous choices that follow it, whatever is chosen before them.

        No seat sees the choices before its own, so any legal ones lead to the same view.
        """
        position, at_once = self._position, adapter_of(self.game.id).is_choice_simultaneous
        yield position
        while at_once(position):
            position = position.play(position.legal_actions()[0])
            if not at_once(position):
                return
            yield position

    def _upcoming(self, seat: int) -> _Upcoming:
        seen: list[str] = []
        for position in self._turns():
            if position.to_act == seat:
                return _Upcoming(position, tuple(seen))
            seen.append(position.seen(position.legal_actions()[0], seat))
        raise AssertionError("the seat has nothing to choose")


def continued(record: Record, sitters: Sequence[Sitter], seed: int) -> Table:
    """Return a table that goes on from a record of a whole game."""
    assert isinstance(record.start, Position)
    return Table(record.start, sitters, seed, deal_known=True, actions=list(replace(record, result=None).actions))

"""A game of one person, or none, and the chooser: all positions, the person's view of them, and the other players."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from engine_cy import CHANCE, Action, Position, Rng, View
from engine_cy.action_log import History
from engine_cy.annotations import Comment
from engine_cy.errors import quoted
from engine_cy.record import Record
from engine_cy.seats import CHANCE_SEAT, SEATS
from server.cli import inputs
from server.cli.exit_codes import Failure
from server.cli.opponents import MoveChooser
from server.cli.options import Observation

PERSON = "me"
# First words of the line of a saved game that holds its seats and seed. As a comment, it leaves the file a record.
_HEADER = "# eminence play "


class SeenMove(NamedTuple):
    """An action, and the tables before and after it, as the person saw them."""

    before: View | Position
    seen: str
    after: View | Position

    @property
    def letter(self) -> str:
        acting = self.before.to_act
        return CHANCE_SEAT if acting is None or acting < 0 else SEATS[acting]


@dataclass(slots=True)
class TableGame:
    """A game in progress; `seats` holds the player of each seat: a configuration or a level, and `me` once at most.

    Without a person, all cards are seen. `annotated` is an earlier record of this game, whose annotations are kept.

    Chance and the other players depend on the seed and the number of the action only. If the person takes a choice
    back and plays it again, the game repeats, with any engine.
    """

    start: Position
    seats: Sequence[str]
    seed: int
    actions: list[str] = field(default_factory=list)
    chooser: MoveChooser = field(default_factory=MoveChooser)
    annotated: Record | None = None
    _positions: list[Position] = field(default_factory=list)

    def __post_init__(self) -> None:
        n_players = self.start.game.n_players
        if len(self.seats) != n_players or self.seats.count(PERSON) > 1:
            why = f"does not name {n_players} players, {PERSON!r} once among them at most"
            raise Failure(f"seats: {quoted(','.join(self.seats))} {why}")
        for name in self.seats:
            if name != PERSON:
                self.chooser.check(name)
        self.go_to(self.actions)

    @property
    def me(self) -> int | None:
        """The seat of the person; None if all seats are played by the chooser."""
        return self.seats.index(PERSON) if PERSON in self.seats else None

    @property
    def names(self) -> Sequence[str]:
        """The names of the seats in the record; the letter of one without a name."""
        names = self.annotated.names if self.annotated else ()
        return [name or letter for name, letter in zip_longest(names, self.start.game.seats, fillvalue="")]

    @property
    def position(self) -> Position:
        """The table with nothing hidden; must not be shown before the end."""
        return self._positions[-1]

    @property
    def view(self) -> View | Position:
        """The table as the person sees it; all of it without a person."""
        return self._seen(self.position)

    def _seen(self, position: Position) -> View | Position:
        return position if self.me is None else position.view(self.me)

    @property
    def observation(self) -> Observation:
        """The view of the person, and what they saw before it."""
        assert self.me is not None
        return self._observe(self.me)

    def _observe(self, seat: int) -> Observation:
        is_followed = self.actions and self.start.game.has_history
        history = History.of(self.record.seen_from(seat)) if is_followed else None
        return Observation(self.position.view(seat), history)

    @property
    def record(self) -> Record:
        """The record of the game, with chance and hidden cards."""
        record = replace(self.annotated or Record(self.start), actions=tuple(self.actions), result=None)
        return record.ended() if self.position.is_over else record

    @property
    def text(self) -> str:
        """The game as a file holds it."""
        return write_game(self)

    def name(self, person: str, event: str) -> None:
        """Name the person, the event and the day in the record; the other players have the names of their levels."""
        record = self.record
        names = [person if seat == self.me else name for seat, name in enumerate(self.seats)]
        self.annotated = replace(
            record,
            names=tuple(names) if person else record.names,
            event=event or record.event,
            date=record.date or date.today().isoformat(),
        )

    def comment(self, text: str) -> None:
        """Add a comment on the last action to the record, below an earlier one."""
        record = self.record
        comments = dict(record.comments)
        earlier = comments.get(len(self.actions))
        comments[len(self.actions)] = text if earlier is None else f"{earlier}\n{text}"
        self.annotated = replace(record, comments=tuple(Comment(*item) for item in sorted(comments.items())))

    def go_to(self, actions: Sequence[str]) -> None:
        """Replace the actions played so far."""
        self.actions = []
        self._positions = [self.start]
        for action in actions:
            self.play(action)
        self.annotated = self.annotated and self.annotated.until(len(self.actions))

    def play(self, action: Action | str) -> SeenMove:
        """Play an action; return it as the person saw it."""
        before = self.position
        after = before.play(action)
        if self.me is None or (before.to_act == self.me and not before.game.has_history):
            seen = str(action)
        elif before.game.has_history:
            seen = before.seen(action, self.me)
        else:
            seen = "?"  # the table shows what the person may know of it
        self._positions.append(after)
        self.actions.append(str(action))
        return SeenMove(self._seen(before), seen, self._seen(after))

    def advance(self) -> Iterator[SeenMove]:
        """Play on until the person has a choice or the game is over; yield each action.

        Chance and the other players act; forced moves of the person are played for them.
        """
        while (acting := self.position.to_act) is not None:
            if acting == self.me:
                options = self.position.legal_actions()
                if len(options) > 1:
                    return
                yield self.play(options[0])
            else:
                yield self.play(self._choose(acting))

    def _choose(self, acting: int) -> Action:
        rng = Rng(self.seed, 1 + len(self.actions))
        if acting == CHANCE:
            options = self.position.legal_actions()
            return options[rng.below(len(options))]
        return self.chooser.choose(self.seats[acting], self._observe(acting), rng.bits())

    def take_back(self) -> bool:
        """Return to the person's last choice; return whether there was one."""
        for number in range(len(self.actions) - 1, -1, -1):
            position = self._positions[number]
            if position.to_act == self.me and len(position.legal_actions()) > 1:
                self.go_to(self.actions[:number])
                return True
        return False


def write_game(game: TableGame) -> str:
    """Return the content of a saved game."""
    return f"{_HEADER}seats {','.join(game.seats)} seed {game.seed}\n{game.record}"


def read_game(
    argument: str, seats: Sequence[str] | None = None, seed: int | None = None, chooser: MoveChooser | None = None
) -> TableGame:
    """Read a saved game, or any complete record; its players come from `seats` or from the file."""
    record = inputs.read_game(argument)
    if not isinstance(record.start, Position):
        raise Failure(
            f"load: {argument} holds the view of {SEATS[record.start.observer]}; a complete record is required"
        )
    header = _read_header(argument)
    if seats is None and "seats" not in header:
        raise Failure(f"seats: {argument} does not name the players; --seats is required, as in me,level-5,level-5")
    if seed is None:
        seed = int(header["seed"]) if header.get("seed", "").isdecimal() else 0
    players = seats or header["seats"].split(",")
    return TableGame(record.start, players, seed, list(record.actions), chooser or MoveChooser(), record)


def _read_header(argument: str) -> dict[str, str]:
    """Read the seats and the seed of a saved game."""
    path = Path(argument)
    first = path.read_text("utf-8").partition("\n")[0] if path.is_file() else ""
    words = first.removeprefix(_HEADER).split() if first.startswith(_HEADER) else []
    return dict(zip(words[::2], words[1::2], strict=False))

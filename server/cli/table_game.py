"""A game at a table where one person sits: the truth, what he sees of it, and those who play against him."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engine_cy import CHANCE, Action, Position, Rng, View
from engine_cy.action_log import History
from engine_cy.record import Record
from engine_cy.seats import CHANCE_SEAT, SEATS
from server.cli import inputs
from server.cli.exit_codes import Failure
from server.cli.opponents import Engine
from server.cli.options import Observation

PERSON = "me"
# What a saved game says of who plays. It is a comment, so that the file is a record like any other.
_SAID = "# eminence play "


@dataclass(slots=True)
class Playing:
    """A game under way. `seats` says who sits where: `me` once, else the name of a configuration.

    Chance and the others' choices follow from the seed and the number of the action: what is taken back comes out the
    same if it is played again, whoever is the engine.
    """

    start: Position
    seats: Sequence[str]
    seed: int
    actions: list[str] = field(default_factory=list)
    engine: Engine = field(default_factory=Engine)
    _positions: list[Position] = field(default_factory=list)

    def __post_init__(self) -> None:
        n_players = self.start.game.n_players
        if len(self.seats) != n_players or self.seats.count(PERSON) != 1:
            why = f"{','.join(self.seats)!r} does not name {PERSON!r} once and others to make {n_players} players"
            raise Failure(f"seats: {why}")
        for name in self.seats:
            if name != PERSON:
                self.engine.check(name)
        self.go_to(self.actions)

    @property
    def me(self) -> int:
        return self.seats.index(PERSON)

    @property
    def position(self) -> Position:
        """The table with nothing hidden: not to be shown before the end."""
        return self._positions[-1]

    @property
    def view(self) -> View:
        """The table as the person sees it."""
        return self.position.view(self.me)

    @property
    def seen(self) -> Observation:
        """The same, and what the person saw on the way there."""
        return self._seen_by(self.me)

    def _seen_by(self, seat: int) -> Observation:
        history = History.of(self.record.seen_from(seat)) if self.actions else None
        return Observation(self.position.view(seat), history)

    @property
    def record(self) -> Record:
        """All that happened, chance and hidden cards included."""
        record = Record(self.start, tuple(self.actions))
        return record.ended() if self.position.is_over else record

    def go_to(self, actions: Sequence[str]) -> None:
        """Have it that these actions were done, and no other."""
        self.actions = []
        self._positions = [self.start]
        for action in actions:
            self.play(action)

    def play(self, action: Action | str) -> str:
        """One action, whosever it is; what the person saw of it, with the letter of who did it."""
        before = self.position
        after = before.play(action)
        acting = before.to_act
        letter = CHANCE_SEAT if acting is None or acting < 0 else SEATS[acting]
        seen = before.seen(action, self.me)
        self._positions.append(after)
        self.actions.append(str(action))
        return f"{letter} {seen}"

    def go_on(self) -> Iterator[str]:
        """Let chance and the others act, and do what the person is forced to, until he has a choice or the game is
        over; what he saw of each action."""
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
        return self.engine.choose(self.seats[acting], self._seen_by(acting), rng.bits())

    def take_back(self) -> bool:
        """Back to the person's last choice; whether there was one."""
        for number in range(len(self.actions) - 1, -1, -1):
            position = self._positions[number]
            if position.to_act == self.me and len(position.legal_actions()) > 1:
                self.go_to(self.actions[:number])
                return True
        return False


def write_game(playing: Playing) -> str:
    """The game as a file."""
    return f"{_SAID}seats {','.join(playing.seats)} seed {playing.seed}\n{playing.record}"


def read_game(
    argument: str, seats: Sequence[str] | None = None, seed: int | None = None, engine: Engine | None = None
) -> Playing:
    """A game from a file: one that was saved, or any whole record if it is said who sits where."""
    record = inputs.read_game(argument)
    if not isinstance(record.start, Position):
        raise Failure(f"load: {argument} is what {SEATS[record.start.observer]} saw, and to go on all must be known")
    said = _who_plays(argument)
    if seats is None and "seats" not in said:
        raise Failure(f"seats: {argument} does not say who plays; say it, as in --seats me,level-5,level-5")
    if seed is None:
        seed = int(said["seed"]) if said.get("seed", "").isdecimal() else 0
    return Playing(record.start, seats or said["seats"].split(","), seed, list(record.actions), engine or Engine())


def _who_plays(argument: str) -> dict[str, str]:
    """What a saved game says of that."""
    path = Path(argument)
    first = path.read_text("utf-8").partition("\n")[0] if path.is_file() else ""
    words = first.removeprefix(_SAID).split() if first.startswith(_SAID) else []
    return dict(zip(words[::2], words[1::2], strict=False))

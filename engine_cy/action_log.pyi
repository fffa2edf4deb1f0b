from collections.abc import Sequence

from engine_cy.record import Record
from engine_cy.values import Action, Game, Position, View

class History:
    """The log of one game: its actions as text, and the evidence that beliefs are computed from.

    The evidence follows from the actions, and holds only facts that a spectator saw.
    """

    # The tables before the first and after the last action; None if unknown.
    start: Position | View | None
    end: Position | View | None

    def __init__(self, game: Game) -> None: ...
    @property
    def game(self) -> Game: ...
    @property
    def actions(self) -> tuple[str, ...]:
        """The actions as text, in the order of play."""

    @property
    def record(self) -> Record:
        """The log as a record. Raises EngineError if the start is unknown."""

    def add(self, table: Position | View, action: Action | str) -> None:
        """Add `action`, the next one played at `table`, a position or a view of it."""

    def copy(self) -> History:
        """Return a copy that later additions to this history do not change."""

    def __bytes__(self) -> bytes:
        """Return the bytes of the evidence: equal for histories that lead to equal beliefs."""

    def __hash__(self) -> int: ...
    @staticmethod
    def of(record: Record) -> History:
        """Make the history of a record by one replay; `end` is the table after its last action."""

def restore(
    game: Game,
    actions: Sequence[str],
    evidence: bytes,
    start: Position | View | None = None,
    end: Position | View | None = None,
) -> History:
    """Make a history from its parts, without a replay; pickle uses it."""

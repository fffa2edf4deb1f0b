from collections.abc import Sequence

from engine_cy.record import Record
from engine_cy.values import Action, Game, Position, View

class History:
    """The log of one game.

    `actions` are the texts that were added. Beliefs use the account alone, which holds nothing that a spectator did not
    see; it follows from the actions.
    """

    # The tables before the first and after the last action, where they are known.
    start: Position | View | None
    end: Position | View | None

    def __init__(self, game: Game) -> None: ...
    @property
    def game(self) -> Game: ...
    @property
    def actions(self) -> tuple[str, ...]:
        """The actions in the order in which they were added, as text."""

    @property
    def record(self) -> Record:
        """The same as a record; only where the start is known."""

    def add(self, table: Position | View, action: Action | str) -> None:
        """Add `action`, which is about to be taken at `table`, a position or a view of it."""

    def copy(self) -> History:
        """Return another history with the same actions."""

    def __bytes__(self) -> bytes:
        """The account: equal for histories from which the same beliefs follow."""

    def __hash__(self) -> int: ...
    @staticmethod
    def of(record: Record) -> History:
        """Replay a record once; `end` is then the table after its last action."""

def restore(
    game: Game,
    actions: Sequence[str],
    account: bytes,
    start: Position | View | None = None,
    end: Position | View | None = None,
) -> History:
    """Return a history from its parts, without a replay."""

from engine_cy.game import Action, Game, Position, View
from engine_cy.record import Record

class History:
    """The account of one game. It holds nothing that a spectator did not see, so it serves every seat."""

    def __init__(self, game: Game) -> None: ...
    @property
    def game(self) -> Game: ...
    @property
    def n_actions(self) -> int: ...
    def add(self, table: Position | View, action: Action | str) -> None:
        """`action` is about to be taken at `table`, a position or anybody's view of it."""

    def copy(self) -> History:
        """Another history with the same account."""

    def __bytes__(self) -> bytes:
        """All that it knows: equal for histories that say the same."""

    def __hash__(self) -> int: ...
    @staticmethod
    def of(record: Record) -> History:
        """The history that a record tells, a seat's or one with nothing hidden."""

def restore(game: Game, n_actions: int, account: bytes) -> History:
    """A history from its game, its number of actions and its bytes."""

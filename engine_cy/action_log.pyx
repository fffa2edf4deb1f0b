# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The log of a game: the actions as they were seen, and what beliefs derive from them."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from engine_cy.values cimport Action, Game, GameState
from engine_cy.game_api cimport CHANCE, NOBODY, SPECTATOR, STATE_WORDS

from engine_cy.errors import EngineError


cdef class History:
    """The log of one game.

    `actions` are the texts that were added. Beliefs use the account alone, which holds nothing that a spectator did not
    see; it follows from the actions.
    """

    def __init__(self, Game game):
        self.game = game
        self.texts = []
        self.start = self.end = None
        memset(&self.account, 0, sizeof(Account))

    @property
    def record(self):
        """The same as a record; only where the start is known."""
        from engine_cy.record import Record

        if self.start is None:
            raise EngineError("history: its start is not known, so it is no record")
        return Record(self.start, self.actions)

    @property
    def actions(self):
        """The actions in the order in which they were added, as text."""
        return tuple(self.texts)

    def add(self, GameState table, action):
        """Add `action`, which is about to be taken at `table`, a position or a view of it."""
        cdef uint64_t view[STATE_WORDS]
        cdef Action taken
        cdef int i, player

        if table.game != self.game:
            raise EngineError(f"table: this is {table.game!r}, and the history is one of {self.game!r}")
        player = self.game.api.to_act(self.game.rules, table.state)
        if player == NOBODY:
            raise EngineError("table: the game is over, so nothing is done")
        written = str(action)
        self.texts.append(written)
        self.end = None
        if player == CHANCE or self.game.knowledge == NULL or self.game.knowledge.tell == NULL:
            return
        # Text of a seat's record may name cards that the action showed.
        text, _, _ = written.partition("=")
        taken = self.game.action(text.strip())
        self.game.api.observe(self.game.rules, table.state, SPECTATOR, view)
        for i in range(taken.n_steps):
            self.game.knowledge.tell(self.game.rules, view, taken.steps[i], &self.account)
            if i + 1 < taken.n_steps:
                self.game.api.apply(self.game.rules, view, taken.steps[i])

    def copy(self):
        """Return another history with the same actions."""
        return restore(self.game, self.texts, bytes(self), self.start, self.end)

    def __bytes__(self):
        """The account: equal for histories from which the same beliefs follow."""
        return (<char*>&self.account)[:sizeof(Account)]

    def __eq__(self, other):
        return isinstance(other, History) and self.game == other.game and self.texts == (<History>other).texts \
            and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    def __reduce__(self):
        return restore, (self.game, self.texts, bytes(self), self.start, self.end)

    @staticmethod
    def of(record):
        """Replay a record once; `end` is then the table after its last action."""
        cdef History history = History(record.game)

        tables = record.tables()
        history.start = table = next(tables)
        for action in record.actions:
            history.add(table, action)
            table = next(tables)
        # The record checks its result after the last table.
        next(tables, None)
        history.end = table
        return history


def restore(Game game, actions, bytes account, start=None, end=None):
    """Return a history from its parts, without a replay."""
    cdef History history = History(game)

    if len(account) != sizeof(Account):
        raise EngineError(f"bytes: {len(account)} bytes are no history, which has {sizeof(Account)}")
    history.texts = list(actions)
    history.start = start
    history.end = end
    memcpy(&history.account, <const char*>account, sizeof(Account))
    return history

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What was done in a game, as everybody saw it: what beliefs about hidden cards can rest on."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from engine_cy.game cimport Action, Game, Table
from engine_cy.game_api cimport CHANCE, NOBODY, SPECTATOR, STATE_WORDS

from engine_cy.errors import EngineError


cdef class History:
    """The account of one game. It holds nothing that a spectator did not see, so it serves every seat."""

    def __init__(self, Game game):
        self.game = game
        memset(&self.account, 0, sizeof(Account))

    def add(self, Table table, action):
        """`action` is about to be taken at `table`, a position or anybody's view of it."""
        cdef uint64_t view[STATE_WORDS]
        cdef Action taken
        cdef int i, player

        if table.game != self.game:
            raise EngineError(f"table: this is {table.game!r}, and the history is one of {self.game!r}")
        player = self.game.api.to_act(self.game.rules, table.state)
        if player == NOBODY:
            raise EngineError("table: the game is over, so nothing is done")
        self.n_actions += 1
        if player == CHANCE or self.game.knowledge == NULL or self.game.knowledge.tell == NULL:
            return
        # Text of a seat's record may name cards that the action showed.
        text, _, _ = str(action).partition("=")
        taken = self.game.action(text.strip())
        self.game.api.observe(self.game.rules, table.state, SPECTATOR, view)
        for i in range(taken.n_steps):
            self.game.knowledge.tell(self.game.rules, view, taken.steps[i], &self.account)
            if i + 1 < taken.n_steps:
                self.game.api.apply(self.game.rules, view, taken.steps[i])

    def copy(self):
        """Another history with the same account."""
        cdef History other = History(self.game)

        other.n_actions = self.n_actions
        memcpy(&other.account, &self.account, sizeof(Account))
        return other

    def __bytes__(self):
        """All that it knows: equal for histories that say the same."""
        return (<char*>&self.account)[:sizeof(Account)]

    def __eq__(self, other):
        return isinstance(other, History) and self.game == other.game and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    def __reduce__(self):
        return restore, (self.game, self.n_actions, bytes(self))

    @staticmethod
    def of(record):
        """The history that a record tells, a seat's or one with nothing hidden."""
        history = History(record.game)
        for table, action in zip(record.tables(), record.actions):
            history.add(table, action)
        return history


def restore(Game game, int n_actions, bytes account):
    """A history from what it was pickled as."""
    cdef History history = History(game)

    if len(account) != sizeof(Account):
        raise EngineError(f"bytes: {len(account)} bytes are no history, which has {sizeof(Account)}")
    history.n_actions = n_actions
    memcpy(&history.account, <const char*>account, sizeof(Account))
    return history

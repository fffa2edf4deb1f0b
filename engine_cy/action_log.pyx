# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The log of a game: the actions as the players saw them, and the statistics that beliefs read."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy, memset

from engine_cy.values cimport Action, Game, GameState
from engine_cy.game_api cimport CHANCE, GAME_OVER, SPECTATOR, STATE_WORDS

from engine_cy.errors import EngineError


cdef class History:
    """The log of one game: its actions as text, and the evidence that beliefs are computed from.

    The evidence follows from the actions, and holds only facts that a spectator saw.
    """

    def __init__(self, Game game):
        self.game = game
        self.texts = []
        self.start = self.end = None
        memset(&self.evidence, 0, sizeof(ActionEvidence))

    @property
    def record(self):
        """The log as a record. Raises EngineError if the start is unknown."""
        from engine_cy.record import Record

        if self.start is None:
            raise EngineError("history: has no start table, which a record needs")
        return Record(self.start, self.actions)

    @property
    def actions(self):
        """The actions as text, in the order of play."""
        return tuple(self.texts)

    def add(self, GameState table, action):
        """Add `action`, the next one played at `table`, a position or a view of it."""
        cdef uint64_t view[STATE_WORDS]
        cdef Action taken
        cdef int i, player

        if table.game != self.game:
            raise EngineError(f"table: is of {table.game!r}, but the history is of {self.game!r}")
        player = self.game.api.to_act(self.game.rules, table.state)
        if player == GAME_OVER:
            raise EngineError("table: the game is over, so it has no next action")
        text = str(action)
        self.texts.append(text)
        self.end = None
        if player == CHANCE or self.game.knowledge == NULL or self.game.knowledge.log_action == NULL:
            return
        # In the record of a seat, the text may name the cards that the action showed: `reveal = Heir`.
        taken = self.game.action(text.partition("=")[0].strip())
        self.game.api.observe(self.game.rules, table.state, SPECTATOR, view)
        for i in range(taken.n_steps):
            self.game.knowledge.log_action(self.game.rules, view, taken.steps[i], &self.evidence)
            if i + 1 < taken.n_steps:
                self.game.api.apply(self.game.rules, view, taken.steps[i])

    def copy(self):
        """Return a copy that later additions to this history do not change."""
        return restore(self.game, self.texts, bytes(self), self.start, self.end)

    def __bytes__(self):
        """Return the bytes of the evidence: equal for histories that lead to equal beliefs."""
        return (<char*>&self.evidence)[:sizeof(ActionEvidence)]

    def __eq__(self, other):
        return isinstance(other, History) and self.game == other.game and self.texts == (<History>other).texts \
            and bytes(self) == bytes(other)

    def __hash__(self):
        return hash(bytes(self))

    def __reduce__(self):
        return restore, (self.game, self.texts, bytes(self), self.start, self.end)

    @staticmethod
    def of(record):
        """Make the history of a record by one replay; `end` is the table after its last action."""
        cdef History history = History(record.game)

        tables = record.tables()
        history.start = table = next(tables)
        for action in record.actions:
            history.add(table, action)
            table = next(tables)
        # Only now does the record check its result.
        next(tables, None)
        history.end = table
        return history


def restore(Game game, actions, bytes evidence, start=None, end=None):
    """Make a history from its parts, without a replay; pickle uses it."""
    cdef History history = History(game)

    if len(evidence) != sizeof(ActionEvidence):
        raise EngineError(f"bytes: {len(evidence)} bytes are not the evidence of a log: {sizeof(ActionEvidence)} bytes")
    history.texts = list(actions)
    history.start = start
    history.end = end
    memcpy(&history.evidence, <const char*>evidence, sizeof(ActionEvidence))
    return history

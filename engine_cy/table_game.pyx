# cython: language_level=3, boundscheck=False, wraparound=False
"""A game whose tables in words are dataclasses: each method asks the game's own modules.

A subclass sets the attributes, and defines `pack`, which writes a table as bytes, and `parts_of`, which reads it back.
"""
from engine_cy.faults cimport Breaches
from engine_cy.values cimport Action, Game, GameState

from engine_cy.values import read_seat


cdef class TableGame(Game):
    """A game with a shape, declared actions, and tables that split into a public part and the secrets of each seat."""

    def parts_of(self, bytes state, observer):
        """Return the table of a state in words; for an observer, as they see it."""
        raise NotImplementedError

    # --- faults ---

    cdef const char* fault(self, const void* state, int observer) noexcept:
        cdef Breaches breaches

        self.find_faults(self.rules, state, observer, &breaches)
        if breaches.n == 0:
            return NULL
        return b"state: breaks a rule"

    cdef object error_for(self, const void* state, int observer):
        cdef Breaches breaches

        self.find_faults(self.rules, state, observer, &breaches)
        return self.worded(&breaches, None)[0].refusal(None if observer < 0 else observer)

    cdef list worded(self, const Breaches* breaches, parts):
        """Return the faults of a table, or of bytes if it is None."""
        cdef int i

        return [
            self.fault_of(self.rule_names[breaches.found[i].rule], breaches.found[i].at, breaches.found[i].index,
                          breaches.found[i].value, breaches.found[i].bound, self.shape, parts)
            for i in range(breaches.n)
        ]

    # --- deals ---

    def from_deal(self, deal):
        """Return the start of a game from its `Deal`."""
        return self.from_parts(self.tables.dealt(deal, self.shape))

    def deal_of(self, GameState start):
        """Return the `Deal` of the game that starts at `start`; None in the middle of a game."""
        return self.notation.deal_of(start.parts, self.shape)

    def read_deal(self, list lines, int first, observer):
        return self.from_parts(self.notation.read_deal(lines, read_seat(first, self.n_players, "first"), observer,
                                                       self.shape))

    def write_deal(self, GameState start):
        return self.notation.write_deal(start.parts, self.shape)

    # --- tables ---

    def complete(self, parts):
        return self.tables.complete(parts, self.shape)

    def describe(self, GameState at):
        return self.parts_of(bytes(at), getattr(at, "observer", None))

    def read_text(self, str text):
        parts = self.notation.read_parts(text, self.shape)
        return parts.observer, self.pack_parts(parts)

    def write_state(self, bytes state, observer):
        return self.notation.write_parts(self.parts_of(state, observer), self.shape)

    # --- actions ---

    def read_steps(self, str text):
        return self.actions.pack(self.actions.read(text, self.shape), self.shape)

    def pack_fields(self, dict fields):
        return self.actions.pack(fields, self.shape)

    def write_steps(self, tuple steps):
        return self.actions.write(self.actions.unpack(steps, self.shape), self.shape)

    def step_fields(self, tuple steps):
        return self.actions.unpack(steps, self.shape)

    def explain_illegal(self, GameState at, Action action, list legal):
        fields = [possible.fields for possible in legal]
        return self.notation.explain_illegal(at.parts, action.fields, fields, self.shape)

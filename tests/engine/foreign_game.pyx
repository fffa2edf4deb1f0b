# cython: language_level=3
"""A game whose package was built with other headers, or that has states of an impossible size."""
from engine_cy.game_api cimport GameApi, begin_interface
from engine_cy.values cimport Game


cdef class ForeignGame(Game):
    """A game without functions: calling one would end the process. The ruleset names its fault."""

    cdef GameApi table

    def __init__(self, str game, ruleset, players):
        self.id = game
        self.n_players = players
        self.spec = (game, ruleset, players)
        self.api = &self.table
        begin_interface(&self.table, 8 if ruleset == "size" else 1024 if ruleset == "large" else 16)
        self.table.version += ruleset == "version"
        self.table.api_size -= 8 * (ruleset == "shorter")
        self.table.knowledge_size += 8 * (ruleset == "longer")
        if ruleset == "none":
            self.api = NULL

"""What other compiled modules may ask of the game."""
from engine_cy.castle_village_port.state cimport State
from engine_cy.game cimport Game
from engine_cy.game_api cimport action_t


cdef class CastleVillagePort(Game):
    cdef readonly object frame

    cdef list drawn(self, const State* state, action_t taken, int player)
    cdef check_possible(self, const State* state, int observer, int player, list values, str text)
    cdef fill(self, State* state, table)
    cdef fill_turn(self, State* state, table)

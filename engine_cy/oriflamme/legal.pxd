from engine_cy.game_api cimport action_t
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport State


# List what may be done, and return how much it is.
cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil

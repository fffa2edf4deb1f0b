from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport State
from engine_cy.game_api cimport Knowledge, action_t

cdef Knowledge KNOWLEDGE

# Return whether the weights apply to tables with these rules.
cdef bint fits(const Rules* rules) noexcept nogil

# Compute the preferences of actions; the prior is their softmax.
cdef void preferences_of(const Rules* rules, const State* state, const action_t* actions, int n,
                         float* preferences) noexcept nogil

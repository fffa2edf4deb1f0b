from engine_cy.game_api cimport Knowledge, action_t
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport State

cdef enum:
    OPTIONS_MAX = 320   # ten kinds at thirty-two places
    N_SETS = 8          # sets of weights, by game and number of players

cdef Knowledge KNOWLEDGE


cdef inline int set_of(const Rules* rules) noexcept nogil:
    """Return the index of the set of weights."""
    return 4 * rules.eye + min(rules.n_players, 5) - 2


# Write the preference of each action; the prior is their softmax.
cdef void preferences_of(const Rules* rules, const State* state, const action_t* actions, int n,
                         float* preferences) noexcept nogil

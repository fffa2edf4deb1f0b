from engine_cy.game_api cimport action_t
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport State
from engine_cy.support.rng cimport rng_t


cdef void clear(const Rules* rules, State* state, int first) noexcept nogil
# List what may be done, and return how much it is.
cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil
cdef void apply(const Rules* rules, State* state, action_t action) noexcept nogil
# The shares of the win, once the game is over.
cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil
cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil
# Walk the cursor on to the next question, or to the end of the round.
cdef void resolve(const Rules* rules, State* state) noexcept nogil

from engine_cy.game_api cimport action_t
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport State
from engine_cy.support.rng cimport rng_t


# Write an empty table before the first placement, with empty hands.
cdef void clear(const Rules* rules, State* state, int first) noexcept nogil
# Write the legal actions of the player to act; return their number.
cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil
cdef void apply(const Rules* rules, State* state, action_t action) noexcept nogil
# Write the shares of the win, once the game is over.
cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil
# Play to the end at random; return the number of decisions with two options or more.
cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil
# Move the cursor to the next question, or to the end of the round.
cdef void resolve(const Rules* rules, State* state) noexcept nogil

from libc.stdint cimport int8_t, uint8_t

from engine_cy.game_api cimport GAME_OVER
from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.words cimport MOVES, NO_CARD, ROUNDS


cdef struct State:
    uint8_t cards[2]                # of each seat
    uint8_t public_card
    uint8_t first                   # the seat that starts each round of betting
    uint8_t moves[ROUNDS][MOVES]    # in the order of play; then NO_MOVE
    uint8_t stakes[2]               # chips each seat has put in
    uint8_t raises                  # in this round
    int8_t to_act                   # a seat, CHANCE or `GAME_OVER`


cdef inline int round_of(const State* state) noexcept nogil:
    """Return the round of betting, from 0."""
    return state.public_card != NO_CARD


cdef inline bint owes(const State* state) noexcept nogil:
    """Return whether the seat to act has a bet to call."""
    return state.stakes[state.to_act] < state.stakes[1 - state.to_act]


cdef inline bint is_dealt(const State* state, int card) noexcept nogil:
    return card == state.cards[0] or card == state.cards[1] or card == state.public_card


cdef inline bint is_showdown(const State* state) noexcept nogil:
    """Return whether the game ended without a fold. A player who folds has the smaller stake."""
    return state.to_act == GAME_OVER and state.stakes[0] == state.stakes[1]


cdef inline bint is_secret(const State* state, int seat) noexcept nogil:
    """Return whether `seat` has a card that the opponent does not see. Only a showdown turns the cards up."""
    return state.cards[seat] != NO_CARD and not is_showdown(state)


# Return the first invariant that `state`, any bytes, violates, or NULL. `observer`: of a view, or -1.
cdef const char* state_fault(const Rules* rules, const State* state, int observer) noexcept nogil

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Everything that the player to act may do.

Random play asks this for no placement. That the list of those stands in a file of its own, keeps the compiled code of
random play as it is.
"""
from libc.stdint cimport uint8_t, uint32_t

from engine_cy.game_api cimport action_t
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport UNKNOWN_HAND, State, owned
from engine_cy.oriflamme.turn cimport legal_choices
from engine_cy.oriflamme.vocab cimport ASK_PLACE, BACK, N_KINDS, ON, UNKNOWN_KIND, VERB_PLACE

cdef extern from *:
    int lowest_bit "__builtin_ctz" (uint32_t bits) noexcept nogil


cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil:
    cdef uint8_t places[2 * 32]
    cdef uint32_t kinds
    cdef action_t placement
    cdef int n_places, i
    cdef int n = 0

    if state.ask != ASK_PLACE:
        return legal_choices(rules, state, actions)
    n_places = legal_places(rules, state, places)
    kinds = state.hands[state.to_act] & ((1 << N_KINDS) - 1)
    if state.hands[state.to_act] == UNKNOWN_HAND:
        # In a view: what its observer may see another do.
        kinds = 1 << UNKNOWN_KIND
    while kinds:
        placement = VERB_PLACE << 16 | lowest_bit(kinds) << 8
        kinds &= kinds - 1
        for i in range(n_places):
            actions[n] = placement | places[i]
            n += 1
    return n


cdef inline int legal_places(const Rules* rules, const State* state, uint8_t* places) noexcept nogil:
    """Where the player to act may put a card from hand."""
    cdef int n = 1
    cdef int slot

    places[0] = 0
    if state.n_slots:
        places[1] = BACK
        n = 2
    for slot in range(state.n_slots):
        places[n] = <uint8_t>(ON | slot)
        n += owned(rules, state, slot, state.to_act)
    return n

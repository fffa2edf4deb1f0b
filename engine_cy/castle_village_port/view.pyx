# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The view of a player. Only this module decides what is hidden."""
from libc.stdint cimport uint64_t
from libc.string cimport memset

from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport NO_CARD, NOT_SHOWN, UNKNOWN_HAND, State
from engine_cy.castle_village_port.words cimport UNKNOWN
from engine_cy.support.state_copy cimport copy_state
from engine_cy.game_api cimport MAX_PLAYERS
from engine_cy.support.hashing cimport hash_bytes


cdef void observe(const Rules* rules, const State* state, int observer, State* view) noexcept nogil:
    """Write `state` without the cards hidden from `observer`: others' hands and selected cards, and all decks.

    Only the victim of a Courtesan sees the new card selected and the old one in hand. Gold stays, even if a display
    hides that of others: every gain was public.
    """
    cdef int player

    copy_state(view, state, sizeof(State))
    memset(view.decks, UNKNOWN, sizeof(view.decks))
    for player in range(MAX_PLAYERS):
        if player != observer and player < rules.n_players:
            view.hands[player] = UNKNOWN_HAND
            if view.selected[player] != NO_CARD:
                view.selected[player] = NOT_SHOWN


cdef uint64_t key(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef State view

    observe(rules, state, observer, &view)
    return hash_bytes(&view, sizeof(State), observer)

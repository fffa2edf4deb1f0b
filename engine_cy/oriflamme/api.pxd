"""What other compiled modules may ask of Oriflamme's game."""
from libc.stdint cimport uint8_t, uint32_t

from engine_cy.game cimport Game, View
from engine_cy.game_api cimport MAX_PLAYERS
from engine_cy.oriflamme.state cimport State
from engine_cy.oriflamme.vocab cimport MAX_PLAYED, N_KINDS

cdef enum:
    HELD_MAX = 2 * N_KINDS        # cards in a hand or a pile
    UNSAID = 255                  # no player, cursor or kind


cdef struct SaidCard:
    uint8_t slot
    uint8_t family
    uint8_t kind                  # its row in `cards`; UNSAID: the observer does not know it
    uint8_t face_up
    uint8_t tokens
    uint8_t nth                   # which of its family's cards it is, from 1


# A view that is said in numbers. Whoever fills it in keeps within the arrays; all else may be wrong.
cdef struct Said:
    uint8_t observer
    uint8_t ask                   # one of ASK_
    uint8_t round
    uint8_t first
    uint8_t to_act                # UNSAID: nobody
    uint8_t cursor                # UNSAID: none
    uint8_t acting                # UNSAID: the card at the cursor, or none
    uint8_t n_points
    uint8_t points[MAX_PLAYERS]
    uint8_t n_cards
    SaidCard cards[MAX_PLAYED]    # of the queue, in a slot from the top down
    uint8_t n_hand
    uint8_t hand[HELD_MAX]
    uint8_t n_piles
    uint8_t n_pile[MAX_PLAYERS]
    uint8_t piles[MAX_PLAYERS][HELD_MAX]
    uint8_t n_hand_sizes          # none need be said
    uint8_t hand_sizes[MAX_PLAYERS]


cdef class Oriflamme(Game):
    cdef readonly tuple cards
    cdef readonly object frame

    # None where it is not a view, or leaves anything out. What is wrong then, `from_table` says.
    cdef View view_as_said(self, const Said* said)
    # Where a card lies in the queue: its slot, and how many cards cover it.
    cdef bint find(self, const State* state, int card_id, int* slot, int* depth) noexcept
    cdef int kind(self, name) except -1
    cdef uint32_t packed_hand(self, kinds) except? 0
    cdef kinds_in(self, uint32_t hand)
    cdef name(self, int kind)
    cdef fill(self, State* state, table)
    cdef list shown_ids(self, const State* state, tuple steps)

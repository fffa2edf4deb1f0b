# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Views: the only module that decides what is hidden."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from engine_cy.support.state_copy cimport copy_state
from engine_cy.support.hashing cimport finish_hash, fold_bytes
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, FAMILY, MASKED, UNKNOWN_HAND, State


cdef inline void mask_cards(const uint8_t* cards, int observer, uint8_t* seen) noexcept nogil:
    """Copy the cards to `seen`, and mask the kinds of other players' face-down cards."""
    cdef uint8_t own = <uint8_t>(observer << 4)
    cdef uint8_t card
    cdef int i

    for i in range(32):
        card = cards[i]
        seen[i] = card | <uint8_t>(MASKED * ((card & FACE_UP == 0) & (card & FAMILY != own)))


cdef inline uint32_t seen_hand(const Rules* rules, const State* state, int player, int observer) noexcept nogil:
    """Return the hand of `player` if the observer sees it, else UNKNOWN_HAND.

    The cards set aside need no mask: a state does not contain them. They are the cards in neither hand, queue nor pile.
    """
    return UNKNOWN_HAND if player != observer and player < rules.n_players else state.hands[player]


cdef void observe(const Rules* rules, const State* state, int observer, State* view) noexcept nogil:
    """Copy `state` to `view`, and mask all facts that `observer` does not see."""
    cdef int player

    copy_state(view, state, sizeof(State))
    mask_cards(state.cards, observer, view.cards)
    for player in range(rules.n_players):
        view.hands[player] = seen_hand(rules, state, player, observer)


cdef uint64_t key(const Rules* rules, const State* state, int observer) noexcept nogil:
    """Return the hash of the view, of which only the parts with masked fields are copied."""
    cdef uint8_t cards[32]
    cdef uint64_t tail[8]                       # from the hands to the end
    cdef size_t to_cards = sizeof(state.tops)
    cdef size_t to_below = to_cards + sizeof(state.cards)
    cdef size_t to_tail = sizeof(State) - sizeof(tail)
    cdef uint64_t sum
    cdef int i

    mask_cards(state.cards, observer, cards)
    memcpy(tail, state.hands, sizeof(tail))
    # Write pairs of hands, as the hash reads them: a wide read after narrow writes stalls (no store forwarding).
    for i in range(2):
        tail[i] = (seen_hand(rules, state, 2 * i, observer)
                   | <uint64_t>seen_hand(rules, state, 2 * i + 1, observer) << 32)
    tail[2] = seen_hand(rules, state, 4, observer) | <uint64_t>state.piles[0] << 32
    sum = fold_bytes(state.tops, to_cards, 0)
    sum += fold_bytes(cards, sizeof(cards), to_cards)
    sum += fold_bytes(state.below, to_tail - to_below, to_below)
    sum += fold_bytes(tail, sizeof(tail), to_tail)
    return finish_hash(sum, sizeof(State), observer)

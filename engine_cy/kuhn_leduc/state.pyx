# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The invariants of a state."""
from libc.stdint cimport uint8_t
from libc.string cimport memcmp

from engine_cy.game_api cimport CHANCE, action_t
from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.state cimport State, is_secret
from engine_cy.kuhn_leduc.turn cimport bet, clear, deal_card, legal_actions
from engine_cy.kuhn_leduc.words cimport DEAL, MOVES, NO_CARD, NO_MOVE, OPTIONS, ROUNDS, UNKNOWN_CARD


cdef bint is_legal(const Rules* rules, const State* state, action_t action) noexcept nogil:
    cdef action_t actions[OPTIONS]
    cdef int n = legal_actions(rules, state, actions)
    cdef int i

    for i in range(n):
        if actions[i] == action:
            return True
    return False


cdef uint8_t next_card(const State* state, const State* so_far) noexcept nogil:
    """Return the card of `state` that chance deals next at `so_far`, or NO_CARD."""
    if so_far.cards[0] == NO_CARD:
        return state.cards[0]
    elif so_far.cards[1] == NO_CARD:
        return state.cards[1]
    return state.public_card


cdef const char* card_fault(const Rules* rules, const State* state) noexcept nogil:
    cdef int seat

    for seat in range(2):
        if state.cards[seat] > rules.n_cards and state.cards[seat] != UNKNOWN_CARD:
            return b"cards: no such card"
    if state.public_card > rules.n_cards:
        return b"public_card: no such card"
    if state.cards[0] != NO_CARD and state.cards[0] != UNKNOWN_CARD and state.cards[0] == state.cards[1]:
        return b"cards: both players have the same card"
    if state.public_card != NO_CARD and (
            state.public_card == state.cards[0] or state.public_card == state.cards[1]):
        return b"public_card: a player has this card"
    return NULL


cdef const char* course_fault(const Rules* rules, const State* state) noexcept nogil:
    """Replay the cards and moves of a state, from which all of its bytes follow."""
    cdef State replayed
    cdef int round, i
    cdef uint8_t move

    clear(&replayed, state.first)
    for round in range(ROUNDS):
        while replayed.to_act == CHANCE and next_card(state, &replayed) != NO_CARD:
            deal_card(&replayed, next_card(state, &replayed))
        for i in range(MOVES):
            move = state.moves[round][i]
            if move == NO_MOVE:
                break
            if move >= DEAL or replayed.to_act < 0 or not is_legal(rules, &replayed, move):
                return b"moves: an illegal move"
            bet(rules, &replayed, move)
    if memcmp(replayed.cards, state.cards, sizeof(state.cards)):
        return b"cards: dealt out of turn"
    if replayed.public_card != state.public_card:
        return b"public_card: dealt too early"
    if memcmp(replayed.moves, state.moves, sizeof(state.moves)):
        return b"moves: made out of turn"
    if memcmp(replayed.stakes, state.stakes, sizeof(state.stakes)):
        return b"stakes: do not follow from the moves"
    if replayed.raises != state.raises:
        return b"raises: not the number of raises in this round"
    if replayed.to_act != state.to_act:
        return b"to_act: not the seat to act"
    return NULL


cdef const char* sight_fault(const State* state, int observer) noexcept nogil:
    """Check that the unknown cards are exactly those that the observer, if any, does not see."""
    cdef bint hidden
    cdef int seat

    for seat in range(2):
        hidden = observer >= 0 and seat != observer and is_secret(state, seat)
        if hidden and state.cards[seat] != UNKNOWN_CARD:
            return b"cards: the observer does not see this card"
        if not hidden and state.cards[seat] == UNKNOWN_CARD:
            return b"cards: this card cannot be unknown here"
    return NULL


cdef const char* state_fault(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef const char* fault

    if state.first > 1:
        return b"first: no such seat"
    fault = card_fault(rules, state)
    if fault == NULL:
        fault = course_fault(rules, state)
    if fault == NULL:
        fault = sight_fault(state, observer)
    return fault

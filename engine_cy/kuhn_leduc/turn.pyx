# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The course of a game: chance deals, the players bet, the stakes are paid."""
from libc.stdint cimport int8_t, int32_t, uint8_t
from libc.string cimport memset

from engine_cy.game_api cimport CHANCE, GAME_OVER, action_t
from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.state cimport State, is_dealt, owes, round_of
from engine_cy.kuhn_leduc.words cimport (
    ANTE, BET, CALL, DEAL, FOLD, NO_CARD, NO_MOVE, OPTIONS, PASS, RAISE,
)
from engine_cy.support.rng cimport below, rng_t


cdef void clear(State* state, int first) noexcept nogil:
    """Write the table before the first card is dealt."""
    memset(state, 0, sizeof(State))
    state.first = <uint8_t>first
    state.stakes[0] = ANTE
    state.stakes[1] = ANTE
    state.to_act = CHANCE


cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil:
    cdef int n = 0
    cdef int card

    if state.to_act == GAME_OVER:
        return 0
    elif state.to_act == CHANCE:
        for card in range(1, rules.n_cards + 1):
            if not is_dealt(state, card):
                actions[n] = DEAL | card
                n += 1
        return n
    elif rules.pass_or_bet:
        actions[0] = PASS
        actions[1] = BET
        return 2
    if owes(state):
        actions[n] = FOLD
        n += 1
    actions[n] = CALL
    n += 1
    if state.raises < rules.raises_max:
        actions[n] = RAISE
        n += 1
    return n


cdef void apply(const Rules* rules, State* state, action_t action) noexcept nogil:
    if action >= DEAL:
        deal_card(state, <uint8_t>(action - DEAL))
    else:
        bet(rules, state, <uint8_t>action)


cdef void deal_card(State* state, uint8_t card) noexcept nogil:
    """Deal `card` to the next place without a card: seat A, seat B, or face up for both."""
    if state.cards[0] == NO_CARD:
        state.cards[0] = card
        return
    elif state.cards[1] == NO_CARD:
        state.cards[1] = card
    else:
        state.public_card = card
    state.to_act = <int8_t>state.first


cdef void bet(const Rules* rules, State* state, uint8_t move) noexcept nogil:
    cdef int round = round_of(state)
    cdef int me = state.to_act
    cdef int other = 1 - me
    cdef bint owed = owes(state)
    cdef int n = 0

    while state.moves[round][n] != NO_MOVE:
        n += 1
    state.moves[round][n] = move
    if move == PASS:
        move = FOLD if owed else CALL
    elif move == BET:
        move = CALL if owed else RAISE

    if move == FOLD:
        state.to_act = GAME_OVER
        return
    state.stakes[me] = state.stakes[other]
    if move == RAISE:
        state.stakes[me] += rules.raise_sizes[round]
        state.raises += 1
        state.to_act = <int8_t>other
    elif owed or me != state.first:
        state.raises = 0
        state.to_act = CHANCE if round + 1 < rules.n_rounds else GAME_OVER
    else:
        state.to_act = <int8_t>other


cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    cdef action_t actions[OPTIONS]
    cdef int decisions = 0
    cdef int n

    while state.to_act != GAME_OVER:
        n = legal_actions(rules, state, actions)
        decisions += state.to_act != CHANCE and n > 1
        apply(rules, state, actions[below(rng, n)])
    return decisions


cdef inline int strength(const Rules* rules, const State* state, int seat) noexcept nogil:
    cdef int rank = (state.cards[seat] - 1) // rules.suits

    if state.public_card != NO_CARD and rank == (state.public_card - 1) // rules.suits:
        return rank + rules.n_cards
    return rank


cdef void scores(const Rules* rules, const State* state, int32_t* per_seat) noexcept nogil:
    """Write the chips won or lost. Until the end, each stake counts as lost."""
    cdef int lead = state.stakes[0] - state.stakes[1]
    cdef int seat

    for seat in range(2):
        per_seat[seat] = -state.stakes[seat]
    if state.to_act == GAME_OVER:
        if lead == 0:
            lead = strength(rules, state, 0) - strength(rules, state, 1)
        if lead == 0:
            per_seat[0] = per_seat[1] = 0
        else:
            seat = lead < 0     # the winner
            per_seat[seat] = state.stakes[1 - seat]


cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil:
    cdef int32_t chips[2]
    cdef int seat

    scores(rules, state, chips)
    for seat in range(2):
        per_seat[seat] = chips[seat]

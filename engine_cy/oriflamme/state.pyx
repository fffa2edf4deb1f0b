# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Validation of states: the invariants of every table."""
from libc.stdint cimport uint8_t, uint32_t

from engine_cy.oriflamme.effects cimport reaches_any
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport (
    FACE_UP, KIND, SLOTS, UNKNOWN_HAND, State, card_at, cards_played, family, held,
)
from engine_cy.oriflamme.words cimport (
    AMBUSH, ASK_COPY, ASK_DROP, ASK_LIFT, ASK_NOTHING, ASK_PAIR_FIRST, ASK_PAIR_SECOND, ASK_PLACE, ASK_REVEAL,
    ASK_ROB, ASK_TARGET, N_KINDS, NO_CARD, NO_KIND, NO_SLOT, ONE_SHOT, UNKNOWN_KIND, Deed,
)

cdef enum:
    TOKENS_MAX = 20       # one per round, and one for each Decree that moves a card ahead of the cursor
    POINTS_MAX = 250


cdef const char* state_fault(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef uint32_t in_queue = 0
    cdef const char* fault = clock_fault(rules, state)

    if fault == NULL:
        fault = queue_fault(rules, state, observer, &in_queue)
    if fault == NULL:
        fault = cards_fault(rules, state, observer, in_queue)
    if fault == NULL:
        fault = question_fault(rules, state)
    return fault


cdef const char* clock_fault(const Rules* rules, const State* state) noexcept nogil:
    """Check the round, the first player, the player to act, the points and the unused bytes."""
    cdef int turns = rules.n_players * rules.cards_per_turn
    cdef int i

    if not 1 <= state.round <= rules.n_rounds:
        return b"round: not a round of this game"
    if state.first >= rules.n_players:
        return b"first: no such player"
    if state.to_act >= rules.n_players:
        return b"to_act: no such player"
    if state.ask > ASK_NOTHING:
        return b"ask: no such question"
    if state.ask == ASK_PLACE:
        if state.turn >= turns:
            return b"turn: all cards of the round are placed"
        if state.to_act != (state.first + state.turn // rules.cards_per_turn) % rules.n_players:
            return b"to_act: not this player's turn to place"
    elif state.turn != turns:
        return b"turn: the queue is resolved before all cards of the round are placed"
    if state.ask == ASK_NOTHING and (state.round != rules.n_rounds or state.to_act != 0):
        return b"ask: the game is over before its last round"
    for i in range(5):
        if state.points[i] > (POINTS_MAX if i < rules.n_players else 0):
            return b"points: out of range"
        if i >= rules.n_players and (state.hands[i] or state.piles[i]):
            return b"hands: cards of a player who is not at this table"
    for i in range(<int>sizeof(state.padding)):
        if state.padding[i]:
            return b"padding: not zero"
    return NULL


cdef const char* queue_fault(const Rules* rules, const State* state, int observer, uint32_t* in_queue) noexcept nogil:
    """Check the slots and their cards; set the bits of their ids in `in_queue`."""
    cdef int n_ids = rules.n_players * rules.cards_each
    cdef int slot, card_id, owner
    cdef uint8_t card

    if state.n_slots > n_ids:
        return b"n_slots: more slots than cards"
    for slot in range(SLOTS):
        card_id = state.tops[slot]
        if slot >= state.n_slots:
            if card_id != NO_CARD:
                return b"tops: a card behind the last slot"
            continue
        owner = -1
        while card_id != NO_CARD:
            if card_id >= n_ids:
                return b"tops: no such card"
            if in_queue[0] >> card_id & 1:
                return b"below: a card lies in two places"
            in_queue[0] |= <uint32_t>1 << card_id
            card = state.cards[card_id]
            if card == NO_CARD or family(card) != card_id // rules.cards_each:
                return b"cards: not a card of its family"
            if card & KIND >= N_KINDS and not (
                    observer >= 0 and family(card) != observer and card & (FACE_UP | KIND) == UNKNOWN_KIND):
                return b"cards: no such kind"
            if observer >= 0 and family(card) != observer and not card & FACE_UP and card & KIND != UNKNOWN_KIND:
                return b"cards: the observer does not see this card"
            if owner >= 0 and family(card) != owner:
                return b"below: a stack of two families"
            owner = family(card)
            if state.tokens[card_id] > (TOKENS_MAX if rules.tokens_on_keep else 0):
                return b"tokens: more than a card can have"
            card_id = state.below[card_id]
        if owner < 0:
            return b"tops: an empty slot"
    return NULL


cdef const char* cards_fault(const Rules* rules, const State* state, int observer, uint32_t in_queue) noexcept nogil:
    """Check each family: the number of its cards in each place and of each kind."""
    cdef int player, card_id, played, n_queue, kind, in_hand, in_pile
    cdef uint32_t twice = rules.full_hand >> N_KINDS << N_KINDS
    cdef uint8_t copies[16]
    cdef uint8_t card

    for card_id in range(32):
        if not in_queue >> card_id & 1 and (
                state.cards[card_id] != NO_CARD or state.below[card_id] != NO_CARD or state.tokens[card_id]):
            return b"cards: bytes of a card that is not in the queue"
    for player in range(rules.n_players):
        played = cards_played(rules, state, player)
        n_queue = 0
        for kind in range(16):
            copies[kind] = 0
        for card_id in range(player * rules.cards_each, (player + 1) * rules.cards_each):
            if in_queue >> card_id & 1:
                card = state.cards[card_id]
                if card_id - player * rules.cards_each >= played:
                    return b"cards: a card that is not placed yet"
                copies[card & KIND] += 1
                n_queue += 1
        if state.piles[player] & ~rules.full_hand or state.piles[player] & twice & ~(state.piles[player] << N_KINDS):
            return b"piles: no such cards"
        in_pile = 0
        in_hand = 0
        for kind in range(N_KINDS):
            in_pile += held(state.piles[player], kind)
            copies[kind] += <uint8_t>held(state.piles[player], kind)
        if n_queue + in_pile != played:
            return b"piles: the cards in queue and pile are not the number that was placed"
        if observer >= 0 and player != observer:
            if state.hands[player] != UNKNOWN_HAND:
                return b"hands: the observer does not see this hand"
        else:
            if state.hands[player] & ~rules.full_hand or (
                    state.hands[player] & twice & ~(state.hands[player] << N_KINDS)):
                return b"hands: no such cards"
            for kind in range(N_KINDS):
                in_hand += held(state.hands[player], kind)
                copies[kind] += <uint8_t>held(state.hands[player], kind)
            if in_hand != rules.hand_size - played:
                return b"hands: not the number of cards left to play"
        for kind in range(N_KINDS):
            if copies[kind] > rules.copies:
                return b"cards: more of a kind than a family has"
    return NULL


cdef const char* question_fault(const Rules* rules, const State* state) noexcept nogil:
    """Check that the question fits the card at the cursor, and that no other card looks like an acting one."""
    cdef bint resolving = state.ask != ASK_PLACE and state.ask != ASK_NOTHING
    cdef bint halfway = state.ask == ASK_DROP or state.ask == ASK_PAIR_SECOND
    cdef bint acts = resolving and state.ask != ASK_REVEAL
    cdef int slot, card_id
    cdef uint8_t card = NO_CARD

    if resolving and state.cursor >= state.n_slots or not resolving and state.cursor:
        return b"cursor: not on a slot"
    if not acts and state.acting != NO_KIND:
        return b"acting: no card acts"
    if halfway and (state.chosen >= state.n_slots or state.chosen == state.cursor):
        return b"chosen: not a slot that can be chosen"
    if not halfway and state.chosen != NO_SLOT:
        return b"chosen: no decision is half made"
    if resolving:
        card = card_at(state, state.cursor)
        if state.to_act != family(card):
            return b"to_act: not the owner of the card at the cursor"
        if acts != (card & FACE_UP != 0):
            return b"ask: does not fit the face of the card at the cursor"
    if acts:
        if state.acting >= N_KINDS or (
                state.acting != card & KIND and rules.abilities[card & KIND].deed != Deed.COPY):
            return b"acting: not the ability of the card at the cursor"
        if not asks(rules.abilities[state.acting].deed, state.ask):
            return b"ask: not a question of this ability"
        if not reaches_any(&rules.abilities[state.acting], state):
            return b"ask: this ability has no target"
        if rules.tokens_before_ability and state.tokens[state.tops[state.cursor]]:
            return b"tokens: on a card that was paid before it acts"
    if state.ask == ASK_PAIR_SECOND and state.chosen + 1 + (state.chosen + 1 == state.cursor) >= state.n_slots:
        return b"chosen: no second slot is farther than this one"
    for slot in range(state.n_slots):
        card_id = state.tops[slot]
        while card_id != NO_CARD:
            card = state.cards[card_id]
            if card & FACE_UP and not (acts and slot == state.cursor and card_id == state.tops[slot]):
                if state.tokens[card_id]:
                    return b"tokens: on a card that lies face up"
                if rules.abilities[card & KIND].nature & (ONE_SHOT | AMBUSH):
                    return b"cards: this card cannot stay face up in the queue"
            card_id = state.below[card_id]
    return NULL


cdef bint asks(int deed, int question) noexcept nogil:
    """Return whether an ability with this deed may ask this question."""
    if deed == Deed.ELIMINATE:
        return question == ASK_TARGET
    elif deed == Deed.STEAL:
        return question == ASK_ROB
    elif deed == Deed.COPY:
        return question == ASK_COPY
    elif deed == Deed.MOVE:
        return question == ASK_LIFT or question == ASK_DROP
    elif deed == Deed.ELIMINATE_IF_ALIKE:
        return question == ASK_PAIR_FIRST or question == ASK_PAIR_SECOND
    return False

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The invariants of a state."""
from libc.stdint cimport uint8_t, uint16_t

from engine_cy.castle_village_port.effects cimport copyable, question
from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport (
    NO_CARD, NOT_SHOWN, UNKNOWN_HAND, State, bit, drawn_before, has_revealed, has_selected, locate, owner_of, value_of,
)
from engine_cy.castle_village_port.words cimport (
    ASK_NOTHING, ASK_PLACE, ASK_REPLACE, ASK_SELECT, ASK_SWAP, GOLD_MAX, LOCATIONS, MAX_ROW, MAX_VALUE, NOWHERE,
    UNKNOWN, Deed, When,
)


cdef const char* state_fault(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef uint16_t in_rows[5]
    cdef const char* fault = clock_fault(rules, state)

    if fault == NULL:
        fault = rows_fault(rules, state, in_rows)
    if fault == NULL:
        fault = cards_fault(rules, state, observer, in_rows)
    if fault == NULL:
        fault = walk_fault(rules, state, in_rows)
    if fault == NULL:
        fault = orders_fault(rules, state)
    if fault == NULL:
        fault = question_fault(rules, state)
    return fault


cdef const char* clock_fault(const Rules* rules, const State* state) noexcept nogil:
    """Check round, turn, the player to act, gold, and unused bytes."""
    cdef bint ended = state.ask == ASK_NOTHING or state.walking != NOWHERE
    cdef int i

    if not 1 <= state.round <= rules.n_rounds:
        return b"round: not a round of this game"
    if not 1 <= state.turn <= rules.n_turns:
        return b"turn: not a turn of a round"
    if state.first >= rules.n_players:
        return b"first: no such player"
    if state.to_act >= rules.n_players:
        return b"to_act: no such player"
    if state.ask > ASK_NOTHING:
        return b"ask: no such question"
    if state.n_done >= rules.n_players or state.revealing > 1 or state.from_right > 1:
        return b"n_done: out of range"
    if state.walking >= LOCATIONS and state.walking != NOWHERE:
        return b"walking: no such location"
    if ended and (state.turn != rules.n_turns or state.revealing or state.n_done):
        return b"turn: the round ends before its last turn"
    if state.ask == ASK_NOTHING and (state.round != rules.n_rounds or state.to_act or state.walking != NOWHERE):
        return b"ask: the game is over before its last round"
    if state.ask == ASK_SELECT and (state.revealing or state.walking != NOWHERE):
        return b"ask: no card is selected now"
    if state.ask != ASK_SELECT and not ended and not state.revealing:
        return b"ask: no card is revealed now"
    if state.ask == ASK_PLACE and state.walking != NOWHERE:
        return b"ask: no card is placed now"
    if not ended and state.to_act != (state.first + state.n_done) % rules.n_players:
        return b"to_act: not this player's turn"
    for i in range(5):
        if not 0 <= state.gold[i] <= (GOLD_MAX if i < rules.n_players else 0):
            return b"gold: out of range"
        if i >= rules.n_players and not is_absent(state, i):
            return b"hands: cards of a player who is not at this table"
    for i in range(<int>sizeof(state.padding)):
        if state.padding[i]:
            return b"padding: not zero"
    return NULL


cdef bint is_absent(const State* state, int player) noexcept nogil:
    """Return whether all bytes of a seat are those of an empty one."""
    cdef int i

    for i in range(MAX_VALUE):
        if state.decks[player][i]:
            return False
    return not (state.hands[player] or state.piles[player] or state.selected[player] or state.n_deck[player]
                or state.orders[player] != NOWHERE)


cdef const char* rows_fault(const Rules* rules, const State* state, uint16_t* in_rows) noexcept nogil:
    """Check the rows, and write which cards of each player lie there."""
    cdef int location, i
    cdef uint8_t card

    for i in range(5):
        in_rows[i] = 0
    for location in range(LOCATIONS):
        if state.n_row[location] > MAX_ROW:
            return b"rows: longer than all cards together"
        for i in range(MAX_ROW):
            card = state.rows[location][i]
            if i >= state.n_row[location]:
                if card != NO_CARD:
                    return b"rows: a card behind the last"
                continue
            if owner_of(card) >= rules.n_players or not rules.values & bit(value_of(card)):
                return b"rows: no such card"
            if i and value_of(card) > value_of(state.rows[location][i - 1]):
                return b"rows: not sorted by value"
            if in_rows[owner_of(card)] & bit(value_of(card)):
                return b"rows: a card lies in two places"
            in_rows[owner_of(card)] |= bit(value_of(card))
    return NULL


cdef int count(uint16_t cards) noexcept nogil:
    cdef int n = 0

    while cards:
        cards &= cards - 1
        n += 1
    return n


cdef const char* cards_fault(
        const Rules* rules, const State* state, int observer, const uint16_t* in_rows) noexcept nogil:
    """Check each player's cards: their number in each place, and that none lies in two."""
    cdef int player, i, value, drawn
    cdef bint selected, revealed
    cdef uint16_t seen
    cdef int before = (state.round - 1) * rules.n_turns + state.turn - 1

    for player in range(rules.n_players):
        revealed = has_revealed(rules, state, player)
        selected = has_selected(rules, state, player)
        drawn = drawn_before(rules, state.round)
        seen = in_rows[player]
        if (state.selected[player] != NO_CARD) != selected:
            return b"selected: does not match the progress of the turn"
        if state.orders[player] != NOWHERE and (
                state.orders[player] >= LOCATIONS or not (selected and state.revealing)):
            return b"orders: for a player who has no card to place"
        if state.n_deck[player] != rules.n_cards - drawn:
            return b"decks: not the number of cards that are left"
        if seen & state.piles[player]:
            return b"piles: a card lies in two places"
        seen |= state.piles[player]
        if count(seen) != before + revealed:
            return b"piles: rows and pile do not hold the number of cards played"
        if observer >= 0 and player != observer:
            if state.hands[player] != UNKNOWN_HAND or (selected and state.selected[player] != NOT_SHOWN):
                return b"hands: the observer does not see this player's cards"
        else:
            if seen & state.hands[player] or count(state.hands[player]) != drawn - before - revealed - selected:
                return b"hands: not the cards that are left to play"
            seen |= state.hands[player]
            if selected:
                if state.selected[player] > MAX_VALUE or seen & bit(state.selected[player]):
                    return b"selected: a card lies in two places"
                seen |= bit(state.selected[player])
        for i in range(MAX_VALUE):
            value = state.decks[player][i]
            if observer >= 0 or i >= state.n_deck[player]:
                if value != UNKNOWN:
                    return b"decks: a known card in a place that has to be unknown"
                continue
            if value > MAX_VALUE or seen & bit(value):
                return b"decks: a card lies in two places"
            seen |= bit(value)
        if seen & ~rules.values:
            return b"cards: not a card of this table"
    return NULL


cdef const char* walk_fault(const Rules* rules, const State* state, const uint16_t* in_rows) noexcept nogil:
    """Check the progress of the walk through the rows."""
    cdef int player, value, location
    cdef int index = 0
    cdef int at = 0
    cdef int n_ranked = 0
    cdef int n_paid = 0

    if state.from_right and (state.walking == NOWHERE or not has_effect(rules, Deed.PAY_FROM_RIGHT, When.END)):
        return b"from_right: no row is being paid from the right"
    if state.walking != NOWHERE and locate(state, state.acting, &at) != state.walking:
        return b"acting: not a card in the row being walked"
    for player in range(5):
        if player >= rules.n_players or state.walking == NOWHERE:
            if state.due[player] or state.ranked[player]:
                return b"due: no row is being walked"
            continue
        if state.ranked[player] & ~in_rows[player]:
            return b"ranked: a card that is not in a row"
        n_ranked += count(state.ranked[player])
        for value in range(16):
            if state.due[player] & bit(value) and (
                    locate(state, <uint8_t>(player << 4 | value), &index) != state.walking
                    or (index <= at and rules.effects[value].deed != Deed.DOUBLE_REWARD)
                    or rules.effects[value].when != When.END):
                return b"due: a card with no effect left in the row being walked"
    for location in range(LOCATIONS):
        if location < state.walking and state.walking != NOWHERE:
            n_paid += rules.n_ranks[location]
    if n_ranked > n_paid:
        return b"ranked: more cards than ranks that were paid"
    return NULL


cdef bint has_effect(const Rules* rules, int deed, int when) noexcept nogil:
    """Return whether some card of the table has this deed at this time."""
    cdef int value

    for value in range(1, MAX_VALUE + 1):
        if rules.values & bit(value) and rules.effects[value].deed == deed and rules.effects[value].when == when:
            return True
    return False


cdef const char* orders_fault(const Rules* rules, const State* state) noexcept nogil:
    """Check that players who have revealed gave at most one order each."""
    cdef int n = 0
    cdef int player

    for player in range(rules.n_players):
        n += state.orders[player] != NOWHERE
    if n and not has_effect(rules, Deed.ORDER_LOCATION, When.IMMEDIATE):
        return b"orders: no card of this table orders a location"
    if n > state.n_done:
        return b"orders: more than there were players to give them"
    return NULL


cdef bint copies(const Rules* rules, const State* state, int location, int index) noexcept nogil:
    """Return whether the acting card may have copied the effect in use from a neighbour."""
    cdef uint8_t candidates[5]
    cdef int i

    if rules.effects[value_of(state.acting)].deed != Deed.COPY_NEIGHBOUR:
        return False
    for i in range(copyable(rules, state, location, index, candidates)):
        if value_of(candidates[i]) == state.effect:
            return True
    return False


cdef const char* question_fault(const Rules* rules, const State* state) noexcept nogil:
    """Check that the question fits the acting card."""
    cdef bint acts = state.ask != ASK_SELECT and state.ask != ASK_PLACE and state.ask != ASK_NOTHING
    cdef int index = 0
    cdef int location, deed

    if not acts:
        if state.acting != NO_CARD or state.effect or state.victim != NOWHERE:
            return b"acting: no card acts"
        return NULL
    location = locate(state, state.acting, &index)
    if location == NOWHERE or owner_of(state.acting) != state.to_act:
        return b"acting: not a card in a row of the player to act"
    if rules.effects[value_of(state.acting)].when != (When.IMMEDIATE if state.walking == NOWHERE else When.END):
        return b"acting: not a card that acts now"
    if state.effect > MAX_VALUE or not rules.values & bit(state.effect):
        return b"effect: no such card"
    if state.effect != value_of(state.acting) and not copies(rules, state, location, index):
        return b"effect: neither that of the acting card nor one that it may have copied"
    deed = rules.effects[state.effect].deed
    if question(rules, state, location, index, deed) != (ASK_SWAP if state.ask == ASK_REPLACE else state.ask):
        return b"ask: not what this effect asks here"
    if state.ask == ASK_REPLACE:
        if state.victim >= rules.n_players or state.victim == state.to_act or (
                state.selected[state.victim] == NO_CARD):
            return b"victim: not a player who has yet to reveal"
    elif state.victim != NOWHERE:
        return b"victim: no card is being replaced"
    return NULL

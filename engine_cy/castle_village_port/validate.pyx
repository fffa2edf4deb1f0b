# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The one validator of tables: the rules that the bytes of every state keep."""
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memset

from engine_cy.castle_village_port.effects cimport copyable, has_candidates, question
from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport (
    NO_CARD, NOT_SHOWN, UNKNOWN_HAND, State, bit, drawn_before, has_revealed, has_selected, locate, owner_of, value_of,
)
from engine_cy.castle_village_port.words cimport (
    ASK_NOTHING, ASK_PLACE, ASK_REPLACE, ASK_SELECT, ASK_SWAP, GOLD_MAX, LOCATIONS, MAX_ROW, MAX_VALUE, NOWHERE,
    UNKNOWN, Deed, When,
)
from engine_cy.faults cimport Breaches, report


cdef void find_faults(
        const Rules* rules, const State* state, int observer, bint ended, Breaches* breaches) noexcept nogil:
    cdef uint8_t copies[80]       # how often each card is there: by player * 16 + value
    cdef int location, player

    breaches.n = 0
    memset(copies, 0, sizeof(copies))
    clock_faults(rules, state, ended, breaches)
    for location in range(LOCATIONS):
        if state.n_row[location] > MAX_ROW:
            report(breaches, Rule.N_ROW, location, 0, state.n_row[location], MAX_ROW)
            return
    row_faults(rules, state, copies, breaches)
    effect_faults(rules, state, breaches)
    walk_faults(rules, state, copies, breaches)
    order_faults(rules, state, breaches)
    cards_faults(rules, state, observer, copies, breaches)
    if breaches.n == 0 and is_effect(state.ask):
        candidate_faults(rules, state, breaches)
    for player in range(rules.n_players):
        if not 0 <= state.gold[player] <= GOLD_MAX:
            report(breaches, Rule.GOLD, player, 0, state.gold[player], GOLD_MAX)


cdef bint is_effect(int ask) noexcept nogil:
    """Return whether the effect of a card in a row asks this question."""
    return ask != ASK_SELECT and ask != ASK_PLACE and ask < ASK_NOTHING


cdef void clock_faults(const Rules* rules, const State* state, bint ended, Breaches* breaches) noexcept nogil:
    """Check round, turn, the player to act, and unused bytes."""
    cdef bint walking = state.walking != NOWHERE
    cdef bint all_played = state.ask == ASK_NOTHING or walking
    cdef int player, i

    if not 1 <= state.round <= rules.n_rounds:
        report(breaches, Rule.ROUND, 0, 0, state.round, rules.n_rounds)
    if not 1 <= state.turn <= rules.n_turns:
        report(breaches, Rule.TURN, 0, 0, state.turn, rules.n_turns)
    if state.first >= rules.n_players:
        report(breaches, Rule.FIRST, 0, 0, state.first, 0)
    if state.to_act >= rules.n_players:
        report(breaches, Rule.TO_ACT, 0, 0, state.to_act, 0)
    if state.ask > ASK_NOTHING:
        report(breaches, Rule.ASK, 0, 0, state.ask, 0)
    if state.n_done >= rules.n_players or state.revealing > 1 or state.from_right > 1 or (
            all_played and (state.revealing or state.n_done)):
        report(breaches, Rule.PROGRESS, 0, 0, state.n_done, 0)
    if walking and state.walking >= LOCATIONS:
        report(breaches, Rule.WALKING, 0, 0, state.walking, 0)
    if state.ask == ASK_NOTHING and not ended and state.round != rules.n_rounds:
        report(breaches, Rule.OVER_TOO_EARLY, 0, 0, state.round, rules.n_rounds)
    if all_played and state.turn != rules.n_turns:
        report(breaches, Rule.TURN_TOO_EARLY, 0, 0, state.turn, rules.n_turns)
    if state.ask == ASK_NOTHING and (state.to_act or walking):
        report(breaches, Rule.NOT_OVER, 0, 0, state.to_act, 0)
    elif (state.ask == ASK_SELECT or state.ask == ASK_PLACE) and walking or (
            not all_played and state.revealing == (state.ask == ASK_SELECT)):
        report(breaches, Rule.ASK_IN_PHASE, 0, 0, state.ask, 0)
    elif not all_played and state.to_act != (state.first + state.n_done) % rules.n_players:
        report(breaches, Rule.SEAT_IN_TURN, 0, 0, state.to_act, 0)
    for player in range(rules.n_players, 5):
        if not is_absent(state, player):
            report(breaches, Rule.ABSENT_SEAT, player, 0, 0, 0)
    for i in range(<int>sizeof(state.padding)):
        if state.padding[i]:
            report(breaches, Rule.PADDING, 0, i, state.padding[i], 0)


cdef bint is_absent(const State* state, int player) noexcept nogil:
    """Return whether all bytes of a seat are those of an empty one."""
    cdef int i

    for i in range(MAX_VALUE):
        if state.decks[player][i]:
            return False
    return not (state.gold[player] or state.hands[player] or state.piles[player] or state.selected[player]
                or state.n_deck[player] or state.due[player] or state.ranked[player]
                or state.orders[player] != NOWHERE)


cdef void row_faults(const Rules* rules, const State* state, uint8_t* copies, Breaches* breaches) noexcept nogil:
    """Check the rows, and count the cards of each player there."""
    cdef int location, i
    cdef uint8_t card

    for location in range(LOCATIONS):
        for i in range(MAX_ROW):
            card = state.rows[location][i]
            if i >= state.n_row[location]:
                if card != NO_CARD:
                    report(breaches, Rule.BEHIND_ROW, location, i, card, 0)
            elif owner_of(card) >= rules.n_players or not rules.values & bit(value_of(card)):
                report(breaches, Rule.ROW_CARD, location, i, card, 0)
            else:
                copies[card] += 1
                if i and value_of(card) > value_of(state.rows[location][i - 1]):
                    report(breaches, Rule.ROW_ORDER, location, i, card, state.rows[location][i - 1])


cdef void effect_faults(const Rules* rules, const State* state, Breaches* breaches) noexcept nogil:
    """Check that the acting card lies in a row, may act now, and has or copies an effect with this question."""
    cdef int card = state.acting
    cdef int own = value_of(state.acting)
    cdef int index = 0
    cdef int location

    if (state.victim == NOWHERE) == (state.ask == ASK_REPLACE):
        report(breaches, Rule.NO_VICTIM, 0, 0, state.victim, 0)
    if not is_effect(state.ask):
        if card != NO_CARD:
            report(breaches, Rule.NO_ACTING_CARD, 0, 0, card, 0)
        if state.effect:
            report(breaches, Rule.NO_EFFECT, 0, 0, state.effect, 0)
        return
    location = locate(state, state.acting, &index)
    if card == NO_CARD or location == NOWHERE:
        report(breaches, Rule.ACTING if card == NO_CARD else Rule.ACTING_PLACE, 0, 0, card, 0)
        return
    if owner_of(state.acting) != state.to_act:
        report(breaches, Rule.OWNER, 0, card, state.to_act, 0)
    if rules.effects[own].when != (When.IMMEDIATE if state.walking == NOWHERE else When.END):
        report(breaches, Rule.NOT_NOW if state.walking == NOWHERE else Rule.NOT_AT_END, 0, card, card, 0)
    if state.effect > MAX_VALUE or not rules.values & bit(state.effect):
        report(breaches, Rule.EFFECT, 0, 0, state.effect, 0)
        return
    if state.effect != own:
        if rules.effects[own].deed != Deed.COPY_NEIGHBOUR:
            report(breaches, Rule.NO_COPY, 0, card, state.effect, own)
        elif not values_copied(rules, state, location, index) & bit(state.effect):
            report(breaches, Rule.COPIED, 0, card, state.effect, values_copied(rules, state, location, index))
    if question(rules.effects[state.effect].deed) != (ASK_SWAP if state.ask == ASK_REPLACE else state.ask):
        report(breaches, Rule.QUESTION, 0, card, state.ask, state.effect)


cdef uint16_t values_copied(const Rules* rules, const State* state, int location, int index) noexcept nogil:
    """Return the values of the neighbours whose effect the card at a place may copy, as bits."""
    cdef uint8_t candidates[5]
    cdef uint16_t values = 0
    cdef int i

    for i in range(copyable(rules, state, location, index, candidates)):
        values |= bit(value_of(candidates[i]))
    return values


cdef void walk_faults(const Rules* rules, const State* state, const uint8_t* copies, Breaches* breaches) noexcept nogil:
    """Check the progress of the walk through the rows."""
    cdef int at = 0
    cdef int n_ranked = 0
    cdef int n_paid = 0
    cdef int player, value, location
    cdef uint16_t due = 0
    cdef uint16_t ranked = 0

    for player in range(rules.n_players):
        due |= state.due[player]
        ranked |= state.ranked[player]
    if state.walking >= LOCATIONS:
        if due:
            report(breaches, Rule.DUE_WITHOUT_WALK, 0, 0, due, 0)
        if ranked:
            report(breaches, Rule.RANKED_WITHOUT_WALK, 0, 0, ranked, 0)
        if state.from_right:
            report(breaches, Rule.RIGHT_WITHOUT_WALK, 0, 0, 1, 0)
        return
    if locate(state, state.acting, &at) != state.walking:
        report(breaches, Rule.WALKED_ROW, state.walking, 0, state.acting, 0)
        return
    for player in range(rules.n_players):
        for value in range(16):
            if state.due[player] & bit(value):
                due_faults(rules, state, <uint8_t>(player << 4 | value), at, breaches)
            if state.ranked[player] & bit(value):
                n_ranked += 1
                if not copies[player << 4 | value]:
                    report(breaches, Rule.RANKED_PLACE, 0, 0, player << 4 | value, 0)
    for location in range(state.walking):
        n_paid += rules.n_ranks[location]
    if n_ranked > n_paid:
        report(breaches, Rule.RANKS, state.walking, 0, n_ranked, n_paid)
    if state.from_right and not has_effect(rules, Deed.PAY_FROM_RIGHT, When.END):
        report(breaches, Rule.FROM_RIGHT, 0, 0, 1, 0)


cdef void due_faults(
        const Rules* rules, const State* state, uint8_t card, int at, Breaches* breaches) noexcept nogil:
    """Check that a due card comes after `at`, the place of the acting card in the row that is walked."""
    cdef bint doubles = rules.effects[value_of(card)].deed == Deed.DOUBLE_REWARD
    cdef int index = 0

    # A Sailor counts twice when the row is paid, at any place in it.
    if locate(state, card, &index) != state.walking or (index <= at and not doubles):
        report(breaches, Rule.DUE_PLACE, state.walking, state.acting, card, 0)
    elif rules.effects[value_of(card)].when != When.END:
        report(breaches, Rule.DUE_EFFECT, 0, 0, card, 0)


cdef bint has_effect(const Rules* rules, int deed, int when) noexcept nogil:
    """Return whether some card of the table has this deed at this time."""
    cdef int value

    for value in range(1, MAX_VALUE + 1):
        if rules.values & bit(value) and rules.effects[value].deed == deed and rules.effects[value].when == when:
            return True
    return False


cdef void order_faults(const Rules* rules, const State* state, Breaches* breaches) noexcept nogil:
    """Check that orders are for players who reveal later, and that each who has revealed gave at most one."""
    cdef bint able = has_effect(rules, Deed.ORDER_LOCATION, When.IMMEDIATE)
    cdef int n = 0
    cdef int excess = 0
    cdef int player

    for player in range(rules.n_players):
        if state.orders[player] == NOWHERE:
            continue
        n += 1
        if n == state.n_done + 1:
            excess = player
        if state.orders[player] >= LOCATIONS or not state.revealing or not has_selected(rules, state, player):
            report(breaches, Rule.ORDER, player, 0, state.orders[player], 0)
        elif not able:
            report(breaches, Rule.NO_ORDERS, player, 0, state.orders[player], 0)
    if n > state.n_done:
        report(breaches, Rule.ORDERS, excess, n, state.orders[excess], state.n_done)


cdef void cards_faults(
        const Rules* rules, const State* state, int observer, uint8_t* copies, Breaches* breaches) noexcept nogil:
    """Check each player's cards: their number in each place, and that none lies in two."""
    cdef int drawn = drawn_before(rules, state.round)
    cdef int before = (state.round - 1) * rules.n_turns + state.turn - 1
    cdef int player, value, n_rows, n_hand
    cdef bint selected, revealed

    for player in range(rules.n_players):
        revealed = has_revealed(rules, state, player)
        selected = has_selected(rules, state, player)
        n_rows = 0
        for value in range(16):
            n_rows += copies[player << 4 | value]
        if n_rows + add_copies(state.piles[player], copies + (player << 4)) != before + revealed:
            report(breaches, Rule.PILE_SIZE, player, n_rows, count(state.piles[player]), before + revealed)
        selected_faults(state, player, observer, revealed, selected, copies, breaches)
        n_hand = drawn - before - revealed - selected
        if observer >= 0 and player != observer:
            if state.hands[player] != UNKNOWN_HAND:
                report(breaches, Rule.HIDDEN_HAND, player, 0, 0, 0)
        elif state.hands[player] == UNKNOWN_HAND:
            report(breaches, Rule.HAND_MISSING, player, 0, 0, 0)
        elif add_copies(state.hands[player], copies + (player << 4)) != n_hand:
            report(breaches, Rule.HAND_SIZE, player, 0, count(state.hands[player]), n_hand)
        deck_faults(state, player, observer, rules.n_cards - drawn, copies, breaches)
        if all_fit(rules, copies + (player << 4)):
            continue
        for value in range(16):
            if copies[player << 4 | value] > 1:
                report(breaches, Rule.COPIES, player, value, copies[player << 4 | value], 1)
            elif copies[player << 4 | value] and not rules.values & bit(value):
                report(breaches, Rule.VALUES, player, value, value, 0)


cdef bint all_fit(const Rules* rules, const uint8_t* copies) noexcept nogil:
    """Return whether a player has at most one copy of each card of the table, and no other card."""
    cdef uint8_t excess = 0
    cdef int value

    for value in range(16):
        excess |= <uint8_t>(copies[value] > (rules.values >> value & 1))
    return excess == 0


cdef void selected_faults(
        const State* state, int player, int observer, bint revealed, bint selected, uint8_t* copies,
        Breaches* breaches) noexcept nogil:
    """Check that a player has a selected card from selecting to revealing it, and that only they know it."""
    cdef int card = state.selected[player]
    cdef bint hidden = observer >= 0 and player != observer

    if not selected:
        if card != NO_CARD:
            report(breaches, Rule.SELECTED_TOO_LATE if revealed else Rule.SELECTED_TOO_EARLY, player, 0, card, 0)
    elif card == NO_CARD:
        report(breaches, Rule.NOT_SELECTED, player, 0, card, 0)
    elif hidden != (card == NOT_SHOWN):
        report(breaches, Rule.HIDDEN_SELECTED if hidden else Rule.SELECTED_MISSING, player, 0, card, 0)
    elif card > MAX_VALUE and not hidden:
        report(breaches, Rule.VALUES, player, card, card, 0)
    elif not hidden:
        copies[player << 4 | card] += 1


cdef void deck_faults(
        const State* state, int player, int observer, int n_deck, uint8_t* copies, Breaches* breaches) noexcept nogil:
    """Check that a deck has `n_deck` cards, which an observer does not know."""
    cdef int i, value

    for i in range(MAX_VALUE):
        value = state.decks[player][i]
        if observer >= 0 or i >= state.n_deck[player]:
            if value != UNKNOWN:
                report(breaches, Rule.HIDDEN_DECK if observer >= 0 else Rule.BEHIND_DECK, player, i, value, 0)
                return
        elif value == UNKNOWN:
            report(breaches, Rule.DECK_MISSING, player, i, value, 0)
            return
        elif value > MAX_VALUE:
            report(breaches, Rule.VALUES, player, value, value, 0)
        else:
            copies[player << 4 | value] += 1
    if state.n_deck[player] != n_deck:
        report(breaches, Rule.DECK_SIZE, player, 0, state.n_deck[player], n_deck)


cdef int add_copies(uint16_t cards, uint8_t* copies) noexcept nogil:
    """Add the cards of a hand or pile to a player's `copies`; return their number."""
    cdef int value

    for value in range(16):
        copies[value] += cards >> value & 1
    return count(cards)


cdef int count(uint16_t cards) noexcept nogil:
    cdef int n = 0

    while cards:
        cards &= cards - 1
        n += 1
    return n


cdef void candidate_faults(const Rules* rules, const State* state, Breaches* breaches) noexcept nogil:
    """Check that the effect has candidates, without which it would not ask, and that a victim is one."""
    cdef int index = 0
    cdef int location = locate(state, state.acting, &index)
    cdef int deed = rules.effects[state.effect].deed

    if not has_candidates(rules, state, location, index, deed):
        report(breaches, Rule.POSSIBLE, 0, state.acting, state.ask, deed)
    if state.ask != ASK_REPLACE:
        return
    if state.victim >= rules.n_players:
        report(breaches, Rule.VICTIM, 0, 0, state.victim, 0)
    elif state.selected[state.victim] == NO_CARD:
        report(breaches, Rule.REVEALED_VICTIM, 0, 0, state.victim, 0)

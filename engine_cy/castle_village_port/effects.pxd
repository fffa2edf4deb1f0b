"""The meaning of the words of cards.py, one branch per word. A card acts from its own place in its row.

An effect either asks its owner or chance for a choice, or does its deed at once.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t

from engine_cy.castle_village_port.rules cimport Effect, Rank, Rules
from engine_cy.castle_village_port.state cimport (
    NO_CARD, State, bit, discard, owner_of, spare_cards, value_of,
)
from engine_cy.castle_village_port.words cimport (
    ASK_COPY, ASK_DISCARD, ASK_MOVE, ASK_ORDER, ASK_ROB, ASK_SWAP, Deed, Reward, When,
)


# --- the candidates of an effect --------------------------------------------------------------------------------

cdef inline int neighbours(const State* state, int location, int index, uint8_t* cards) noexcept nogil:
    """Write the cards left and right of a place in a row; return how many there are."""
    cdef int n = 0

    if index > 0:
        cards[n] = state.rows[location][index - 1]
        n += 1
    if index + 1 < state.n_row[location]:
        cards[n] = state.rows[location][index + 1]
        n += 1
    return n


cdef inline int copyable(
        const Rules* rules, const State* state, int location, int index, uint8_t* cards) noexcept nogil:
    """Write the neighbours whose effect is immediate and does not itself copy; return how many there are.

    An effect counts even if it would find no candidates.
    """
    cdef int n = neighbours(state, location, index, cards)
    cdef int kept = 0
    cdef int i
    cdef const Effect* effect

    for i in range(n):
        effect = &rules.effects[value_of(cards[i])]
        if effect.when == When.IMMEDIATE and effect.deed != Deed.COPY_NEIGHBOUR:
            cards[kept] = cards[i]
            kept += 1
    return kept


cdef inline int victims(const State* state, int location, int index, int robber, uint8_t* players) noexcept nogil:
    """Write the opponents who own a neighbour, each once; return how many there are."""
    cdef uint8_t cards[2]
    cdef int n = neighbours(state, location, index, cards)
    cdef int kept = 0
    cdef int i

    for i in range(n):
        if owner_of(cards[i]) != robber and not (kept and players[0] == owner_of(cards[i])):
            players[kept] = <uint8_t>owner_of(cards[i])
            kept += 1
    return kept


cdef inline int unrevealed(const Rules* rules, const State* state, int player, uint8_t* players) noexcept nogil:
    """Write the other players who have not revealed yet; return how many there are."""
    cdef int kept = 0
    cdef int other

    for other in range(rules.n_players):
        if other != player and state.revealing and state.selected[other] != NO_CARD:
            players[kept] = <uint8_t>other
            kept += 1
    return kept


# --- gold -------------------------------------------------------------------------------------------------------

cdef inline void earn(State* state, int player, int32_t amount) noexcept nogil:
    """Add to a player's gold, which never falls below 0: a debt larger than it takes all of it."""
    state.gold[player] += amount
    if state.gold[player] < 0:
        state.gold[player] = 0


cdef inline void steal(State* state, int thief, int victim, int32_t amount) noexcept nogil:
    cdef int32_t loot = min(amount, state.gold[victim])

    state.gold[victim] -= loot
    state.gold[thief] += loot


cdef inline void reward(const Rules* rules, State* state, int location, uint8_t card, const Rank* rank) noexcept nogil:
    """Pay one rank of a location to the owner of the card on it."""
    cdef const Effect* effect = &rules.effects[value_of(card)]
    cdef int owner = owner_of(card)
    cdef int32_t factor = 1
    cdef int other

    if effect.deed == Deed.DOUBLE_REWARD and effect.where == location and state.due[owner] & bit(value_of(card)):
        factor = effect.factor
    if rank.reward == Reward.NUMBER:
        earn(state, owner, factor * rank.amount)
    elif rank.reward == Reward.PER_CARD:
        earn(state, owner, factor * state.n_row[location])
    elif rank.reward == Reward.HALF_VALUE:
        earn(state, owner, factor * ((value_of(card) + 1) // 2))
    else:
        for other in range(rules.n_players):
            if other != owner:
                steal(state, owner, other, factor)


# --- deeds ------------------------------------------------------------------------------------------------------

cdef inline bint is_present(const State* state, int location, uint16_t values) noexcept nogil:
    cdef int i

    for i in range(state.n_row[location]):
        if values & bit(value_of(state.rows[location][i])):
            return True
    return False


cdef inline void pay_others(State* state, int location, int index, int amount) noexcept nogil:
    cdef int i

    for i in range(state.n_row[location]):
        if i != index:
            earn(state, owner_of(state.rows[location][i]), amount)


cdef inline int count_low(const State* state, int location, int below) noexcept nogil:
    cdef int n = 0
    cdef int i

    for i in range(state.n_row[location]):
        n += value_of(state.rows[location][i]) < below
    return n


cdef inline int question(const Rules* rules, const State* state, int location, int index, int deed) noexcept nogil:
    """Return the question of an effect, or -1 if it asks none or has no candidates."""
    cdef uint8_t candidates[5]
    cdef int player = owner_of(state.rows[location][index])

    if deed == Deed.MOVE_NEIGHBOUR:
        return ASK_MOVE if state.n_row[location] > 1 else -1
    elif deed == Deed.DISCARD_NEIGHBOUR:
        return ASK_DISCARD if state.n_row[location] > 1 else -1
    elif deed == Deed.FETCH:
        return ASK_MOVE if state.n_row[0] + state.n_row[1] + state.n_row[2] > state.n_row[location] else -1
    elif deed == Deed.ROB_NEIGHBOUR:
        return ASK_ROB if victims(state, location, index, player, candidates) else -1
    elif deed == Deed.COPY_NEIGHBOUR:
        return ASK_COPY if copyable(rules, state, location, index, candidates) else -1
    elif deed == Deed.SWAP_SELECTED:
        # Without another card to swap for, there is nothing to do.
        return ASK_SWAP if spare_cards(rules, state) > 0 and unrevealed(rules, state, player, candidates) else -1
    elif deed == Deed.ORDER_LOCATION:
        return ASK_ORDER if unrevealed(rules, state, player, candidates) else -1
    return -1


cdef inline bint act(const Rules* rules, State* state, int location, int index, int value) noexcept nogil:
    """Let the card at a place in a row have the effect of the card of `value`, its own or a copied one.

    Return whether the effect waits for a choice; if not, the card has finished.
    """
    cdef const Effect* effect = &rules.effects[value]
    cdef uint8_t card = state.rows[location][index]
    cdef int asks

    if effect.deed == Deed.NO_DEED or effect.deed == Deed.DOUBLE_REWARD:
        return False
    elif effect.deed == Deed.LEAVE_IF_PRESENT:
        if is_present(state, location, effect.driven_by):
            discard(state, location, index)
    elif effect.deed == Deed.PAY_OTHERS:
        pay_others(state, location, index, effect.amount)
    elif effect.deed == Deed.GAIN_PER_LOW:
        earn(state, owner_of(card), effect.amount * count_low(state, location, effect.below))
    elif effect.deed == Deed.PAY_FROM_RIGHT:
        state.from_right = 1
    elif effect.deed == Deed.DISCARD_HIGHEST:
        discard(state, location, 0)
    else:
        asks = question(rules, state, location, index, effect.deed)
        if asks >= 0:
            state.ask = <uint8_t>asks
            state.to_act = <uint8_t>owner_of(card)
            state.acting = card
            state.effect = <uint8_t>value
            return True
    return False

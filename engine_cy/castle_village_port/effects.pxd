"""The meaning of the words of cards.py, one branch per word. A card acts from its own place in its row.

A deed either asks its owner for a choice (`question`, then `use`) or is done at once (`act`). If one lacks its branch,
turn.pyx cannot be imported.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t

from engine_cy.castle_village_port.rules cimport Effect, Rank, Rules
from engine_cy.castle_village_port.state cimport (
    NO_CARD, State, bit, discard, locate, owner_of, put, spare_cards, take, value_of,
)
from engine_cy.castle_village_port.words cimport (
    ASK_COPY, ASK_DISCARD, ASK_MOVE, ASK_NOTHING, ASK_ORDER, ASK_REPLACE, ASK_ROB, ASK_SWAP, ASK_UNDEFINED, Deed,
    Reward, When,
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


cdef inline int candidates(
        const Rules* rules, const State* state, int location, int index, int ask, uint8_t* found) noexcept nogil:
    """Write the cards or players to choose from, of ASK_MOVE the neighbours; return how many there are."""
    if ask == ASK_MOVE or ask == ASK_DISCARD:
        return neighbours(state, location, index, found)
    elif ask == ASK_ROB:
        return victims(state, location, index, owner_of(state.rows[location][index]), found)
    elif ask == ASK_COPY:
        return copyable(rules, state, location, index, found)
    elif ask == ASK_SWAP or ask == ASK_ORDER:
        return unrevealed(rules, state, owner_of(state.rows[location][index]), found)
    return 0


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


cdef inline int question(int deed) noexcept nogil:
    """Return the question of a deed, ASK_NOTHING for one that asks nothing."""
    if deed == Deed.MOVE_NEIGHBOUR or deed == Deed.FETCH:
        return ASK_MOVE
    elif deed == Deed.ROB_NEIGHBOUR:
        return ASK_ROB
    elif deed == Deed.COPY_NEIGHBOUR:
        return ASK_COPY
    elif deed == Deed.SWAP_SELECTED:
        return ASK_SWAP
    elif deed == Deed.ORDER_LOCATION:
        return ASK_ORDER
    elif deed == Deed.DISCARD_NEIGHBOUR:
        return ASK_DISCARD
    return ASK_NOTHING


cdef inline bint has_candidates(
        const Rules* rules, const State* state, int location, int index, int deed) noexcept nogil:
    """Return whether a deed that asks has a choice."""
    cdef uint8_t found[5]

    if deed == Deed.FETCH:
        return state.n_row[0] + state.n_row[1] + state.n_row[2] > state.n_row[location]
    elif deed == Deed.SWAP_SELECTED and spare_cards(rules, state) <= 0:
        return False        # no other card to swap for
    return candidates(rules, state, location, index, question(deed), found) > 0


cdef inline bint act(const Rules* rules, State* state, int location, int index, int value) noexcept nogil:
    """Let the card at a place in a row have the effect of the card of `value`, its own or a copied one.

    Return whether the effect waits for a choice; if not, the card has finished.
    """
    cdef const Effect* effect = &rules.effects[value]
    cdef uint8_t card = state.rows[location][index]

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
    elif question(effect.deed) == ASK_NOTHING:
        state.ask = ASK_UNDEFINED
        return True
    elif has_candidates(rules, state, location, index, effect.deed):
        state.ask = <uint8_t>question(effect.deed)
        state.to_act = <uint8_t>owner_of(card)
        state.acting = card
        state.effect = <uint8_t>value
        return True
    return False


cdef inline bint use(const Rules* rules, State* state, int a, int b, int c) noexcept nogil:
    """Let the acting card do its deed, as its owner chose: `a` to `c` are the arguments of the action.

    Return as `act` does.
    """
    cdef const Effect* effect = &rules.effects[state.effect]
    cdef int index = 0
    cdef int location

    if effect.deed == Deed.MOVE_NEIGHBOUR or effect.deed == Deed.FETCH:
        location = locate(state, <uint8_t>a, &index)
        put(state, b, c, take(state, location, index))
    elif effect.deed == Deed.ROB_NEIGHBOUR:
        steal(state, state.to_act, a, effect.amount)
    elif effect.deed == Deed.COPY_NEIGHBOUR:
        location = locate(state, state.acting, &index)
        return act(rules, state, location, index, value_of(<uint8_t>a))
    elif effect.deed == Deed.SWAP_SELECTED:
        state.victim = <uint8_t>a
        state.ask = ASK_REPLACE
        return True
    elif effect.deed == Deed.ORDER_LOCATION:
        state.orders[a] = <uint8_t>b
    elif effect.deed == Deed.DISCARD_NEIGHBOUR:
        location = locate(state, <uint8_t>a, &index)
        discard(state, location, index)
    else:
        state.ask = ASK_UNDEFINED
        return True
    return False

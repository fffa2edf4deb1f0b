"""The implementation of the words of cards.py, with one branch per word. The acting card lies at the cursor.

An ability either asks its owner to choose a target (`question`), to which it does its deed (`use`), or it takes effect
at once (`act`). Both ways end in exactly one of `finish` and `attacker_leaves`, which move the cursor on. If a word has
no branch here, turn.pyx cannot be imported.
"""
from libc.stdint cimport uint8_t

from engine_cy.oriflamme.rules cimport Ability, Rules
from engine_cy.oriflamme.state cimport (
    FACE_UP, KIND, State, card_at, family, open_slot, same_family, to_pile, uncover,
)
from engine_cy.oriflamme.words cimport (
    AMBUSH, ASK_COPY, ASK_DROP, ASK_LIFT, ASK_NOTHING, ASK_PAIR_FIRST, ASK_PAIR_SECOND, ASK_ROB, ASK_TARGET,
    ASK_UNDEFINED, LEAVES, NO_CARD, ON, ONE_SHOT, Deed, Reach,
)


# --- reach -----------------------------------------------------------------------------------------------------

cdef inline bint is_rival(const State* state, int slot) noexcept nogil:
    return not same_family(card_at(state, slot), card_at(state, state.cursor))


cdef inline bint reaches_any(const Ability* ability, const State* state) noexcept nogil:
    """Return whether `ability` has a target."""
    cdef int own = state.cursor
    cdef int last = state.n_slots - 1

    if ability.reach == Reach.NEIGHBOUR or ability.reach == Reach.OTHER_SLOT:
        return last > 0
    elif ability.reach == Reach.RIVAL:
        return (own > 0 and is_rival(state, own - 1)) or (own < last and is_rival(state, own + 1))
    elif ability.reach == Reach.SHOWN_NEIGHBOUR:
        return (own > 0 and card_at(state, own - 1) & FACE_UP) or (own < last and card_at(state, own + 1) & FACE_UP)
    elif ability.reach == Reach.OTHER_PAIR:
        return last > 1
    # The own slot, at least.
    return ability.reach == Reach.EITHER_END or ability.reach == Reach.ANY_SLOT


cdef inline int reach(const Ability* ability, const State* state, uint8_t* slots) noexcept nogil:
    """List the target slots of `ability`, first to last; return their number. Not for RIVAL: it targets a player."""
    cdef int own = state.cursor
    cdef int last = state.n_slots - 1
    cdef int n = 0
    cdef int slot

    if ability.reach == Reach.EITHER_END:
        slots[0] = 0
        slots[1] = <uint8_t>last
        n = 1 + (last > 0)
    elif ability.reach == Reach.NEIGHBOUR or ability.reach == Reach.SHOWN_NEIGHBOUR:
        for slot in range(own - 1, own + 2, 2):
            if 0 <= slot <= last and (ability.reach == Reach.NEIGHBOUR or card_at(state, slot) & FACE_UP):
                slots[n] = <uint8_t>slot
                n += 1
    elif ability.reach == Reach.ANY_SLOT or ability.reach == Reach.OTHER_SLOT or ability.reach == Reach.OTHER_PAIR:
        for slot in range(last + 1):
            if slot != own or ability.reach == Reach.ANY_SLOT:
                slots[n] = <uint8_t>slot
                n += 1
    return n


cdef inline int opponents_only(const State* state, uint8_t* slots, int n) noexcept nogil:
    """Keep only the opponents' slots, if there are any; return the number of slots left."""
    cdef int kept = 0
    cdef int i

    for i in range(n):
        if is_rival(state, slots[i]):
            slots[kept] = slots[i]
            kept += 1
    return kept if kept else n


# --- the end of an ability -------------------------------------------------------------------------------------

cdef inline void attacker_leaves(const Rules* rules, State* state, int nature) noexcept nogil:
    """Put the acting card on its owner's pile. The card that it covered is next, or the slot to the right."""
    cdef uint8_t me = state.tops[state.cursor]
    cdef bint slot_gone = uncover(state, state.cursor)

    to_pile(rules, state, me)
    if not slot_gone and not (rules.uncovered_resolves_any or nature & ONE_SHOT):
        state.cursor += 1


cdef inline void finish(const Rules* rules, State* state, int nature) noexcept nogil:
    """Pay the remaining tokens of the acting card, still in its slot; remove it if it is ONE_SHOT or LEAVES."""
    cdef uint8_t me = state.tops[state.cursor]

    state.points[family(state.cards[me])] += state.tokens[me]
    state.tokens[me] = 0
    if nature & (ONE_SHOT | LEAVES):
        attacker_leaves(rules, state, nature)
    else:
        state.cursor += 1


# --- elimination -----------------------------------------------------------------------------------------------

cdef inline void take_out(const Rules* rules, State* state, int slot) noexcept nogil:
    """Put the top card of `slot`, not the acting card, on its owner's pile."""
    cdef uint8_t target = state.tops[slot]

    if uncover(state, slot) and slot < state.cursor:
        state.cursor -= 1
    to_pile(rules, state, target)


cdef inline void pay_for(const Rules* rules, State* state, const Ability* ability, uint8_t target) noexcept nogil:
    """Pay the acting card's owner for the elimination of `target`."""
    cdef uint8_t me = card_at(state, state.cursor)

    if rules.pays_for_own or not same_family(me, target):
        state.points[family(me)] += ability.amount


cdef inline void eliminate(const Rules* rules, State* state, const Ability* ability, int slot) noexcept nogil:
    """Eliminate the top card of `slot`; an Ambush retaliates."""
    cdef uint8_t me = card_at(state, state.cursor)
    cdef uint8_t target = card_at(state, slot)
    cdef bint attacker_struck

    pay_for(rules, state, ability, target)
    if slot == state.cursor:
        attacker_leaves(rules, state, ability.nature)
        return
    take_out(rules, state, slot)
    if rules.abilities[target & KIND].nature & AMBUSH:
        if same_family(me, target):
            state.points[family(me)] += rules.ambush_own_gain
            attacker_struck = rules.ambush_discards_own_attacker
        else:
            state.points[family(target)] += rules.ambush_gain
            attacker_struck = rules.ambush_discards_attacker
        if attacker_struck:
            attacker_leaves(rules, state, ability.nature)
            return
    finish(rules, state, ability.nature)


cdef inline bint turn_up(const Rules* rules, State* state, int slot) noexcept nogil:
    """Turn the top card of `slot` face up; return whether it is an Ambush."""
    state.cards[state.tops[slot]] |= FACE_UP
    return rules.abilities[card_at(state, slot) & KIND].nature & AMBUSH


cdef inline void spring(const Rules* rules, State* state, int slot, int nature) noexcept nogil:
    """Eliminate the Ambush in `slot`, turned face up, and the acting card; its ability has no further effect."""
    cdef uint8_t ambush = card_at(state, slot)

    if is_rival(state, slot):
        state.points[family(ambush)] += rules.ambush_gain
    take_out(rules, state, slot)
    attacker_leaves(rules, state, nature)


cdef inline void hit(const Rules* rules, State* state, int slot) noexcept nogil:
    """Apply an elimination by the acting card to `slot`."""
    cdef const Ability* ability = &rules.abilities[state.acting]

    if rules.eye and slot != state.cursor and turn_up(rules, state, slot):
        spring(rules, state, slot, ability.nature)
    else:
        eliminate(rules, state, ability, slot)


cdef inline void hit_pair(const Rules* rules, State* state, int near, int far) noexcept nogil:
    """Apply the acting card to two slots, near < far. Of two Ambushes, the nearer one takes effect."""
    cdef const Ability* ability = &rules.abilities[state.acting]
    cdef uint8_t one = card_at(state, near)
    cdef uint8_t other = card_at(state, far)
    cdef bint near_ambush = turn_up(rules, state, near)
    cdef bint far_ambush = turn_up(rules, state, far)

    if near_ambush and far_ambush:
        take_out(rules, state, far)
    if near_ambush or far_ambush:
        spring(rules, state, near if near_ambush else far, ability.nature)
        return
    if (one ^ other) & KIND == 0:
        pay_for(rules, state, ability, one)
        pay_for(rules, state, ability, other)
        take_out(rules, state, far)
        take_out(rules, state, near)
    finish(rules, state, ability.nature)


# --- other deeds -----------------------------------------------------------------------------------------------

cdef inline void rob(const Rules* rules, State* state, int victim) noexcept nogil:
    """Move points from `victim` to the acting card's owner: the amount, or all points if they are fewer."""
    cdef const Ability* ability = &rules.abilities[state.acting]
    cdef uint8_t loot = min(ability.amount, state.points[victim])

    state.points[victim] -= loot
    state.points[family(card_at(state, state.cursor))] += loot
    finish(rules, state, ability.nature)


cdef inline void carry(const Rules* rules, State* state, int slot, int place) noexcept nogil:
    """Move the top card of `slot` to `place`, whose gap or slot is counted before the card is lifted."""
    cdef uint8_t me = state.tops[state.cursor]
    cdef uint8_t moved = state.tops[slot]
    cdef int nature = rules.abilities[state.acting].nature
    cdef bint slot_gone = uncover(state, slot)
    cdef int to = place & (ON - 1)

    if slot_gone:
        state.cursor -= slot < state.cursor
        to -= slot < to
    if not place & ON:
        state.below[moved] = NO_CARD
        open_slot(state, to, moved)
        state.cursor += to <= state.cursor
        finish(rules, state, nature)
        return
    state.below[moved] = state.tops[to]
    state.tops[to] = moved
    if to != state.cursor:
        finish(rules, state, nature)
        return
    # The card moved onto the acting card, which leaves from below it; the moved card is next.
    state.points[family(state.cards[me])] += state.tokens[me]
    state.below[moved] = state.below[me]
    to_pile(rules, state, me)


cdef inline bint shown_elsewhere(const State* state, int kind, int copied) noexcept nogil:
    """Return whether a top card of `kind` lies face up in a slot other than the cursor's and `copied`."""
    cdef int slot

    for slot in range(state.n_slots):
        if card_at(state, slot) & (FACE_UP | KIND) == (FACE_UP | kind) and slot != state.cursor and slot != copied:
            return True
    return False


cdef inline int own_beside(const Rules* rules, const State* state) noexcept nogil:
    """Count the own cards in the slots beside the acting card: the top ones, or all (`lord_counts_covered`)."""
    cdef int count = 0
    cdef int slot
    cdef uint8_t card_id

    for slot in range(state.cursor - 1, state.cursor + 2, 2):
        if 0 <= slot < state.n_slots and not is_rival(state, slot):
            card_id = state.tops[slot]
            count += 1
            while rules.lord_counts_covered and state.below[card_id] != NO_CARD:
                card_id = state.below[card_id]
                count += 1
    return count


cdef inline bint crowded(const State* state) noexcept nogil:
    """Return whether a slot beside the acting card holds two or more cards."""
    cdef int own = state.cursor

    return ((own > 0 and state.below[state.tops[own - 1]] != NO_CARD)
            or (own + 1 < state.n_slots and state.below[state.tops[own + 1]] != NO_CARD))


cdef inline int question(int deed) noexcept nogil:
    """Return the question of a deed to its owner, of two halves the first; ASK_NOTHING for one that asks nothing."""
    if deed == Deed.ELIMINATE:
        return ASK_TARGET
    elif deed == Deed.STEAL:
        return ASK_ROB
    elif deed == Deed.COPY:
        return ASK_COPY
    elif deed == Deed.MOVE:
        return ASK_LIFT
    elif deed == Deed.ELIMINATE_IF_ALIKE:
        return ASK_PAIR_FIRST
    return ASK_NOTHING


cdef inline int first_half(int ask) noexcept nogil:
    """Return a question; of the second half of a decision, the first."""
    return ASK_LIFT if ask == ASK_DROP else ASK_PAIR_FIRST if ask == ASK_PAIR_SECOND else ask


cdef inline bint pays_tokens(int deed) noexcept nogil:
    """Return whether a deed itself decides what the tokens of its card pay."""
    return deed == Deed.MULTIPLY_TOKENS or deed == Deed.FORFEIT_TOKENS


cdef inline bint act(const Rules* rules, State* state, int kind, int copied) noexcept nogil:
    """Start the ability of `kind` for the card at the cursor: its own (`copied` is -1), or that of the slot `copied`.

    Return whether the owner must now choose. If not, the card has acted completely.
    """
    cdef const Ability* ability = &rules.abilities[kind]
    cdef uint8_t me = state.tops[state.cursor]
    cdef int owner = family(state.cards[me])
    cdef int gain = 0

    if ability.reach != Reach.NOTHING:
        if reaches_any(ability, state):
            state.acting = <uint8_t>kind
            state.ask = <uint8_t>question(ability.deed)
            return True
    elif ability.deed == Deed.GAIN_IF_SOLE_NAME:
        gain = 0 if shown_elsewhere(state, state.cards[me] & KIND, -1) else ability.amount
    elif ability.deed == Deed.GAIN_IF_SOLE_KIND:
        gain = 0 if shown_elsewhere(state, kind, copied) else ability.amount
    elif ability.deed == Deed.GAIN_WITH_NEIGHBOURS:
        gain = ability.amount + own_beside(rules, state)
    elif ability.deed == Deed.GAIN_UNLESS_CROWDED:
        if crowded(state):
            attacker_leaves(rules, state, ability.nature)
            return False
        gain = ability.amount
    elif ability.deed == Deed.MULTIPLY_TOKENS:
        gain = ability.amount * state.tokens[me]
        state.tokens[me] = 0
    elif ability.deed == Deed.FORFEIT_TOKENS:
        gain = ability.amount
        state.tokens[me] = 0
    elif ability.deed != Deed.NO_DEED:
        state.ask = ASK_UNDEFINED
        return True
    state.points[owner] += <uint8_t>gain
    finish(rules, state, ability.nature)
    return False


cdef inline bint copy(const Rules* rules, State* state, int slot) noexcept nogil:
    """Start the acting card's copy of the card in `slot`; return as `act` does."""
    cdef int nature = rules.abilities[state.acting].nature
    cdef int kind

    if rules.eye and turn_up(rules, state, slot):
        spring(rules, state, slot, nature)
        return False
    kind = card_at(state, slot) & KIND
    if rules.abilities[kind].deed == Deed.COPY:
        finish(rules, state, nature)
        return False
    return act(rules, state, kind, slot)


cdef inline bint use(const Rules* rules, State* state, int choice, int chosen) noexcept nogil:
    """Let the acting card do its deed to the `choice` of its owner; of two halves, `chosen` is the first.

    Return as `act` does.
    """
    cdef int deed = rules.abilities[state.acting].deed

    if deed == Deed.ELIMINATE:
        hit(rules, state, choice)
    elif deed == Deed.STEAL:
        rob(rules, state, choice)
    elif deed == Deed.COPY:
        return copy(rules, state, choice)
    elif deed == Deed.MOVE:
        carry(rules, state, chosen, choice)
    elif deed == Deed.ELIMINATE_IF_ALIKE:
        hit_pair(rules, state, chosen, choice)
    else:
        state.ask = ASK_UNDEFINED
        return True
    return False

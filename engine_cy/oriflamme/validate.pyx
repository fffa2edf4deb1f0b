# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The one validator of tables: the rules that the bytes of every state keep."""
from libc.stdint cimport uint8_t, uint32_t

from engine_cy.faults cimport Breaches, report
from engine_cy.oriflamme.effects cimport first_half, question, reaches_any
from engine_cy.oriflamme.rules cimport Ability, Rules
from engine_cy.oriflamme.state cimport (
    FACE_UP, KIND, MASKED, POINTS_MAX, SLOTS, TOKENS_MAX, UNKNOWN_HAND, State, card_at, cards_played, family, held,
    hold,
)
from engine_cy.oriflamme.words cimport (
    AMBUSH, ASK_DROP, ASK_NOTHING, ASK_PAIR_SECOND, ASK_PLACE, ASK_REVEAL, NO_CARD, NO_KIND, NO_SLOT, ONE_SHOT, Deed,
)


cdef void find_faults(const Rules* rules, const State* state, int observer, Breaches* breaches) noexcept nogil:
    find_table_faults(rules, state, observer, breaches)
    question_faults(rules, state, breaches)


cdef void find_table_faults(const Rules* rules, const State* state, int observer, Breaches* breaches) noexcept nogil:
    cdef uint32_t in_queue = 0

    breaches.n = 0
    clock_faults(rules, state, breaches)
    if state.n_slots > rules.n_players * rules.cards_each:
        report(breaches, Rule.N_SLOTS, 0, 0, state.n_slots, rules.n_players * rules.cards_each)
        return
    queue_faults(rules, state, observer, &in_queue, breaches)
    cards_faults(rules, state, observer, in_queue, breaches)


cdef void clock_faults(const Rules* rules, const State* state, Breaches* breaches) noexcept nogil:
    """Check the round, the first player, the player to act, the points and the unused bytes."""
    cdef int turns = rules.n_players * rules.cards_per_turn
    cdef int i

    if state.first >= rules.n_players:
        report(breaches, Rule.FIRST, 0, 0, state.first, 0)
    if state.to_act >= rules.n_players:
        report(breaches, Rule.TO_ACT, 0, 0, state.to_act, 0)
    if state.ask > ASK_NOTHING:
        report(breaches, Rule.PHASE, 0, 0, state.ask, 0)
    if not 1 <= state.round <= rules.n_rounds:
        report(breaches, Rule.ROUND, 0, 0, state.round, rules.n_rounds)
    elif state.ask == ASK_NOTHING and (state.round != rules.n_rounds or state.to_act):
        report(breaches, Rule.OVER_TOO_EARLY, 0, 0, state.round, rules.n_rounds)
    if state.turn > turns or (state.turn == turns) == (state.ask == ASK_PLACE):
        report(breaches, Rule.TURN, 0, 0, state.turn, turns)
    elif state.ask == ASK_PLACE and (
            state.to_act != (state.first + state.turn // rules.cards_per_turn) % rules.n_players):
        report(breaches, Rule.PLACING_SEAT, 0, 0, state.to_act, 0)
    for i in range(5):
        if i < rules.n_players and state.points[i] > POINTS_MAX:
            report(breaches, Rule.POINTS, i, 0, state.points[i], POINTS_MAX)
        elif i >= rules.n_players and (state.points[i] or state.hands[i] or state.piles[i]):
            report(breaches, Rule.ABSENT_SEAT, i, 0, 0, 0)
    for i in range(<int>sizeof(state.padding)):
        if state.padding[i]:
            report(breaches, Rule.PADDING, 0, i, state.padding[i], 0)


cdef void queue_faults(
        const Rules* rules, const State* state, int observer, uint32_t* in_queue, Breaches* breaches) noexcept nogil:
    """Check the slots and their cards; set the bits of their ids in `in_queue`."""
    cdef int slot, depth, card_id

    for slot in range(SLOTS):
        card_id = state.tops[slot]
        if (card_id == NO_CARD) != (slot >= state.n_slots):
            report(breaches, Rule.SLOT, slot, 0, card_id, 0)
            continue
        depth = 0
        while card_id != NO_CARD:
            if card_id >= rules.n_players * rules.cards_each:
                report(breaches, Rule.CARD_ID, slot, depth, card_id, 0)
                break
            if in_queue[0] >> card_id & 1:
                report(breaches, Rule.CARD_TWICE, slot, depth, card_id, 0)
                break
            in_queue[0] |= <uint32_t>1 << card_id
            card_faults(rules, state, observer, slot, depth, card_id, breaches)
            card_id = state.below[card_id]
            depth += 1


cdef void card_faults(
        const Rules* rules, const State* state, int observer, int slot, int depth, int card_id,
        Breaches* breaches) noexcept nogil:
    """Check one card in the queue."""
    cdef uint8_t card = state.cards[card_id]
    cdef int tokens = state.tokens[card_id]
    cdef int tokens_max = TOKENS_MAX if rules.tokens_on_keep else 0
    cdef bint resolving = state.ask != ASK_PLACE and state.ask != ASK_NOTHING
    cdef bint acts = resolving and slot == state.cursor and depth == 0
    cdef bint hidden = observer >= 0 and not card & FACE_UP and family(card) != observer

    if card == NO_CARD or family(card) != card_id // rules.cards_each:
        report(breaches, Rule.FAMILY, slot, depth, card, 0)
    if family(card) != family(card_at(state, slot)):
        report(breaches, Rule.STACK, slot, depth, family(card), family(card_at(state, slot)))
    if card & KIND == MASKED and (hidden or rules.n_kinds <= MASKED):
        if not hidden:
            report(breaches, Rule.UNKNOWN_IN_POSITION if observer < 0 else Rule.KNOWN_TO_OBSERVER, slot, depth, 0, 0)
    elif card & KIND >= rules.n_kinds:
        report(breaches, Rule.CARD, slot, depth, card & KIND, 0)
    elif hidden:
        report(breaches, Rule.HIDDEN_CARD, slot, depth, card & KIND, family(card))
    elif card & FACE_UP and not acts and rules.abilities[card & KIND].nature & (ONE_SHOT | AMBUSH):
        report(breaches, Rule.FACE_UP_CARD, slot, depth, card & KIND, 0)
    if tokens > tokens_max:
        report(breaches, Rule.TOKENS, slot, depth, tokens, tokens_max)
    elif tokens and card & FACE_UP and not acts:
        report(breaches, Rule.TOKENS_FACE_UP, slot, depth, tokens, 0)


cdef void cards_faults(
        const Rules* rules, const State* state, int observer, uint32_t in_queue, Breaches* breaches) noexcept nogil:
    """Check each family: the number of its cards in each place and of each kind."""
    cdef int player, card_id, played, n_queue, kind
    cdef bint hidden
    cdef uint8_t copies[16]

    for card_id in range(32):
        if not in_queue >> card_id & 1 and (
                state.cards[card_id] != NO_CARD or state.below[card_id] != NO_CARD or state.tokens[card_id]):
            report(breaches, Rule.UNUSED_CARD, 0, card_id, 0, 0)
    for player in range(rules.n_players):
        played = cards_played(rules, state, player)
        n_queue = 0
        for kind in range(16):
            copies[kind] = 0
        for card_id in range(player * rules.cards_each, (player + 1) * rules.cards_each):
            if in_queue >> card_id & 1:
                hidden = observer >= 0 and player != observer and not state.cards[card_id] & FACE_UP
                copies[state.cards[card_id] & KIND] += not hidden
                n_queue += 1
        if n_queue + add_copies(rules, state.piles[player], copies) != played:
            report(breaches, Rule.PILE_SIZE, player, n_queue, count(rules, state.piles[player]), played)
        for card_id in range(player * rules.cards_each + max(played, 0), (player + 1) * rules.cards_each):
            if in_queue >> card_id & 1:
                report(breaches, Rule.NTH, player, 0, card_id - player * rules.cards_each + 1, played)
        if observer >= 0 and player != observer:
            if state.hands[player] != UNKNOWN_HAND:
                report(breaches, Rule.HIDDEN_HAND, player, 0, 0, 0)
        elif state.hands[player] == UNKNOWN_HAND:
            report(breaches, Rule.HAND_MISSING, player, 0, 0, 0)
        elif add_copies(rules, state.hands[player], copies) != rules.hand_size - played:
            report(breaches, Rule.HAND_SIZE, player, 0, count(rules, state.hands[player]), rules.hand_size - played)
        if not are_cards(rules, state.piles[player]) or (
                state.hands[player] != UNKNOWN_HAND and not are_cards(rules, state.hands[player])):
            report(breaches, Rule.CARD_BITS, player, 0, 0, 0)
        for kind in range(rules.n_kinds):
            if copies[kind] > rules.held_max[kind]:
                report(breaches, Rule.COPIES, player, kind, copies[kind], rules.held_max[kind])


cdef int add_copies(const Rules* rules, uint32_t cards, uint8_t* copies) noexcept nogil:
    """Add the cards of a hand or pile to the `copies` of each kind; return their number."""
    cdef int kind

    for kind in range(rules.n_kinds):
        copies[kind] += <uint8_t>held(rules, cards, kind)
    return count(rules, cards)


cdef int count(const Rules* rules, uint32_t cards) noexcept nogil:
    cdef int n = 0
    cdef int kind

    for kind in range(rules.n_kinds):
        n += held(rules, cards, kind)
    return n


cdef bint are_cards(const Rules* rules, uint32_t cards) noexcept nogil:
    """Return whether all bits of a hand or pile stand for cards, and those of a kind are its lowest."""
    cdef uint32_t sound = 0
    cdef int kind, _i

    for kind in range(rules.n_kinds):
        for _i in range(held(rules, cards, kind)):
            sound = hold(rules, sound, kind)
    return cards == sound


cdef void question_faults(const Rules* rules, const State* state, Breaches* breaches) noexcept nogil:
    """Check that the question fits the card at the cursor."""
    cdef bint resolving = state.ask != ASK_PLACE and state.ask != ASK_NOTHING
    cdef bint acts = resolving and state.ask != ASK_REVEAL
    cdef bint sound = breaches.n == 0
    cdef uint8_t card

    chosen_faults(state, breaches)
    if not acts and state.acting != NO_KIND:
        report(breaches, Rule.NO_ACTING_CARD, 0, 0, state.acting, 0)
    if resolving and state.cursor >= state.n_slots or not resolving and state.cursor:
        report(breaches, Rule.CURSOR, 0, 0, state.cursor, state.n_slots)
    elif resolving and state.cursor < SLOTS and state.tops[state.cursor] < 32:  # n_slots may be a fault, too
        card = card_at(state, state.cursor)
        if state.to_act != family(card):
            report(breaches, Rule.OWNER, 0, 0, state.to_act, family(card))
        if acts != (card & FACE_UP != 0):
            report(breaches, Rule.ACT_FACE_DOWN if acts else Rule.REVEAL_FACE_UP, 0, 0, state.ask, 0)
        elif acts and sound:
            ability_faults(rules, state, card & KIND, breaches)


cdef void ability_faults(const Rules* rules, const State* state, int kind, Breaches* breaches) noexcept nogil:
    """Check that the card at the cursor, of `kind`, has or copies an ability that asks this question."""
    cdef const Ability* ability

    if state.acting >= rules.n_kinds or (state.acting != kind and rules.abilities[kind].deed != Deed.COPY):
        report(breaches, Rule.ACTING, 0, 0, state.acting, kind)
        return
    ability = &rules.abilities[state.acting]
    if question(ability.deed) != first_half(state.ask):
        report(breaches, Rule.QUESTION, 0, state.acting, state.ask, 0)
    elif not reaches_any(ability, state):
        report(breaches, Rule.NO_TARGET, 0, state.acting, state.ask, 0)
    if rules.tokens_before_ability and state.tokens[state.tops[state.cursor]]:
        report(breaches, Rule.PAID_TOKENS, state.cursor, 0, state.tokens[state.tops[state.cursor]], 0)


cdef void chosen_faults(const State* state, Breaches* breaches) noexcept nogil:
    """Check the slot that was chosen in the first half of a decision."""
    cdef int chosen = state.chosen
    cdef bint halfway = state.ask == ASK_DROP or state.ask == ASK_PAIR_SECOND

    if halfway != (chosen != NO_SLOT) or halfway and (chosen >= state.n_slots or chosen == state.cursor) or (
            # A pair names the slot nearer to the front first: there is another one behind it.
            state.ask == ASK_PAIR_SECOND and chosen + 1 + (chosen + 1 == state.cursor) >= state.n_slots):
        report(breaches, Rule.CHOSEN, 0, 0, chosen, 0)

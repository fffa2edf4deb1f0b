# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The course of a game: the player to act, the legal actions and their effects."""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from engine_cy.game_api cimport action_t
from engine_cy.oriflamme.effects cimport act, opponents_only, pays_tokens, question, reach, reaches_any, use
from engine_cy.oriflamme.rules cimport Ability, Rules, pack
from engine_cy.oriflamme.state cimport (
    FACE_UP, KIND, UNKNOWN_HAND, State, card_at, family, is_unknown, lowest_bit, open_slot, owned, without,
)
from engine_cy.oriflamme.words cimport (
    ASK_COPY, ASK_DROP, ASK_LIFT, ASK_NOTHING, ASK_PAIR_FIRST, ASK_PAIR_SECOND, ASK_PLACE, ASK_REVEAL, ASK_ROB,
    ASK_TARGET, ASK_UNDEFINED, BACK, NO_CARD, NO_KIND, NO_SLOT, ON, UNREVEALABLE, VERB_COPY, VERB_DROP, VERB_KEEP,
    VERB_LIFT, VERB_PAIR_FIRST, VERB_PAIR_SECOND, VERB_PLACE, VERB_REVEAL, VERB_ROB, VERB_TARGET, Reach,
)
from engine_cy.support.rng cimport below, next_bits, rng_t

from engine_cy.oriflamme import words
from engine_cy.oriflamme.cards import Card
from engine_cy.oriflamme.editions import read_ruleset, table_numbers


cdef inline action_t action(int verb, int first, int second) noexcept nogil:
    return <action_t>(verb << 16 | first << 8 | second)


# --- the course of a round ------------------------------------------------------------------------------------

cdef void clear(const Rules* rules, State* state, int first) noexcept nogil:
    """Write an empty table before the first placement. The caller deals the hands."""
    cdef int player

    memset(state, 0, sizeof(State))
    memset(state.tops, NO_CARD, sizeof(state.tops))
    memset(state.cards, NO_CARD, sizeof(state.cards))
    memset(state.below, NO_CARD, sizeof(state.below))
    for player in range(rules.n_players):
        state.points[player] = rules.start_points
    state.round = 1
    state.first = <uint8_t>first
    state.ask = ASK_PLACE
    state.to_act = <uint8_t>first
    state.acting = NO_KIND
    state.chosen = NO_SLOT


cdef void end_round(const Rules* rules, State* state) noexcept nogil:
    state.cursor = 0
    state.acting = NO_KIND
    state.first = <uint8_t>(state.first + 1 if state.first + 1 < rules.n_players else 0)
    if state.round == rules.n_rounds:
        state.ask = ASK_NOTHING
        state.to_act = 0
    else:
        state.round += 1
        state.turn = 0
        state.ask = ASK_PLACE
        state.to_act = state.first


cdef void resolve(const Rules* rules, State* state) noexcept nogil:
    """Move the cursor to the next question, or to the end of the round."""
    cdef uint8_t card

    while state.cursor < state.n_slots:
        card = card_at(state, state.cursor)
        state.to_act = <uint8_t>family(card)
        if not card & FACE_UP:
            state.ask = ASK_REVEAL
            state.acting = NO_KIND
            return
        if act(rules, state, card & KIND, -1):
            return
    end_round(rules, state)


# --- actions --------------------------------------------------------------------------------------------------

cdef inline void place(const Rules* rules, State* state, int kind, int at) noexcept nogil:
    """Place a card of `kind` from the hand of the player to act at `at`: 0, BACK or ON a slot."""
    cdef int player = state.to_act
    cdef int played = (state.round - 1) * rules.cards_per_turn + state.turn % rules.cards_per_turn
    cdef int card_id = player * rules.cards_each + played
    cdef int next_player

    kind &= KIND            # of UNKNOWN_KIND, MASKED is left
    if state.hands[player] != UNKNOWN_HAND:
        state.hands[player] = without(rules, state.hands[player], kind)
    state.cards[card_id] = <uint8_t>(player << 4 | kind)
    if at & ON:
        state.below[card_id] = state.tops[at & (ON - 1)]
        state.tops[at & (ON - 1)] = <uint8_t>card_id
    else:
        open_slot(state, state.n_slots if at == BACK else 0, card_id)

    state.turn += 1
    if state.turn == rules.n_players * rules.cards_per_turn:
        resolve(rules, state)
    elif state.turn % rules.cards_per_turn == 0:
        next_player = player + 1
        state.to_act = <uint8_t>(next_player if next_player < rules.n_players else 0)


cdef inline void keep(const Rules* rules, State* state) noexcept nogil:
    state.tokens[state.tops[state.cursor]] += rules.tokens_on_keep
    state.cursor += 1
    resolve(rules, state)


cdef inline void reveal(const Rules* rules, State* state) noexcept nogil:
    cdef uint8_t me = state.tops[state.cursor]
    cdef uint8_t card = state.cards[me]
    cdef const Ability* ability = &rules.abilities[card & KIND]

    state.cards[me] = card | FACE_UP
    if rules.tokens_before_ability and not pays_tokens(ability.deed):
        state.points[family(card)] += state.tokens[me]
        state.tokens[me] = 0
    if not act(rules, state, card & KIND, -1):
        resolve(rules, state)


cdef void apply(const Rules* rules, State* state, action_t taken) noexcept nogil:
    cdef int verb = taken >> 16
    cdef int first = taken >> 8 & 0xFF
    cdef int second = taken & 0xFF

    if verb == VERB_PLACE:
        place(rules, state, first, second)
    elif verb == VERB_REVEAL:
        reveal(rules, state)
    elif verb == VERB_KEEP:
        keep(rules, state)
    elif verb == VERB_LIFT:
        state.chosen = <uint8_t>first
        state.ask = ASK_DROP
    elif verb == VERB_PAIR_FIRST:
        state.chosen = <uint8_t>first
        state.ask = ASK_PAIR_SECOND
    else:
        second = state.chosen
        state.chosen = NO_SLOT
        if not use(rules, state, first, second):
            resolve(rules, state)


# --- legal actions --------------------------------------------------------------------------------------------

cdef inline int count_owned(const Rules* rules, const State* state, int player) noexcept nogil:
    """Return the number of slots of `player`. The loop over used and unused slots is vectorized, by sixteen."""
    cdef uint8_t first_id = <uint8_t>(player * rules.cards_each)
    cdef uint8_t n_ids = rules.cards_each
    cdef uint8_t count = 0
    cdef int slot

    for slot in range(32):
        count += <uint8_t>(<uint8_t>(state.tops[slot] - first_id) < n_ids)
    return count


cdef inline int nth_owned(const Rules* rules, const State* state, int player, int n) noexcept nogil:
    cdef int slot = 0

    while True:
        n -= owned(rules, state, slot, player)
        if n < 0:
            return slot
        slot += 1


cdef inline int legal_drops(const Rules* rules, const State* state, int lifted, uint8_t* places) noexcept nogil:
    """List the places to which the top card of `lifted` may move, without those that leave the queue unchanged."""
    cdef bint alone = state.below[state.tops[lifted]] == NO_CARD
    cdef int player = family(card_at(state, lifted))
    cdef int n = 0
    cdef int i

    for i in range(state.n_slots + 1):
        if not alone or (i != lifted and i != lifted + 1):
            places[n] = <uint8_t>i
            n += 1
    if rules.decree_onto_stack:
        for i in range(state.n_slots):
            if i != lifted and owned(rules, state, i, player):
                places[n] = <uint8_t>(ON | i)
                n += 1
    return n


cdef inline int legal_places(const Rules* rules, const State* state, uint8_t* places) noexcept nogil:
    """List the places for a card from the hand of the player to act."""
    cdef int n = 1
    cdef int slot

    places[0] = 0
    if state.n_slots:
        places[1] = BACK
        n = 2
    for slot in range(state.n_slots):
        places[n] = <uint8_t>(ON | slot)
        n += owned(rules, state, slot, state.to_act)
    return n


cdef int legal_choices(const Rules* rules, const State* state, action_t* actions) noexcept nogil:
    """List the legal actions, once all cards of the round are placed."""
    cdef const Ability* ability
    cdef uint8_t options[2 * 32]
    cdef int n_options, i, neighbour
    cdef uint8_t card
    cdef int n = 0

    if state.ask == ASK_REVEAL:
        card = card_at(state, state.cursor)
        if is_unknown(state, card) or not rules.abilities[card & KIND].nature & UNREVEALABLE:
            actions[0] = action(VERB_REVEAL, 0, 0)
            n = 1
        actions[n] = action(VERB_KEEP, 0, 0)
        return n + 1
    if state.ask == ASK_DROP:
        n_options = legal_drops(rules, state, state.chosen, options)
        for i in range(n_options):
            actions[i] = action(VERB_DROP, options[i], 0)
        return n_options
    if state.ask == ASK_NOTHING:
        return 0

    ability = &rules.abilities[state.acting]
    if state.ask == ASK_ROB:
        for neighbour in range(state.cursor - 1, state.cursor + 2, 2):
            if 0 <= neighbour < state.n_slots:
                i = family(card_at(state, neighbour))
                if i != state.to_act and not (n and actions[0] == action(VERB_ROB, i, 0)):
                    actions[n] = action(VERB_ROB, i, 0)
                    n += 1
        return n
    n_options = reach(ability, state, options)
    if state.ask == ASK_TARGET:
        if rules.must_hit_opponents:
            n_options = opponents_only(state, options, n_options)
        for i in range(n_options):
            actions[i] = action(VERB_TARGET, options[i], 0)
        return n_options
    if state.ask == ASK_COPY or state.ask == ASK_LIFT:
        for i in range(n_options):
            actions[i] = action(VERB_COPY if state.ask == ASK_COPY else VERB_LIFT, options[i], 0)
        return n_options
    if state.ask == ASK_PAIR_FIRST:
        for i in range(n_options - 1):
            actions[i] = action(VERB_PAIR_FIRST, options[i], 0)
        return n_options - 1
    if state.ask == ASK_PAIR_SECOND:
        for i in range(n_options):          # farther than the first
            if options[i] > state.chosen:
                actions[n] = action(VERB_PAIR_SECOND, options[i], 0)
                n += 1
    return n


cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil:
    """List the legal actions of the player to act."""
    cdef uint8_t places[2 * 32]
    cdef uint32_t kinds
    cdef action_t placement
    cdef int n_places, i
    cdef int n = 0

    if state.ask != ASK_PLACE:
        return legal_choices(rules, state, actions)
    n_places = legal_places(rules, state, places)
    kinds = state.hands[state.to_act]
    # In a view, the observer sees another player place an unknown card. The bit of UNKNOWN_HAND is UNKNOWN_KIND's.
    if kinds != UNKNOWN_HAND:
        kinds &= rules.each_kind
    while kinds:
        placement = VERB_PLACE << 16 | lowest_bit(kinds) << 8
        kinds &= kinds - 1
        for i in range(n_places):
            actions[n] = placement | places[i]
            n += 1
    return n


# --- the end --------------------------------------------------------------------------------------------------

cdef int cards_in_queue(const Rules* rules, const State* state, int player) noexcept nogil:
    cdef int n = 0
    cdef int card_id

    for card_id in range(player * rules.cards_each, (player + 1) * rules.cards_each):
        n += state.cards[card_id] != NO_CARD
    return n


cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil:
    """Share the win among the players with the most points and, in some games, of those the most cards in the queue."""
    cdef int ranks[5]           # points, then cards in the queue
    cdef int best = -1
    cdef int n_best = 0
    cdef int player

    for player in range(rules.n_players):
        ranks[player] = 32 * state.points[player]
        if rules.cards_break_ties:
            ranks[player] += cards_in_queue(rules, state, player)
        best = max(best, ranks[player])
    for player in range(rules.n_players):
        n_best += ranks[player] == best
    for player in range(rules.n_players):
        per_seat[player] = 1.0 / n_best if ranks[player] == best else 0.0


# --- random play ----------------------------------------------------------------------------------------------

cdef enum:
    TABLE_BITS = 10         # the kinds of the published editions: one look in the tables suffices

# The n-th lowest set bit of each mask, and the number of its set bits.
cdef uint8_t NTH_BIT[1 << TABLE_BITS][TABLE_BITS]
cdef uint8_t COUNT_BITS[1 << TABLE_BITS]

cdef void fill_tables() noexcept:
    cdef int mask, bit

    for mask in range(1 << TABLE_BITS):
        for bit in range(TABLE_BITS):
            if mask >> bit & 1:
                NTH_BIT[mask][COUNT_BITS[mask]] = <uint8_t>bit
                COUNT_BITS[mask] += 1

fill_tables()


cdef inline int count_kinds(uint32_t kinds) noexcept nogil:
    return COUNT_BITS[kinds & ((1 << TABLE_BITS) - 1)] + COUNT_BITS[kinds >> TABLE_BITS]


cdef inline int nth_kind(uint32_t kinds, int n) noexcept nogil:
    cdef uint32_t low = kinds & ((1 << TABLE_BITS) - 1)

    if kinds != low and n >= COUNT_BITS[low]:
        return TABLE_BITS + NTH_BIT[kinds >> TABLE_BITS][n - COUNT_BITS[low]]
    return NTH_BIT[low][n]


cdef inline int place_at_random(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    """Place a random card at a random place; return the number of options."""
    cdef uint32_t kinds = state.hands[state.to_act] & rules.each_kind
    cdef int n_kinds = count_kinds(kinds)
    cdef int n_ends = 1 + (state.n_slots > 0)
    cdef int n_places = n_ends + count_owned(rules, state, state.to_act)
    cdef int kind = nth_kind(kinds, below(rng, n_kinds))
    cdef int at = below(rng, n_places)

    if at < n_ends:
        at = BACK if at else 0
    else:
        at = ON | nth_owned(rules, state, state.to_act, at - n_ends)
    place(rules, state, kind, at)
    return n_kinds * n_places


cdef inline int move_at_random(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    """Lift and drop a random card, uniformly over the pairs of card and place; return the number of pairs."""
    cdef uint8_t places[2 * 32]
    cdef int drops[32]
    cdef int total = 0
    cdef int slot, pick, n_gaps

    for slot in range(state.n_slots):
        drops[slot] = 0
        if slot != state.cursor:
            n_gaps = state.n_slots + 1 - 2 * (state.below[state.tops[slot]] == NO_CARD)
            drops[slot] = n_gaps
            if rules.decree_onto_stack:
                drops[slot] += count_owned(rules, state, family(card_at(state, slot))) - 1
            total += drops[slot]
    pick = below(rng, total)
    slot = 0
    while pick >= drops[slot]:
        pick -= drops[slot]
        slot += 1
    legal_drops(rules, state, slot, places)
    apply(rules, state, action(VERB_LIFT, slot, 0))
    apply(rules, state, action(VERB_DROP, places[pick], 0))
    return total


cdef inline int hit_pair_at_random(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    """Choose a random pair of slots; return the number of pairs."""
    cdef uint8_t slots[32]
    cdef int n = reach(&rules.abilities[state.acting], state, slots)
    cdef int near = below(rng, n)
    cdef int far = below(rng, n - 1)

    if far >= near:
        far += 1
    if far < near:
        near, far = far, near
    apply(rules, state, action(VERB_PAIR_FIRST, slots[near], 0))
    apply(rules, state, action(VERB_PAIR_SECOND, slots[far], 0))
    return n * (n - 1) // 2


cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    cdef action_t actions[64]
    cdef int decisions = 0
    cdef int n

    while state.ask != ASK_NOTHING:
        if state.ask == ASK_REVEAL:
            if rules.abilities[card_at(state, state.cursor) & KIND].nature & UNREVEALABLE:
                n = 1
                keep(rules, state)
            else:
                n = 2
                if next_bits(rng) >> 63:
                    reveal(rules, state)
                else:
                    keep(rules, state)
        elif state.ask == ASK_PLACE:
            n = place_at_random(rules, state, rng)
        elif state.ask == ASK_LIFT:
            n = move_at_random(rules, state, rng)
        elif state.ask == ASK_PAIR_FIRST:
            n = hit_pair_at_random(rules, state, rng)
        else:
            n = legal_choices(rules, state, actions)
            apply(rules, state, actions[below(rng, n)])
        decisions += n > 1
    return decisions


# --- the words of cards -----------------------------------------------------------------------------------------

cdef void lay_out(Rules* rules, State* state, object card) except *:
    """Write a table of five slots with copies of one card, face up; the third one acts."""
    cdef int slot, card_id

    pack(rules, (card,), table_numbers(read_ruleset("oriflamme", None), 3))
    clear(rules, state, 0)
    for slot in range(5):
        card_id = slot % 3 * rules.cards_each + slot // 3
        state.cards[card_id] = <uint8_t>(slot % 3 << 4 | FACE_UP)
        open_slot(state, slot, card_id)
    state.cursor = state.to_act = 2
    state.acting = state.chosen = 0
    state.hands[2] = 1


def check_words():
    """Refuse words that effects.pxd or this module lack: such a card would do nothing, or the deed of another."""
    cdef Rules rules
    cdef State state
    cdef action_t actions[512]
    cdef uint8_t slots[32]
    row = Card("trial", "Trial", words.Reach.ANY_SLOT, words.Deed.ELIMINATE, 1, copies=4)

    for word in set(words.Reach) - {words.Reach.NOTHING}:
        lay_out(&rules, &state, row._replace(reach=word))
        if not reaches_any(&rules.abilities[0], &state) or not (
                word == Reach.RIVAL or reach(&rules.abilities[0], &state, slots)):
            raise ImportError(f"effects.pxd: Reach.{word.name} has no meaning; `reaches_any` and `reach` need a branch")
    for word in words.Deed:
        if question(word) == ASK_NOTHING:
            lay_out(&rules, &state, row._replace(reach=words.Reach.NOTHING, deed=word))
            act(&rules, &state, 0, -1)
        else:
            lay_out(&rules, &state, row._replace(deed=word))
            use(&rules, &state, 1, 0)
        if state.ask == ASK_UNDEFINED:
            raise ImportError(
                f"effects.pxd: Deed.{word.name} has no meaning; `act` needs a branch, or `question` and `use`")
    lay_out(&rules, &state, row)
    for word in words.Ask:
        state.ask = <uint8_t>word
        if state.ask < ASK_NOTHING and not legal_actions(&rules, &state, actions):
            raise ImportError(f"turn.pyx: {word.name} has no answers; `legal_choices` needs a branch")


check_words()

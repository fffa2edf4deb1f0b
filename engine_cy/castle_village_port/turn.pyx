# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The course of a game: the order of turns, the legal actions and their effects."""
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memset

from engine_cy.castle_village_port.effects cimport act, candidates, neighbours, question, reward, use
from engine_cy.castle_village_port.rules cimport Effect, Rules, pack
from engine_cy.castle_village_port.state cimport (
    NO_CARD, NOT_SHOWN, UNKNOWN_HAND, State, bit, discard, drawn_before, draw, locate, owner_of, places, put, value_of,
)
from engine_cy.castle_village_port.words cimport (
    ASK_MOVE, ASK_NOTHING, ASK_ORDER, ASK_PLACE, ASK_REPLACE, ASK_SELECT, ASK_UNDEFINED, LOCATIONS, MAX_VALUE, NOWHERE,
    UNKNOWN, VERB_MOVE, VERB_ORDER, VERB_PLACE, VERB_REPLACE, VERB_SELECT, Deed, When,
)
from engine_cy.game_api cimport MAX_ACTIONS, action_t
from engine_cy.support.rng cimport below, rng_t

from engine_cy.castle_village_port import words
from engine_cy.castle_village_port.editions import read_ruleset, table_numbers


cdef inline action_t encode(int verb, int a, int b, int c) noexcept nogil:
    return <action_t>(verb << 24 | a << 16 | b << 8 | c)


# --- the course of a round ------------------------------------------------------------------------------------

cdef void clear(const Rules* rules, State* state, int first) noexcept nogil:
    """Set up an empty table before the first selection; the caller deals hands and decks."""
    cdef int player

    memset(state, 0, sizeof(State))
    memset(state.orders, NOWHERE, sizeof(state.orders))
    for player in range(rules.n_players):
        state.gold[player] = rules.start_gold
    state.round = 1
    state.turn = 1
    state.first = <uint8_t>first
    state.walking = NOWHERE
    state.victim = NOWHERE
    state.ask = ASK_SELECT
    state.to_act = <uint8_t>first


cdef inline uint8_t after(const Rules* rules, int player) noexcept nogil:
    """Return the next player, clockwise."""
    return <uint8_t>(player + 1 if player + 1 < rules.n_players else 0)


cdef inline void finish_effect(const Rules* rules, State* state) noexcept nogil:
    """Continue the turn or the walk after a card has finished acting."""
    state.acting = NO_CARD
    state.effect = 0
    if state.walking != NOWHERE:
        walk(rules, state)
    else:
        finish_reveal(rules, state)


cdef inline void finish_reveal(const Rules* rules, State* state) noexcept nogil:
    """Continue after a player has revealed a card and the card has finished acting."""
    state.n_done += 1
    if state.n_done < rules.n_players:
        state.to_act = after(rules, state.to_act)
        state.ask = ASK_PLACE
        return
    state.n_done = 0
    state.revealing = 0
    state.first = after(rules, state.first)
    if state.turn < rules.n_turns:
        state.turn += 1
        state.to_act = state.first
        state.ask = ASK_SELECT
    else:
        end_round_from(rules, state, 0)


cdef void end_round_from(const Rules* rules, State* state, int location) noexcept nogil:
    begin_walk(rules, state, location)
    walk(rules, state)


cdef void begin_walk(const Rules* rules, State* state, int location) noexcept nogil:
    """Mark the cards of a row that have an effect on it at the end of a round as due."""
    cdef const Effect* effect
    cdef int i
    cdef uint8_t card

    state.walking = <uint8_t>location
    state.from_right = 0
    for i in range(state.n_row[location]):
        card = state.rows[location][i]
        effect = &rules.effects[value_of(card)]
        if effect.when == When.END and effect.deed != Deed.NO_DEED and (
                effect.deed != Deed.DOUBLE_REWARD or effect.where == location):
            state.due[owner_of(card)] |= bit(value_of(card))


cdef void walk(const Rules* rules, State* state) noexcept nogil:
    """Let due cards act, left to right, location by location, and pay; stop at a question or the next round."""
    cdef int i
    cdef uint8_t card

    while True:
        i = 0
        while i < state.n_row[state.walking]:
            card = state.rows[state.walking][i]
            # A Sailor stays due until the row is paid.
            if state.due[owner_of(card)] & bit(value_of(card)) and (
                    rules.effects[value_of(card)].deed != Deed.DOUBLE_REWARD):
                state.due[owner_of(card)] &= ~bit(value_of(card))
                if act(rules, state, state.walking, i, value_of(card)):
                    return
                # The row may have changed on either side; cards that have acted are no longer due.
                i = 0
            else:
                i += 1
        pay(rules, state, state.walking)
        if state.walking + 1 == LOCATIONS:
            break
        begin_walk(rules, state, state.walking + 1)
    finish_round(rules, state)


cdef void pay(const Rules* rules, State* state, int location) noexcept nogil:
    """Pay the ranks of a location, from the left or from the right, in their order."""
    cdef int n = state.n_row[location]
    cdef int rank
    cdef uint8_t card

    for rank in range(min(n, rules.n_ranks[location])):
        card = state.rows[location][n - 1 - rank if state.from_right else rank]
        reward(rules, state, location, card, &rules.ranks[location][rank])
        state.ranked[owner_of(card)] |= bit(value_of(card))
    memset(state.due, 0, sizeof(state.due))


cdef void finish_round(const Rules* rules, State* state) noexcept nogil:
    """Discard the cards that took a rank; then let all players draw, or end the game."""
    cdef int location, i, player, n
    cdef uint8_t card

    state.walking = NOWHERE
    state.from_right = 0
    for location in range(LOCATIONS):
        i = 0
        while i < state.n_row[location]:
            card = state.rows[location][i]
            if state.ranked[owner_of(card)] & bit(value_of(card)):
                discard(state, location, i)
            else:
                i += 1
    if state.round == rules.n_rounds:
        state.ask = ASK_NOTHING
        state.to_act = 0
        return
    n = drawn_before(rules, state.round + 1) - drawn_before(rules, state.round)
    for player in range(rules.n_players):
        draw(rules, state, player, n)
    state.round += 1
    state.turn = 1
    state.ask = ASK_SELECT
    state.to_act = state.first


# --- actions of players and chance ----------------------------------------------------------------------------

cdef inline void select(const Rules* rules, State* state, int value) noexcept nogil:
    cdef int player = state.to_act

    state.hands[player] &= ~bit(value)
    state.selected[player] = <uint8_t>value if value != UNKNOWN else <uint8_t>NOT_SHOWN
    state.n_done += 1
    state.to_act = after(rules, player)
    if state.n_done == rules.n_players:
        state.n_done = 0
        state.revealing = 1
        state.ask = ASK_PLACE


cdef inline void place(const Rules* rules, State* state, int location, int index) noexcept nogil:
    cdef int player = state.to_act
    cdef int value = state.selected[player]

    state.selected[player] = NO_CARD
    state.orders[player] = NOWHERE
    put(state, location, index, <uint8_t>(player << 4 | value))
    if rules.effects[value].when != When.IMMEDIATE or not act(rules, state, location, index, value):
        finish_effect(rules, state)


cdef inline void replace(State* state, int value) noexcept nogil:
    """Give the victim the selected card that chance picked; the old one returns to hand. UNKNOWN changes nothing."""
    cdef int victim = state.victim

    state.victim = NOWHERE
    if value != UNKNOWN:
        state.hands[victim] = (state.hands[victim] & ~bit(value)) | bit(state.selected[victim])
        state.selected[victim] = <uint8_t>value


cdef void apply(const Rules* rules, State* state, action_t action) noexcept nogil:
    cdef int verb = action >> 24
    cdef int a = action >> 16 & 0xFF
    cdef int b = action >> 8 & 0xFF
    cdef int c = action & 0xFF

    if verb == VERB_SELECT:
        select(rules, state, a)
        return
    elif verb == VERB_PLACE:
        place(rules, state, a, b)
        return
    elif verb == VERB_REPLACE:
        replace(state, a)
    elif use(rules, state, a, b, c):
        return
    finish_effect(rules, state)


# --- legal actions --------------------------------------------------------------------------------------------

cdef inline int list_moves(const State* state, uint8_t card, int to, action_t* actions) noexcept nogil:
    """List the moves of `card` to a location, one for each place among its equals."""
    cdef int lowest = 0
    cdef int highest = 0
    cdef int index
    cdef int n = 0

    places(state, to, value_of(card), &lowest, &highest)
    for index in range(lowest, highest + 1):
        actions[n] = encode(VERB_MOVE, card, to, index)
        n += 1
    return n


cdef int legal_moves(const Rules* rules, const State* state, int location, int index, action_t* actions) noexcept nogil:
    """List the moves of a neighbour to another location, or of any card of another location to this one."""
    cdef uint8_t cards[2]
    cdef int n = 0
    cdef int i, other

    if rules.effects[state.effect].deed == Deed.MOVE_NEIGHBOUR:
        for i in range(neighbours(state, location, index, cards)):
            for other in range(LOCATIONS):
                if other != location:
                    n += list_moves(state, cards[i], other, actions + n)
        return n
    for other in range(LOCATIONS):
        if other != location:
            for i in range(state.n_row[other]):
                n += list_moves(state, state.rows[other][i], location, actions + n)
    return n


cdef int legal_selections(uint16_t hand, int verb, action_t* actions) noexcept nogil:
    """List the cards of a hand; for a hand that the observer of a view does not know, one unknown card."""
    cdef int n = 0
    cdef int value

    if hand == UNKNOWN_HAND:
        actions[0] = encode(verb, UNKNOWN, 0, 0)
        return 1
    for value in range(MAX_VALUE, 0, -1):
        if hand & bit(value):
            actions[n] = encode(verb, value, 0, 0)
            n += 1
    return n


cdef int legal_places(const Rules* rules, const State* state, action_t* actions) noexcept nogil:
    """List all places for the selected card; a card that is not shown could go anywhere."""
    cdef int player = state.to_act
    cdef int value = state.selected[player]
    cdef int lowest, highest, location, index
    cdef int n = 0

    for location in range(LOCATIONS):
        if state.orders[player] == NOWHERE or state.orders[player] == location:
            lowest = 0
            highest = state.n_row[location]
            if value != NOT_SHOWN:
                places(state, location, value, &lowest, &highest)
            for index in range(lowest, highest + 1):
                actions[n] = encode(VERB_PLACE, location, index, 0)
                n += 1
    return n


cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil:
    cdef uint8_t found[5]
    cdef int index = 0
    cdef int n = 0
    cdef int location, i, n_candidates

    if state.ask == ASK_NOTHING:
        return 0
    elif state.ask == ASK_SELECT:
        return legal_selections(state.hands[state.to_act], VERB_SELECT, actions)
    elif state.ask == ASK_REPLACE:
        return legal_selections(state.hands[state.victim], VERB_REPLACE, actions)
    elif state.ask == ASK_PLACE:
        return legal_places(rules, state, actions)
    location = locate(state, state.acting, &index)
    if state.ask == ASK_MOVE:
        return legal_moves(rules, state, location, index, actions)
    n_candidates = candidates(rules, state, location, index, state.ask, found)
    if state.ask == ASK_ORDER:
        for i in range(n_candidates):
            for location in range(LOCATIONS):
                actions[n] = encode(VERB_ORDER, found[i], location, 0)
                n += 1
        return n
    for i in range(n_candidates):
        actions[i] = encode(state.ask + 1, found[i], 0, 0)
    return n_candidates


cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil:
    """Pay the player with most gold; of the tied, the nearest clockwise from the first player after the last pass."""
    cdef int winner = state.first
    cdef int player, i

    for i in range(rules.n_players):
        player = (state.first + i) % rules.n_players
        per_seat[player] = 0
        if state.gold[player] > state.gold[winner]:
            winner = player
    per_seat[winner] = 1


# --- random play ----------------------------------------------------------------------------------------------

# The n-th lowest set bit of each byte, and the number of its set bits.
cdef uint8_t NTH_BIT[256][8]
cdef uint8_t COUNT_BITS[256]

cdef void fill_tables() noexcept:
    cdef int byte, i

    for byte in range(256):
        for i in range(8):
            if byte >> i & 1:
                NTH_BIT[byte][COUNT_BITS[byte]] = <uint8_t>i
                COUNT_BITS[byte] += 1

fill_tables()


cdef inline int select_any(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    """Select a random card; return how many there were."""
    cdef uint16_t hand = state.hands[state.to_act]
    cdef int n_low = COUNT_BITS[hand & 0xFF]
    cdef int n = n_low + COUNT_BITS[hand >> 8]
    cdef int pick = below(rng, n)

    select(rules, state, NTH_BIT[hand & 0xFF][pick] if pick < n_low else 8 + NTH_BIT[hand >> 8][pick - n_low])
    return n


cdef inline int place_any(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    """Place the selected card anywhere it may go; return how many places there were."""
    cdef int player = state.to_act
    cdef int lowest[LOCATIONS]
    cdef int highest[LOCATIONS]
    cdef int n_before[LOCATIONS + 1]
    cdef int location, pick

    n_before[0] = 0
    for location in range(LOCATIONS):
        places(state, location, state.selected[player], &lowest[location], &highest[location])
        n_before[location + 1] = n_before[location]
        if state.orders[player] == NOWHERE or state.orders[player] == location:
            n_before[location + 1] += highest[location] - lowest[location] + 1
    pick = below(rng, n_before[LOCATIONS])
    location = (pick >= n_before[1]) + (pick >= n_before[2])
    place(rules, state, location, lowest[location] + pick - n_before[location])
    return n_before[LOCATIONS]


cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    cdef action_t actions[MAX_ACTIONS]
    cdef int decisions = 0
    cdef int n

    while state.ask != ASK_NOTHING:
        if state.ask == ASK_SELECT:
            n = select_any(rules, state, rng)
        elif state.ask == ASK_PLACE:
            n = place_any(rules, state, rng)
        else:
            n = legal_actions(rules, state, actions)
            # A choice of chance is no decision.
            decisions -= n > 1 and state.ask == ASK_REPLACE
            apply(rules, state, actions[below(rng, n)])
        decisions += n > 1
    return decisions


# --- the words of cards -----------------------------------------------------------------------------------------

cdef void lay_out(Rules* rules, State* state, int deed) except *:
    """Write a table on which B's 8, between two cards, has the effect of `deed`; A and C have yet to reveal."""
    cdef int player

    pack(rules, table_numbers(read_ruleset(), 3))
    rules.effects[8].deed = <uint8_t>deed
    rules.effects[8].when = When.IMMEDIATE
    clear(rules, state, 1)
    for player in range(3):
        state.hands[player] = bit(1) | bit(2)
        state.selected[player] = 3 if player != 1 else NO_CARD
    put(state, 0, 0, 12)            # A's 12
    put(state, 0, 1, 1 << 4 | 8)
    put(state, 0, 2, 2 << 4 | 5)
    put(state, 1, 0, 2 << 4 | 15)
    state.revealing = 1
    state.to_act = 1
    state.acting = 1 << 4 | 8
    state.effect = 8
    state.victim = 0


def check_words():
    """Refuse words that effects.pxd or this module lack: such a card would do nothing, or the deed of another."""
    cdef Rules rules
    cdef State state
    cdef action_t actions[MAX_ACTIONS]

    for word in words.Deed:
        lay_out(&rules, &state, word)
        if act(&rules, &state, 0, 1, 8) and state.ask != ASK_UNDEFINED and legal_actions(&rules, &state, actions):
            apply(&rules, &state, actions[0])
        if state.ask == ASK_UNDEFINED or (question(word) != ASK_NOTHING and state.ask == question(word)):
            raise ImportError(
                f"effects.pxd: Deed.{word.name} has no meaning; `act` needs a branch, or `question` and `use`")
    for word in words.Ask:
        lay_out(&rules, &state, Deed.FETCH)
        state.ask = <uint8_t>word
        if state.ask < ASK_NOTHING and state.ask != ASK_PLACE and not legal_actions(&rules, &state, actions):
            raise ImportError(f"{word.name} has no answers; `candidates` in effects.pxd needs a branch")


check_words()

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Knowledge of Castle, Village, Port beyond its rules: a prior over actions, and an evaluation of positions.

Most of it is computed, not learned: the payments of each location if the round ended now (`settle`), and the change
that an action makes to them, including the best use of an immediate effect. The rest are sums of weights from tables,
fitted by solver/training/castle_village_port.py and read from weights.json at import:

- an action's *preference* adds up the weights of its *marks*, each times an amount: "gold that I gain, late in the
  round", "a Warrior beside a rival's card". The prior is the softmax of preferences; a playout takes the best action
  after a little noise is added.
- a player's *standing* adds up the weights of their features; the softmax over the players is the expected share of
  the win.

Marks depend only on information that the player to act has. The weights know a card by its *role*, which is its deed
and timing, and a location by its rewards. They therefore apply to callers' tables, too, if `fits` accepts these.

Equal inputs give equal bits on every machine: no libm, and every sum has its fixed order.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memmove, memset

from engine_cy.castle_village_port.rules cimport Effect, Rank, Rules
from engine_cy.castle_village_port.state cimport NO_CARD, State, bit, owner_of, value_of
from engine_cy.castle_village_port.turn cimport apply, legal_actions, payoffs
from engine_cy.castle_village_port.words cimport (
    ASK_COPY, ASK_DISCARD, ASK_MOVE, ASK_NOTHING, ASK_ORDER, ASK_PLACE, ASK_REPLACE, ASK_ROB, ASK_SELECT, LOCATIONS,
    MAX_ROW, MAX_VALUE, NOWHERE, Deed, Reward, When,
)
from engine_cy.values cimport Game
from engine_cy.game_api cimport MAX_ACTIONS, MAX_PLAYERS, action_t
from engine_cy.support.softmax cimport best_shaken, share_out, soften
from engine_cy.support.rng cimport below, next_bits, rng_t, seed_rng

import array
from pathlib import Path

from engine_cy.weights import read_weights

# Roles: deeds at the time that they have in the house's table.
cdef enum:
    PLAIN               # nothing
    KING
    PRINCESS
    GUARD
    THIEF
    ALCHEMIST
    COURTESAN
    STRATEGIST
    TRAITOR
    MERCHANT
    WARRIOR
    BARD
    SAILOR
    HUNTER
    N_ROLES
    STRANGE = N_ROLES   # a deed at a time that no card of the house has
    N_DEEDS = 14
    N_TIMES = 3

# The marks of an action: where each table begins in the weights of the preferences.
cdef enum:
    PHASES = 15         # of the game, see `phase_of`
    RANKS = 6           # 0 to 3 from the left; 4: further right; 5: without reward
    RELATIONS = 4       # no card, an own card, the leading rival's, another rival's

    SELECT_WHEN = 0                                     # phase, role
    SELECT_ORDER = SELECT_WHEN + PHASES * N_ROLES       # first, between or last to reveal, role
    SELECT_VALUE = SELECT_ORDER + 3 * N_ROLES           # phase; times (value - 8) / 8
    SELECT_WORTH = SELECT_VALUE + PHASES                # phase; times the worth of its best place
    SELECT_FOLLOW = SELECT_WORTH + PHASES               # role; times the same
    PLACE_RANK = SELECT_FOLLOW + N_ROLES                # role, rank
    PLACE_BESIDE = PLACE_RANK + N_ROLES * RANKS         # role, relations of the cards left and right
    PLACE_AMONG = PLACE_BESIDE + N_ROLES * RELATIONS * RELATIONS    # phase, cards there
    PLACE_OWN = PLACE_AMONG + PHASES * 5                # phase; times the change for the player ...
    PLACE_RIVALS = PLACE_OWN + PHASES                   # ... for the rivals, on average ...
    PLACE_LEADER = PLACE_RIVALS + PHASES                # ... and for the leading rival
    PLACE_FOLLOW = PLACE_LEADER + PHASES                # role; times the worth of the best use of its effect
    CHANGE_OWN = PLACE_FOLLOW + N_ROLES                 # moved or discarded, phase; times the change ...
    CHANGE_RIVALS = CHANGE_OWN + 2 * PHASES
    CHANGE_LEADER = CHANGE_RIVALS + 2 * PHASES
    CHANGE_CARD = CHANGE_LEADER + 2 * PHASES            # moved or discarded, relation, role
    CHANGE_RANK = CHANGE_CARD + 2 * RELATIONS * N_ROLES  # relation, rank at the destination
    ROB_VICTIM = CHANGE_RANK + RELATIONS * RANKS        # relation
    ROB_LOOT = ROB_VICTIM + RELATIONS                   # times the loot
    COPY_ROLE = ROB_LOOT + 1                            # role
    COPY_FOLLOW = COPY_ROLE + N_ROLES                   # role; times the worth of the best use of its effect
    ORDER_PLAYER = COPY_FOLLOW + N_ROLES                # relation, cards there
    ORDER_WORTH = ORDER_PLAYER + RELATIONS * 5          # relation; times the worth of a middling card there
    SWAP_VICTIM = ORDER_WORTH + RELATIONS               # relation
    N_MARKS = SWAP_VICTIM + RELATIONS

    MARKS_EACH = 7      # no action has more

# The features of a player.
cdef enum:
    F_GOLD
    F_LEAD              # over the richest other player
    F_TOTAL             # gold, and the payments of the rows if the round ended now
    F_TOTAL_LEAD
    F_CLOSE_LEAD        # F_TOTAL_LEAD, limited to -2..2
    F_ORDER                                     # place in the order of this turn
    F_RANKED = F_ORDER + 5                      # cards that would take a rank now
    F_STAY                                      # cards that would take none
    F_ROW                                       # by role: in a row
    F_ROW_VALUES = F_ROW + N_ROLES              # their values, as below
    F_HAND
    F_HAND_VALUES = F_HAND + N_ROLES            # sum of (value - 8) / 8
    F_DECK
    F_DECK_VALUES = F_DECK + N_ROLES
    F_SELECTED
    F_SELECTED_VALUES = F_SELECTED + N_ROLES
    N_FEATURES

    N_ROWS = 24         # of weights of features, by the progress of the game; see `row_of`
    N_SETS = 3          # of weights, by number of players
    TURNS_MAX = 15      # as many as there are cards


cdef uint8_t ROLE_OF[N_DEEDS][N_TIMES]

cdef void fill_roles() noexcept:
    cdef int deed

    memset(ROLE_OF, STRANGE, sizeof(ROLE_OF))
    for deed in range(N_DEEDS):
        ROLE_OF[deed][<int>When.NEVER] = PLAIN
    ROLE_OF[<int>Deed.NO_DEED][<int>When.IMMEDIATE] = PLAIN
    ROLE_OF[<int>Deed.NO_DEED][<int>When.END] = PLAIN
    ROLE_OF[<int>Deed.LEAVE_IF_PRESENT][<int>When.END] = KING
    ROLE_OF[<int>Deed.PAY_OTHERS][<int>When.END] = PRINCESS
    ROLE_OF[<int>Deed.MOVE_NEIGHBOUR][<int>When.IMMEDIATE] = GUARD
    ROLE_OF[<int>Deed.ROB_NEIGHBOUR][<int>When.IMMEDIATE] = THIEF
    ROLE_OF[<int>Deed.COPY_NEIGHBOUR][<int>When.IMMEDIATE] = ALCHEMIST
    ROLE_OF[<int>Deed.SWAP_SELECTED][<int>When.IMMEDIATE] = COURTESAN
    ROLE_OF[<int>Deed.ORDER_LOCATION][<int>When.IMMEDIATE] = STRATEGIST
    ROLE_OF[<int>Deed.PAY_FROM_RIGHT][<int>When.END] = TRAITOR
    ROLE_OF[<int>Deed.GAIN_PER_LOW][<int>When.IMMEDIATE] = MERCHANT
    ROLE_OF[<int>Deed.DISCARD_NEIGHBOUR][<int>When.IMMEDIATE] = WARRIOR
    ROLE_OF[<int>Deed.FETCH][<int>When.IMMEDIATE] = BARD
    ROLE_OF[<int>Deed.DOUBLE_REWARD][<int>When.END] = SAILOR
    ROLE_OF[<int>Deed.DISCARD_HIGHEST][<int>When.END] = HUNTER

fill_roles()


cdef inline int role_of(const Rules* rules, int value) noexcept nogil:
    return ROLE_OF[rules.effects[value].deed][rules.effects[value].when]


# --- the tables that the weights fit --------------------------------------------------------------------------

cdef inline int turns_known(const Rules* rules) noexcept nogil:
    """Return the turns of a round in the games of the fitting: the house's."""
    return 4 if rules.n_players == 3 else 3


cdef bint fits(const Rules* rules) noexcept nogil:
    """Return whether the weights apply: each card has a role, and all numbers are close to the house's.

    The values of the cards, and which card drives out which, are free.
    """
    cdef int value, location, rank
    cdef const Effect* effect
    cdef const Rank* entry

    # In games longer than the house's, the evaluation was measured to predict winners worse than gold alone.
    if not (2 <= rules.n_rounds <= 3 and 2 <= rules.n_turns <= turns_known(rules)
            and rules.hand_size <= 8 and rules.start_gold <= 10):
        return False
    for value in range(1, MAX_VALUE + 1):
        if rules.values & bit(value):
            effect = &rules.effects[value]
            if role_of(rules, value) == STRANGE or effect.amount > 3 or effect.factor > 3:
                return False
    for location in range(LOCATIONS):
        for rank in range(rules.n_ranks[location]):
            entry = &rules.ranks[location][rank]
            if entry.reward == Reward.NUMBER and not -3 <= entry.amount <= 8:
                return False
    return True


# --- the payments of the rows ---------------------------------------------------------------------------------

# Gold that each player gains, or loses if negative. It has no limits: even a player without gold can be robbed, so that
# gains do not depend on the players' gold.
cdef struct Gains:
    int of[MAX_PLAYERS]


cdef inline void settle(const Rules* rules, int location, const uint8_t* row, int n, Gains* gains) noexcept nogil:
    """Compute the gains at the end of the round if `row` lay in `location`: first its effects, then its rewards."""
    cdef uint8_t left[MAX_ROW]
    cdef const uint8_t* cards = row
    cdef const Effect* effect
    cdef const Rank* rank
    cdef bint from_right = False
    cdef int i = 0
    cdef int k, owner, amount, player

    memset(gains, 0, sizeof(Gains))
    while i < n:
        effect = &rules.effects[value_of(cards[i])]
        i += 1
        if effect.when != When.END:
            continue
        elif effect.deed == Deed.PAY_FROM_RIGHT:
            from_right = True
        elif effect.deed == Deed.PAY_OTHERS:
            for k in range(n):
                if k != i - 1:
                    gains.of[owner_of(cards[k])] += effect.amount
        elif effect.deed == Deed.DISCARD_HIGHEST or (
                effect.deed == Deed.LEAVE_IF_PRESENT and has_any(cards, n, effect.driven_by)):
            k = 0 if effect.deed == Deed.DISCARD_HIGHEST else i - 1
            if cards == row:
                memcpy(left, row, n)
                cards = left
            n -= 1
            memmove(left + k, left + k + 1, n - k)
            i -= 1
    for k in range(min(n, rules.n_ranks[location])):
        i = n - 1 - k if from_right else k
        rank = &rules.ranks[location][k]
        effect = &rules.effects[value_of(cards[i])]
        owner = owner_of(cards[i])
        amount = 1
        if effect.deed == Deed.DOUBLE_REWARD and effect.when == When.END and effect.where == location:
            amount = effect.factor
        if rank.reward == Reward.NUMBER:
            gains.of[owner] += amount * rank.amount
        elif rank.reward == Reward.PER_CARD:
            gains.of[owner] += amount * n
        elif rank.reward == Reward.HALF_VALUE:
            gains.of[owner] += amount * ((value_of(cards[i]) + 1) // 2)
        else:
            for player in range(rules.n_players):
                gains.of[player] -= amount
            gains.of[owner] += amount * rules.n_players


cdef inline bint has_any(const uint8_t* cards, int n, uint16_t values) noexcept nogil:
    cdef int i

    for i in range(n):
        if values & bit(value_of(cards[i])):
            return True
    return False


cdef inline void add(Gains* gains, const Gains* more, int times) noexcept nogil:
    cdef int player

    for player in range(MAX_PLAYERS):
        gains.of[player] += times * more.of[player]


cdef inline int lowest_place(const uint8_t* row, int n, int value) noexcept nogil:
    """Return the index of a card of `value` in a row, left of its equals."""
    cdef int i = 0

    while i < n and value_of(row[i]) > value:
        i += 1
    return i


cdef inline void with_card(const uint8_t* row, int n, int index, uint8_t card, uint8_t* longer) noexcept nogil:
    memcpy(longer, row, index)
    longer[index] = card
    memcpy(longer + index + 1, row + index, n - index)


cdef inline void without_card(const uint8_t* row, int n, int index, uint8_t* shorter) noexcept nogil:
    memcpy(shorter, row, index)
    memcpy(shorter + index, row + index + 1, n - index - 1)


# --- a look at the table --------------------------------------------------------------------------------------

# Figures of the whole table, as the player to act sees them.
cdef struct Glance:
    const Rules* rules
    const State* state
    int me
    int leader             # the rival with most gold if the round ended now
    int phase
    Gains now[LOCATIONS]   # of each row if the round ended now


cdef inline int phase_of(const Rules* rules, const State* state) noexcept nogil:
    """Return the phase: classes of rounds after the current one, and of cards after the current one in its round."""
    cdef int cards = (rules.n_turns - state.turn) * rules.n_players
    cdef int rounds = min(rules.n_rounds - state.round, 2)
    cdef int near

    if state.walking == NOWHERE:
        cards += rules.n_players - 1 - (state.n_done if state.revealing else 0)
    near = 0 if cards <= 0 else 1 if cards <= 2 else 2 if cards <= 5 else 3 if cards <= 8 else 4
    return rounds * 5 + near


cdef inline void look(const Rules* rules, const State* state, Glance* glance) noexcept nogil:
    cdef int location, player, total
    cdef int most = -1000000

    glance.rules = rules
    glance.state = state
    glance.me = state.to_act
    glance.phase = phase_of(rules, state)
    glance.leader = -1
    for location in range(LOCATIONS):
        settle(rules, location, state.rows[location], state.n_row[location], &glance.now[location])
    for player in range(rules.n_players):
        total = state.gold[player]
        for location in range(LOCATIONS):
            total += glance.now[location].of[player]
        if player != glance.me and total > most:
            most = total
            glance.leader = player


cdef inline int relation(const Glance* glance, int owner) noexcept nogil:
    return 1 if owner == glance.me else 2 if owner == glance.leader else 3


cdef inline int relation_at(const Glance* glance, const uint8_t* row, int n, int index) noexcept nogil:
    if not 0 <= index < n:
        return 0
    return relation(glance, owner_of(row[index]))


cdef inline int rank_at(const Rules* rules, int location, int index) noexcept nogil:
    """Return the rank of an index, from the left; RANKS - 1 for an index without reward."""
    if index >= rules.n_ranks[location]:
        return RANKS - 1
    return min(index, RANKS - 2)


cdef inline float rivals_of(const Glance* glance, const Gains* change) noexcept nogil:
    """Return a change for the rivals, on average."""
    cdef int total = -change.of[glance.me]
    cdef int player

    for player in range(glance.rules.n_players):
        total += change.of[player]
    return <float>total / <float>(glance.rules.n_players - 1)


cdef inline float worth_of(const Glance* glance, const Gains* change) noexcept nogil:
    return change.of[glance.me] - rivals_of(glance, change)


cdef float best_use(const Glance* glance, int location, const uint8_t* row, int n, const Gains* there, int index,
                    int value) noexcept nogil:
    """Return the worth of the immediate effect of the card of `value`, used by the card at `index` of `row`.

    `row` lies in `location` and has the gains `there`; all else is as in the glance. The acting card uses its own
    effect, or copies that of another.
    """
    cdef const Rules* rules = glance.rules
    cdef const State* state = glance.state
    cdef const Effect* effect = &rules.effects[value]
    cdef uint8_t shorter[MAX_ROW]
    cdef uint8_t longer[MAX_ROW]
    cdef Gains change, rest
    cdef float best = -1e30
    cdef float n_low = 0
    cdef int i, other, at, loot

    if effect.when != When.IMMEDIATE:
        return 0
    elif effect.deed == Deed.GAIN_PER_LOW:
        for i in range(n):
            n_low += value_of(row[i]) < effect.below
        return effect.amount * n_low
    elif effect.deed == Deed.FETCH:
        for other in range(LOCATIONS):
            if other == location:
                continue
            for i in range(state.n_row[other]):
                without_card(state.rows[other], state.n_row[other], i, shorter)
                settle(rules, other, shorter, state.n_row[other] - 1, &change)
                add(&change, &glance.now[other], -1)
                at = lowest_place(row, n, value_of(state.rows[other][i]))
                with_card(row, n, at, state.rows[other][i], longer)
                settle(rules, location, longer, n + 1, &rest)
                add(&change, &rest, 1)
                add(&change, there, -1)
                best = max(best, worth_of(glance, &change))
        return best if best > -1e30 else 0
    for i in range(index - 1, index + 2, 2):
        if not 0 <= i < n:
            continue
        if effect.deed == Deed.ROB_NEIGHBOUR:
            if owner_of(row[i]) != glance.me:
                loot = min(<int>effect.amount, state.gold[owner_of(row[i])])
                best = max(best, loot * (1 + <float>1 / <float>(rules.n_players - 1)))
        elif effect.deed == Deed.DISCARD_NEIGHBOUR:
            without_card(row, n, i, shorter)
            settle(rules, location, shorter, n - 1, &change)
            add(&change, there, -1)
            best = max(best, worth_of(glance, &change))
        elif effect.deed == Deed.MOVE_NEIGHBOUR:
            without_card(row, n, i, shorter)
            settle(rules, location, shorter, n - 1, &rest)
            add(&rest, there, -1)
            for other in range(LOCATIONS):
                if other != location:
                    at = lowest_place(state.rows[other], state.n_row[other], value_of(row[i]))
                    with_card(state.rows[other], state.n_row[other], at, row[i], longer)
                    settle(rules, other, longer, state.n_row[other] + 1, &change)
                    add(&change, &glance.now[other], -1)
                    add(&change, &rest, 1)
                    best = max(best, worth_of(glance, &change))
        elif effect.deed == Deed.COPY_NEIGHBOUR:
            if (rules.effects[value_of(row[i])].when == When.IMMEDIATE
                    and rules.effects[value_of(row[i])].deed != Deed.COPY_NEIGHBOUR):
                best = max(best, best_use(glance, location, row, n, there, index, value_of(row[i])))
    return best if best > -1e30 else 0


# --- the marks of actions -------------------------------------------------------------------------------------

cdef struct Options:
    int width                                  # marks of each action
    uint16_t marks[MAX_ACTIONS][MARKS_EACH]
    float amounts[MAX_ACTIONS][MARKS_EACH]


cdef inline void note(Options* options, int i, int m, int mark, float amount) noexcept nogil:
    options.marks[i][m] = <uint16_t>mark
    options.amounts[i][m] = amount


cdef inline float best_place(const Glance* glance, int value) noexcept nogil:
    """Return the worth of the best place for an own card."""
    cdef const State* state = glance.state
    cdef uint8_t row[MAX_ROW]
    cdef Gains there, change
    cdef float best = -1e30
    cdef int location, index

    for location in range(LOCATIONS):
        index = lowest_place(state.rows[location], state.n_row[location], value)
        with_card(state.rows[location], state.n_row[location], index, <uint8_t>(glance.me << 4 | value), row)
        settle(glance.rules, location, row, state.n_row[location] + 1, &there)
        change = there
        add(&change, &glance.now[location], -1)
        best = max(best, worth_of(glance, &change)
                   + best_use(glance, location, row, state.n_row[location] + 1, &there, index, value))
    return best


cdef inline void mark_selections(const Glance* glance, const action_t* actions, int n, Options* options) noexcept nogil:
    cdef int order = 0 if glance.state.n_done == 0 else 2 if glance.state.n_done == glance.rules.n_players - 1 else 1
    cdef int i, value, role
    cdef float worth

    options.width = 5
    for i in range(n):
        value = actions[i] >> 16 & 0xFF
        role = role_of(glance.rules, value)
        worth = best_place(glance, value)
        note(options, i, 0, SELECT_WHEN + glance.phase * N_ROLES + role, 1)
        note(options, i, 1, SELECT_ORDER + order * N_ROLES + role, 1)
        note(options, i, 2, SELECT_VALUE + glance.phase, <float>(value - 8) / 8)
        note(options, i, 3, SELECT_WORTH + glance.phase, worth)
        note(options, i, 4, SELECT_FOLLOW + role, worth)


cdef inline void mark_place(const Glance* glance, action_t action, Options* options, int i) noexcept nogil:
    cdef const State* state = glance.state
    cdef int location = action >> 16 & 0xFF
    cdef int index = action >> 8 & 0xFF
    cdef int n = state.n_row[location] + 1
    cdef int value = state.selected[glance.me]
    cdef int role = role_of(glance.rules, value)
    cdef uint8_t row[MAX_ROW]
    cdef Gains there, change

    with_card(state.rows[location], n - 1, index, <uint8_t>(glance.me << 4 | value), row)
    settle(glance.rules, location, row, n, &there)
    change = there
    add(&change, &glance.now[location], -1)
    note(options, i, 0, PLACE_RANK + role * RANKS + rank_at(glance.rules, location, index), 1)
    note(options, i, 1, PLACE_BESIDE + (role * RELATIONS + relation_at(glance, row, n, index - 1)) * RELATIONS
         + relation_at(glance, row, n, index + 1), 1)
    note(options, i, 2, PLACE_AMONG + glance.phase * 5 + min(n - 1, 4), 1)
    note(options, i, 3, PLACE_OWN + glance.phase, change.of[glance.me])
    note(options, i, 4, PLACE_RIVALS + glance.phase, rivals_of(glance, &change))
    note(options, i, 5, PLACE_LEADER + glance.phase, change.of[glance.leader])
    note(options, i, 6, PLACE_FOLLOW + role, best_use(glance, location, row, n, &there, index, value))


cdef inline void mark_change(const Glance* glance, action_t action, Options* options, int i) noexcept nogil:
    """Note the marks of moving or discarding a card."""
    cdef const Rules* rules = glance.rules
    cdef const State* state = glance.state
    cdef bint gone = state.ask == ASK_DISCARD
    cdef uint8_t card = action >> 16 & 0xFF
    cdef int to = action >> 8 & 0xFF
    cdef int at = action & 0xFF
    cdef int location = 0
    cdef int index = 0
    cdef int owner = relation(glance, owner_of(card))
    cdef uint8_t row[MAX_ROW]
    cdef Gains change, more

    while state.rows[location][index] != card:
        index += 1
        if index >= state.n_row[location]:
            index = 0
            location += 1
    without_card(state.rows[location], state.n_row[location], index, row)
    settle(rules, location, row, state.n_row[location] - 1, &change)
    add(&change, &glance.now[location], -1)
    if not gone:
        with_card(state.rows[to], state.n_row[to], at, card, row)
        settle(rules, to, row, state.n_row[to] + 1, &more)
        add(&change, &more, 1)
        add(&change, &glance.now[to], -1)
    note(options, i, 0, CHANGE_OWN + gone * PHASES + glance.phase, change.of[glance.me])
    note(options, i, 1, CHANGE_RIVALS + gone * PHASES + glance.phase, rivals_of(glance, &change))
    note(options, i, 2, CHANGE_LEADER + gone * PHASES + glance.phase, change.of[glance.leader])
    note(options, i, 3, CHANGE_CARD + (gone * RELATIONS + owner) * N_ROLES + role_of(rules, value_of(card)), 1)
    if not gone:
        note(options, i, 4, CHANGE_RANK + owner * RANKS + rank_at(rules, to, at), 1)


cdef inline void mark_copy(const Glance* glance, action_t action, Options* options, int i) noexcept nogil:
    cdef const State* state = glance.state
    cdef int value = value_of(action >> 16 & 0xFF)
    cdef int role = role_of(glance.rules, value)
    cdef int location = 0
    cdef int index = 0

    while state.rows[location][index] != state.acting:
        index += 1
        if index >= state.n_row[location]:
            index = 0
            location += 1
    note(options, i, 0, COPY_ROLE + role, 1)
    note(options, i, 1, COPY_FOLLOW + role, best_use(
        glance, location, state.rows[location], state.n_row[location], &glance.now[location], index, value))


cdef inline void mark_order(const Glance* glance, action_t action, Options* options, int i) noexcept nogil:
    """Note the marks of an order; a card of middling value stands for the unknown one."""
    cdef const State* state = glance.state
    cdef int player = action >> 16 & 0xFF
    cdef int location = action >> 8 & 0xFF
    cdef int n = state.n_row[location]
    cdef int index = lowest_place(state.rows[location], n, 8)
    cdef uint8_t row[MAX_ROW]
    cdef Gains change

    with_card(state.rows[location], n, index, <uint8_t>(player << 4 | 8), row)
    settle(glance.rules, location, row, n + 1, &change)
    add(&change, &glance.now[location], -1)
    note(options, i, 0, ORDER_PLAYER + relation(glance, player) * 5 + min(n, 4), 1)
    note(options, i, 1, ORDER_WORTH + relation(glance, player), worth_of(glance, &change))


cdef void mark(const Rules* rules, const State* state, const action_t* actions, int n, Options* options) noexcept nogil:
    """Note the marks of each of `n` legal actions, as the player to act sees them."""
    cdef Glance glance
    cdef int i, victim

    look(rules, state, &glance)
    if state.ask == ASK_SELECT:
        mark_selections(&glance, actions, n, options)
    elif state.ask == ASK_PLACE:
        options.width = 7
        for i in range(n):
            mark_place(&glance, actions[i], options, i)
    elif state.ask == ASK_MOVE or state.ask == ASK_DISCARD:
        options.width = 5 if state.ask == ASK_MOVE else 4
        for i in range(n):
            mark_change(&glance, actions[i], options, i)
    elif state.ask == ASK_ROB:
        options.width = 2
        for i in range(n):
            victim = actions[i] >> 16 & 0xFF
            note(options, i, 0, ROB_VICTIM + relation(&glance, victim), 1)
            note(options, i, 1, ROB_LOOT, min(<int32_t>rules.effects[state.effect].amount, state.gold[victim]))
    elif state.ask == ASK_COPY:
        options.width = 2
        for i in range(n):
            mark_copy(&glance, actions[i], options, i)
    elif state.ask == ASK_ORDER:
        options.width = 2
        for i in range(n):
            mark_order(&glance, actions[i], options, i)
    else:
        options.width = 1
        for i in range(n):
            note(options, i, 0, SWAP_VICTIM + relation(&glance, actions[i] >> 16 & 0xFF), 1)


# The weights: of the preferences by number of players, of the features also by row.
cdef float MARKS[N_SETS][N_MARKS]
cdef float FEATURES[N_SETS][N_ROWS][N_FEATURES]
# Scale of the noise that a playout adds to preferences.
cdef float SHAKE = 0.4


cdef int set_of(const Rules* rules) noexcept nogil:
    return rules.n_players - 3


cdef inline void prefer(const Rules* rules, const State* state, const float* weights, const action_t* actions, int n,
                        Options* options, float* preferences) noexcept nogil:
    """Compute the preference of each of `n` legal actions."""
    cdef float total
    cdef int i, m

    mark(rules, state, actions, n, options)
    for i in range(n):
        total = 0
        for m in range(options.width):
            total += weights[options.marks[i][m]] * options.amounts[i][m]
        preferences[i] = total


# --- the functions of Knowledge -------------------------------------------------------------------------------

cdef action_t choose(const Rules* rules, const State* state, rng_t* rng) noexcept nogil:
    """Return the best action by preference plus noise."""
    cdef action_t actions[MAX_ACTIONS]
    cdef float preferences[MAX_ACTIONS]
    cdef Options options
    cdef int n = legal_actions(rules, state, actions)

    if n == 1:
        return actions[0]
    prefer(rules, state, MARKS[set_of(rules)], actions, n, &options, preferences)
    return actions[best_shaken(preferences, n, SHAKE, rng)]


cdef void preferences_of(const Rules* rules, const State* state, const action_t* actions, int n,
                         float* preferences) noexcept nogil:
    cdef Options options

    prefer(rules, state, MARKS[set_of(rules)], actions, n, &options, preferences)


cdef void prior(const Rules* rules, const State* state, const action_t* actions, int n,
                float* shares) noexcept nogil:
    cdef float preferences[MAX_ACTIONS]

    preferences_of(rules, state, actions, n, preferences)
    soften(preferences, n, shares)


# --- evaluation -----------------------------------------------------------------------------------------------

# Sums over features: of their weights times values in `totals`, or, for the fitting, of the values in `features`.
cdef struct Tally:
    const float* weights
    double totals[MAX_PLAYERS]
    float* features


cdef inline void count(Tally* tally, int player, int feature, float value) noexcept nogil:
    if tally.features == NULL:
        tally.totals[player] += tally.weights[feature] * value
    else:
        tally.features[player * N_FEATURES + feature] += value


cdef inline int row_of(const Rules* rules, const State* state) noexcept nogil:
    """Return the row of weights: by rounds to go, turns to go in the round, and whether cards are being revealed."""
    cdef int rounds = rules.n_rounds - state.round
    cdef int turns = rules.n_turns - state.turn
    cdef bint revealing = state.revealing or state.walking != NOWHERE

    return (rounds * 4 + turns) * 2 + revealing


cdef inline void count_cards(const Rules* rules, Tally* tally, int player, int feature, int values_feature,
                             uint16_t cards) noexcept nogil:
    """Count cards by role, and add up (value - 8) / 8."""
    cdef int value
    cdef int total = 0

    for value in range(1, MAX_VALUE + 1):
        if cards & bit(value):
            count(tally, player, feature + role_of(rules, value), 1)
            total += value - 8
    count(tally, player, values_feature, <float>total / 8)


cdef inline int lead_of(const int* amounts, int n_players, int player) noexcept nogil:
    """Return the lead over the best of the other players."""
    cdef int best = -1000000
    cdef int other

    for other in range(n_players):
        if other != player:
            best = max(best, amounts[other])
    return amounts[player] - best


cdef void tally_table(const Rules* rules, const State* state, Tally* tally) noexcept nogil:
    cdef int gold[MAX_PLAYERS]
    cdef int totals[MAX_PLAYERS]
    cdef uint16_t laid[MAX_PLAYERS]
    cdef int player, location, i, place, lead, value
    cdef uint16_t known
    cdef uint8_t card
    cdef Gains gains

    for player in range(rules.n_players):
        gold[player] = state.gold[player]
        totals[player] = state.gold[player]
        laid[player] = 0
    for location in range(LOCATIONS):
        settle(rules, location, state.rows[location], state.n_row[location], &gains)
        for player in range(rules.n_players):
            totals[player] += gains.of[player]
        for i in range(state.n_row[location]):
            card = state.rows[location][i]
            laid[owner_of(card)] |= bit(value_of(card))
            count(tally, owner_of(card), F_RANKED if i < rules.n_ranks[location] else F_STAY, 1)
    for player in range(rules.n_players):
        lead = lead_of(totals, rules.n_players, player)
        count(tally, player, F_GOLD, gold[player])
        count(tally, player, F_LEAD, lead_of(gold, rules.n_players, player))
        count(tally, player, F_TOTAL, totals[player])
        count(tally, player, F_TOTAL_LEAD, lead)
        count(tally, player, F_CLOSE_LEAD, max(-2, min(2, lead)))
        place = player - state.first
        count(tally, player, F_ORDER + (place if place >= 0 else place + rules.n_players), 1)
        known = state.hands[player] | state.piles[player] | laid[player]
        value = state.selected[player]
        if value != NO_CARD:
            known |= bit(value)
            count_cards(rules, tally, player, F_SELECTED, F_SELECTED_VALUES, bit(value))
        count_cards(rules, tally, player, F_ROW, F_ROW_VALUES, laid[player])
        count_cards(rules, tally, player, F_HAND, F_HAND_VALUES, state.hands[player])
        count_cards(rules, tally, player, F_DECK, F_DECK_VALUES, rules.values & ~known)


cdef void evaluate(const Rules* rules, const State* state, double* per_seat) noexcept nogil:
    cdef Tally tally
    cdef int player

    if state.ask == ASK_NOTHING:
        payoffs(rules, state, per_seat)
        return
    tally.weights = FEATURES[set_of(rules)][row_of(rules, state)]
    tally.features = NULL
    for player in range(MAX_PLAYERS):
        tally.totals[player] = 0
    tally_table(rules, state, &tally)
    share_out(tally.totals, rules.n_players, per_seat)


# Knowledge takes Rules and State as plain bytes, hence the casts.
KNOWLEDGE.prior = <void (*)(const void*, const void*, const action_t*, int, float*) noexcept nogil>prior
KNOWLEDGE.choose = <action_t (*)(const void*, const void*, rng_t*) noexcept nogil>choose
KNOWLEDGE.evaluate = <void (*)(const void*, const void*, double*) noexcept nogil>evaluate


# --- the weights ----------------------------------------------------------------------------------------------

# Of the file, and of the meaning of its numbers.
VERSION = 1
SIZES = {"marks": N_MARKS, "rows": N_ROWS, "features": N_FEATURES}
SET_NAMES = ["castle_village_port-3", "castle_village_port-4", "castle_village_port-5"]
WEIGHTS = Path(__file__).with_name("weights.json")


def set_weights(name, marks=None, features=None):
    """Replace weights of a set such as 'castle_village_port-3'. Not thread-safe: for the fitting."""
    cdef int set_index = SET_NAMES.index(name)
    cdef int i, row

    if marks is not None:
        if len(marks) != N_MARKS:
            raise ValueError(f"marks: {len(marks)} weights, not {N_MARKS}")
        for i in range(N_MARKS):
            MARKS[set_index][i] = marks[i]
    if features is not None:
        if len(features) != N_ROWS or any(len(weights) != N_FEATURES for weights in features):
            raise ValueError(f"features: not {N_ROWS} rows of {N_FEATURES} weights")
        for row in range(N_ROWS):
            for i in range(N_FEATURES):
                FEATURES[set_index][row][i] = features[row][i]


def load_weights(path=WEIGHTS):
    """Read the weights from a file; done at import. Not thread-safe."""
    for name, (marks, features) in read_weights(Path(path), VERSION, SIZES).items():
        set_weights(name, marks, features)


# Without the file all weights are 0: a fitting starts from there after marks or features changed.
if WEIGHTS.exists():
    load_weights()


# --- for Python -----------------------------------------------------------------------------------------------

cdef const Rules* rules_of(Game game) except NULL:
    if game.id != "castle_village_port":
        raise ValueError(f"game: {game.id} is not Castle, Village, Port")
    if not fits(<const Rules*>game.rules):
        raise ValueError("game: the weights do not fit this table")
    return <const Rules*>game.rules


def set_name(Game game):
    """Return the name of the set of weights for `game`, such as `castle_village_port-3`."""
    return SET_NAMES[set_of(rules_of(game))]


# --- for the fitting ------------------------------------------------------------------------------------------

cdef inline action_t choose_any(const Rules* rules, const State* state, rng_t* rng) noexcept nogil:
    cdef action_t actions[MAX_ACTIONS]
    return actions[below(rng, legal_actions(rules, state, actions))]


def contest(Game game, int games, uint64_t seed, int seats):
    """Return the share of wins of `seats` (bit p: player p), which play as playouts do; the others play at random."""
    cdef const Rules* rules = rules_of(game)
    cdef State state
    cdef rng_t rng
    cdef double per_seat[MAX_PLAYERS]
    cdef double total = 0
    cdef action_t action
    cdef int g, player

    seed_rng(&rng, seed, 0)
    for g in range(games):
        game.api.deal(rules, &state, g % rules.n_players, &rng)
        while state.ask != ASK_NOTHING:
            if state.ask == ASK_REPLACE:
                action = choose_any(rules, &state, &rng)
            elif seats >> state.to_act & 1:
                action = choose(rules, &state, &rng)
            else:
                action = choose_any(rules, &state, &rng)
            apply(rules, &state, action)
        payoffs(rules, &state, per_seat)
        for player in range(rules.n_players):
            if seats >> player & 1:
                total += per_seat[player]
    return total / games


cdef class SelfPlay:
    """Games of the playouts' policy against itself, for learning; now and then a seat, a stranger, plays at random."""

    cdef Game game
    cdef rng_t rng
    cdef double strangers          # probability that a seat plays at random for a game
    cdef float* gradients          # by turn and seat: of the log-probability of its actions
    cdef uint16_t* touched         # by turn and seat: indices of gradients that are not 0
    cdef int n_touched[TURNS_MAX * MAX_PLAYERS]
    cdef bint random_seat[MAX_PLAYERS]

    def __cinit__(self, Game game, uint64_t seed, double strangers):
        rules_of(game)
        self.game = game
        self.strangers = strangers
        seed_rng(&self.rng, seed, 1)
        self.gradients = <float*>calloc(TURNS_MAX * MAX_PLAYERS * N_MARKS, sizeof(float))
        self.touched = <uint16_t*>calloc(TURNS_MAX * MAX_PLAYERS * N_MARKS, sizeof(uint16_t))
        if self.gradients == NULL or self.touched == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.gradients)
        free(self.touched)

    cdef void deal(self, State* state) noexcept nogil:
        cdef const Rules* rules = <const Rules*>self.game.rules
        cdef int player

        self.game.api.deal(rules, state, below(&self.rng, rules.n_players), &self.rng)
        for player in range(rules.n_players):
            self.random_seat[player] = below(&self.rng, 1 << 20) < self.strangers * (1 << 20)

    cdef void touch(self, int book, int mark, float amount) noexcept nogil:
        cdef float* gradient = self.gradients + book * N_MARKS + mark

        if gradient[0] == 0:
            self.touched[book * N_MARKS + self.n_touched[book]] = <uint16_t>mark
            self.n_touched[book] += 1
            gradient[0] = <float>1e-30     # not 0: it is listed, even if the sum cancels
        gradient[0] += amount
        if gradient[0] == 0:
            gradient[0] = <float>1e-30

    cdef action_t sample(self, const State* state, int turn, double heat, double* gradient) noexcept nogil:
        """Draw an action from the prior, and add the gradient of its log-probability to the seat's for the turn.

        The gradient of the entropy, times `heat`, is added to `gradient` at once.
        """
        cdef const Rules* rules = <const Rules*>self.game.rules
        cdef action_t actions[MAX_ACTIONS]
        cdef float preferences[MAX_ACTIONS]
        cdef float shares[MAX_ACTIONS]
        cdef Options options
        cdef int n = legal_actions(rules, state, actions)
        cdef int book = turn * MAX_PLAYERS + state.to_act
        cdef int pick = 0
        cdef int i, m
        cdef double draw
        cdef double mean = 0

        if n == 1:
            return actions[0]
        if state.ask == ASK_REPLACE or self.random_seat[state.to_act]:
            return actions[below(&self.rng, n)]
        prefer(rules, state, MARKS[set_of(rules)], actions, n, &options, preferences)
        soften(preferences, n, shares)
        draw = <double>(next_bits(&self.rng) >> 11) / 9007199254740992.0
        while pick < n - 1 and draw >= shares[pick]:
            draw -= shares[pick]
            pick += 1
        for i in range(n):
            mean += shares[i] * preferences[i]
        for i in range(n):
            for m in range(options.width):
                self.touch(book, options.marks[i][m], ((i == pick) - shares[i]) * options.amounts[i][m])
                gradient[options.marks[i][m]] -= heat * shares[i] * (preferences[i] - mean) * options.amounts[i][m]
        return actions[pick]

    cdef void flush(self, int book, double advantage, double* gradient) noexcept nogil:
        cdef float* own = self.gradients + book * N_MARKS
        cdef uint16_t* touched = self.touched + book * N_MARKS
        cdef int i

        for i in range(self.n_touched[book]):
            gradient[touched[i]] += advantage * own[touched[i]]
            own[touched[i]] = 0
        self.n_touched[book] = 0

    def gradient(self, int games, double trust, double heat):
        """Return the gradient of the weights of the marks, summed over `games`, as doubles.

        The credit for a player's actions in a turn is their share of the win minus the evaluation before the turn. A
        fraction `trust` of the credit takes the evaluation after the turn in place of the result. `heat` keeps the
        policy mixed: once learning converges, an action that wins `heat` less often than another is e times rarer.
        """
        cdef const Rules* rules = <const Rules*>self.game.rules
        cdef object total = array.array("d", bytes(8 * N_MARKS))
        cdef double[::1] view = total
        cdef double values[(TURNS_MAX + 1) * MAX_PLAYERS]
        cdef int n_turns = rules.n_rounds * rules.n_turns
        cdef const double* paid = values + n_turns * MAX_PLAYERS
        cdef const double* before
        cdef State state
        cdef int player, turn, now, _g

        with nogil:
            for _g in range(games):
                self.deal(&state)
                turn = 0
                evaluate(rules, &state, values)
                while turn < n_turns:
                    apply(rules, &state, self.sample(&state, turn, heat, &view[0]))
                    now = n_turns if state.ask == ASK_NOTHING else (state.round - 1) * rules.n_turns + state.turn - 1
                    if now > turn:
                        turn = now
                        evaluate(rules, &state, values + turn * MAX_PLAYERS)
                for turn in range(n_turns):
                    before = values + turn * MAX_PLAYERS
                    for player in range(rules.n_players):
                        self.flush(turn * MAX_PLAYERS + player, trust * before[MAX_PLAYERS + player]
                                   + (1 - trust) * paid[player] - before[player], &view[0])
        return total

    def positions(self, int games, double midway):
        """Return positions of `games`: all at the beginnings of turns, and a fraction `midway` of the others.

        Each is (row, number of features of each seat, their numbers, their values, shares of the win in the end), the
        middle three as bytes of int32, uint16 and float32.
        """
        cdef const Rules* rules = <const Rules*>self.game.rules
        cdef float features[MAX_PLAYERS * N_FEATURES]
        cdef uint16_t numbers[MAX_PLAYERS * N_FEATURES]
        cdef float values[MAX_PLAYERS * N_FEATURES]
        cdef int sizes[MAX_PLAYERS]
        cdef double per_seat[MAX_PLAYERS]
        cdef State state
        cdef Tally tally
        cdef int player, i, n, _g, start
        cdef int n_players = rules.n_players
        samples = []

        for _g in range(games):
            self.deal(&state)
            start = len(samples)
            while state.ask != ASK_NOTHING:
                if (state.ask == ASK_SELECT and state.n_done == 0) or below(&self.rng, 1 << 20) < midway * (1 << 20):
                    memset(features, 0, sizeof(features))
                    tally.features = features
                    tally_table(rules, &state, &tally)
                    n = 0
                    for player in range(n_players):
                        sizes[player] = -n
                        for i in range(N_FEATURES):
                            if features[player * N_FEATURES + i] != 0:
                                numbers[n] = <uint16_t>i
                                values[n] = features[player * N_FEATURES + i]
                                n += 1
                        sizes[player] += n
                    samples.append([
                        row_of(rules, &state), (<char*>sizes)[:n_players * 4], (<char*>numbers)[:n * 2],
                        (<char*>values)[:n * 4], None,
                    ])
                if state.ask == ASK_REPLACE or self.random_seat[state.to_act]:
                    apply(rules, &state, choose_any(rules, &state, &self.rng))
                else:
                    apply(rules, &state, choose(rules, &state, &self.rng))
            payoffs(rules, &state, per_seat)
            paid = tuple([per_seat[i] for i in range(n_players)])
            for i in range(start, len(samples)):
                samples[i][4] = paid
        return samples

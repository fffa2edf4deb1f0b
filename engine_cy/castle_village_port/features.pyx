# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Describe actions of Castle, Village, Port by marks and players by features, and load their weights.

Most of it is computed, not learned: the payments of each location if the round ended now (`settle`), and the change
that an action makes to them, including the best use of an immediate effect. engine_cy/learned/ makes a policy and an
evaluation of it; solver/training/castle_village_port.py fits the weights.

Marks depend only on information that the player to act has. The weights know a card by its *role*, which is its deed
and timing, and a location by its rewards. They therefore apply to callers' tables, too, if `fits` accepts these.
"""
from cpython cimport array
from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.string cimport memcpy, memmove, memset

from engine_cy.castle_village_port.rules cimport Effect, Rank, Rules
from engine_cy.castle_village_port.state cimport NO_CARD, State, bit, owner_of, value_of
from engine_cy.castle_village_port.words cimport (
    ASK_COPY, ASK_DISCARD, ASK_MOVE, ASK_ORDER, ASK_PLACE, ASK_REPLACE, ASK_ROB, ASK_SELECT, ASK_SWAP, LOCATIONS,
    MAX_ROW, MAX_VALUE, N_ROLES, NOWHERE, STRANGE, Deed, Reward, When,
)
from engine_cy.game_api cimport MAX_PLAYERS, action_t
from engine_cy.learned.feature_api cimport (
    FeatureList, MarkedActions, Policy, count, mark_f, row_of_f, set_of_f, stage_of_f, tally_f,
)

from pathlib import Path

from engine_cy.castle_village_port.words import Role
from engine_cy.learned.weights import ROLE, Layout, WeightTable, Weights

cdef enum:
    PHASES = 15         # of the game, see `phase_of`
    RANKS = 6           # 0 to 3 from the left; 4: further right; 5: without reward
    RELATIONS = 4       # no card, an own card, the leading rival's, another rival's
    N_ROWS = 24         # of weights of features, by the progress of the game; see `row_of`

ROLES = [role.name for role in Role if role != STRANGE]

# The marks of an action: the index of each table in the weights of preferences.
MARKS = Layout(ROLES)
cdef int SELECT_WHEN = MARKS.add(PHASES, ROLE)              # phase, role
cdef int SELECT_ORDER = MARKS.add(3, ROLE)                  # first, between or last to reveal, role
cdef int SELECT_VALUE = MARKS.add(PHASES)                   # phase; times (value - 8) / 8
cdef int SELECT_WORTH = MARKS.add(PHASES)                   # phase; times the worth of its best place
cdef int SELECT_FOLLOW = MARKS.add(ROLE)                    # role; times the same
cdef int PLACE_RANK = MARKS.add(ROLE, RANKS)                # role, rank
cdef int PLACE_BESIDE = MARKS.add(ROLE, RELATIONS, RELATIONS)  # role, relations of the cards left and right
cdef int PLACE_AMONG = MARKS.add(PHASES, 5)                 # phase, cards there
cdef int PLACE_OWN = MARKS.add(PHASES)                      # phase; times the change for the player ...
cdef int PLACE_RIVALS = MARKS.add(PHASES)                   # ... for the rivals, on average ...
cdef int PLACE_LEADER = MARKS.add(PHASES)                   # ... and for the leading rival
cdef int PLACE_FOLLOW = MARKS.add(ROLE)                     # role; times the worth of the best use of its effect
cdef int CHANGE_OWN = MARKS.add(2, PHASES)                  # moved or discarded, phase; times the change ...
cdef int CHANGE_RIVALS = MARKS.add(2, PHASES)
cdef int CHANGE_LEADER = MARKS.add(2, PHASES)
cdef int CHANGE_CARD = MARKS.add(2, RELATIONS, ROLE)        # moved or discarded, relation, role
cdef int CHANGE_RANK = MARKS.add(RELATIONS, RANKS)          # relation, rank at the destination
cdef int ROB_VICTIM = MARKS.add(RELATIONS)                  # relation
cdef int ROB_LOOT = MARKS.add()                             # times the loot
cdef int COPY_ROLE = MARKS.add(ROLE)                        # role
cdef int COPY_FOLLOW = MARKS.add(ROLE)                      # role; times the worth of the best use of its effect
cdef int ORDER_PLAYER = MARKS.add(RELATIONS, 5)             # relation, cards there
cdef int ORDER_WORTH = MARKS.add(RELATIONS)                 # relation; times the worth of a middling card there
cdef int SWAP_VICTIM = MARKS.add(RELATIONS)                 # relation

# The features of a player.
FEATURES = Layout(ROLES)
cdef int F_GOLD = FEATURES.add()
cdef int F_LEAD = FEATURES.add()                            # over the richest other player
cdef int F_TOTAL = FEATURES.add()                           # gold, and the payments of the rows if the round ended now
cdef int F_TOTAL_LEAD = FEATURES.add()
cdef int F_CLOSE_LEAD = FEATURES.add()                      # F_TOTAL_LEAD, limited to -2..2
cdef int F_ORDER = FEATURES.add(5)                          # place in the order of this turn
cdef int F_RANKED = FEATURES.add()                          # cards that would take a rank now
cdef int F_STAY = FEATURES.add()                            # cards that would take none
cdef int F_ROW = FEATURES.add(ROLE)                         # in a row
cdef int F_ROW_VALUES = FEATURES.add()                      # their values, as below
cdef int F_HAND = FEATURES.add(ROLE)
cdef int F_HAND_VALUES = FEATURES.add()                     # sum of (value - 8) / 8
cdef int F_DECK = FEATURES.add(ROLE)
cdef int F_DECK_VALUES = FEATURES.add()
cdef int F_SELECTED = FEATURES.add(ROLE)
cdef int F_SELECTED_VALUES = FEATURES.add()


cdef inline int role_of(const Rules* rules, int value) noexcept nogil:
    return rules.roles[value]


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
cdef struct Summary:
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


cdef inline void look(const Rules* rules, const State* state, Summary* summary) noexcept nogil:
    cdef int location, player, total
    cdef int most = -1000000

    summary.rules = rules
    summary.state = state
    summary.me = state.to_act
    summary.phase = phase_of(rules, state)
    summary.leader = -1
    for location in range(LOCATIONS):
        settle(rules, location, state.rows[location], state.n_row[location], &summary.now[location])
    for player in range(rules.n_players):
        total = state.gold[player]
        for location in range(LOCATIONS):
            total += summary.now[location].of[player]
        if player != summary.me and total > most:
            most = total
            summary.leader = player


cdef inline int relation(const Summary* summary, int owner) noexcept nogil:
    return 1 if owner == summary.me else 2 if owner == summary.leader else 3


cdef inline int relation_at(const Summary* summary, const uint8_t* row, int n, int index) noexcept nogil:
    if not 0 <= index < n:
        return 0
    return relation(summary, owner_of(row[index]))


cdef inline int rank_at(const Rules* rules, int location, int index) noexcept nogil:
    """Return the rank of an index, from the left; RANKS - 1 for an index without reward."""
    if index >= rules.n_ranks[location]:
        return RANKS - 1
    return min(index, RANKS - 2)


cdef inline float rivals_of(const Summary* summary, const Gains* change) noexcept nogil:
    """Return a change for the rivals, on average."""
    cdef int total = -change.of[summary.me]
    cdef int player

    for player in range(summary.rules.n_players):
        total += change.of[player]
    return <float>total / <float>(summary.rules.n_players - 1)


cdef inline float worth_of(const Summary* summary, const Gains* change) noexcept nogil:
    return change.of[summary.me] - rivals_of(summary, change)


cdef float best_use(const Summary* summary, int location, const uint8_t* row, int n, const Gains* there, int index,
                    int value) noexcept nogil:
    """Return the worth of the immediate effect of the card of `value`, used by the card at `index` of `row`.

    `row` lies in `location` and has the gains `there`; all else is as in the summary. The acting card uses its own
    effect, or copies that of another.
    """
    cdef const Rules* rules = summary.rules
    cdef const State* state = summary.state
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
                add(&change, &summary.now[other], -1)
                at = lowest_place(row, n, value_of(state.rows[other][i]))
                with_card(row, n, at, state.rows[other][i], longer)
                settle(rules, location, longer, n + 1, &rest)
                add(&change, &rest, 1)
                add(&change, there, -1)
                best = max(best, worth_of(summary, &change))
        return best if best > -1e30 else 0
    for i in range(index - 1, index + 2, 2):
        if not 0 <= i < n:
            continue
        if effect.deed == Deed.ROB_NEIGHBOUR:
            if owner_of(row[i]) != summary.me:
                loot = min(<int>effect.amount, state.gold[owner_of(row[i])])
                best = max(best, loot * (1 + <float>1 / <float>(rules.n_players - 1)))
        elif effect.deed == Deed.DISCARD_NEIGHBOUR:
            without_card(row, n, i, shorter)
            settle(rules, location, shorter, n - 1, &change)
            add(&change, there, -1)
            best = max(best, worth_of(summary, &change))
        elif effect.deed == Deed.MOVE_NEIGHBOUR:
            without_card(row, n, i, shorter)
            settle(rules, location, shorter, n - 1, &rest)
            add(&rest, there, -1)
            for other in range(LOCATIONS):
                if other != location:
                    at = lowest_place(state.rows[other], state.n_row[other], value_of(row[i]))
                    with_card(state.rows[other], state.n_row[other], at, row[i], longer)
                    settle(rules, other, longer, state.n_row[other] + 1, &change)
                    add(&change, &summary.now[other], -1)
                    add(&change, &rest, 1)
                    best = max(best, worth_of(summary, &change))
        elif effect.deed == Deed.COPY_NEIGHBOUR:
            if (rules.effects[value_of(row[i])].when == When.IMMEDIATE
                    and rules.effects[value_of(row[i])].deed != Deed.COPY_NEIGHBOUR):
                best = max(best, best_use(summary, location, row, n, there, index, value_of(row[i])))
    return best if best > -1e30 else 0


# --- the marks of actions -------------------------------------------------------------------------------------

cdef inline void note(MarkedActions* options, int i, int m, int mark, float amount) noexcept nogil:
    options.marks[i][m] = <uint16_t>mark
    options.amounts[i][m] = amount


cdef inline float best_place(const Summary* summary, int value) noexcept nogil:
    """Return the worth of the best place for an own card."""
    cdef const State* state = summary.state
    cdef uint8_t row[MAX_ROW]
    cdef Gains there, change
    cdef float best = -1e30
    cdef int location, index

    for location in range(LOCATIONS):
        index = lowest_place(state.rows[location], state.n_row[location], value)
        with_card(state.rows[location], state.n_row[location], index, <uint8_t>(summary.me << 4 | value), row)
        settle(summary.rules, location, row, state.n_row[location] + 1, &there)
        change = there
        add(&change, &summary.now[location], -1)
        best = max(best, worth_of(summary, &change)
                   + best_use(summary, location, row, state.n_row[location] + 1, &there, index, value))
    return best


cdef inline void mark_selections(const Summary* summary, const action_t* actions, int n,
                                 MarkedActions* options) noexcept nogil:
    cdef int order = 0 if summary.state.n_done == 0 else 2 if summary.state.n_done == summary.rules.n_players - 1 else 1
    cdef int i, value, role
    cdef float worth

    options.width = 5
    for i in range(n):
        value = actions[i] >> 16 & 0xFF
        role = role_of(summary.rules, value)
        worth = best_place(summary, value)
        note(options, i, 0, SELECT_WHEN + summary.phase * N_ROLES + role, 1)
        note(options, i, 1, SELECT_ORDER + order * N_ROLES + role, 1)
        note(options, i, 2, SELECT_VALUE + summary.phase, <float>(value - 8) / 8)
        note(options, i, 3, SELECT_WORTH + summary.phase, worth)
        note(options, i, 4, SELECT_FOLLOW + role, worth)


cdef inline void mark_place(const Summary* summary, action_t action, MarkedActions* options, int i) noexcept nogil:
    cdef const State* state = summary.state
    cdef int location = action >> 16 & 0xFF
    cdef int index = action >> 8 & 0xFF
    cdef int n = state.n_row[location] + 1
    cdef int value = state.selected[summary.me]
    cdef int role = role_of(summary.rules, value)
    cdef uint8_t row[MAX_ROW]
    cdef Gains there, change

    with_card(state.rows[location], n - 1, index, <uint8_t>(summary.me << 4 | value), row)
    settle(summary.rules, location, row, n, &there)
    change = there
    add(&change, &summary.now[location], -1)
    note(options, i, 0, PLACE_RANK + role * RANKS + rank_at(summary.rules, location, index), 1)
    note(options, i, 1, PLACE_BESIDE + (role * RELATIONS + relation_at(summary, row, n, index - 1)) * RELATIONS
         + relation_at(summary, row, n, index + 1), 1)
    note(options, i, 2, PLACE_AMONG + summary.phase * 5 + min(n - 1, 4), 1)
    note(options, i, 3, PLACE_OWN + summary.phase, change.of[summary.me])
    note(options, i, 4, PLACE_RIVALS + summary.phase, rivals_of(summary, &change))
    note(options, i, 5, PLACE_LEADER + summary.phase, change.of[summary.leader])
    note(options, i, 6, PLACE_FOLLOW + role, best_use(summary, location, row, n, &there, index, value))


cdef inline void mark_change(const Summary* summary, action_t action, MarkedActions* options, int i) noexcept nogil:
    """Note the marks of moving or discarding a card."""
    cdef const Rules* rules = summary.rules
    cdef const State* state = summary.state
    cdef bint gone = state.ask == ASK_DISCARD
    cdef uint8_t card = action >> 16 & 0xFF
    cdef int to = action >> 8 & 0xFF
    cdef int at = action & 0xFF
    cdef int location = 0
    cdef int index = 0
    cdef int owner = relation(summary, owner_of(card))
    cdef uint8_t row[MAX_ROW]
    cdef Gains change, more

    while state.rows[location][index] != card:
        index += 1
        if index >= state.n_row[location]:
            index = 0
            location += 1
    without_card(state.rows[location], state.n_row[location], index, row)
    settle(rules, location, row, state.n_row[location] - 1, &change)
    add(&change, &summary.now[location], -1)
    if not gone:
        with_card(state.rows[to], state.n_row[to], at, card, row)
        settle(rules, to, row, state.n_row[to] + 1, &more)
        add(&change, &more, 1)
        add(&change, &summary.now[to], -1)
    note(options, i, 0, CHANGE_OWN + gone * PHASES + summary.phase, change.of[summary.me])
    note(options, i, 1, CHANGE_RIVALS + gone * PHASES + summary.phase, rivals_of(summary, &change))
    note(options, i, 2, CHANGE_LEADER + gone * PHASES + summary.phase, change.of[summary.leader])
    note(options, i, 3, CHANGE_CARD + (gone * RELATIONS + owner) * N_ROLES + role_of(rules, value_of(card)), 1)
    if not gone:
        note(options, i, 4, CHANGE_RANK + owner * RANKS + rank_at(rules, to, at), 1)


cdef inline void mark_copy(const Summary* summary, action_t action, MarkedActions* options, int i) noexcept nogil:
    cdef const State* state = summary.state
    cdef int value = value_of(action >> 16 & 0xFF)
    cdef int role = role_of(summary.rules, value)
    cdef int location = 0
    cdef int index = 0

    while state.rows[location][index] != state.acting:
        index += 1
        if index >= state.n_row[location]:
            index = 0
            location += 1
    note(options, i, 0, COPY_ROLE + role, 1)
    note(options, i, 1, COPY_FOLLOW + role, best_use(
        summary, location, state.rows[location], state.n_row[location], &summary.now[location], index, value))


cdef inline void mark_order(const Summary* summary, action_t action, MarkedActions* options, int i) noexcept nogil:
    """Note the marks of an order; a card of middling value stands for the unknown one."""
    cdef const State* state = summary.state
    cdef int player = action >> 16 & 0xFF
    cdef int location = action >> 8 & 0xFF
    cdef int n = state.n_row[location]
    cdef int index = lowest_place(state.rows[location], n, 8)
    cdef uint8_t row[MAX_ROW]
    cdef Gains change

    with_card(state.rows[location], n, index, <uint8_t>(player << 4 | 8), row)
    settle(summary.rules, location, row, n + 1, &change)
    add(&change, &summary.now[location], -1)
    note(options, i, 0, ORDER_PLAYER + relation(summary, player) * 5 + min(n, 4), 1)
    note(options, i, 1, ORDER_WORTH + relation(summary, player), worth_of(summary, &change))


cdef void mark(const Rules* rules, const State* state, const action_t* actions, int n, bint _wide,
               MarkedActions* options) noexcept nogil:
    cdef Summary summary
    cdef int i, victim

    look(rules, state, &summary)
    options.n = n
    options.width = 0           # a question without marks has no preferences
    options.has_amounts = True
    if state.ask == ASK_SELECT:
        mark_selections(&summary, actions, n, options)
    elif state.ask == ASK_PLACE:
        options.width = 7
        for i in range(n):
            mark_place(&summary, actions[i], options, i)
    elif state.ask == ASK_MOVE or state.ask == ASK_DISCARD:
        options.width = 5 if state.ask == ASK_MOVE else 4
        for i in range(n):
            mark_change(&summary, actions[i], options, i)
    elif state.ask == ASK_ROB:
        options.width = 2
        for i in range(n):
            victim = actions[i] >> 16 & 0xFF
            note(options, i, 0, ROB_VICTIM + relation(&summary, victim), 1)
            note(options, i, 1, ROB_LOOT, min(<int32_t>rules.effects[state.effect].amount, state.gold[victim]))
    elif state.ask == ASK_COPY:
        options.width = 2
        for i in range(n):
            mark_copy(&summary, actions[i], options, i)
    elif state.ask == ASK_ORDER:
        options.width = 2
        for i in range(n):
            mark_order(&summary, actions[i], options, i)
    elif state.ask == ASK_SWAP or state.ask == ASK_REPLACE:
        options.width = 1
        for i in range(n):
            note(options, i, 0, SWAP_VICTIM + relation(&summary, actions[i] >> 16 & 0xFF), 1)


# --- the features of players ----------------------------------------------------------------------------------

cdef int row_of(const Rules* rules, const State* state) noexcept nogil:
    """Return the row of weights: by rounds to go, turns to go in the round, and whether cards are being revealed."""
    cdef int rounds = rules.n_rounds - state.round
    cdef int turns = rules.n_turns - state.turn
    cdef bint revealing = state.revealing or state.walking != NOWHERE

    return (rounds * 4 + turns) * 2 + revealing


cdef inline void count_cards(const Rules* rules, FeatureList* features, int player, int feature, int values_feature,
                             uint16_t cards) noexcept nogil:
    """Count cards by role, and add up (value - 8) / 8."""
    cdef int value
    cdef int total = 0

    for value in range(1, MAX_VALUE + 1):
        if cards & bit(value):
            count(features, player, feature + role_of(rules, value), 1)
            total += value - 8
    count(features, player, values_feature, <float>total / 8)


cdef inline int lead_of(const int* amounts, int n_players, int player) noexcept nogil:
    """Return the lead over the best of the other players."""
    cdef int best = -1000000
    cdef int other

    for other in range(n_players):
        if other != player:
            best = max(best, amounts[other])
    return amounts[player] - best


cdef void tally_table(const Rules* rules, const State* state, FeatureList* features) noexcept nogil:
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
            count(features, owner_of(card), F_RANKED if i < rules.n_ranks[location] else F_STAY, 1)
    for player in range(rules.n_players):
        lead = lead_of(totals, rules.n_players, player)
        count(features, player, F_GOLD, gold[player])
        count(features, player, F_LEAD, lead_of(gold, rules.n_players, player))
        count(features, player, F_TOTAL, totals[player])
        count(features, player, F_TOTAL_LEAD, lead)
        count(features, player, F_CLOSE_LEAD, max(-2, min(2, lead)))
        place = player - state.first
        count(features, player, F_ORDER + (place if place >= 0 else place + rules.n_players), 1)
        known = state.hands[player] | state.piles[player] | laid[player]
        value = state.selected[player]
        if value != NO_CARD:
            known |= bit(value)
            count_cards(rules, features, player, F_SELECTED, F_SELECTED_VALUES, bit(value))
        count_cards(rules, features, player, F_ROW, F_ROW_VALUES, laid[player])
        count_cards(rules, features, player, F_HAND, F_HAND_VALUES, state.hands[player])
        count_cards(rules, features, player, F_DECK, F_DECK_VALUES, rules.values & ~known)


cdef int stage_of(const Rules* rules, const State* state) noexcept nogil:
    return (state.round - 1) * rules.n_turns + state.turn - 1


# --- the weights ----------------------------------------------------------------------------------------------

SHARPNESS = Layout()
SHARPNESS.add(1)
SETS = ["castle_village_port-3", "castle_village_port-4", "castle_village_port-5"]
WEIGHTS = Weights(Path(__file__).with_name("weights.json"), 2, SETS,
                  {"marks": WeightTable(1, MARKS), "sharpness": WeightTable(1, SHARPNESS),
                   "features": WeightTable(N_ROWS, FEATURES)})


cdef int set_of(const Rules* rules) noexcept nogil:
    return rules.n_players - 3


# FeatureApi passes Rules and State as plain bytes, hence the casts.
FEATURE_API.playouts = Policy(
    WEIGHTS.width("marks"), is_wide=False, weights=(<array.array>WEIGHTS.memory["marks"]).data.as_floats)
FEATURE_API.prior = FEATURE_API.playouts
FEATURE_API.sharpness = (<array.array>WEIGHTS.memory["sharpness"]).data.as_floats
FEATURE_API.n_rows = N_ROWS
FEATURE_API.n_features = WEIGHTS.width("features")
FEATURE_API.features = (<array.array>WEIGHTS.memory["features"]).data.as_floats
FEATURE_API.set_of = <set_of_f>set_of
FEATURE_API.mark = <mark_f>mark
FEATURE_API.row_of = <row_of_f>row_of
FEATURE_API.tally = <tally_f>tally_table
FEATURE_API.stage_of = <stage_of_f>stage_of

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Learned knowledge of Oriflamme: the prior of actions, the playout policy and the evaluation.

All are sums of weights from tables that solver/training/oriflamme.py fits, read from weights.json at import:

- the *preference* of an action is the sum of the weights of its *marks*, such as "a Spy, two rounds left, at the
  front". The prior is the softmax of preferences; a playout takes the greatest preference plus a little noise.
- the *standing* of a player is the weighted sum of their features, such as "cards in the queue". The evaluation, each
  player's expected share of the win, is the softmax of standings.

Marks depend only on facts that the player to act sees. A card counts by its *role*, which follows from the words of its
row, so the code is the same for both games and all editions.

Equal inputs give equal bits on every machine: no libm, and every sum has a fixed order.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from engine_cy.values cimport Game, Position
from engine_cy.game_api cimport MAX_PLAYERS, action_t
from engine_cy.oriflamme.features cimport (
    BESIDE, PHASES, SITUATIONS, Glance, beside, danger, fill_glance, list_shown_roles, relation, role_of, role_seen,
    situation,
)
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, KIND, State, card_at, family, held
from engine_cy.oriflamme.turn cimport apply, legal_actions, payoffs
from engine_cy.oriflamme.words cimport (
    AMBUSHER, ARCHER, ASK_COPY, ASK_DROP, ASK_LIFT, ASK_NOTHING, ASK_PAIR_SECOND, ASK_PLACE,
    ASK_REVEAL, ASK_ROB, ASK_TARGET, BACK, HEIR, N_KINDS, N_ROLES, NO_CARD, ON, UNSEEN, VERB_KEEP,
)
from engine_cy.support.softmax cimport best_shaken, share_out, soften
from engine_cy.support.rng cimport below, next_bits, rng_t, seed_rng

import array
from pathlib import Path

from engine_cy.weights import read_weights

# The marks of an action: the offset of each table in the weights of preferences.
cdef enum:
    RELATIONS = 4       # of a card: the acting card, the player's own, the leading rival's, another rival's

    PLACE_WHEN = 0                                                   # phase, last to place, role, place
    PLACE_BESIDE = PLACE_WHEN + PHASES * 2 * N_ROLES * 4             # role, front or back, beside
    PLACE_OVER = PLACE_BESIDE + N_ROLES * 2 * BESIDE                 # role, face, role covered
    PLACE_TOKENS = PLACE_OVER + N_ROLES * 2 * N_ROLES                # role, tokens covered
    PLACE_RIVALS = PLACE_TOKENS + N_ROLES * 5                        # role, place, a rival shows: Archer, this role
    REVEAL_WHEN = PLACE_RIVALS + N_ROLES * 4 * 4                     # role, phase, tokens
    REVEAL_FINDS = REVEAL_WHEN + N_ROLES * PHASES * 5                # role, situation, last round
    REVEAL_DANGER = REVEAL_FINDS + N_ROLES * SITUATIONS * 2          # role, danger, standing
    TARGET_ROLE = REVEAL_DANGER + N_ROLES * 4 * 3                    # relation, face, role
    TARGET_TOKENS = TARGET_ROLE + RELATIONS * 2 * N_ROLES            # relation, tokens, phase
    TARGET_WHERE = TARGET_TOKENS + RELATIONS * 5 * PHASES            # relation, face, ahead, covers, phase
    TARGET_BY = TARGET_WHERE + RELATIONS * 8 * PHASES                # acting role, relation, face
    TARGET_HEIR = TARGET_BY + N_ROLES * RELATIONS * 2                # relation, the player shows this role, too
    COPY_FINDS = TARGET_HEIR + RELATIONS * 2                         # role, situation
    COPY_WHOSE = COPY_FINDS + N_ROLES * SITUATIONS                   # relation, phase
    ROB_WHOM = COPY_WHOSE + RELATIONS * PHASES                       # victim leads, has points, phase
    LIFT_ROLE = ROB_WHOM + 2 * 2 * PHASES                            # relation, face, role, ahead
    LIFT_WHEN = LIFT_ROLE + RELATIONS * 2 * N_ROLES * 2              # relation, face, ahead, phase
    LIFT_COVERS = LIFT_WHEN + RELATIONS * 4 * PHASES                 # relation, covers, tokens
    DROP_WHERE = LIFT_COVERS + RELATIONS * 2 * 5                     # relation, face, was ahead, destination
    DROP_ROLE = DROP_WHERE + RELATIONS * 4 * 8                       # own, role, destination
    DROP_BESIDE = DROP_ROLE + 2 * N_ROLES * 8                        # own, role, beside
    PAIR_FIRST = DROP_BESIDE + 2 * N_ROLES * BESIDE                  # relation, face, twins among rivals
    PAIR_SECOND = PAIR_FIRST + RELATIONS * 2 * 3                     # relation, face, alike
    N_MARKS = PAIR_SECOND + RELATIONS * 2 * 3

    MARKS_EACH = 5      # the most marks of an action
    ROUNDS_MAX = 7

# The features of a player.
cdef enum:
    F_POINTS
    F_LEAD              # over the best rival
    F_CLOSE_LEAD        # the lead, cut to -2..2
    F_CARDS             # in the queue
    F_STACKS
    F_ORDER             # by place in the order of this round
    F_SHOWN = F_ORDER + 5                      # by role: top card, face up, still to act this round
    F_SPENT = F_SHOWN + N_ROLES                # ... that acts no more this round
    F_HIDDEN = F_SPENT + N_ROLES               # top card, face down, still to be revealed or kept
    F_PASSED = F_HIDDEN + N_ROLES              # ... that stays face down this round
    F_TOKENS = F_PASSED + N_ROLES              # tokens on it
    F_COVERED_SHOWN = F_TOKENS + N_ROLES
    F_COVERED_HIDDEN = F_COVERED_SHOWN + N_ROLES
    F_COVERED_TOKENS = F_COVERED_HIDDEN + N_ROLES
    F_HAND = F_COVERED_TOKENS + 1
    F_FINDS = F_HAND + N_ROLES                 # by role and situation: top card, face up
    F_WOULD_FIND = F_FINDS + N_ROLES * SITUATIONS
    F_DANGER_SHOWN = F_WOULD_FIND + N_ROLES * SITUATIONS     # by danger 0 to 3
    F_DANGER_HIDDEN = F_DANGER_SHOWN + 4
    F_DANGER_AMBUSH = F_DANGER_HIDDEN + 4
    F_HEIR_MET = F_DANGER_AMBUSH + 4           # an Heir in hand while a rival's lies face up
    N_FEATURES

    N_ROWS = 18         # rows of weights of features; see `row_of`


# --- the marks of actions -------------------------------------------------------------------------------------

cdef struct Options:
    int n
    int width                                  # number of marks of each action
    uint16_t marks[OPTIONS_MAX][MARKS_EACH]


# The weights by set: of the marks, and by row of the features.
cdef float MARKS[N_SETS][N_MARKS]
cdef float FEATURES[N_SETS][N_ROWS][N_FEATURES]
# The scale of the noise of playouts.
cdef float SHAKE = 0.4


cdef inline void mark_places(const Rules* rules, const State* state, const Glance* glance, const action_t* actions,
                             int n, Options* options) noexcept nogil:
    cdef int last_to_place = state.turn == rules.n_players * rules.cards_per_turn - 1
    cdef int first_mark = PLACE_WHEN + (glance.phase * 2 + last_to_place) * N_ROLES * 4
    cdef int archer = glance.rivals >> ARCHER & 1
    cdef int spots[128]        # by place: its offset in PLACE_BESIDE or PLACE_OVER for role 0 ...
    cdef int strides[128]      # ... and the distance between roles
    cdef uint8_t kinds_of_place[128]
    cdef uint8_t tokens[128]
    cdef int i, slot, role, at, place, same_role
    cdef uint8_t card

    options.width = 4
    for place in range(2):
        at = BACK if place else 0
        spots[at] = PLACE_BESIDE + place * BESIDE + beside(rules, state, glance, glance.last if place else 0)
        strides[at] = 2 * BESIDE
        kinds_of_place[at] = <uint8_t>place
        tokens[at] = 0
    for slot in range(state.n_slots):
        card = card_at(state, slot)
        if family(card) == glance.me:
            at = ON | slot
            place = 3 if card & FACE_UP else 2
            spots[at] = PLACE_OVER + (place - 2) * N_ROLES + role_of(rules, card & KIND)
            strides[at] = 2 * N_ROLES
            kinds_of_place[at] = <uint8_t>place
            tokens[at] = min(state.tokens[state.tops[slot]], 4)
    for i in range(n):
        role = role_of(rules, actions[i] >> 8 & 0xFF)
        at = actions[i] & 0x7F
        place = kinds_of_place[at]
        same_role = glance.rivals >> role & 1
        options.marks[i][0] = <uint16_t>(first_mark + role * 4 + place)
        options.marks[i][1] = <uint16_t>(spots[at] + role * strides[at])
        options.marks[i][2] = <uint16_t>(PLACE_RIVALS + ((role * 4 + place) * 2 + archer) * 2 + same_role)
        options.marks[i][3] = <uint16_t>(PLACE_TOKENS + role * 5 + tokens[at])


cdef inline void mark_reveal(const Rules* rules, const State* state, const Glance* glance,
                             uint16_t* marks) noexcept nogil:
    cdef int slot = state.cursor
    cdef int role = role_of(rules, card_at(state, slot) & KIND)
    cdef int finds = situation(rules, state, glance, slot, role)

    marks[0] = <uint16_t>(REVEAL_WHEN + (role * PHASES + glance.phase) * 5 + min(state.tokens[state.tops[slot]], 4))
    marks[1] = <uint16_t>(REVEAL_FINDS + (role * SITUATIONS + finds) * 2 + (glance.phase == 0))
    marks[2] = <uint16_t>(REVEAL_DANGER + (role * 4 + danger(rules, state, glance, slot)) * 3 + glance.standing)


cdef inline void mark_target(const Rules* rules, const State* state, const Glance* glance, int slot,
                             uint16_t* marks) noexcept nogil:
    cdef uint8_t card_id = state.tops[slot]
    cdef uint8_t card = state.cards[card_id]
    cdef int up = card & FACE_UP != 0
    cdef int role = role_seen(rules, card, glance.me)
    cdef int whose = 0 if slot == state.cursor else relation(state, glance, slot)
    cdef int covers = state.below[card_id] != NO_CARD
    cdef int ahead = slot > state.cursor

    marks[0] = <uint16_t>(TARGET_ROLE + (whose * 2 + up) * N_ROLES + role)
    marks[1] = <uint16_t>(TARGET_TOKENS + (whose * 5 + min(state.tokens[card_id], 4)) * PHASES + glance.phase)
    marks[2] = <uint16_t>(TARGET_WHERE + (((whose * 2 + up) * 2 + ahead) * 2 + covers) * PHASES + glance.phase)
    marks[3] = <uint16_t>(TARGET_BY + (role_of(rules, state.acting) * RELATIONS + whose) * 2 + up)
    marks[4] = <uint16_t>(TARGET_HEIR + whose * 2 + (up and glance.own >> role & 1))


cdef inline void mark_lift(const Rules* rules, const State* state, const Glance* glance, int slot,
                           uint16_t* marks) noexcept nogil:
    cdef uint8_t card_id = state.tops[slot]
    cdef uint8_t card = state.cards[card_id]
    cdef int up = card & FACE_UP != 0
    cdef int whose = relation(state, glance, slot)
    cdef int ahead = slot > state.cursor
    cdef int covers = state.below[card_id] != NO_CARD

    marks[0] = <uint16_t>(
        LIFT_ROLE + ((whose * 2 + up) * N_ROLES + role_seen(rules, card, glance.me)) * 2 + ahead)
    marks[1] = <uint16_t>(LIFT_WHEN + ((whose * 2 + up) * 2 + ahead) * PHASES + glance.phase)
    marks[2] = <uint16_t>(LIFT_COVERS + (whose * 2 + covers) * 5 + min(state.tokens[card_id], 4))


cdef inline void mark_drop(const Rules* rules, const State* state, const Glance* glance, int place,
                           uint16_t* marks) noexcept nogil:
    cdef int lifted = state.chosen
    cdef uint8_t card = card_at(state, lifted)
    cdef int role = role_seen(rules, card, glance.me)
    cdef int whose = relation(state, glance, lifted)
    cdef int own = whose == 1
    cdef int up = card & FACE_UP != 0
    cdef int to = place & (ON - 1)
    cdef int left = to - 1
    cdef int right = to
    cdef int where

    if place & ON:
        where = 6 if to == state.cursor else 4 + (to > state.cursor)
        left = right = to
    else:
        where = 0 if to == 0 else 1 if to > glance.last else 2 + (to > state.cursor)
        left -= left == lifted
        right += right == lifted
    marks[0] = <uint16_t>(DROP_WHERE + ((whose * 2 + up) * 2 + (lifted > state.cursor)) * 8 + where)
    marks[1] = <uint16_t>(DROP_ROLE + (own * N_ROLES + role) * 8 + where)
    marks[2] = <uint16_t>(DROP_BESIDE + (own * N_ROLES + role) * BESIDE + beside(rules, state, glance, left))
    marks[3] = <uint16_t>(DROP_BESIDE + (own * N_ROLES + role) * BESIDE + beside(rules, state, glance, right))


cdef inline void mark_pair(const Rules* rules, const State* state, const Glance* glance, int slot,
                           uint16_t* marks) noexcept nogil:
    cdef uint8_t card = card_at(state, slot)
    cdef int role = role_seen(rules, card, glance.me)
    cdef int up = card & FACE_UP != 0
    cdef int whose = relation(state, glance, slot)
    cdef int other = UNSEEN
    cdef int twins = 0
    cdef int i

    if state.ask == ASK_PAIR_SECOND:
        other = role_seen(rules, card_at(state, state.chosen), glance.me)
        twins = 1 if role == UNSEEN or other == UNSEEN else 2 * (role == other)
        marks[0] = <uint16_t>(PAIR_SECOND + (whose * 2 + up) * 3 + twins)
        return
    for i in range(slot + 1, state.n_slots):
        if i != state.cursor and role != UNSEEN and role_seen(rules, card_at(state, i), glance.me) == role:
            twins = max(twins, 2 if relation(state, glance, i) > 1 else 1)
    marks[0] = <uint16_t>(PAIR_FIRST + (whose * 2 + up) * 3 + twins)


cdef void mark(const Rules* rules, const State* state, const action_t* actions, int n, Options* options) noexcept nogil:
    """List the marks of each of `n` legal actions, from the view of the player to act."""
    cdef Glance glance
    cdef uint32_t shown[MAX_PLAYERS]
    cdef int i, arg, victim

    list_shown_roles(rules, state, shown)
    fill_glance(rules, state, shown, state.to_act, state.to_act, &glance)
    options.n = n
    if state.ask == ASK_PLACE:
        mark_places(rules, state, &glance, actions, n, options)
    elif state.ask == ASK_REVEAL:
        options.width = 3
        mark_reveal(rules, state, &glance, options.marks[0])
    elif state.ask == ASK_TARGET:
        options.width = 5
        for i in range(n):
            mark_target(rules, state, &glance, actions[i] >> 8 & 0xFF, options.marks[i])
    elif state.ask == ASK_ROB:
        options.width = 1
        for i in range(n):
            victim = actions[i] >> 8 & 0xFF
            options.marks[i][0] = <uint16_t>(
                ROB_WHOM + ((state.points[victim] == glance.best_rival) * 2 + (state.points[victim] > 0)) * PHASES
                + glance.phase)
    elif state.ask == ASK_COPY:
        options.width = 2
        for i in range(n):
            arg = actions[i] >> 8 & 0xFF
            victim = role_seen(rules, card_at(state, arg), glance.me)
            options.marks[i][0] = <uint16_t>(
                COPY_FINDS + victim * SITUATIONS + situation(rules, state, &glance, state.cursor, victim))
            options.marks[i][1] = <uint16_t>(COPY_WHOSE + relation(state, &glance, arg) * PHASES + glance.phase)
    elif state.ask == ASK_LIFT:
        options.width = 3
        for i in range(n):
            mark_lift(rules, state, &glance, actions[i] >> 8 & 0xFF, options.marks[i])
    elif state.ask == ASK_DROP:
        options.width = 4
        for i in range(n):
            mark_drop(rules, state, &glance, actions[i] >> 8 & 0xFF, options.marks[i])
    else:
        options.width = 1
        for i in range(n):
            mark_pair(rules, state, &glance, actions[i] >> 8 & 0xFF, options.marks[i])


cdef inline void prefer(const Rules* rules, const State* state, const float* weights, const action_t* actions, int n,
                        Options* options, float* preferences) noexcept nogil:
    """Write the preference of each of `n` legal actions. `keep` has preference 0, and `reveal` any number."""
    cdef float total
    cdef int i, m

    mark(rules, state, actions, n, options)
    for i in range(n):
        total = 0
        if state.ask != ASK_REVEAL:
            for m in range(options.width):
                total += weights[options.marks[i][m]]
        elif actions[i] >> 16 != VERB_KEEP:
            for m in range(options.width):
                total += weights[options.marks[0][m]]
        preferences[i] = total


# --- prior and playout policy ---------------------------------------------------------------------------------

cdef action_t choose(const Rules* rules, const State* state, rng_t* rng) noexcept nogil:
    """Return the action with the greatest preference plus noise."""
    cdef action_t actions[OPTIONS_MAX]
    cdef float preferences[OPTIONS_MAX]
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
    cdef float preferences[OPTIONS_MAX]

    preferences_of(rules, state, actions, n, preferences)
    soften(preferences, n, shares)


# --- the evaluation -------------------------------------------------------------------------------------------

# A sum over the features of each player: of their weights or, for training, of the features themselves.
cdef struct Tally:
    const float* weights           # if `features` is NULL
    double totals[MAX_PLAYERS]
    float* features                # N_FEATURES for each player, or NULL


cdef inline void count(Tally* tally, int player, int feature, float value) noexcept nogil:
    if tally.features == NULL:
        tally.totals[player] += tally.weights[feature] * value
    else:
        tally.features[player * N_FEATURES + feature] += value


cdef inline int row_of(const Rules* rules, const State* state) noexcept nogil:
    """Return the row of weights: one for each placement, one for each resolution but the last, and four for that."""
    cdef int to_go = min(rules.n_rounds - state.round, PHASES - 1)
    cdef int ahead

    if state.ask == ASK_PLACE:
        return to_go
    elif to_go:
        return PHASES + to_go
    ahead = state.n_slots - state.cursor
    return 14 if ahead <= 1 else 15 if ahead <= 3 else 16 if ahead <= 6 else 17


cdef void tally_table(const Rules* rules, const State* state, Tally* tally) noexcept nogil:
    cdef Glance glances[MAX_PLAYERS]
    cdef Glance* glance
    cdef uint32_t shown[MAX_PLAYERS]
    cdef int player, slot, role, kind, n, place, lead, finds, threat
    cdef uint8_t card_id
    cdef uint8_t card
    cdef bint ahead

    list_shown_roles(rules, state, shown)
    for player in range(rules.n_players):
        glance = &glances[player]
        fill_glance(rules, state, shown, player, -1, glance)
        lead = state.points[player] - glance.best_rival
        count(tally, player, F_POINTS, state.points[player])
        count(tally, player, F_LEAD, lead)
        count(tally, player, F_CLOSE_LEAD, max(-2, min(2, lead)))
        place = player - state.first
        count(tally, player, F_ORDER + (place if place >= 0 else place + rules.n_players), 1)
        for kind in range(N_KINDS):
            n = held(state.hands[player], kind)
            if n:
                role = role_of(rules, kind)
                count(tally, player, F_HAND + role, n)
                if role == HEIR and glance.rivals >> HEIR & 1:
                    count(tally, player, F_HEIR_MET, n)
    for slot in range(state.n_slots):
        card_id = state.tops[slot]
        card = state.cards[card_id]
        player = family(card)
        glance = &glances[player]
        role = role_of(rules, card & KIND)
        ahead = slot >= state.cursor
        finds = role * SITUATIONS + situation(rules, state, glance, slot, role)
        threat = danger(rules, state, glance, slot)
        count(tally, player, F_STACKS, 1)
        count(tally, player, F_CARDS, 1)
        if card & FACE_UP:
            count(tally, player, (F_SHOWN if ahead else F_SPENT) + role, 1)
            count(tally, player, F_FINDS + finds, 1)
            count(tally, player, F_DANGER_SHOWN + threat, 1)
        else:
            count(tally, player, (F_HIDDEN if ahead else F_PASSED) + role, 1)
            count(tally, player, F_TOKENS + role, state.tokens[card_id])
            count(tally, player, F_WOULD_FIND + finds, 1)
            count(tally, player, (F_DANGER_AMBUSH if role == AMBUSHER else F_DANGER_HIDDEN) + threat, 1)
        card_id = state.below[card_id]
        while card_id != NO_CARD:
            card = state.cards[card_id]
            role = role_of(rules, card & KIND)
            count(tally, player, F_CARDS, 1)
            count(tally, player, (F_COVERED_SHOWN if card & FACE_UP else F_COVERED_HIDDEN) + role, 1)
            count(tally, player, F_COVERED_TOKENS, state.tokens[card_id])
            card_id = state.below[card_id]


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


# Knowledge passes Rules and State as plain bytes, hence the casts.
KNOWLEDGE.prior = <void (*)(const void*, const void*, const action_t*, int, float*) noexcept nogil>prior
KNOWLEDGE.choose = <action_t (*)(const void*, const void*, rng_t*) noexcept nogil>choose
KNOWLEDGE.evaluate = <void (*)(const void*, const void*, double*) noexcept nogil>evaluate


# --- the weights ----------------------------------------------------------------------------------------------

# The version of the file format and of the meaning of its numbers.
VERSION = 1
SIZES = {"marks": N_MARKS, "rows": N_ROWS, "features": N_FEATURES}
SET_NAMES = ["", "oriflamme-3", "oriflamme-4", "oriflamme-5", "oriflamme_prototype-2", "oriflamme_prototype-3",
             "oriflamme_prototype-4", ""]
WEIGHTS = Path(__file__).with_name("weights.json")


def set_weights(name, marks=None, features=None):
    """Replace weights of a set such as 'oriflamme-3'. Not thread-safe: no search may run."""
    cdef int which = SET_NAMES.index(name)
    cdef int i, row

    if marks is not None:
        if len(marks) != N_MARKS:
            raise ValueError(f"marks: {len(marks)} weights, not {N_MARKS}")
        for i in range(N_MARKS):
            MARKS[which][i] = marks[i]
    if features is not None:
        if len(features) != N_ROWS or any(len(weights) != N_FEATURES for weights in features):
            raise ValueError(f"features: not {N_ROWS} rows of {N_FEATURES} weights")
        for row in range(N_ROWS):
            for i in range(N_FEATURES):
                FEATURES[which][row][i] = features[row][i]


def load_weights(path=WEIGHTS):
    """Read the weights from a file; done at import. Not thread-safe: no search may run."""
    for name, (marks, features) in read_weights(Path(path), VERSION, SIZES).items():
        set_weights(name, marks, features)


# Without the file all weights are 0: training starts so after a change of marks or features.
if WEIGHTS.exists():
    load_weights()


# --- for Python -----------------------------------------------------------------------------------------------

cdef const Rules* rules_of(Game game) except NULL:
    if not game.id.startswith("oriflamme"):
        raise ValueError(f"game: {game.id} is not Oriflamme")
    return <const Rules*>game.rules


def set_name(Game game):
    """Return the name of the set of weights for `game`, such as `oriflamme-3`."""
    return SET_NAMES[set_of(rules_of(game))]


def features_of(Position position):
    """Return the index of the row of weights for `position`, and the features of each seat."""
    cdef const Rules* rules = rules_of(position.game)
    cdef float features[MAX_PLAYERS * N_FEATURES]
    cdef Tally tally

    memset(features, 0, sizeof(features))
    tally.features = features
    tally_table(rules, <const State*>position.state, &tally)
    return row_of(rules, <const State*>position.state), tuple([
        tuple([features[player * N_FEATURES + i] for i in range(N_FEATURES)])
        for player in range(position.game.n_players)
    ])


# --- training -------------------------------------------------------------------------------------------------

cdef inline action_t choose_at_random(const Rules* rules, const State* state, rng_t* rng) noexcept nogil:
    cdef action_t actions[OPTIONS_MAX]
    return actions[below(rng, legal_actions(rules, state, actions))]


def contest(Game game, int games, uint64_t seed, int seats):
    """Return the share of the wins of `seats` (bit p: player p), who play by the playout policy against random play."""
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
            if seats >> state.to_act & 1:
                action = choose(rules, &state, &rng)
            else:
                action = choose_at_random(rules, &state, &rng)
            apply(rules, &state, action)
        payoffs(rules, &state, per_seat)
        for player in range(rules.n_players):
            if seats >> player & 1:
                total += per_seat[player]
    return total / games


cdef class SelfPlay:
    """Self-play of the playout policy, for training. A share `strangers` of the seats plays its game at random."""

    cdef Game game
    cdef rng_t rng
    cdef double strangers          # the probability that a seat plays a game at random
    cdef float* gradients          # by round and seat: of the log probability of its actions
    cdef uint16_t* touched         # by round and seat: the indices of the marks in its gradient
    cdef int n_touched[ROUNDS_MAX * MAX_PLAYERS]
    cdef bint random_seat[MAX_PLAYERS]

    def __cinit__(self, Game game, uint64_t seed, double strangers):
        rules_of(game)
        self.game = game
        self.strangers = strangers
        seed_rng(&self.rng, seed, 1)
        self.gradients = <float*>calloc(ROUNDS_MAX * MAX_PLAYERS * N_MARKS, sizeof(float))
        self.touched = <uint16_t*>calloc(ROUNDS_MAX * MAX_PLAYERS * N_MARKS, sizeof(uint16_t))
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

    cdef void add_to_gradient(self, int turn, int mark, float amount) noexcept nogil:
        cdef float* gradient = self.gradients + turn * N_MARKS + mark

        if gradient[0] == 0:
            self.touched[turn * N_MARKS + self.n_touched[turn]] = <uint16_t>mark
            self.n_touched[turn] += 1
            gradient[0] = <float>1e-30     # not 0, so that it is listed once
        gradient[0] += amount
        if gradient[0] == 0:
            gradient[0] = <float>1e-30

    cdef action_t sample(self, const State* state, double heat, double* gradient) noexcept nogil:
        """Draw an action from the prior, and add the gradient of its log probability to that of its round and seat.

        Add `heat` times the gradient of the entropy to `gradient`.
        """
        cdef const Rules* rules = <const Rules*>self.game.rules
        cdef action_t actions[OPTIONS_MAX]
        cdef float preferences[OPTIONS_MAX]
        cdef float shares[OPTIONS_MAX]
        cdef Options options
        cdef int n = legal_actions(rules, state, actions)
        cdef int turn = (state.round - 1) * MAX_PLAYERS + state.to_act
        cdef int pick = 0
        cdef int i, m, at
        cdef double draw
        cdef double mean = 0

        if n == 1:
            return actions[0]
        if self.random_seat[state.to_act]:
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
            if state.ask == ASK_REVEAL and actions[i] >> 16 == VERB_KEEP:
                continue
            at = 0 if state.ask == ASK_REVEAL else i
            for m in range(options.width):
                self.add_to_gradient(turn, options.marks[at][m], (i == pick) - shares[i])
                gradient[options.marks[at][m]] -= heat * shares[i] * (preferences[i] - mean)
        return actions[pick]

    cdef void flush(self, int turn, double advantage, double* gradient) noexcept nogil:
        """Move the gradient of a round and seat, times `advantage`, into `gradient`."""
        cdef float* own = self.gradients + turn * N_MARKS
        cdef uint16_t* touched = self.touched + turn * N_MARKS
        cdef int i

        for i in range(self.n_touched[turn]):
            gradient[touched[i]] += advantage * own[touched[i]]
            own[touched[i]] = 0
        self.n_touched[turn] = 0

    def gradient(self, int games, double trust, double heat):
        """Return the policy gradient by the weights of the marks, summed over `games`, as doubles.

        The advantage of a player's actions in a round is a value after them minus the evaluation before the round. The
        value mixes the evaluation after the round (share `trust`) and the payoff. `heat` is the weight of the entropy:
        at the optimum, an action that wins `heat` less often than another is e times less probable.
        """
        cdef const Rules* rules = <const Rules*>self.game.rules
        cdef object total = array.array("d", bytes(8 * N_MARKS))
        cdef double[::1] view = total
        cdef double values[(ROUNDS_MAX + 1) * MAX_PLAYERS]
        cdef const double* paid = values + rules.n_rounds * MAX_PLAYERS
        cdef const double* before
        cdef State state
        cdef int player, played, _g

        with nogil:
            for _g in range(games):
                self.deal(&state)
                played = 0
                evaluate(rules, &state, values)
                while state.ask != ASK_NOTHING:
                    apply(rules, &state, self.sample(&state, heat, &view[0]))
                    if state.ask == ASK_NOTHING or state.round > played + 1:
                        played += 1
                        evaluate(rules, &state, values + played * MAX_PLAYERS)
                for played in range(rules.n_rounds):
                    before = values + played * MAX_PLAYERS
                    for player in range(rules.n_players):
                        self.flush(played * MAX_PLAYERS + player, trust * before[MAX_PLAYERS + player]
                                   + (1 - trust) * paid[player] - before[player], &view[0])
        return total

    def positions(self, int games, double midway):
        """Sample positions from `games`: all at the ends of rounds, and a share `midway` of the others.

        Each position is a list: the row of weights, the number of features of each seat (int32), their indices
        (uint16), their values (int8), and the payoffs of the game.
        """
        cdef const Rules* rules = <const Rules*>self.game.rules
        cdef float features[MAX_PLAYERS * N_FEATURES]
        cdef uint16_t numbers[MAX_PLAYERS * N_FEATURES]
        cdef signed char values[MAX_PLAYERS * N_FEATURES]
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
                if (state.ask == ASK_PLACE and state.turn == 0) or below(&self.rng, 1 << 20) < midway * (1 << 20):
                    memset(features, 0, sizeof(features))
                    tally.features = features
                    tally_table(rules, &state, &tally)
                    n = 0
                    for player in range(n_players):
                        sizes[player] = -n
                        for i in range(N_FEATURES):
                            if features[player * N_FEATURES + i] != 0:
                                numbers[n] = <uint16_t>i
                                values[n] = <signed char>features[player * N_FEATURES + i]
                                n += 1
                        sizes[player] += n
                    samples.append([
                        row_of(rules, &state), (<char*>sizes)[:n_players * 4], (<char*>numbers)[:n * 2],
                        (<char*>values)[:n], None,
                    ])
                if self.random_seat[state.to_act]:
                    apply(rules, &state, choose_at_random(rules, &state, &self.rng))
                else:
                    apply(rules, &state, choose(rules, &state, &self.rng))
            payoffs(rules, &state, per_seat)
            paid = tuple([per_seat[i] for i in range(n_players)])
            for i in range(start, len(samples)):
                samples[i][4] = paid
        return samples

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Describe actions of Oriflamme by marks and players by features, and load their weights.

engine_cy/learned/ makes a policy and an evaluation of them; solver/training/oriflamme.py fits the weights. Marks depend
only on facts that the player to act sees. A card counts by its *role*, which follows from the words of its row, so the
code is the same for both games and all editions.
"""
from cpython cimport array
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from engine_cy.game_api cimport MAX_PLAYERS, action_t
from engine_cy.learned.feature_api cimport (
    FeatureList, MarkedActions, Policy, count, mark_f, row_of_f, set_of_f, stage_of_f, tally_f,
)
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, KIND, State, card_at, family, held, lowest_bit
from engine_cy.oriflamme.words cimport (
    AMBUSHER, ARCHER, ASK_COPY, ASK_DROP, ASK_LIFT, ASK_PAIR_FIRST, ASK_PAIR_SECOND, ASK_PLACE, ASK_REVEAL,
    ASK_ROB, ASK_TARGET, BACK, HEIR, N_ROLES, NO_CARD, ON, UNSEEN,
)

from pathlib import Path

from engine_cy.learned.weights import ROLE, Layout, WeightTable, Weights
from engine_cy.oriflamme.words import Role

cdef enum:
    RELATIONS = 4       # of a card: the acting card, the player's own, the leading rival's, another rival's
    N_ROWS = 18         # of weights of features; see `row_of`

# The marks of an action: the index of each table in the weights of preferences.
MARKS = Layout(Role.__members__)
cdef int PLACE_WHEN = MARKS.add(PHASES, 2, ROLE, 4)         # phase, last to place, role, place
cdef int PLACE_BESIDE = MARKS.add(ROLE, 2, BESIDE)          # role, front or back, beside
cdef int PLACE_OVER = MARKS.add(ROLE, 2, ROLE)              # role, face, role covered
cdef int PLACE_TOKENS = MARKS.add(ROLE, 5)                  # role, tokens covered
cdef int PLACE_RIVALS = MARKS.add(ROLE, 4, 2, 2)            # role, place, a rival shows: Archer, this role
cdef int REVEAL_WHEN = MARKS.add(ROLE, PHASES, 5)           # role, phase, tokens
cdef int REVEAL_FINDS = MARKS.add(ROLE, SITUATIONS, 2)      # role, situation, last round
cdef int REVEAL_THREAT = MARKS.add(ROLE, 4, 3)              # role, threat, standing
cdef int TARGET_ROLE = MARKS.add(RELATIONS, 2, ROLE)        # relation, face, role
cdef int TARGET_TOKENS = MARKS.add(RELATIONS, 5, PHASES)    # relation, tokens, phase
cdef int TARGET_WHERE = MARKS.add(RELATIONS, 2, 2, 2, PHASES)  # relation, face, ahead, covers, phase
cdef int TARGET_BY = MARKS.add(ROLE, RELATIONS, 2)          # acting role, relation, face
cdef int TARGET_HEIR = MARKS.add(RELATIONS, 2)              # relation, the player shows this role, too
cdef int COPY_FINDS = MARKS.add(ROLE, SITUATIONS)           # role, situation
cdef int COPY_WHOSE = MARKS.add(RELATIONS, PHASES)          # relation, phase
cdef int ROB_WHOM = MARKS.add(2, 2, PHASES)                 # victim leads, has points, phase
cdef int LIFT_ROLE = MARKS.add(RELATIONS, 2, ROLE, 2)       # relation, face, role, ahead
cdef int LIFT_WHEN = MARKS.add(RELATIONS, 2, 2, PHASES)     # relation, face, ahead, phase
cdef int LIFT_COVERS = MARKS.add(RELATIONS, 2, 5)           # relation, covers, tokens
cdef int DROP_WHERE = MARKS.add(RELATIONS, 2, 2, 8)         # relation, face, was ahead, destination
cdef int DROP_ROLE = MARKS.add(2, ROLE, 8)                  # own, role, destination
cdef int DROP_BESIDE = MARKS.add(2, ROLE, BESIDE)           # own, role, beside
cdef int PAIR_FIRST = MARKS.add(RELATIONS, 2, 3)            # relation, face, twins among rivals
cdef int PAIR_SECOND = MARKS.add(RELATIONS, 2, 3)           # relation, face, alike

# The wide marks, which only the prior weighs.
PRIORS = MARKS.copy()
cdef int PLACE_STANDING = PRIORS.add(PHASES, 3, ROLE, 4)    # phase, standing, role, place
cdef int PLACE_LENGTH = PRIORS.add(LENGTHS, ROLE, 4)        # length of the queue, role, place
cdef int PLACE_TURN = PRIORS.add(5, ROLE, 4)                # players still to place, role, place
cdef int PLACE_DANGER = PRIORS.add(DANGERS, ROLE, 4)        # dangers, role, place
cdef int PLACE_OWN = PRIORS.add(16, ROLE, 4)                # own cards face down and up, role, place
cdef int PLACE_HIDDEN = PRIORS.add(6, ROLE, 4)              # rivals' cards face down, role, place
cdef int PLACE_AROUND = PRIORS.add(ROLE, 3, SIDES)          # role, front or back or over, beside both
cdef int REVEAL_AHEAD = PRIORS.add(ROLE, 5, PHASES)         # role, rivals' cards face down to come, phase
cdef int REVEAL_DANGER = PRIORS.add(ROLE, DANGERS, 5)       # role, dangers, tokens
cdef int REVEAL_AROUND = PRIORS.add(ROLE, SIDES)            # role, beside both
cdef int REVEAL_TOKENS = PRIORS.add(ROLE, SITUATIONS, 5)    # role, situation, tokens
cdef int REVEAL_LEAD = PRIORS.add(ROLE, LEADS, PHASES)      # role, lead, phase
cdef int REVEAL_WHERE = PRIORS.add(ROLE, 5, DANGERS)        # role, distance from the ends, dangers
cdef int REVEAL_FINDS_WHEN = PRIORS.add(ROLE, SITUATIONS, PHASES)  # role, situation, phase
cdef int TARGET_FOR = PRIORS.add(ROLE, RELATIONS, 2, ROLE)  # acting role, relation, face, role
cdef int TARGET_LEAD = PRIORS.add(RELATIONS, LEADS, PHASES)  # relation, lead over its owner, phase
cdef int TARGET_AROUND = PRIORS.add(RELATIONS, 2, SIDES)    # relation, face, beside both
cdef int TARGET_HOLDS = PRIORS.add(ROLE, RELATIONS, 2, 5)   # acting role, relation, face, tokens
cdef int ROB_LEAD = PRIORS.add(5, LEADS, PHASES)            # the victim's points, lead over them, phase
cdef int COPY_WHEN = PRIORS.add(ROLE, PHASES, 3)            # role, phase, standing
cdef int LIFT_AROUND = PRIORS.add(RELATIONS, 2, SIDES)      # relation, face, beside both
cdef int DROP_AROUND = PRIORS.add(2, ROLE, SIDES)           # own, role, beside both

# The features of a player.
FEATURES = Layout(Role.__members__)
cdef int F_POINTS = FEATURES.add()
cdef int F_LEAD = FEATURES.add()                            # over the best rival
cdef int F_CLOSE_LEAD = FEATURES.add()                      # the lead, cut to -2..2
cdef int F_CARDS = FEATURES.add()                           # in the queue
cdef int F_STACKS = FEATURES.add()
cdef int F_ORDER = FEATURES.add(5)                          # by place in the order of this round
cdef int F_SHOWN = FEATURES.add(ROLE)                       # top card, face up, still to act this round
cdef int F_SPENT = FEATURES.add(ROLE)                       # ... that acts no more this round
cdef int F_HIDDEN = FEATURES.add(ROLE)                      # top card, face down, still to be revealed or kept
cdef int F_PASSED = FEATURES.add(ROLE)                      # ... that stays face down this round
cdef int F_TOKENS = FEATURES.add(ROLE)                      # tokens on it
cdef int F_COVERED_SHOWN = FEATURES.add(ROLE)
cdef int F_COVERED_HIDDEN = FEATURES.add(ROLE)
cdef int F_COVERED_TOKENS = FEATURES.add()
cdef int F_HAND = FEATURES.add(ROLE)
cdef int F_FINDS = FEATURES.add(ROLE, SITUATIONS)           # top card, face up
cdef int F_WOULD_FIND = FEATURES.add(ROLE, SITUATIONS)      # top card, face down
cdef int F_THREAT_SHOWN = FEATURES.add(4)                   # by threat 0 to 3
cdef int F_THREAT_HIDDEN = FEATURES.add(4)
cdef int F_THREAT_AMBUSH = FEATURES.add(4)
cdef int F_HEIR_MET = FEATURES.add()                        # an Heir in hand while a rival's lies face up


# --- the marks of actions -------------------------------------------------------------------------------------

cdef inline void mark_places(const Rules* rules, const State* state, const Summary* summary, const action_t* actions,
                             int n, MarkedActions* options) noexcept nogil:
    cdef int last_to_place = state.turn == rules.n_players * rules.cards_per_turn - 1
    cdef int first_mark = PLACE_WHEN + (summary.phase * 2 + last_to_place) * N_ROLES * 4
    cdef int archer = summary.rivals >> ARCHER & 1
    cdef int spots[128]        # by place: its offset in PLACE_BESIDE or PLACE_OVER for role 0 ...
    cdef int strides[128]      # ... and the distance between roles
    cdef uint8_t kinds_of_place[128]
    cdef uint8_t tokens[128]
    cdef int i, slot, role, at, place, same_role
    cdef uint8_t card

    options.width = 4
    for place in range(2):
        at = BACK if place else 0
        spots[at] = PLACE_BESIDE + place * BESIDE + beside(rules, state, summary, summary.last if place else 0)
        strides[at] = 2 * BESIDE
        kinds_of_place[at] = <uint8_t>place
        tokens[at] = 0
    for slot in range(state.n_slots):
        card = card_at(state, slot)
        if family(card) == summary.me:
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
        same_role = summary.rivals >> role & 1
        options.marks[i][0] = <uint16_t>(first_mark + role * 4 + place)
        options.marks[i][1] = <uint16_t>(spots[at] + role * strides[at])
        options.marks[i][2] = <uint16_t>(PLACE_RIVALS + ((role * 4 + place) * 2 + archer) * 2 + same_role)
        options.marks[i][3] = <uint16_t>(PLACE_TOKENS + role * 5 + tokens[at])


cdef inline void mark_reveal(const Rules* rules, const State* state, const Summary* summary,
                             uint16_t* marks) noexcept nogil:
    cdef int slot = state.cursor
    cdef int role = role_of(rules, card_at(state, slot) & KIND)
    cdef int finds = situation(rules, state, summary, slot, role)

    marks[0] = <uint16_t>(REVEAL_WHEN + (role * PHASES + summary.phase) * 5 + min(state.tokens[state.tops[slot]], 4))
    marks[1] = <uint16_t>(REVEAL_FINDS + (role * SITUATIONS + finds) * 2 + (summary.phase == 0))
    marks[2] = <uint16_t>(REVEAL_THREAT + (role * 4 + threat_to(rules, state, summary, slot)) * 3 + summary.standing)


cdef inline void mark_target(const Rules* rules, const State* state, const Summary* summary, int slot,
                             uint16_t* marks) noexcept nogil:
    cdef uint8_t card_id = state.tops[slot]
    cdef uint8_t card = state.cards[card_id]
    cdef int up = card & FACE_UP != 0
    cdef int role = role_seen(rules, card, summary.me)
    cdef int whose = 0 if slot == state.cursor else relation(state, summary, slot)
    cdef int covers = state.below[card_id] != NO_CARD
    cdef int ahead = slot > state.cursor

    marks[0] = <uint16_t>(TARGET_ROLE + (whose * 2 + up) * N_ROLES + role)
    marks[1] = <uint16_t>(TARGET_TOKENS + (whose * 5 + min(state.tokens[card_id], 4)) * PHASES + summary.phase)
    marks[2] = <uint16_t>(TARGET_WHERE + (((whose * 2 + up) * 2 + ahead) * 2 + covers) * PHASES + summary.phase)
    marks[3] = <uint16_t>(TARGET_BY + (role_of(rules, state.acting) * RELATIONS + whose) * 2 + up)
    marks[4] = <uint16_t>(TARGET_HEIR + whose * 2 + (up and summary.own >> role & 1))


cdef inline void mark_lift(const Rules* rules, const State* state, const Summary* summary, int slot,
                           uint16_t* marks) noexcept nogil:
    cdef uint8_t card_id = state.tops[slot]
    cdef uint8_t card = state.cards[card_id]
    cdef int up = card & FACE_UP != 0
    cdef int whose = relation(state, summary, slot)
    cdef int ahead = slot > state.cursor
    cdef int covers = state.below[card_id] != NO_CARD

    marks[0] = <uint16_t>(
        LIFT_ROLE + ((whose * 2 + up) * N_ROLES + role_seen(rules, card, summary.me)) * 2 + ahead)
    marks[1] = <uint16_t>(LIFT_WHEN + ((whose * 2 + up) * 2 + ahead) * PHASES + summary.phase)
    marks[2] = <uint16_t>(LIFT_COVERS + (whose * 2 + covers) * 5 + min(state.tokens[card_id], 4))


cdef inline void mark_drop(const Rules* rules, const State* state, const Summary* summary, int place,
                           uint16_t* marks) noexcept nogil:
    cdef int lifted = state.chosen
    cdef uint8_t card = card_at(state, lifted)
    cdef int role = role_seen(rules, card, summary.me)
    cdef int whose = relation(state, summary, lifted)
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
        where = 0 if to == 0 else 1 if to > summary.last else 2 + (to > state.cursor)
        left -= left == lifted
        right += right == lifted
    marks[0] = <uint16_t>(DROP_WHERE + ((whose * 2 + up) * 2 + (lifted > state.cursor)) * 8 + where)
    marks[1] = <uint16_t>(DROP_ROLE + (own * N_ROLES + role) * 8 + where)
    marks[2] = <uint16_t>(DROP_BESIDE + (own * N_ROLES + role) * BESIDE + beside(rules, state, summary, left))
    marks[3] = <uint16_t>(DROP_BESIDE + (own * N_ROLES + role) * BESIDE + beside(rules, state, summary, right))


cdef inline void mark_pair(const Rules* rules, const State* state, const Summary* summary, int slot,
                           uint16_t* marks) noexcept nogil:
    cdef uint8_t card = card_at(state, slot)
    cdef int role = role_seen(rules, card, summary.me)
    cdef int up = card & FACE_UP != 0
    cdef int whose = relation(state, summary, slot)
    cdef int other = UNSEEN
    cdef int twins = 0
    cdef int i

    if state.ask == ASK_PAIR_SECOND:
        other = role_seen(rules, card_at(state, state.chosen), summary.me)
        twins = 1 if role == UNSEEN or other == UNSEEN else 2 * (role == other)
        marks[0] = <uint16_t>(PAIR_SECOND + (whose * 2 + up) * 3 + twins)
        return
    for i in range(slot + 1, state.n_slots):
        if i != state.cursor and role != UNSEEN and role_seen(rules, card_at(state, i), summary.me) == role:
            twins = max(twins, 2 if relation(state, summary, i) > 1 else 1)
    marks[0] = <uint16_t>(PAIR_FIRST + (whose * 2 + up) * 3 + twins)


# --- the wide marks -------------------------------------------------------------------------------------------

cdef inline int around(const Rules* rules, const State* state, const Summary* summary, int slot) noexcept nogil:
    """Classify the top cards on both sides of `slot`: below SIDES."""
    return beside(rules, state, summary, slot - 1) * BESIDE + beside(rules, state, summary, slot + 1)


cdef inline void mark_places_widely(const Rules* rules, const State* state, const Summary* summary,
                                    const uint32_t* shown, const action_t* actions, int n,
                                    MarkedActions* options) noexcept nogil:
    cdef int first = options.width
    cdef int to_place = min(rules.n_players * rules.cards_per_turn - 1 - state.turn, 4)
    cdef int tables[6]      # by table: its part for this state
    cdef int i, t, role, at, place, end, sides
    cdef Counts counts

    count_tops(state, summary.me, &counts)
    tables[0] = PLACE_STANDING + (summary.phase * 3 + summary.standing) * N_ROLES * 4
    tables[1] = PLACE_LENGTH + length_of(state) * N_ROLES * 4
    tables[2] = PLACE_TURN + to_place * N_ROLES * 4
    tables[3] = PLACE_DANGER + dangers(rules, state, summary, shown) * N_ROLES * 4
    tables[4] = PLACE_OWN + (min(counts.own_hidden, 3) * 4 + min(counts.own_shown, 3)) * N_ROLES * 4
    tables[5] = PLACE_HIDDEN + min(counts.hidden, 5) * N_ROLES * 4
    for i in range(n):
        role = role_of(rules, actions[i] >> 8 & 0xFF)
        at = actions[i] & 0x7F
        end = 0 if at == 0 else 1 if at == BACK else 2
        if end == 2:
            at &= ON - 1
            place = 3 if card_at(state, at) & FACE_UP else 2
            sides = around(rules, state, summary, at)
        else:
            place = end
            at = summary.last if end else 0
            sides = (beside(rules, state, summary, at) * BESIDE
                     + beside(rules, state, summary, at - 1 if end else at + 1))
        options.marks[i][first] = <uint16_t>(PLACE_AROUND + (role * 3 + end) * SIDES + sides)
        for t in range(6):
            options.marks[i][first + 1 + t] = <uint16_t>(tables[t] + role * 4 + place)
    options.width = first + 7


cdef inline void mark_reveal_widely(const Rules* rules, const State* state, const Summary* summary,
                                    const uint32_t* shown, uint16_t* marks) noexcept nogil:
    cdef int slot = state.cursor
    cdef int role = role_of(rules, card_at(state, slot) & KIND)
    cdef int finds = situation(rules, state, summary, slot, role)
    cdef int tokens = min(state.tokens[state.tops[slot]], 4)
    cdef int lead = lead_over(state, summary, summary.best_rival)
    cdef int danger = dangers(rules, state, summary, shown)
    cdef int inward = min(slot, summary.last - slot)
    cdef int where = min(inward, 2) if inward else 3 + (slot == 0)
    cdef Counts counts

    count_tops(state, summary.me, &counts)
    marks[0] = <uint16_t>(REVEAL_AHEAD + (role * 5 + min(counts.hidden_ahead, 4)) * PHASES + summary.phase)
    marks[1] = <uint16_t>(REVEAL_DANGER + (role * DANGERS + danger) * 5 + tokens)
    marks[2] = <uint16_t>(REVEAL_AROUND + role * SIDES + around(rules, state, summary, slot))
    marks[3] = <uint16_t>(REVEAL_TOKENS + (role * SITUATIONS + finds) * 5 + tokens)
    marks[4] = <uint16_t>(REVEAL_LEAD + (role * LEADS + lead) * PHASES + summary.phase)
    marks[5] = <uint16_t>(REVEAL_WHERE + (role * 5 + where) * DANGERS + danger)
    marks[6] = <uint16_t>(REVEAL_FINDS_WHEN + (role * SITUATIONS + finds) * PHASES + summary.phase)


cdef inline void mark_target_widely(const Rules* rules, const State* state, const Summary* summary, int slot,
                                    uint16_t* marks) noexcept nogil:
    cdef uint8_t card_id = state.tops[slot]
    cdef uint8_t card = state.cards[card_id]
    cdef int up = card & FACE_UP != 0
    cdef int whose = 0 if slot == state.cursor else relation(state, summary, slot)
    cdef int seen = whose * 2 + up
    cdef int by = role_of(rules, state.acting) * RELATIONS * 2 + seen
    cdef int lead = lead_over(state, summary, state.points[family(card)])

    marks[0] = <uint16_t>(TARGET_FOR + by * N_ROLES + role_seen(rules, card, summary.me))
    marks[1] = <uint16_t>(TARGET_LEAD + (whose * LEADS + lead) * PHASES + summary.phase)
    marks[2] = <uint16_t>(TARGET_AROUND + seen * SIDES + around(rules, state, summary, slot))
    marks[3] = <uint16_t>(TARGET_HOLDS + by * 5 + min(state.tokens[card_id], 4))


cdef inline int drop_around(const Rules* rules, const State* state, const Summary* summary, int place) noexcept nogil:
    """Classify the top cards on both sides of the place of the lifted card: below SIDES."""
    cdef int lifted = state.chosen
    cdef int to = place & (ON - 1)

    if place & ON:
        return beside(rules, state, summary, to) * (BESIDE + 1)
    return (beside(rules, state, summary, to - 1 - (to - 1 == lifted)) * BESIDE
            + beside(rules, state, summary, to + (to == lifted)))


cdef void mark_widely(const Rules* rules, const State* state, const Summary* summary, const uint32_t* shown,
                      const action_t* actions, int n, MarkedActions* options) noexcept nogil:
    """Add the wide marks behind the others."""
    cdef int first = options.width
    cdef int i, arg, points, lead, role, seen
    cdef uint8_t card

    if state.ask == ASK_PLACE:
        mark_places_widely(rules, state, summary, shown, actions, n, options)
    elif state.ask == ASK_REVEAL:
        options.width += 7
        mark_reveal_widely(rules, state, summary, shown, options.marks[0] + first)
    elif state.ask == ASK_TARGET:
        options.width += 4
        for i in range(n):
            mark_target_widely(rules, state, summary, actions[i] >> 8 & 0xFF, options.marks[i] + first)
    elif state.ask == ASK_ROB:
        options.width += 1
        for i in range(n):
            points = state.points[actions[i] >> 8 & 0xFF]
            lead = lead_over(state, summary, points)
            options.marks[i][first] = <uint16_t>(ROB_LEAD + (min(points, 4) * LEADS + lead) * PHASES + summary.phase)
    elif state.ask == ASK_COPY:
        options.width += 1
        for i in range(n):
            role = role_seen(rules, card_at(state, actions[i] >> 8 & 0xFF), summary.me)
            options.marks[i][first] = <uint16_t>(COPY_WHEN + (role * PHASES + summary.phase) * 3 + summary.standing)
    elif state.ask == ASK_LIFT:
        options.width += 1
        for i in range(n):
            arg = actions[i] >> 8 & 0xFF
            seen = relation(state, summary, arg) * 2 + (card_at(state, arg) & FACE_UP != 0)
            options.marks[i][first] = <uint16_t>(LIFT_AROUND + seen * SIDES + around(rules, state, summary, arg))
    elif state.ask == ASK_DROP:
        options.width += 1
        card = card_at(state, state.chosen)
        role = (relation(state, summary, state.chosen) == 1) * N_ROLES + role_seen(rules, card, summary.me)
        for i in range(n):
            arg = drop_around(rules, state, summary, actions[i] >> 8 & 0xFF)
            options.marks[i][first] = <uint16_t>(DROP_AROUND + role * SIDES + arg)


cdef void mark(const Rules* rules, const State* state, const action_t* actions, int n, bint wide,
               MarkedActions* options) noexcept nogil:
    cdef Summary summary
    cdef uint32_t shown[MAX_PLAYERS]
    cdef int i, arg, victim

    list_shown_roles(rules, state, shown)
    fill_summary(rules, state, shown, state.to_act, state.to_act, &summary)
    options.n = n
    options.width = 0           # a question without marks has no preferences
    options.has_amounts = False
    if state.ask == ASK_PLACE:
        mark_places(rules, state, &summary, actions, n, options)
    elif state.ask == ASK_REVEAL:
        # Keeping, the last action, has the preference 0; some cards may only be kept.
        options.n = n - 1
        options.width = 3
        mark_reveal(rules, state, &summary, options.marks[0])
    elif state.ask == ASK_TARGET:
        options.width = 5
        for i in range(n):
            mark_target(rules, state, &summary, actions[i] >> 8 & 0xFF, options.marks[i])
    elif state.ask == ASK_ROB:
        options.width = 1
        for i in range(n):
            victim = actions[i] >> 8 & 0xFF
            options.marks[i][0] = <uint16_t>(
                ROB_WHOM + ((state.points[victim] == summary.best_rival) * 2 + (state.points[victim] > 0)) * PHASES
                + summary.phase)
    elif state.ask == ASK_COPY:
        options.width = 2
        for i in range(n):
            arg = actions[i] >> 8 & 0xFF
            victim = role_seen(rules, card_at(state, arg), summary.me)
            options.marks[i][0] = <uint16_t>(
                COPY_FINDS + victim * SITUATIONS + situation(rules, state, &summary, state.cursor, victim))
            options.marks[i][1] = <uint16_t>(COPY_WHOSE + relation(state, &summary, arg) * PHASES + summary.phase)
    elif state.ask == ASK_LIFT:
        options.width = 3
        for i in range(n):
            mark_lift(rules, state, &summary, actions[i] >> 8 & 0xFF, options.marks[i])
    elif state.ask == ASK_DROP:
        options.width = 4
        for i in range(n):
            mark_drop(rules, state, &summary, actions[i] >> 8 & 0xFF, options.marks[i])
    elif state.ask == ASK_PAIR_FIRST or state.ask == ASK_PAIR_SECOND:
        options.width = 1
        for i in range(n):
            mark_pair(rules, state, &summary, actions[i] >> 8 & 0xFF, options.marks[i])
    if wide:
        mark_widely(rules, state, &summary, shown, actions, n, options)


# --- the features of players ----------------------------------------------------------------------------------

cdef int row_of(const Rules* rules, const State* state) noexcept nogil:
    """Return the row of weights: one for each placement, one for each resolution but the last, and four for that."""
    cdef int to_go = min(rules.n_rounds - state.round, PHASES - 1)
    cdef int ahead

    if state.ask == ASK_PLACE:
        return to_go
    elif to_go:
        return PHASES + to_go
    ahead = state.n_slots - state.cursor
    return 14 if ahead <= 1 else 15 if ahead <= 3 else 16 if ahead <= 6 else 17


cdef void tally_table(const Rules* rules, const State* state, FeatureList* features) noexcept nogil:
    cdef Summary summaries[MAX_PLAYERS]
    cdef Summary* summary
    cdef uint32_t shown[MAX_PLAYERS]
    cdef uint32_t kinds
    cdef int player, slot, role, kind, n, place, lead, finds, threat
    cdef uint8_t card_id
    cdef uint8_t card
    cdef bint ahead

    list_shown_roles(rules, state, shown)
    for player in range(rules.n_players):
        summary = &summaries[player]
        fill_summary(rules, state, shown, player, -1, summary)
        lead = state.points[player] - summary.best_rival
        count(features, player, F_POINTS, state.points[player])
        count(features, player, F_LEAD, lead)
        count(features, player, F_CLOSE_LEAD, max(-2, min(2, lead)))
        place = player - state.first
        count(features, player, F_ORDER + (place if place >= 0 else place + rules.n_players), 1)
        kinds = state.hands[player] & rules.each_kind
        while kinds:
            kind = lowest_bit(kinds)
            kinds &= kinds - 1
            n = held(rules, state.hands[player], kind)
            role = role_of(rules, kind)
            count(features, player, F_HAND + role, n)
            if role == HEIR and summary.rivals >> HEIR & 1:
                count(features, player, F_HEIR_MET, n)
    for slot in range(state.n_slots):
        card_id = state.tops[slot]
        card = state.cards[card_id]
        player = family(card)
        summary = &summaries[player]
        role = role_of(rules, card & KIND)
        ahead = slot >= state.cursor
        finds = role * SITUATIONS + situation(rules, state, summary, slot, role)
        threat = threat_to(rules, state, summary, slot)
        count(features, player, F_STACKS, 1)
        count(features, player, F_CARDS, 1)
        if card & FACE_UP:
            count(features, player, (F_SHOWN if ahead else F_SPENT) + role, 1)
            count(features, player, F_FINDS + finds, 1)
            count(features, player, F_THREAT_SHOWN + threat, 1)
        else:
            count(features, player, (F_HIDDEN if ahead else F_PASSED) + role, 1)
            count(features, player, F_TOKENS + role, state.tokens[card_id])
            count(features, player, F_WOULD_FIND + finds, 1)
            count(features, player, (F_THREAT_AMBUSH if role == AMBUSHER else F_THREAT_HIDDEN) + threat, 1)
        card_id = state.below[card_id]
        while card_id != NO_CARD:
            card = state.cards[card_id]
            role = role_of(rules, card & KIND)
            count(features, player, F_CARDS, 1)
            count(features, player, (F_COVERED_SHOWN if card & FACE_UP else F_COVERED_HIDDEN) + role, 1)
            count(features, player, F_COVERED_TOKENS, state.tokens[card_id])
            card_id = state.below[card_id]


cdef int stage_of(const Rules* rules, const State* state) noexcept nogil:
    return state.round - 1


# --- the weights ----------------------------------------------------------------------------------------------

SHARPNESS = Layout()
SHARPNESS.add(1)
SETS = ["", "oriflamme-3", "oriflamme-4", "oriflamme-5", "oriflamme_prototype-2", "oriflamme_prototype-3",
        "oriflamme_prototype-4", ""]
WEIGHTS = Weights(Path(__file__).with_name("weights.json"), 2, SETS,
                  {"marks": WeightTable(1, MARKS), "priors": WeightTable(1, PRIORS),
                   "sharpness": WeightTable(1, SHARPNESS), "features": WeightTable(N_ROWS, FEATURES)})


cdef int set_number(const Rules* rules) noexcept nogil:
    return set_of(rules)


# FeatureApi passes Rules and State as plain bytes, hence the casts.
FEATURE_API.playouts = Policy(
    WEIGHTS.width("marks"), is_wide=False, weights=(<array.array>WEIGHTS.memory["marks"]).data.as_floats)
FEATURE_API.prior = Policy(
    WEIGHTS.width("priors"), is_wide=True, weights=(<array.array>WEIGHTS.memory["priors"]).data.as_floats)
FEATURE_API.sharpness = (<array.array>WEIGHTS.memory["sharpness"]).data.as_floats
FEATURE_API.n_rows = N_ROWS
FEATURE_API.n_features = WEIGHTS.width("features")
FEATURE_API.features = (<array.array>WEIGHTS.memory["features"]).data.as_floats
FEATURE_API.set_of = <set_of_f>set_number
FEATURE_API.mark = <mark_f>mark
FEATURE_API.row_of = <row_of_f>row_of
FEATURE_API.tally = <tally_f>tally_table
FEATURE_API.stage_of = <stage_of_f>stage_of

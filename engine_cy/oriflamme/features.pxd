"""A look at the table: what one player makes of the queue, and what a card would find in a slot.

Cards are known by their *role*, the words in their row, so that both games and all editions are one code.
"""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from engine_cy.game_api cimport MAX_PLAYERS
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, KIND, State, card_at, family
from engine_cy.oriflamme.words cimport (
    AMBUSHER, ARCHER, ASSASSIN, DECREE, HEIR, KILLER, LORD, NO_CARD, QUEEN, SHAPESHIFTER, SOLDIER, SPY, UNSEEN,
)

cdef enum:
    PHASES = 7          # rounds to go after this one
    SITUATIONS = 12     # what a card would find if it acted, see `situation`
    BESIDE = 8          # what lies beside a place, see `beside`


cdef inline int role_of(const Rules* rules, int kind) noexcept nogil:
    return rules.roles[kind]


cdef inline int role_seen(const Rules* rules, uint8_t card, int observer) noexcept nogil:
    """The role of `card` if `observer` sees it. An observer of -1 sees everything."""
    if card & FACE_UP or observer < 0 or family(card) == observer:
        return role_of(rules, card & KIND)
    return UNSEEN


# What one player makes of the queue as a whole.
cdef struct Glance:
    int me
    int observer           # me, or -1: who sees everything
    int last               # the last slot
    int phase
    int best_rival         # the most points that a rival has
    int standing           # behind, level, ahead of him
    uint32_t rivals        # roles that rivals show, a bit each
    uint32_t own           # ... that the player himself shows


cdef inline void look_at_all(const Rules* rules, const State* state, uint32_t* shown) noexcept nogil:
    """The roles that each player shows, a bit each."""
    cdef int slot
    cdef uint8_t card

    memset(shown, 0, MAX_PLAYERS * sizeof(uint32_t))
    for slot in range(state.n_slots):
        card = card_at(state, slot)
        if card & FACE_UP:
            shown[family(card)] |= <uint32_t>1 << role_of(rules, card & KIND)


cdef inline void look(const Rules* rules, const State* state, const uint32_t* shown, int me, int observer,
                      Glance* glance) noexcept nogil:
    cdef int player

    glance.me = me
    glance.observer = observer
    glance.last = state.n_slots - 1
    glance.phase = min(rules.n_rounds - state.round, PHASES - 1)
    glance.best_rival = 0
    glance.rivals = 0
    glance.own = shown[me]
    for player in range(rules.n_players):
        if player != me:
            glance.best_rival = max(glance.best_rival, state.points[player])
            glance.rivals |= shown[player]
    glance.standing = 1 + (state.points[me] > glance.best_rival) - (state.points[me] < glance.best_rival)


cdef inline int relation(const State* state, const Glance* glance, int slot) noexcept nogil:
    """1 his, 2 the leading rival's, 3 another rival's. 0 is left for the acting card itself."""
    cdef int owner = family(card_at(state, slot))

    if owner == glance.me:
        return 1
    return 2 if state.points[owner] == glance.best_rival else 3


cdef inline int rival_at(const State* state, const Glance* glance, int slot) noexcept nogil:
    """What lies in `slot`, outside the queue too: 0 nothing, 1 an own card, 2 a rival's face down, 3 face up."""
    cdef uint8_t card

    if not 0 <= slot <= glance.last:
        return 0
    card = card_at(state, slot)
    if family(card) == glance.me:
        return 1
    return 3 if card & FACE_UP else 2


cdef inline int beside(const Rules* rules, const State* state, const Glance* glance, int slot) noexcept nogil:
    cdef uint8_t card
    cdef int role

    if not 0 <= slot <= glance.last:
        return 0
    card = card_at(state, slot)
    role = role_seen(rules, card, glance.me)
    if family(card) == glance.me:
        return 2 if role == LORD else 3 if card & FACE_UP else 1
    elif not card & FACE_UP:
        return 4
    elif role == SOLDIER:
        return 5
    return 6 if role == HEIR or role == LORD or role == SPY else 7


cdef inline int danger(const Rules* rules, const State* state, const Glance* glance, int slot) noexcept nogil:
    """1: a rival's Soldier lies face up beside `slot`; 2: it is at an end, and a rival's Archer lies face up."""
    cdef int found = 0
    cdef int next_slot

    if glance.rivals >> SOLDIER & 1:
        for next_slot in range(slot - 1, slot + 2, 2):
            if rival_at(state, glance, next_slot) == 3:
                if role_of(rules, card_at(state, next_slot) & KIND) == SOLDIER:
                    found = 1
    if glance.rivals >> ARCHER & 1 and (slot == 0 or slot == glance.last):
        found += 2
    return found


cdef inline int own_around(const Rules* rules, const State* state, const Glance* glance, int slot) noexcept nogil:
    """What a Lord in `slot` counts."""
    cdef int count = 0
    cdef int next_slot
    cdef uint8_t card_id

    for next_slot in range(slot - 1, slot + 2, 2):
        if rival_at(state, glance, next_slot) == 1:
            card_id = state.tops[next_slot]
            count += 1
            while rules.lord_counts_covered and state.below[card_id] != NO_CARD:
                card_id = state.below[card_id]
                count += 1
    return count


cdef inline int copied_role(const Rules* rules, const State* state, const Glance* glance, int slot) noexcept nogil:
    """What a Shapeshifter finds in `slot`: the better, the higher."""
    cdef uint8_t card
    cdef int role

    if not 0 <= slot <= glance.last:
        return 0
    card = card_at(state, slot)
    role = role_seen(rules, card, glance.observer)
    if role == UNSEEN:
        return 2 if rules.eye else 0
    elif not card & FACE_UP and not rules.eye:
        return 0
    elif role == HEIR or role == QUEEN:
        return 7
    elif role == LORD:
        return 6
    elif role == SPY:
        return 5
    elif role == SOLDIER or role == ARCHER:
        return 4
    elif role == KILLER or role == ASSASSIN:
        return 3
    return 1


cdef inline int situation(const Rules* rules, const State* state, const Glance* glance, int slot,
                          int role) noexcept nogil:
    """What a card of `role` would find in `slot`, if it acted now for the glance's player: below SITUATIONS."""
    cdef int left, right, n, hidden, i, other
    cdef uint8_t card

    if role == HEIR:
        return 2 * (glance.rivals >> HEIR & 1)
    elif role == LORD:
        return min(own_around(rules, state, glance, slot), SITUATIONS - 1)
    elif role == SPY:
        n = 0
        for i in range(slot - 1, slot + 2, 2):
            if rival_at(state, glance, i) >= 2:
                other = state.points[family(card_at(state, i))]
                # An evaluation has to leave points out of this: more of them must never be worse.
                n = max(n, 2 if glance.observer < 0 else 1 if other == 0 else 3 if other == glance.best_rival else 2)
        return n
    elif role == SOLDIER:
        left = rival_at(state, glance, slot - 1)
        right = rival_at(state, glance, slot + 1)
        return max(left, right) + 4 * ((left == 1 or right == 1) and left + right > 1)
    elif role == ARCHER:
        left = 0 if slot == 0 else rival_at(state, glance, 0)
        right = 0 if slot == glance.last else rival_at(state, glance, glance.last)
        return max(left, right)
    elif role == SHAPESHIFTER:
        return max(copied_role(rules, state, glance, slot - 1), copied_role(rules, state, glance, slot + 1))
    elif role == QUEEN:
        n = 0
        for i in range(slot - 1, slot + 2, 2):
            if 0 <= i <= glance.last and state.below[state.tops[i]] != NO_CARD:
                n = 1
        return n
    elif role == KILLER or role == ASSASSIN:
        n = 0
        hidden = 0
        for i in range(state.n_slots):
            card = card_at(state, i)
            if family(card) != glance.me:
                if card & FACE_UP:
                    n += 1
                elif state.tokens[state.tops[i]] >= 2:
                    hidden = 1
        return min(n, 3) + 4 * hidden
    elif role == DECREE:
        n = 0
        hidden = 0
        for i in range(state.n_slots):
            card = card_at(state, i)
            if card & FACE_UP:
                if family(card) == glance.me:
                    n += i < slot
                elif i > slot:
                    hidden = 1
        return min(n, 3) + 4 * hidden
    elif role == AMBUSHER:
        n = (rival_at(state, glance, slot - 1) == 2) + (rival_at(state, glance, slot + 1) == 2)
        return n + 3 * (slot == 0 or slot == glance.last)
    return 0

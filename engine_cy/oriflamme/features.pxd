"""Features of the queue from the point of view of one player, shared by features.pyx and evidence.pyx.

A card counts by its *role*, which follows from the words of its row, so the code is the same for both games and all
editions.
"""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from engine_cy.game_api cimport MAX_PLAYERS
from engine_cy.learned.feature_api cimport FeatureApi
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, KIND, State, card_at, family, lowest_bit
from engine_cy.oriflamme.words cimport (
    AMBUSHER, ARCHER, ASSASSIN, DECREE, HEIR, KILLER, LORD, NO_CARD, QUEEN, SHAPESHIFTER, SOLDIER, SPY, UNSEEN,
)

cdef enum:
    PHASES = 7          # the rounds left after this one, capped
    SITUATIONS = 12     # values of `situation`
    BESIDE = 8          # values of `beside`
    SIDES = BESIDE * BESIDE
    LEADS = 7           # values of `lead_over`
    LENGTHS = 8         # values of `length_of`
    DANGERS = 8         # values of `dangers`
    N_SETS = 8          # sets of weights, by game and number of players

cdef FeatureApi FEATURE_API


cdef inline int set_of(const Rules* rules) noexcept nogil:
    """Return the index of the set of weights."""
    return 4 * rules.eye + min(rules.n_players, 5) - 2


cdef inline int role_of(const Rules* rules, int kind) noexcept nogil:
    return rules.roles[kind]


cdef inline int role_seen(const Rules* rules, uint8_t card, int observer) noexcept nogil:
    """Return the role of `card` if `observer` sees it, else UNSEEN. An observer of -1 sees every card."""
    if card & FACE_UP or observer < 0 or family(card) == observer:
        return role_of(rules, card & KIND)
    return UNSEEN


# The features of the whole queue for one player.
cdef struct Summary:
    int me
    int observer           # me, or -1 if all cards are known
    int last               # the last slot
    int phase              # rounds left, below PHASES
    int best_rival         # the most points of a rival
    int standing           # 0 behind, 1 level with, 2 ahead of the best rival
    uint32_t rivals        # one bit for each role that rivals show face up
    uint32_t own           # ... that the player shows


cdef inline void list_shown_roles(const Rules* rules, const State* state, uint32_t* shown) noexcept nogil:
    """Set one bit for each role among the face-up top cards of each player."""
    cdef int slot
    cdef uint8_t card

    memset(shown, 0, MAX_PLAYERS * sizeof(uint32_t))
    for slot in range(state.n_slots):
        card = card_at(state, slot)
        if card & FACE_UP:
            shown[family(card)] |= <uint32_t>1 << role_of(rules, card & KIND)


cdef inline void fill_summary(const Rules* rules, const State* state, const uint32_t* shown, int me, int observer,
                              Summary* summary) noexcept nogil:
    cdef int player

    summary.me = me
    summary.observer = observer
    summary.last = state.n_slots - 1
    summary.phase = min(rules.n_rounds - state.round, PHASES - 1)
    summary.best_rival = 0
    summary.rivals = 0
    summary.own = shown[me]
    for player in range(rules.n_players):
        if player != me:
            summary.best_rival = max(summary.best_rival, state.points[player])
            summary.rivals |= shown[player]
    summary.standing = 1 + (state.points[me] > summary.best_rival) - (state.points[me] < summary.best_rival)


cdef inline int lead_over(const State* state, const Summary* summary, int points) noexcept nogil:
    """Classify the player's lead over a rival with `points`: below LEADS."""
    cdef int lead = state.points[summary.me] - points

    if lead < 0:
        return 2 if lead >= -2 else 1 if lead >= -5 else 0
    return 3 if lead == 0 else 4 if lead <= 2 else 5 if lead <= 5 else 6


cdef inline int length_of(const State* state) noexcept nogil:
    """Classify the length of the queue: below LENGTHS."""
    cdef int n = state.n_slots

    return n if n <= 2 else 3 if n <= 4 else 4 if n <= 6 else 5 if n <= 8 else 6 if n <= 11 else 7


cdef inline int dangers(const Rules* rules, const State* state, const Summary* summary,
                        const uint32_t* shown) noexcept nogil:
    """Return the dangers that a rival may still hide: 1 a Soldier, plus 2 an Archer, plus 4 a killer of any card."""
    cdef uint32_t gone = 0xFFFFFFFF
    cdef uint32_t kinds, roles
    cdef int player

    for player in range(rules.n_players):
        if player != summary.me:
            roles = shown[player]
            kinds = state.piles[player] & rules.each_kind
            while kinds:
                roles |= <uint32_t>1 << rules.roles[lowest_bit(kinds)]
                kinds &= kinds - 1
            gone &= roles
    return ((gone >> SOLDIER & 1 ^ 1) + 2 * (gone >> ARCHER & 1 ^ 1) + 4 * (gone >> KILLER & 1 ^ 1))


# The numbers of top cards in the queue.
cdef struct Counts:
    int hidden             # rivals' top cards face down
    int hidden_ahead       # ... behind the cursor, to be resolved
    int own_hidden         # the player's top cards face down
    int own_shown


cdef inline void count_tops(const State* state, int me, Counts* counts) noexcept nogil:
    cdef int slot
    cdef uint8_t card

    memset(counts, 0, sizeof(Counts))
    for slot in range(state.n_slots):
        card = card_at(state, slot)
        if family(card) == me:
            if card & FACE_UP:
                counts.own_shown += 1
            else:
                counts.own_hidden += 1
        elif not card & FACE_UP:
            counts.hidden += 1
            counts.hidden_ahead += slot > state.cursor


cdef inline int relation(const State* state, const Summary* summary, int slot) noexcept nogil:
    """Return the owner of `slot`: 1 the player, 2 the leading rival, 3 another rival. 0 stands for the acting card."""
    cdef int owner = family(card_at(state, slot))

    if owner == summary.me:
        return 1
    return 2 if state.points[owner] == summary.best_rival else 3


cdef inline int rival_at(const State* state, const Summary* summary, int slot) noexcept nogil:
    """Return the top card of any `slot`: 0 outside the queue, 1 an own card, 2 a rival's face down, 3 face up."""
    cdef uint8_t card

    if not 0 <= slot <= summary.last:
        return 0
    card = card_at(state, slot)
    if family(card) == summary.me:
        return 1
    return 3 if card & FACE_UP else 2


cdef inline int beside(const Rules* rules, const State* state, const Summary* summary, int slot) noexcept nogil:
    """Classify the top card of a slot beside a place: below BESIDE, 0 outside the queue."""
    cdef uint8_t card
    cdef int role

    if not 0 <= slot <= summary.last:
        return 0
    card = card_at(state, slot)
    role = role_seen(rules, card, summary.me)
    if family(card) == summary.me:
        return 2 if role == LORD else 3 if card & FACE_UP else 1
    elif not card & FACE_UP:
        return 4
    elif role == SOLDIER:
        return 5
    return 6 if role == HEIR or role == LORD or role == SPY else 7


cdef inline int threat_to(const Rules* rules, const State* state, const Summary* summary, int slot) noexcept nogil:
    """Return the threats to `slot`: 1 for a rival's Soldier face up beside it, plus 2 for an Archer at an end."""
    cdef int threat = 0
    cdef int next_slot

    if summary.rivals >> SOLDIER & 1:
        for next_slot in range(slot - 1, slot + 2, 2):
            if rival_at(state, summary, next_slot) == 3:
                if role_of(rules, card_at(state, next_slot) & KIND) == SOLDIER:
                    threat = 1
    if summary.rivals >> ARCHER & 1 and (slot == 0 or slot == summary.last):
        threat += 2
    return threat


cdef inline int own_around(const Rules* rules, const State* state, const Summary* summary, int slot) noexcept nogil:
    """Return the number of cards that a Lord in `slot` counts."""
    cdef int count = 0
    cdef int next_slot
    cdef uint8_t card_id

    for next_slot in range(slot - 1, slot + 2, 2):
        if rival_at(state, summary, next_slot) == 1:
            card_id = state.tops[next_slot]
            count += 1
            while rules.lord_counts_covered and state.below[card_id] != NO_CARD:
                card_id = state.below[card_id]
                count += 1
    return count


cdef inline int copied_role(const Rules* rules, const State* state, const Summary* summary, int slot) noexcept nogil:
    """Rate the card in `slot` as a target for a Shapeshifter: better targets have higher values."""
    cdef uint8_t card
    cdef int role

    if not 0 <= slot <= summary.last:
        return 0
    card = card_at(state, slot)
    role = role_seen(rules, card, summary.observer)
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


cdef inline int situation(const Rules* rules, const State* state, const Summary* summary, int slot,
                          int role) noexcept nogil:
    """Rate the targets of a card of `role` in `slot` if it acted now for the player: below SITUATIONS."""
    cdef int left, right, n, hidden, i, other
    cdef uint8_t card

    if role == HEIR:
        return 2 * (summary.rivals >> HEIR & 1)
    elif role == LORD:
        return min(own_around(rules, state, summary, slot), SITUATIONS - 1)
    elif role == SPY:
        n = 0
        for i in range(slot - 1, slot + 2, 2):
            if rival_at(state, summary, i) >= 2:
                other = state.points[family(card_at(state, i))]
                # An evaluation ignores the rival's points here, so that more points are never worse.
                n = max(n, 2 if summary.observer < 0 else 1 if other == 0 else 3 if other == summary.best_rival else 2)
        return n
    elif role == SOLDIER:
        left = rival_at(state, summary, slot - 1)
        right = rival_at(state, summary, slot + 1)
        return max(left, right) + 4 * ((left == 1 or right == 1) and left + right > 1)
    elif role == ARCHER:
        left = 0 if slot == 0 else rival_at(state, summary, 0)
        right = 0 if slot == summary.last else rival_at(state, summary, summary.last)
        return max(left, right)
    elif role == SHAPESHIFTER:
        return max(copied_role(rules, state, summary, slot - 1), copied_role(rules, state, summary, slot + 1))
    elif role == QUEEN:
        n = 0
        for i in range(slot - 1, slot + 2, 2):
            if 0 <= i <= summary.last and state.below[state.tops[i]] != NO_CARD:
                n = 1
        return n
    elif role == KILLER or role == ASSASSIN:
        n = 0
        hidden = 0
        for i in range(state.n_slots):
            card = card_at(state, i)
            if family(card) != summary.me:
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
                if family(card) == summary.me:
                    n += i < slot
                elif i > slot:
                    hidden = 1
        return min(n, 3) + 4 * hidden
    elif role == AMBUSHER:
        n = (rival_at(state, summary, slot - 1) == 2) + (rival_at(state, summary, slot + 1) == 2)
        return n + 3 * (slot == 0 or slot == summary.last)
    return 0

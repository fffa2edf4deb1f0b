# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Worlds: the states that fit a view, with each opponent's face-down cards, hand and cards set aside.

Each opponent has a family of their own, so their hidden cards are independent of each other. A *secret* of an opponent
is a kind for each of their face-down cards in the queue, in the order of the ids, and a hand; the remaining cards are
set aside. Secrets are indexed. If no kind occurs twice, they are equally likely, so a uniform index gives a uniform
secret. With two families, their probability is that of the deals and placements that lead to them (families.pxd).
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from engine_cy.support.state_copy cimport copy_state
from engine_cy.families cimport DEALS_MAX, Deal, list_deals, share_of_kind
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, KIND, State, cards_played, held, hold, without
from engine_cy.oriflamme.words cimport N_KINDS, NO_CARD
from engine_cy.support.rng cimport below, rng_t, uniform


cdef void find_hidden(const Rules* rules, const State* world, int opponent, Hidden* hidden) noexcept nogil:
    cdef int played = cards_played(rules, world, opponent)
    cdef int card_id = opponent * rules.cards_each
    cdef uint32_t pile = world.piles[opponent]
    cdef uint32_t pool
    cdef int n_ids = 0
    cdef uint8_t card

    if rules.copies == 1:
        pool = rules.full_hand & ~pile
    else:
        # If one of two cards of a kind is gone, one remains: the upper bit is cleared first.
        pool = rules.full_hand & ~(pile << N_KINDS) & ~(pile >> N_KINDS)
    for card_id in range(card_id, card_id + played):
        card = world.cards[card_id]
        if card == NO_CARD:
            continue
        elif card & FACE_UP:
            pool = without(pool, card & KIND)
        else:
            hidden.ids[n_ids] = <uint8_t>card_id
            n_ids += 1
    hidden.n_ids = n_ids
    hidden.n_hand = rules.hand_size - played
    hidden.pool = pool


cdef uint32_t unseen(const Rules* rules, const State* world, int opponent) noexcept nogil:
    cdef Hidden hidden

    find_hidden(rules, world, opponent, &hidden)
    return hidden.pool


# --- counting -------------------------------------------------------------------------------------------------

# WAYS[f][h][d][s]: secrets of f face-down cards and a hand of h out of a pool with d kinds held twice and s once.
cdef uint64_t WAYS[LIMIT][LIMIT][N_KINDS + 1][N_KINDS + 1]


cdef void fill_ways() noexcept:
    """Fill WAYS by recursion over the kind of the first face-down card, from hands with k kinds twice."""
    cdef uint64_t choose[N_KINDS + 1][LIMIT]
    cdef int f, h, d, s, n, k

    for n in range(N_KINDS + 1):
        for k in range(LIMIT):
            choose[n][k] = 1 if k == 0 else 0 if n == 0 else choose[n - 1][k - 1] + choose[n - 1][k]
    for d in range(N_KINDS + 1):
        for s in range(N_KINDS + 1 - d):
            for h in range(LIMIT):
                for k in range(h // 2 + 1):
                    if k <= d:
                        WAYS[0][h][d][s] += choose[d][k] * choose[d - k + s][h - 2 * k]
    for f in range(1, LIMIT):
        for h in range(LIMIT):
            for d in range(N_KINDS + 1):
                for s in range(N_KINDS + 1 - d):
                    if d:
                        WAYS[f][h][d][s] += d * WAYS[f - 1][h][d - 1][s + 1]
                    if s:
                        WAYS[f][h][d][s] += s * WAYS[f - 1][h][d][s - 1]

# The sum of the weights of these secrets, for each of the terms of families.pxd.
cdef double WEIGHTS[DEALS_MAX][LIMIT][LIMIT][N_KINDS + 1][N_KINDS + 1]
cdef Deal DEALS[DEALS_MAX]


cdef void fill_weights() noexcept:
    cdef int f, h, d, s, n, in_hand

    list_deals(True, DEALS)
    for n in range(DEALS_MAX):
        for d in range(N_KINDS + 1):
            for s in range(N_KINDS + 1 - d):
                for h in range(LIMIT):
                    if d:
                        for in_hand in range(min(h, 2) + 1):
                            WEIGHTS[n][0][h][d][s] += (share_of_kind(&DEALS[n], 0, in_hand)
                                                       * WEIGHTS[n][0][h - in_hand][d - 1][s])
                    elif s:
                        for in_hand in range(min(h, 1) + 1):
                            WEIGHTS[n][0][h][d][s] += (share_of_kind(&DEALS[n], 1, in_hand)
                                                       * WEIGHTS[n][0][h - in_hand][d][s - 1])
                    elif h == 0:
                        WEIGHTS[n][0][h][d][s] = 1
        for f in range(1, LIMIT):
            for h in range(LIMIT):
                for d in range(N_KINDS + 1):
                    for s in range(N_KINDS + 1 - d):
                        if d:
                            WEIGHTS[n][f][h][d][s] += d * WEIGHTS[n][f - 1][h][d - 1][s + 1]
                        if s:
                            WEIGHTS[n][f][h][d][s] += (s * share_of_kind(&DEALS[n], 2, 0)
                                                       * WEIGHTS[n][f - 1][h][d][s - 1])

fill_ways()
fill_weights()


cdef uint64_t ways(int n_ids, int n_hand, uint32_t pool) noexcept nogil:
    cdef int doubles = 0
    cdef int singles = 0
    cdef int kind

    for kind in range(N_KINDS):
        doubles += held(pool, kind) == 2
        singles += held(pool, kind) == 1
    return WAYS[n_ids][n_hand][doubles][singles]


cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int opponent) noexcept nogil:
    cdef Hidden hidden

    find_hidden(rules, world, opponent, &hidden)
    # The observer knows all of their own cards.
    return 1 if opponent == observer else ways(hidden.n_ids, hidden.n_hand, hidden.pool)


# --- secrets --------------------------------------------------------------------------------------------------

cdef inline void set_kind(State* world, int card_id, int kind) noexcept nogil:
    world.cards[card_id] = <uint8_t>(world.cards[card_id] & ~KIND | kind)


cdef uint32_t hand_at_index(uint32_t pool, int n_hand, uint64_t index) noexcept nogil:
    """Return the index-th hand of `n_hand` cards out of `pool`."""
    cdef uint32_t hand = 0
    cdef int kind, taken, held_here
    cdef uint64_t fewer

    for kind in range(N_KINDS):
        held_here = held(pool, kind)
        pool &= ~(<uint32_t>((1 << N_KINDS) + 1) << kind)
        taken = 0
        while taken < held_here:
            fewer = ways(0, n_hand, pool)     # hands with `taken` cards of this kind
            if index < fewer:
                break
            index -= fewer
            hand = hold(hand, kind)
            n_hand -= 1
            taken += 1
            if n_hand < 0:
                break
    return hand


cdef void write_secret(const Rules* rules, State* world, int observer, int opponent, uint64_t index) noexcept nogil:
    cdef Hidden hidden
    cdef uint64_t n
    cdef int i, kind

    if opponent == observer:
        return
    find_hidden(rules, world, opponent, &hidden)
    for i in range(hidden.n_ids):
        for kind in range(N_KINDS):
            if hidden.pool >> kind & 1:
                n = ways(hidden.n_ids - i - 1, hidden.n_hand, without(hidden.pool, kind))
                if index < n:
                    break
                index -= n
        hidden.pool = without(hidden.pool, kind)
        set_kind(world, hidden.ids[i], kind)
    world.hands[opponent] = hand_at_index(hidden.pool, hidden.n_hand, index)


cdef inline int draw_kind(uint8_t* kinds, int n, rng_t* rng) noexcept nogil:
    """Draw one of `n` kinds; the last kind takes its place."""
    cdef int i = below(rng, n)
    cdef int kind = kinds[i]

    kinds[i] = kinds[n - 1]
    return kind


cdef void deal_secret(State* world, int opponent, const Hidden* hidden, rng_t* rng) noexcept nogil:
    """Draw a uniform secret of one family: a kind for each face-down card, then a hand out of the rest."""
    cdef uint8_t kinds[N_KINDS]
    cdef uint32_t left = hidden.pool
    cdef uint32_t drawn = 0
    cdef int n = 0
    cdef int i, _i, kind, n_aside

    for kind in range(N_KINDS):
        kinds[n] = <uint8_t>kind
        n += hidden.pool >> kind & 1
    for i in range(hidden.n_ids):
        kind = draw_kind(kinds, n, rng)
        n -= 1
        left &= ~(<uint32_t>1 << kind)
        set_kind(world, hidden.ids[i], kind)
    # Draw the smaller of two sets: the hand or the cards set aside.
    n_aside = n - hidden.n_hand
    for _i in range(min(hidden.n_hand, n_aside)):
        drawn |= <uint32_t>1 << draw_kind(kinds, n, rng)
        n -= 1
    world.hands[opponent] = drawn if hidden.n_hand <= n_aside else left & ~drawn


cdef inline double weight_of(const Deal* deal, int n_ids, int n_hand, uint32_t pool) noexcept nogil:
    """Return the sum of the weights of all secrets with `n_ids` face-down cards and a hand out of `pool`."""
    cdef int doubles = 0
    cdef int singles = 0
    cdef int kind

    if n_ids < 0 or n_hand < 0:
        return 0
    for kind in range(N_KINDS):
        doubles += held(pool, kind) == 2
        singles += held(pool, kind) == 1
    return WEIGHTS[deal - DEALS][n_ids][n_hand][doubles][singles]


cdef const Deal* draw_deal(const Hidden* hidden, rng_t* rng) noexcept nogil:
    """Draw one of the terms of families.pxd, in proportion to its weight."""
    cdef double draw = 0
    cdef int n

    for n in range(DEALS_MAX):
        draw += weight_of(&DEALS[n], hidden.n_ids, hidden.n_hand, hidden.pool)
    draw *= uniform(rng)
    for n in range(DEALS_MAX - 1):
        draw -= weight_of(&DEALS[n], hidden.n_ids, hidden.n_hand, hidden.pool)
        if draw < 0:
            return &DEALS[n]
    return &DEALS[DEALS_MAX - 1]


cdef void deal_pairs(State* world, int opponent, Hidden* hidden, rng_t* rng) noexcept nogil:
    """Draw a secret of two families: a kind for each face-down card, then the number in hand of each kind."""
    cdef const Deal* deal = draw_deal(hidden, rng)
    cdef uint32_t pool = hidden.pool
    cdef uint32_t hand = 0
    cdef int left = hidden.n_hand
    cdef double draw, weight
    cdef int i, kind, last, copies, taken

    for i in range(hidden.n_ids):
        draw = uniform(rng) * weight_of(deal, hidden.n_ids - i, left, pool)
        last = 0
        for kind in range(N_KINDS):
            copies = held(pool, kind)
            if copies:
                last = kind
                weight = weight_of(deal, hidden.n_ids - i - 1, left, without(pool, kind))
                draw -= weight if copies == 2 else weight * share_of_kind(deal, 2, 0)
                if draw < 0:
                    break
        pool = without(pool, last)
        set_kind(world, hidden.ids[i], last)
    for kind in range(N_KINDS):
        copies = held(pool, kind)
        if not copies:
            continue
        draw = uniform(rng) * weight_of(deal, 0, left, pool)
        pool &= ~(<uint32_t>((1 << N_KINDS) + 1) << kind)
        last = 0
        for taken in range(copies + 1):
            weight = weight_of(deal, 0, left - taken, pool)
            if weight:
                last = taken
                draw -= weight * share_of_kind(deal, 2 - copies, taken)
                if draw < 0:
                    break
        for _i in range(last):
            hand = hold(hand, kind)
        left -= last
    world.hands[opponent] = hand


cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil:
    cdef Hidden hidden
    cdef int opponent

    copy_state(world, view, sizeof(State))
    for opponent in range(rules.n_players):
        if opponent != observer:
            find_hidden(rules, world, opponent, &hidden)
            if rules.copies == 1:
                deal_secret(world, opponent, &hidden, rng)
            else:
                deal_pairs(world, opponent, &hidden, rng)

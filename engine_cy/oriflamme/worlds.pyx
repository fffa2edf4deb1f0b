# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Worlds: the states that fit a view, with each opponent's face-down cards, hand and cards set aside.

Each opponent has a family of their own, so their hidden cards are independent of each other. A *secret* of an opponent
is a kind for each of their face-down cards in the queue, in the order of the ids, and a hand; the remaining cards are
set aside. Secrets are indexed. If no kind occurs twice, they are equally likely, so a uniform index gives a uniform
secret. Otherwise their probability is that of the deals and placements that lead to them (families.pxd).
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from engine_cy.support.state_copy cimport copy_state
from engine_cy.families cimport DEALS_MAX, FamilyDeal, list_deals
from engine_cy.game_api cimport MAX_KINDS
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, KIND, State, cards_played, held, hold, without, without_all
from engine_cy.oriflamme.words cimport NO_CARD
from engine_cy.support.rng cimport below, rng_t, uniform


cdef inline uint32_t not_in(const Rules* rules, uint32_t pile) noexcept nogil:
    """Return the cards of a player that are not in `pile`, as a hand."""
    cdef uint32_t rest = rules.all_cards
    cdef int kind, _i

    if rules.family_size == rules.n_kinds:
        # If one of two cards of a kind is gone, one remains: the upper bit is cleared first.
        if rules.families == 2:
            return rest & ~(pile << rules.n_kinds) & ~(pile >> rules.n_kinds)
        return rest & ~pile
    for kind in range(rules.n_kinds):
        for _i in range(held(rules, pile, kind)):
            rest = without(rules, rest, kind)
    return rest


cdef void find_hidden(const Rules* rules, const State* world, int opponent, Hidden* hidden) noexcept nogil:
    cdef int played = cards_played(rules, world, opponent)
    cdef int card_id = opponent * rules.cards_each
    cdef uint32_t pool = not_in(rules, world.piles[opponent])
    cdef int n_ids = 0
    cdef uint8_t card

    for card_id in range(card_id, card_id + played):
        card = world.cards[card_id]
        if card == NO_CARD:
            continue
        elif card & FACE_UP:
            pool = without(rules, pool, card & KIND)
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

cdef uint64_t ways(const Rules* rules, int n_ids, int n_hand, uint32_t pool) noexcept nogil:
    """Return the number of secrets of `n_ids` face-down cards and a hand of `n_hand` cards out of `pool`."""
    cdef uint64_t sums[SUMS_MAX]            # by the numbers of cards placed and held, of the kinds so far
    cdef uint64_t total, choices
    cdef int width = n_hand + 1
    cdef int kind, copies, f, h, placed, taken

    if n_ids < 0 or n_hand < 0:
        return 0
    memset(sums, 0, (n_ids + 1) * width * sizeof(uint64_t))
    sums[0] = 1
    for kind in range(rules.n_kinds):
        copies = held(rules, pool, kind)
        if not copies:
            continue
        # Downwards, so that each sum uses the values from before this kind.
        for f in range(n_ids, -1, -1):
            for h in range(n_hand, -1, -1):
                total = 0
                choices = 1                 # of `placed` of the f face-down cards
                for placed in range(min(copies, f) + 1):
                    for taken in range(min(copies - placed, h) + 1):
                        total += choices * sums[(f - placed) * width + h - taken]
                    choices = choices * (f - placed) // (placed + 1)
                sums[f * width + h] = total
    return sums[n_ids * width + n_hand]


cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int opponent) noexcept nogil:
    cdef Hidden hidden

    find_hidden(rules, world, opponent, &hidden)
    # The observer knows all of their own cards.
    return 1 if opponent == observer else ways(rules, hidden.n_ids, hidden.n_hand, hidden.pool)


# --- secrets --------------------------------------------------------------------------------------------------

cdef inline void set_kind(State* world, int card_id, int kind) noexcept nogil:
    world.cards[card_id] = <uint8_t>(world.cards[card_id] & ~KIND | kind)


cdef uint32_t hand_at_index(const Rules* rules, uint32_t pool, int n_hand, uint64_t index) noexcept nogil:
    """Return the index-th hand of `n_hand` cards out of `pool`."""
    cdef uint32_t hand = 0
    cdef int kind, taken, held_here
    cdef uint64_t fewer

    for kind in range(rules.n_kinds):
        held_here = held(rules, pool, kind)
        pool = without_all(rules, pool, kind)
        taken = 0
        while taken < held_here:
            fewer = ways(rules, 0, n_hand, pool)     # hands with `taken` cards of this kind
            if index < fewer:
                break
            index -= fewer
            hand = hold(rules, hand, kind)
            n_hand -= 1
            taken += 1
            if n_hand < 0:
                break
    return hand


cdef void write_secret(const Rules* rules, State* world, int observer, int opponent, uint64_t index) noexcept nogil:
    cdef Hidden hidden
    cdef uint64_t n
    cdef int kind = 0
    cdef int i

    if opponent == observer:
        return
    find_hidden(rules, world, opponent, &hidden)
    for i in range(hidden.n_ids):
        for kind in range(rules.n_kinds):
            if hidden.pool >> kind & 1:
                n = ways(rules, hidden.n_ids - i - 1, hidden.n_hand, without(rules, hidden.pool, kind))
                if index < n:
                    break
                index -= n
        hidden.pool = without(rules, hidden.pool, kind)
        set_kind(world, hidden.ids[i], kind)
    world.hands[opponent] = hand_at_index(rules, hidden.pool, hidden.n_hand, index)


cdef inline int draw_kind(uint8_t* kinds, int n, rng_t* rng) noexcept nogil:
    """Draw one of `n` kinds; the last kind takes its place."""
    cdef int i = below(rng, n)
    cdef int kind = kinds[i]

    kinds[i] = kinds[n - 1]
    return kind


cdef void deal_secret(const Rules* rules, State* world, int opponent, const Hidden* hidden, rng_t* rng) noexcept nogil:
    """Draw a secret of one family: a card for each face-down one, then a hand out of the rest, all equally likely."""
    cdef uint8_t kinds[32]
    cdef bint one_each = rules.family_size == rules.n_kinds
    cdef uint32_t left = hidden.pool
    cdef uint32_t each = left & rules.each_kind
    cdef uint32_t hand = 0
    cdef int n = 0
    cdef int i, _i, kind, n_aside

    for kind in range(TABLE_KINDS):         # a constant number, so that the compiler unrolls the loop
        kinds[n] = <uint8_t>kind
        n += each >> kind & 1
    for kind in range(TABLE_KINDS, rules.n_kinds):
        kinds[n] = <uint8_t>kind
        n += each >> kind & 1
    if not one_each:
        for kind in range(rules.n_kinds):
            for _i in range(1, held(rules, left, kind)):
                kinds[n] = <uint8_t>kind
                n += 1
    for i in range(hidden.n_ids):
        kind = draw_kind(kinds, n, rng)
        n -= 1
        left = left & ~(<uint32_t>1 << kind) if one_each else without(rules, left, kind)
        set_kind(world, hidden.ids[i], kind)
    # Draw the smaller of two sets: the hand or the cards set aside.
    n_aside = n - hidden.n_hand
    if hidden.n_hand <= n_aside:
        for _i in range(hidden.n_hand):
            hand = hold(rules, hand, draw_kind(kinds, n, rng))
            n -= 1
        world.hands[opponent] = hand
        return
    for _i in range(n_aside):
        kind = draw_kind(kinds, n, rng)
        n -= 1
        left = left & ~(<uint32_t>1 << kind) if one_each else without(rules, left, kind)
    world.hands[opponent] = left


# --- two families of one card of each kind ----------------------------------------------------------------------

# The sum of the weights of all secrets of f face-down cards and a hand of h out of a pool with d kinds held twice and s
# once: WEIGHTS[n][f][h][d][s] for each of the terms of families.pxd. Editions with more cards use no table.
cdef double WEIGHTS[TABLE_DEALS][LIMIT][LIMIT][TABLE_KINDS + 1][TABLE_KINDS + 1]
cdef FamilyDeal DEALS[DEALS_MAX]
cdef uint8_t COUNT_BITS[1 << TABLE_KINDS]       # of each set of kinds


cdef void fill_weights() noexcept:
    cdef int f, h, d, s, n, in_hand

    for n in range(1, 1 << TABLE_KINDS):
        COUNT_BITS[n] = COUNT_BITS[n >> 1] + (n & 1)
    list_deals(2, TABLE_KINDS, DEALS)
    for n in range(TABLE_DEALS):
        for d in range(TABLE_KINDS + 1):
            for s in range(TABLE_KINDS + 1 - d):
                for h in range(LIMIT):
                    if d:
                        for in_hand in range(min(h, 2) + 1):
                            WEIGHTS[n][0][h][d][s] += (DEALS[n].shares[1][0][in_hand]
                                                       * WEIGHTS[n][0][h - in_hand][d - 1][s])
                    elif s:
                        for in_hand in range(min(h, 1) + 1):
                            WEIGHTS[n][0][h][d][s] += (DEALS[n].shares[1][1][in_hand]
                                                       * WEIGHTS[n][0][h - in_hand][d][s - 1])
                    elif h == 0:
                        WEIGHTS[n][0][h][d][s] = 1
        for f in range(1, LIMIT):
            for h in range(LIMIT):
                for d in range(TABLE_KINDS + 1):
                    for s in range(TABLE_KINDS + 1 - d):
                        if d:
                            WEIGHTS[n][f][h][d][s] += d * WEIGHTS[n][f - 1][h][d - 1][s + 1]
                        if s:
                            WEIGHTS[n][f][h][d][s] += (s * DEALS[n].shares[1][2][0]
                                                       * WEIGHTS[n][f - 1][h][d][s - 1])

fill_weights()


cdef inline bint has_table(const Rules* rules) noexcept nogil:
    return (rules.family_size == rules.n_kinds and rules.n_kinds <= TABLE_KINDS and rules.hand_size < LIMIT
            and rules.cards_each < LIMIT)


cdef inline double weight_of(const Rules* rules, const FamilyDeal* deal, int n_ids, int n_hand,
                             uint32_t pool) noexcept nogil:
    """Return the sum of the weights of all secrets with `n_ids` face-down cards and a hand out of `pool`."""
    cdef int doubles = COUNT_BITS[pool >> rules.n_kinds]
    cdef int singles = COUNT_BITS[pool & rules.each_kind] - doubles

    if n_ids < 0 or n_hand < 0:
        return 0
    return WEIGHTS[deal - DEALS][n_ids][n_hand][doubles][singles]


cdef const FamilyDeal* draw_deal(const Rules* rules, const Hidden* hidden, rng_t* rng) noexcept nogil:
    """Draw one of the terms of families.pxd, in proportion to its weight."""
    cdef double draw = 0
    cdef int n

    for n in range(TABLE_DEALS):
        draw += weight_of(rules, &DEALS[n], hidden.n_ids, hidden.n_hand, hidden.pool)
    draw *= uniform(rng)
    for n in range(TABLE_DEALS - 1):
        draw -= weight_of(rules, &DEALS[n], hidden.n_ids, hidden.n_hand, hidden.pool)
        if draw < 0:
            return &DEALS[n]
    return &DEALS[TABLE_DEALS - 1]


cdef void deal_pairs(const Rules* rules, State* world, int opponent, Hidden* hidden, rng_t* rng) noexcept nogil:
    """Draw a secret of two families: a kind for each face-down card, then the number in hand of each kind."""
    cdef const FamilyDeal* deal = draw_deal(rules, hidden, rng)
    cdef uint32_t pool = hidden.pool
    cdef uint32_t hand = 0
    cdef int left = hidden.n_hand
    cdef double draw, weight
    cdef int i, kind, last, copies, taken

    for i in range(hidden.n_ids):
        draw = uniform(rng) * weight_of(rules, deal, hidden.n_ids - i, left, pool)
        last = 0
        for kind in range(rules.n_kinds):
            copies = held(rules, pool, kind)
            if copies:
                last = kind
                weight = weight_of(rules, deal, hidden.n_ids - i - 1, left, without(rules, pool, kind))
                draw -= weight if copies == 2 else weight * deal.shares[1][2][0]
                if draw < 0:
                    break
        pool = without(rules, pool, last)
        set_kind(world, hidden.ids[i], last)
    for kind in range(rules.n_kinds):
        copies = held(rules, pool, kind)
        if not copies:
            continue
        draw = uniform(rng) * weight_of(rules, deal, 0, left, pool)
        pool = without_all(rules, pool, kind)
        last = 0
        for taken in range(copies + 1):
            weight = weight_of(rules, deal, 0, left - taken, pool)
            if weight:
                last = taken
                draw -= weight * deal.shares[1][2 - copies][taken]
                if draw < 0:
                    break
        for _i in range(last):
            hand = hold(rules, hand, kind)
        left -= last
    world.hands[opponent] = hand


# --- two families of any cards ---------------------------------------------------------------------------------

cdef double add_up(const Rules* rules, const Hidden* hidden, const FamilyDeal* deal, double* sums) noexcept nogil:
    """Fill in the weights of the face-down cards, without their order, and hands out of each kind and those after it.

    Sums are indexed by the kind, the number of cards to place and the number to hold.
    """
    cdef int width = hidden.n_hand + 1
    cdef int size = (hidden.n_ids + 1) * width
    cdef int kind = rules.n_kinds
    cdef double* here = sums + kind * size
    cdef double* later
    cdef int f, h, placed, taken

    memset(here, 0, size * sizeof(double))
    here[0] = 1
    while kind > 0:
        kind -= 1
        later = here
        here -= size
        for f in range(hidden.n_ids + 1):
            for h in range(hidden.n_hand + 1):
                here[f * width + h] = 0
                for placed in range(min(held(rules, hidden.pool, kind), f) + 1):
                    for taken in range(min(held(rules, hidden.pool, kind) - placed, h) + 1):
                        here[f * width + h] += (later[(f - placed) * width + h - taken]
                                                * weight_of_kind(rules, hidden, deal, kind, placed, taken))
    return here[size - 1]


cdef inline double weight_of_kind(const Rules* rules, const Hidden* hidden, const FamilyDeal* deal, int kind,
                                  int placed, int taken) noexcept nogil:
    """Return the weight of a kind of which the player holds `taken` and placed `placed` more than all see."""
    cdef int seen = rules.held_max[kind] - held(rules, hidden.pool, kind)
    cdef double orders = 1
    cdef int i

    for i in range(2, placed + 1):
        orders *= i
    return deal.shares[rules.family[kind]][seen + placed][taken] / orders


cdef void deal_copies(const Rules* rules, State* world, int opponent, const Hidden* hidden, rng_t* rng) noexcept nogil:
    """Draw the numbers of cards of each kind that are face down and in hand, then the order of the former."""
    cdef double sums[(MAX_KINDS + 1) * SUMS_MAX]
    cdef FamilyDeal deals[DEALS_MAX]
    cdef uint8_t kinds[LIMIT]
    cdef int n_deals = list_deals(2, rules.family_size, deals)
    cdef int width = hidden.n_hand + 1
    cdef int size = (hidden.n_ids + 1) * width
    cdef uint32_t hand = 0
    cdef int n = 0
    cdef int f = hidden.n_ids
    cdef int h = hidden.n_hand
    cdef const double* later = sums
    cdef const FamilyDeal* deal
    cdef double draw = 0
    cdef double weight
    cdef int kind, copies, placed, taken, n_placed, n_taken, i, _i

    for i in range(n_deals):
        draw += add_up(rules, hidden, &deals[i], sums)
    draw *= uniform(rng)
    for i in range(n_deals):
        deal = &deals[i]
        draw -= add_up(rules, hidden, deal, sums)
        if draw < 0:
            break
    for kind in range(rules.n_kinds):
        copies = held(rules, hidden.pool, kind)
        draw = uniform(rng) * later[f * width + h]
        later += size
        n_placed = n_taken = 0
        for placed in range(min(copies, f) + 1):
            for taken in range(min(copies - placed, h) + 1):
                weight = (later[(f - placed) * width + h - taken]
                          * weight_of_kind(rules, hidden, deal, kind, placed, taken))
                # The bounds absorb rounding errors of the sums.
                if weight and draw >= 0:
                    n_placed, n_taken = placed, taken
                    draw -= weight
        for _i in range(n_placed):
            kinds[n] = <uint8_t>kind
            n += 1
        for _i in range(n_taken):
            hand = hold(rules, hand, kind)
        f -= n_placed
        h -= n_taken
    for i in range(hidden.n_ids):
        set_kind(world, hidden.ids[i], draw_kind(kinds, n, rng))
        n -= 1
    world.hands[opponent] = hand


cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil:
    cdef Hidden hidden
    cdef int opponent

    copy_state(world, view, sizeof(State))
    for opponent in range(rules.n_players):
        if opponent != observer:
            find_hidden(rules, world, opponent, &hidden)
            if rules.families == 1:
                deal_secret(rules, world, opponent, &hidden, rng)
            elif has_table(rules):
                deal_pairs(rules, world, opponent, &hidden, rng)
            else:
                deal_copies(rules, world, opponent, &hidden, rng)

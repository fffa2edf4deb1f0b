# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sample worlds exactly from an observer's posterior over the others' secrets.

A game scores the evidence for each hidden card being of each kind (`Knowledge.score_secrets`). The weight of a whole
secret, an assignment of all of a player's hidden cards, is the product of its cards' weights. Each player has cards of
their own, so the players' secrets are independent. Sampling uses tables of the total weight of all completions by the
cards left, so each secret has exactly its probability; marginals.pyx computes the marginals, exactly too.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from engine_cy.support.state_copy cimport copy_state
from engine_cy.families cimport COPIES_MAX, DEALS_MAX, FamilyDeal, list_deals
from engine_cy.values cimport Position, View, new_position
from engine_cy.game_api cimport (
    MAX_KINDS, SPECTATOR, STATE_WORDS, ActionEvidence, GameApi, Knowledge, SecretEvidence,
)
from engine_cy.action_log cimport History
from engine_cy.support.rng cimport SECRET_STREAM, WORLD_STREAM, Rng, below, rng_t, seed_rng, uniform
from solver.marginals cimport Chances, dealt_most, effective_secrets, expect, weigh

cdef extern from *:
    int count_bits "__builtin_popcount" (uint32_t bits) noexcept nogil

cdef enum:
    BITS_MAX = 15           # hidden cards: a table has 2**BITS_MAX entries per hand size
    PICKS_MAX = 2 * MAX_KINDS
    HANDS_MAX = PICKS_MAX + 1

# The least probability of a card's true kind in the worlds of SecretCard.
cdef double LEAST_TRUE = 0.1


# --- the weights of whole secrets -----------------------------------------------------------------------------

cdef inline uint32_t once(int kind) noexcept nogil:
    return <uint32_t>1 << kind


cdef inline uint32_t without(const SecretTables* secrets, uint32_t left, int kind) noexcept nogil:
    """Return `left` without one card of `kind`: of its further ones, the lowest bit goes first."""
    cdef uint32_t further = left & secrets.more[kind]

    return left & ~(further & (0 - further) | <uint32_t>(further == 0) << kind)


cdef inline int number_of(const SecretTables* secrets, uint32_t left, int kind) noexcept nogil:
    cdef uint32_t further = left & secrets.more[kind]
    cdef int n = (left >> kind & 1) + (further != 0)

    further &= further - 1
    while further:
        further &= further - 1
        n += 1
    return n


cdef inline const double* shares_of(const SecretTables* secrets, int kind, int left) noexcept nogil:
    """Return the deal's weights of a kind with `left` cards left for the hand, by the number of those in it."""
    return &secrets.deal.shares[secrets.evidence.family[kind]][secrets.dealt[kind] - left][0]


cdef double ways_to_hold(const SecretTables* secrets, uint32_t left, int n, int first) noexcept nogil:
    """Return the total weight of all hands of `n` cards out of `left`, which has only kinds from `first` on.

    `prepare` fills every entry that sampling may read, so sampling never writes: threads may share a belief.
    """
    cdef double* entry
    cdef const double* shares
    cdef double total
    cdef double product = 1
    cdef int copies, taken, _i

    if n > count_bits(left):
        return 0
    if n == 0 and secrets.even:
        return 1
    if left == 0:
        return 1
    while first < secrets.evidence.n_kinds and not left & once(first):
        first += 1
    entry = &secrets.hands[left * (secrets.evidence.n_hand + 1) + n]
    if entry[0] == 0:
        copies = number_of(secrets, left, first)
        for _i in range(copies):
            left = without(secrets, left, first)
        shares = shares_of(secrets, first, copies)
        total = 0
        for taken in range(min(copies, n) + 1):
            total += (product * shares[taken]
                      * ways_to_hold(secrets, left, n - taken, first + 1))
            product *= secrets.weights.hand[first]
        entry[0] = total
    return entry[0]


cdef double ways_to_end(const SecretTables* secrets, uint32_t left) noexcept nogil:
    """Return the total weight of all hands out of the cards that the spots left.

    It uses no table by cards left: each entry would be read once, and clearing the table would take longer.
    """
    cdef double hands[HANDS_MAX]            # by the number of cards
    cdef double by_taken[COPIES_MAX + 1]    # weights of a kind, by the number of its cards in hand
    cdef const double* shares
    cdef double none, weight, total
    cdef int n = secrets.evidence.n_hand
    cdef int kind = secrets.evidence.n_kinds
    cdef int copies, taken, j

    memset(hands, 0, (n + 1) * sizeof(double))
    hands[0] = 1
    while kind > 0:
        kind -= 1
        copies = number_of(secrets, left, kind)
        if not copies:
            continue
        shares = shares_of(secrets, kind, copies)
        # Downwards, so that each sum uses the values from before this kind.
        if copies == 1:
            none = shares[0]
            weight = secrets.weights.hand[kind] * shares[1]
            for j in range(n, 0, -1):
                hands[j] = none * hands[j] + weight * hands[j - 1]
            hands[0] *= none
            continue
        weight = 1
        for taken in range(copies + 1):
            by_taken[taken] = weight * shares[taken]
            weight *= secrets.weights.hand[kind]
        for j in range(n, -1, -1):
            total = by_taken[0] * hands[j]
            for taken in range(1, min(copies, j) + 1):
                total += by_taken[taken] * hands[j - taken]
            hands[j] = total
    return hands[n]


cdef inline double weight_in_spot(const SecretTables* secrets, uint32_t left, int spot, int kind) noexcept nogil:
    """Return the weight of a kind in a spot; its last card includes the weight of how the kind was dealt."""
    if not secrets.even and number_of(secrets, left, kind) == 1:
        return secrets.weights.spots[spot][kind] * shares_of(secrets, kind, 0)[0]
    return secrets.weights.spots[spot][kind]


cdef double ways_to_fill(SecretTables* secrets, uint32_t left, int spot) noexcept nogil:
    """Return the total weight of all ways to fill the spots from `spot` on, and the hand, out of `left`."""
    cdef double* entry = &secrets.ways[left]
    cdef double total = 0
    cdef int kind

    if entry[0] == 0:
        if spot == secrets.evidence.n_spots:
            total = ways_to_end(secrets, left)
            ways_to_hold(secrets, left, secrets.evidence.n_hand, 0)
        else:
            for kind in range(secrets.evidence.n_kinds):
                if left & once(kind):
                    total += (weight_in_spot(secrets, left, spot, kind)
                              * ways_to_fill(secrets, without(secrets, left, kind), spot + 1))
        entry[0] = total
    return entry[0]


cdef inline int n_cards(const SecretEvidence* evidence) noexcept nogil:
    cdef int n = 0
    cdef int i

    for i in range(evidence.n_kinds):
        n += evidence.held[i]
    return n


cdef bint can_be_weighed(SecretTables* secrets) noexcept nogil:
    """Give each hidden card a bit; return whether the tables have room for these secrets."""
    cdef int bits = secrets.evidence.n_kinds
    cdef int copy, i

    secrets.even = secrets.evidence.n_families < 2
    for i in range(secrets.evidence.n_kinds):
        secrets.more[i] = 0
        secrets.dealt[i] = <uint8_t>dealt_most(&secrets.evidence, i)
        secrets.even &= secrets.evidence.family[i] <= 1
    if not 0 < n_cards(&secrets.evidence) <= BITS_MAX:
        return False
    for copy in range(1, COPIES_MAX):
        for i in range(secrets.evidence.n_kinds):
            if secrets.evidence.held[i] > copy:
                secrets.more[i] |= once(bits)
                bits += 1
    secrets.all = once(bits) - 1
    return True


# --- sampling -------------------------------------------------------------------------------------------------

cdef SecretTables* pick_deal(SecretTables* secrets, rng_t* rng) noexcept nogil:
    """Sample one of the sums over deals of two families, by its weight."""
    cdef double draw = 0
    cdef int n

    for n in range(secrets.n_deals):
        draw += secrets[n].ways[secrets.all]
    draw *= uniform(rng)
    for n in range(secrets.n_deals - 1):
        draw -= secrets[n].ways[secrets.all]
        if draw < 0:
            return &secrets[n]
    return &secrets[secrets.n_deals - 1]


cdef void pick(SecretTables* secrets, rng_t* rng, uint8_t* picks) noexcept nogil:
    """Sample a secret: a kind for each spot, then for the hand, then for the rest."""
    cdef uint32_t left = secrets.all
    cdef uint32_t rest
    cdef double draw, weight, ways
    cdef int n = 0
    cdef int spot, kind, last, to_take, copies, i, _i

    for spot in range(secrets.evidence.n_spots):
        draw = uniform(rng) * secrets.ways[left]
        last = 0
        for kind in range(secrets.evidence.n_kinds):
            if left & once(kind):
                last = kind
                draw -= weight_in_spot(secrets, left, spot, kind) * secrets.ways[without(secrets, left, kind)]
                if draw < 0:
                    break
        picks[n] = <uint8_t>last
        n += 1
        left = without(secrets, left, last)
    to_take = secrets.evidence.n_hand
    rest = left
    for kind in range(secrets.evidence.n_kinds):
        if to_take == 0:
            break
        copies = number_of(secrets, left, kind)
        if not copies:
            continue
        draw = uniform(rng) * ways_to_hold(secrets, left, to_take, kind)
        for _i in range(copies):
            left = without(secrets, left, kind)
        # Take none of it, else one, else two ... The bounds in `if` absorb rounding errors of the sums.
        weight = 1
        i = 0
        while True:
            ways = ways_to_hold(secrets, left, to_take, kind + 1)
            draw -= weight * ways if secrets.even else weight * shares_of(secrets, kind, copies)[i] * ways
            if draw < 0 or i == copies or to_take == 0:
                break
            picks[n] = <uint8_t>kind
            n += 1
            i += 1
            to_take -= 1
            rest = without(secrets, rest, kind)
            weight *= secrets.weights.hand[kind]
    if not secrets.evidence.ordered:
        return
    to_take = n
    for kind in range(secrets.evidence.n_kinds):
        for _i in range(number_of(secrets, rest, kind)):
            picks[n] = <uint8_t>kind
            n += 1
    while n > to_take + 1:
        i = to_take + below(rng, n - to_take)
        n -= 1
        picks[i], picks[n] = picks[n], picks[i]


# --- in Python ------------------------------------------------------------------------------------------------

cdef dict as_dict(list kinds, const double* numbers):
    """Return the numbers by kind; `kinds` holds pairs of a kind and its index."""
    return {kind: numbers[<int>i] for kind, i in kinds}


cdef class WorldSampler:
    """Sample worlds for a search.

    Searches on several threads may share an instance after `prepare`, unless its class excludes that.
    """

    cpdef int prepare(self) except -1:
        """Build the tables for sampling. Marginals do not need them."""
        raise NotImplementedError

    cdef void draw(self, void* world, rng_t* rng) noexcept nogil:
        """Sample a world into `world`; call `prepare` first."""

    def sample_world(self, seed=0):
        """Sample a position by its posterior probability; `seed` is a number or an Rng."""
        cdef Position world = new_position(self.view.game)
        cdef Rng rng = seed if isinstance(seed, Rng) else Rng(seed, WORLD_STREAM)

        self.prepare()
        self.draw(world.state, &rng.raw)
        return world


cdef class Belief(WorldSampler):
    """Hold the posterior over the worlds that fit a view, given the table and, if present, the history.

    `trust` is the exponent of all weights: 1 uses them as learned, 0 makes all worlds equally likely.
    """

    def __cinit__(self, View view, History history=None, double trust=1.0):
        cdef const ActionEvidence* logged = NULL if history is None else &history.evidence
        cdef int n

        if trust:
            view.game.check_knowledge()
        self.view = view
        self.history = history
        self.trust = trust
        # Not calloc: most of it is never touched.
        self.secrets = <SecretTables*>malloc(view.game.n_players * DEALS_MAX * sizeof(SecretTables))
        if self.secrets == NULL:
            raise MemoryError
        self.n_players = view.game.n_players
        for n in range(self.n_players * DEALS_MAX):
            self.secrets[n].ways = NULL
            self.secrets[n].hands = NULL
        self.weigh_at(view.state, view.observer, logged)

    cdef void weigh_at(self, const void* view, int observer, const ActionEvidence* logged) noexcept nogil:
        """Weigh the secrets of all players at a view, and forget the tables of an earlier one."""
        cdef const void* rules = self.view.game.rules
        cdef SecretTables* secrets
        cdef FamilyDeal deals[DEALS_MAX]
        cdef int player, n

        self.free_tables()
        self.is_sampled = False
        for player in range(self.n_players):
            secrets = self.secrets_of(player)
            for n in range(DEALS_MAX):
                secrets[n].are_weighed = False
            self.view.game.knowledge.score_secrets(rules, view, observer, player, logged, &secrets.evidence)
            if not secrets.evidence.n_kinds:
                continue
            secrets.are_weighed = can_be_weighed(secrets)
            self.is_sampled |= not secrets.are_weighed
            # SecretTables that are too many to weigh keep the probabilities of the deals alone.
            weigh(&secrets.evidence, self.trust if secrets.are_weighed else 0, &secrets.weights)
            secrets.n_deals = list_deals(secrets.evidence.n_families, secrets.evidence.family_size, deals)
            for n in range(secrets.n_deals):
                if n:
                    secrets[n] = secrets[0]
                secrets[n].deal = deals[n]

    cdef void free_tables(self) noexcept nogil:
        cdef int n

        for n in range(self.n_players * DEALS_MAX):
            free(self.secrets[n].ways)
            free(self.secrets[n].hands)
            self.secrets[n].ways = NULL
            self.secrets[n].hands = NULL

    def __dealloc__(self):
        # Not `view.game.n_players`: the garbage collector may have cleared `view` already.
        self.free_tables()
        free(self.secrets)

    cdef SecretTables* secrets_of(self, int player) noexcept nogil:
        return &self.secrets[player * DEALS_MAX]

    cpdef int prepare(self) except -1:
        if self.fill_tables():
            raise MemoryError
        return 0

    cdef int fill_tables(self) noexcept nogil:
        """Build the tables for sampling; return -1 if out of memory."""
        cdef SecretTables* secrets
        cdef int n

        for n in range(self.n_players * DEALS_MAX):
            secrets = &self.secrets[n]
            if not secrets.are_weighed or secrets.ways != NULL:
                continue
            # calloc: most entries are never touched, as few sets of cards can be left.
            secrets.hands = <double*>calloc((<size_t>secrets.all + 1) * (secrets.evidence.n_hand + 1), sizeof(double))
            secrets.ways = <double*>calloc(<size_t>secrets.all + 1, sizeof(double))
            if secrets.ways == NULL or secrets.hands == NULL:
                return -1
            ways_to_fill(secrets, secrets.all, 0)
        return 0

    cdef void draw(self, void* world, rng_t* rng) noexcept nogil:
        cdef uint8_t picks[PICKS_MAX]
        cdef const Knowledge* knowledge = self.view.game.knowledge
        cdef const GameApi* api = self.view.game.api
        cdef SecretTables* secrets
        cdef int player

        if self.is_sampled:
            api.sample(self.view.game.rules, self.view.state, self.view.observer, world, rng)
        else:
            copy_state(world, self.view.state, self.view.game.api.state_size)
        for player in range(self.n_players):
            secrets = self.secrets_of(player)
            if secrets.ways != NULL:
                if secrets.n_deals > 1:
                    secrets = pick_deal(secrets, rng)
                pick(secrets, rng, picks)
                knowledge.write_picks(self.view.game.rules, world, player, &secrets.evidence, picks)
            elif not secrets.evidence.n_kinds and player != self.view.observer:
                # Write the hand of a player with nothing hidden as well.
                knowledge.write_picks(self.view.game.rules, world, player, &secrets.evidence, picks)

    cdef bint chances_of(self, int player, Chances* chances) except -1:
        """Fill in the marginals of a player's hidden cards; return False if their secrets are too many to weigh."""
        cdef SecretTables* secrets = self.secrets_of(player)

        if not secrets.are_weighed:
            return False
        if expect(&secrets.evidence, &secrets.weights, chances) < 0:
            raise MemoryError
        return True

    def chances(self, int player, bint named=False):
        """Return the marginals of a player's hidden cards, or None if their secrets are too many to weigh.

        The first dictionary has, for each spot by the game's number for it, the probability of each kind; the second
        has the expected number of cards of each kind in hand. Keys are the game's numbers of kinds, or names if
        `named`, in the order of the numbers.
        """
        cdef SecretEvidence* evidence = &self.secrets_of(player).evidence
        cdef Chances chances
        cdef int i

        if evidence.n_kinds == 0:
            return {}, {}
        if not self.chances_of(player, &chances):
            return None
        kinds = sorted([(evidence.kinds[i], i) for i in range(evidence.n_kinds)])
        if named:
            kinds = [(self.view.game.name_of(kind), i) for kind, i in kinds]
        return (
            {evidence.spots[i]: as_dict(kinds, chances.spots[i]) for i in range(evidence.n_spots)},
            as_dict(kinds, chances.hand) if evidence.n_hand else {},
        )

    @property
    def effective_worlds(self):
        """The effective number of worlds: 1 / the sum of their squared probabilities."""
        cdef SecretTables* secrets
        cdef double total = 1
        cdef double n_secrets
        cdef int player

        for player in range(self.n_players):
            secrets = self.secrets_of(player)
            if not secrets.evidence.n_kinds:
                continue
            n_secrets = effective_secrets(&secrets.evidence, &secrets.weights)
            if n_secrets < 0:
                raise MemoryError
            total *= n_secrets
        return total


cdef class SecretCard(WorldSampler):
    """Sample worlds in which the other players do not know one of the observer's face-down cards.

    The card is of a kind sampled from the others' marginal. If that is not its true kind, it swaps places with a card
    of that kind, wherever the observer has it. Worlds with the true kind come in the same order as from the belief
    alone. Only one search at a time may use an instance.
    """

    def __cinit__(self, Belief belief, int spot, uint64_t seed=0):
        cdef View view = belief.view
        cdef const ActionEvidence* logged = NULL if belief.history is None else &belief.history.evidence
        cdef const Knowledge* knowledge = view.game.knowledge
        cdef uint64_t public[STATE_WORDS]
        cdef uint8_t picks[PICKS_MAX]
        cdef SecretTables secrets
        cdef Chances chances
        cdef double least
        cdef int i, true

        self.view = view
        self.belief = belief
        seed_rng(&self.side, seed, SECRET_STREAM)
        memset(&secrets, 0, sizeof(secrets))
        view.game.api.observe(view.game.rules, view.state, SPECTATOR, public)
        knowledge.score_secrets(view.game.rules, public, SPECTATOR, view.observer, logged, &secrets.evidence)
        self.seen = secrets.evidence
        spots = [self.seen.spots[i] for i in range(self.seen.n_spots)]
        if spot not in spots:
            raise ValueError(f"spot: {spot} is not one of {spots}")
        self.number = spots.index(spot)
        knowledge.read_picks(view.game.rules, view.state, view.observer, &self.seen, picks)
        self.true = true = picks[self.number]
        if can_be_weighed(&secrets):
            weigh(&secrets.evidence, belief.trust, &secrets.weights)
            if expect(&secrets.evidence, &secrets.weights, &chances) < 0:
                raise MemoryError
        else:
            # Too many to weigh: a kind's probability is its share of the hidden cards.
            for i in range(self.seen.n_kinds):
                chances.spots[self.number][i] = self.seen.held[i] / <double>n_cards(&self.seen)
        self.guessed = chances.spots[self.number][true]
        # Only worlds with the true kind are measured, so they must come up even if the others think it unlikely.
        least = max(self.guessed, LEAST_TRUE)
        for i in range(self.seen.n_kinds):
            self.chances[i] = chances.spots[self.number][i]
            if i == true:
                self.chances[i] = least
            elif self.guessed < LEAST_TRUE:
                self.chances[i] *= (1 - least) / (1 - self.guessed)

    cpdef int prepare(self) except -1:
        return self.belief.prepare()

    cdef void draw(self, void* world, rng_t* rng) noexcept nogil:
        cdef uint8_t picks[PICKS_MAX]
        cdef int true = self.true
        cdef int kind = true
        cdef double draw = uniform(&self.side)
        cdef int i

        for i in range(self.seen.n_kinds):
            draw -= self.chances[i]
            if draw < 0:
                kind = i
                break
        self.belief.draw(world, &self.side if kind != true else rng)
        self.pretends = kind != true
        if not self.pretends:
            return
        # Read the cards from this world: the order of the observer's own deck is hidden from them too.
        self.view.game.knowledge.read_picks(self.view.game.rules, world, self.view.observer, &self.seen, picks)
        for i in range(n_cards(&self.seen)):
            if i != self.number and picks[i] == kind:
                picks[i] = <uint8_t>true
                break
        picks[self.number] = <uint8_t>kind
        self.view.game.knowledge.write_picks(self.view.game.rules, world, self.view.observer, &self.seen, picks)


def own_spots(View view):
    """Return the observer's face-down cards: the game's numbers of each spot and of the kind that lies there."""
    cdef const Knowledge* knowledge = view.game.knowledge
    cdef uint64_t public[STATE_WORDS]
    cdef SecretEvidence own
    cdef uint8_t picks[PICKS_MAX]
    cdef int i

    view.game.api.observe(view.game.rules, view.state, SPECTATOR, public)
    knowledge.score_secrets(view.game.rules, public, SPECTATOR, view.observer, NULL, &own)
    knowledge.read_picks(view.game.rules, view.state, view.observer, &own, picks)
    return [(own.spots[i], own.kinds[picks[i]]) for i in range(own.n_spots)]

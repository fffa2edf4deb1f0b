# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What an observer thinks of the others' secrets: which worlds are likely, drawn as often as that.

A game says what speaks for each hidden card being of each kind (`Knowledge.suspect`). Whole secrets, with as many
cards as there are, weigh the product of their cards' weights; as each player has cards of his own, one's secrets do not
depend on another's. All secrets of a player are weighed at once, by what is left when the first cards are settled, so
each is drawn exactly as often as it should be, and how likely each card is where is exact as well.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from engine_cy.copying cimport copy_state
from engine_cy.exact cimport power
from engine_cy.game cimport Position, View, new_position
from engine_cy.game_api cimport (
    MAX_KINDS, MAX_PLAYERS, MAX_SPOTS, SPECTATOR, STATE_WORDS, Account, GameApi, Knowledge, Suspicion,
)
from engine_cy.history cimport History
from engine_cy.rng cimport Rng, below, below64, next_bits, rng_t, seed_rng

cdef extern from *:
    int count_bits "__builtin_popcount" (uint32_t bits) noexcept nogil

cdef enum:
    BITS_MAX = 15           # more kinds, counting those held twice double, and the numbers of ways take too much room
    PICKS_MAX = 2 * MAX_KINDS
    HANDS_MAX = PICKS_MAX + 1
    ENTRIES_MAX = 32 * MAX_KINDS    # bytes of a list of kinds as it is written
    SIDE_STREAM = 1 << 20   # of random numbers: no share of a search has as high a number

# The truth about a card comes up at least so often when it is what others take the card for, see Veiled.
cdef double LEAST_TRUE = 0.1

# No card is less likely than so, against the likeliest in its place: tables are learned from some players, not all.
cdef double LEAST = 0.001


# --- the weights of whole secrets -----------------------------------------------------------------------------

cdef inline uint32_t once(int kind) noexcept nogil:
    return <uint32_t>1 << kind


cdef inline uint32_t without(const Secrets* secrets, uint32_t left, int kind) noexcept nogil:
    """`left` with one card of `kind` less: of two the upper bit goes first."""
    cdef uint32_t twice = once(secrets.suspicion.n_kinds + kind)

    if secrets.suspicion.held[kind] == 2 and left & twice:
        return left & ~twice
    return left & ~once(kind)


cdef inline int number_of(const Secrets* secrets, uint32_t left, int kind) noexcept nogil:
    cdef int n = left >> kind & 1

    if secrets.suspicion.held[kind] == 2:
        n += left >> (secrets.suspicion.n_kinds + kind) & 1
    return n


cdef double ways_to_hold(Secrets* secrets, uint32_t left, int n, int first) noexcept nogil:
    """How much all hands of `n` cards weigh out of what is left, all of it of the kinds from `first` on."""
    cdef double* known
    cdef double unkept = 0
    cdef double total
    cdef double product = 1
    cdef int copies, taken, _i

    if n == 0:
        return 1
    if n > count_bits(left):
        return 0
    while first < secrets.suspicion.n_kinds and not left & once(first):
        first += 1
    if secrets.hands == NULL:
        # Only drawing asks again and again.
        secrets.hands = <double*>calloc((<size_t>secrets.all + 1) * (secrets.suspicion.n_hand + 1), sizeof(double))
    known = &unkept if secrets.hands == NULL else &secrets.hands[left * (secrets.suspicion.n_hand + 1) + n]
    if known[0] == 0:
        copies = number_of(secrets, left, first)
        for _i in range(copies):
            left = without(secrets, left, first)
        total = 0
        for taken in range(min(copies, n) + 1):
            total += product * ways_to_hold(secrets, left, n - taken, first + 1)
            product *= secrets.hand_weights[first]
        known[0] = total
    return known[0]


cdef void fill_hands(const Secrets* secrets, uint32_t left, double[HANDS_MAX]* hands) noexcept nogil:
    """The same for all hands out of what is left, by the first kind and the number of cards: where each is asked for
    once, a table of everything that could be left would take longer to clear than to fill."""
    cdef double weight
    cdef int n = secrets.suspicion.n_hand
    cdef int kind = secrets.suspicion.n_kinds
    cdef int copies, j

    for j in range(n + 1):
        hands[kind][j] = j == 0
    while kind > 0:
        kind -= 1
        copies = number_of(secrets, left, kind)
        weight = secrets.hand_weights[kind] if copies else 0
        # Nearly always there is one or none; this loop is the price of every answer.
        hands[kind][0] = hands[kind + 1][0]
        for j in range(1, n + 1):
            hands[kind][j] = hands[kind + 1][j] + weight * hands[kind + 1][j - 1]
        if copies == 2:
            for j in range(2, n + 1):
                hands[kind][j] += weight * weight * hands[kind + 1][j - 2]


cdef double ways_to_end(const Secrets* secrets, uint32_t left) noexcept nogil:
    """How much all hands weigh out of what the spots left."""
    cdef double[MAX_KINDS + 1][HANDS_MAX] hands

    fill_hands(secrets, left, hands)
    return hands[0][secrets.suspicion.n_hand]


cdef double ways_to_fill(Secrets* secrets, uint32_t left, int spot) noexcept nogil:
    """How much all ways weigh to fill the spots from `spot` on, and the hand, out of what is left."""
    cdef double* known = &secrets.ways[left]
    cdef double total = 0
    cdef int kind

    if known[0] == 0:
        if spot == secrets.suspicion.n_spots:
            total = ways_to_end(secrets, left)
        else:
            for kind in range(secrets.suspicion.n_kinds):
                if left & once(kind):
                    total += (secrets.spot_weights[spot][kind]
                              * ways_to_fill(secrets, without(secrets, left, kind), spot + 1))
        known[0] = total
    return known[0]


cdef void weigh(const float* scores, int n, double trust, double* weights) noexcept nogil:
    cdef float best = -1e30
    cdef int i

    for i in range(n):
        best = max(best, scores[i])
    for i in range(n):
        weights[i] = max(power(trust * (scores[i] - best)), LEAST)


cdef int open_secrets(Secrets* secrets, double trust) noexcept nogil:
    """Weigh all secrets that the suspicion allows; return 1 if they are too many, -1 if there is no memory for them."""
    cdef int n = secrets.suspicion.n_kinds
    cdef int bits = n
    cdef int i

    secrets.all = once(n) - 1
    for i in range(n):
        if secrets.suspicion.held[i] == 2:
            secrets.all |= once(n + i)
            bits += 1
    if bits > BITS_MAX:
        return 1
    for i in range(secrets.suspicion.n_spots):
        weigh(secrets.suspicion.in_spot[i], n, trust, secrets.spot_weights[i])
    weigh(secrets.suspicion.in_hand, n, trust, secrets.hand_weights)
    return fill_ways(secrets)


cdef int fill_ways(Secrets* secrets) noexcept nogil:
    """Add up the weights; -1 if there is no memory for it."""
    cdef size_t places = <size_t>secrets.all + 1

    # Most of it is never touched: what can be left is far less than what could be written down.
    secrets.ways = <double*>calloc(places, sizeof(double))
    secrets.hands = NULL
    if secrets.ways == NULL:
        return -1
    ways_to_fill(secrets, secrets.all, 0)
    return 0


cdef void close_secrets(Secrets* secrets) noexcept nogil:
    free(secrets.ways)
    free(secrets.hands)
    secrets.ways = NULL
    secrets.hands = NULL


cdef inline int n_cards(const Suspicion* suspicion) noexcept nogil:
    cdef int n = 0
    cdef int i

    for i in range(suspicion.n_kinds):
        n += suspicion.held[i]
    return n


# --- drawing --------------------------------------------------------------------------------------------------

cdef inline double uniform(rng_t* rng) noexcept nogil:
    """A number from 0 to 1, without 1."""
    return <double>(next_bits(rng) >> 11) / 9007199254740992.0


cdef void pick(Secrets* secrets, rng_t* rng, uint8_t* picks) noexcept nogil:
    """Draw a secret: a kind for each spot, then for the hand, then for the rest."""
    cdef uint32_t left = secrets.all
    cdef uint32_t rest
    cdef double draw, weight
    cdef int n = 0
    cdef int spot, kind, last, to_take, copies, i, _i

    for spot in range(secrets.suspicion.n_spots):
        draw = uniform(rng) * secrets.ways[left]
        last = 0
        for kind in range(secrets.suspicion.n_kinds):
            if left & once(kind):
                last = kind
                draw -= secrets.spot_weights[spot][kind] * secrets.ways[without(secrets, left, kind)]
                if draw < 0:
                    break
        picks[n] = <uint8_t>last
        n += 1
        left = without(secrets, left, last)
    to_take = secrets.suspicion.n_hand
    rest = left
    for kind in range(secrets.suspicion.n_kinds):
        if to_take == 0:
            break
        copies = number_of(secrets, left, kind)
        if not copies:
            continue
        draw = uniform(rng) * ways_to_hold(secrets, left, to_take, kind)
        for _i in range(copies):
            left = without(secrets, left, kind)
        # Take none of it, else one, else two; what the last bits of the sums leave open is settled by what has to be.
        weight = 1
        i = 0
        while True:
            draw -= weight * ways_to_hold(secrets, left, to_take, kind + 1)
            if draw < 0 or i == copies or to_take == 0:
                break
            picks[n] = <uint8_t>kind
            n += 1
            i += 1
            to_take -= 1
            rest = without(secrets, rest, kind)
            weight *= secrets.hand_weights[kind]
    if not secrets.suspicion.ordered:
        return
    to_take = n
    for kind in range(secrets.suspicion.n_kinds):
        for _i in range(number_of(secrets, rest, kind)):
            picks[n] = <uint8_t>kind
            n += 1
    while n > to_take + 1:
        i = to_take + below(rng, n - to_take)
        n -= 1
        picks[i], picks[n] = picks[n], picks[i]


# --- what follows for each card -------------------------------------------------------------------------------

# How likely each kind is in each spot, and how many of it are in hand in the mean.
cdef struct Chances:
    double spots[MAX_SPOTS][MAX_KINDS]
    double hand[MAX_KINDS]


cdef void expect_hand(Secrets* secrets, uint32_t left, double chance, Chances* chances) noexcept nogil:
    """Add what a hand out of what is left holds, this being so likely."""
    cdef double[MAX_KINDS + 1][HANDS_MAX] hands
    cdef double to_take[HANDS_MAX]          # how likely so many cards are still to be taken
    cdef double before, share, weight
    cdef int n = secrets.suspicion.n_hand
    cdef int kind, copies, i, j

    fill_hands(secrets, left, hands)
    memset(to_take, 0, sizeof(to_take))
    to_take[n] = chance
    for kind in range(secrets.suspicion.n_kinds):
        copies = number_of(secrets, left, kind)
        if not copies:
            continue
        # From few to many, so that what moves down is not met again.
        for j in range(1, n + 1):
            before = to_take[j]
            if before == 0:
                continue
            before /= hands[kind][j]
            weight = 1
            to_take[j] = 0
            for i in range(min(copies, j) + 1):
                share = before * weight * hands[kind + 1][j - i]
                to_take[j - i] += share
                chances.hand[kind] += i * share
                weight *= secrets.hand_weights[kind]


cdef int expect(Secrets* secrets, Chances* chances) noexcept nogil:
    """Fill in the chances; -1 if there is no memory to do so."""
    cdef int n_cards = count_bits(secrets.all)
    cdef double* reached = <double*>calloc(<size_t>secrets.all + 1, sizeof(double))
    cdef uint32_t left = secrets.all + 1
    cdef uint32_t rest
    cdef double share
    cdef int spot, kind

    memset(chances, 0, sizeof(Chances))
    if reached == NULL:
        return -1
    reached[secrets.all] = 1
    # A card less is always a smaller number.
    while left > 0:
        left -= 1
        if reached[left] == 0:
            continue
        spot = n_cards - count_bits(left)
        if spot == secrets.suspicion.n_spots:
            expect_hand(secrets, left, reached[left], chances)
            continue
        for kind in range(secrets.suspicion.n_kinds):
            if left & once(kind):
                rest = without(secrets, left, kind)
                share = reached[left] * secrets.spot_weights[spot][kind] * secrets.ways[rest] / secrets.ways[left]
                chances.spots[spot][kind] += share
                reached[rest] += share
    free(reached)
    return 0


cdef list as_list(const double* numbers, int n):
    return [numbers[i] for i in range(n)]


cdef dict as_dict(list kinds, const double* numbers):
    """The numbers of kinds, each of which comes with its place."""
    return {kind: numbers[<int>i] for kind, i in kinds}


cdef bytes as_bytes(const Suspicion* suspicion, list heads, const double* numbers):
    """The numbers of kinds, in the order of the kinds, each behind its head."""
    cdef unsigned char written[ENTRIES_MAX]
    cdef uint64_t bits = 0
    cdef bytes head
    cdef Py_ssize_t n = 0
    cdef Py_ssize_t length
    cdef int kind, i, k

    written[0] = 0
    for kind in range(len(heads)):
        for i in range(suspicion.n_kinds):
            if suspicion.kinds[i] != kind:
                continue
            head = heads[kind]
            length = len(head)
            if n + length + 8 > ENTRIES_MAX:
                raise ValueError(f"heads: {length} bytes are too many")
            memcpy(written + n, <const char*>head, length)
            memcpy(&bits, &numbers[i], 8)
            for k in range(8):
                written[n + length + k] = <unsigned char>(bits >> 8 * k & 0xFF)
            n += length + 8
    return (<char*>written)[:n]


def weigh_secrets(list held, int n_hand, list in_spot, list in_hand):
    """For the fitting: how likely each kind is in each spot, how many of it are in hand, and how much all secrets
    weigh, that of the likeliest card in each place being 1."""
    cdef Secrets secrets
    cdef Chances chances
    cdef int i, kind

    memset(&secrets, 0, sizeof(secrets))
    secrets.suspicion.n_kinds = len(held)
    secrets.suspicion.n_spots = len(in_spot)
    secrets.suspicion.n_hand = n_hand
    for kind in range(len(held)):
        secrets.suspicion.held[kind] = held[kind]
        secrets.suspicion.in_hand[kind] = in_hand[kind]
        for i in range(len(in_spot)):
            secrets.suspicion.in_spot[i][kind] = in_spot[i][kind]
    try:
        if open_secrets(&secrets, 1.0) or expect(&secrets, &chances):
            raise MemoryError
        return ([as_list(chances.spots[i], len(held)) for i in range(len(in_spot))], as_list(chances.hand, len(held)),
                secrets.ways[secrets.all])
    finally:
        close_secrets(&secrets)


cdef class Belief:
    """How likely the worlds are that fit a view: from what the table shows, and a history if there is one.

    `trust` is the power that all weights are raised to: 1 takes them as they were learned, 0 makes all worlds alike.
    """

    def __cinit__(self, View view, History history=None, double trust=1.0, *_more, **_named):
        cdef const Account* account = NULL if history is None else &history.account
        cdef const Knowledge* knowledge = view.game.knowledge
        cdef int player

        self.view = view
        self.trust = trust
        for player in range(view.game.n_players):
            knowledge.suspect(view.game.rules, view.state, view.observer, player, account,
                              &self.secrets[player].suspicion)
            if self.secrets[player].suspicion.n_kinds and open_secrets(&self.secrets[player], trust) < 0:
                raise MemoryError

    def __dealloc__(self):
        cdef int player

        for player in range(MAX_PLAYERS):
            close_secrets(&self.secrets[player])

    cdef void draw(self, void* world, rng_t* rng) noexcept nogil:
        """A world."""
        cdef uint8_t picks[PICKS_MAX]
        cdef const Knowledge* knowledge = self.view.game.knowledge
        cdef const GameApi* api = self.view.game.api
        cdef Secrets* secrets
        cdef uint64_t n
        cdef int player

        copy_state(world, self.view.state, self.view.game.api.state_size)
        for player in range(self.view.game.n_players):
            secrets = &self.secrets[player]
            if secrets.ways != NULL:
                pick(secrets, rng, picks)
                knowledge.lay(self.view.game.rules, world, player, &secrets.suspicion, picks)
            elif secrets.suspicion.n_kinds:
                # Too many to be weighed: each is as likely as another.
                n = api.count_secrets(self.view.game.rules, self.view.state, self.view.observer, player)
                api.write_secret(self.view.game.rules, world, self.view.observer, player, below64(rng, n))
            elif player != self.view.observer:
                # That he hides nothing has to be written, too.
                knowledge.lay(self.view.game.rules, world, player, &secrets.suspicion, picks)

    def sample_world(self, seed=0):
        """One of the positions that fit the view, as likely as it seems; `seed` is a number or an Rng."""
        cdef Position world = new_position(self.view.game)
        cdef Rng rng = seed if isinstance(seed, Rng) else Rng(seed)

        self.draw(world.state, &rng.raw)
        return world

    def chances(self, int player, bint named=False):
        """What `player` hides: for each spot, by the game's number for it, how likely each kind is; and how many of
        each kind are in his hand in the mean. Kinds are numbers of the game, or named, in the order of their numbers.
        None: it is too much to be weighed."""
        cdef Secrets* secrets = &self.secrets[player]
        cdef Chances chances
        cdef int n = secrets.suspicion.n_kinds
        cdef int i

        if n == 0:
            return {}, {}
        if secrets.ways == NULL:
            return None
        if expect(secrets, &chances):
            raise MemoryError
        kinds = sorted([(secrets.suspicion.kinds[i], i) for i in range(n)])
        if named:
            kinds = [(self.view.game.name_of(kind), i) for kind, i in kinds]
        return (
            {secrets.suspicion.spots[i]: as_dict(kinds, chances.spots[i]) for i in range(secrets.suspicion.n_spots)},
            as_dict(kinds, chances.hand) if secrets.suspicion.n_hand else {},
        )

    def chances_as_bytes(self, int player, list in_spot, list in_hand):
        """The same for who writes them down: for each spot and for the hand, kind by kind, what `in_spot` or `in_hand`
        has for the kind's number, and then how likely it is, eight bytes, the lowest first."""
        cdef Secrets* secrets = &self.secrets[player]
        cdef Chances chances
        cdef int i

        if secrets.suspicion.n_kinds == 0:
            return [], b""
        if secrets.ways == NULL:
            return None
        if expect(secrets, &chances):
            raise MemoryError
        return (
            [(secrets.suspicion.spots[i], as_bytes(&secrets.suspicion, in_spot, chances.spots[i]))
             for i in range(secrets.suspicion.n_spots)],
            as_bytes(&secrets.suspicion, in_hand, chances.hand) if secrets.suspicion.n_hand else b"",
        )

    @property
    def effective_worlds(self):
        """How many worlds, all as likely, would leave as much open: 1 / the sum of the squares of their chances."""
        cdef const GameApi* api = self.view.game.api
        cdef Secrets squared
        cdef double total = 1
        cdef int player, spot, kind

        for player in range(self.view.game.n_players):
            if self.secrets[player].ways == NULL:
                total *= api.count_secrets(self.view.game.rules, self.view.state, self.view.observer, player)
                continue
            squared = self.secrets[player]
            for kind in range(squared.suspicion.n_kinds):
                squared.hand_weights[kind] *= squared.hand_weights[kind]
                for spot in range(squared.suspicion.n_spots):
                    squared.spot_weights[spot][kind] *= squared.spot_weights[spot][kind]
            try:
                if fill_ways(&squared):
                    raise MemoryError
                total *= self.secrets[player].ways[squared.all] * self.secrets[player].ways[squared.all]
                total /= squared.ways[squared.all]
                if squared.suspicion.ordered:
                    for kind in range(2, count_bits(squared.all) - squared.suspicion.n_spots
                                      - squared.suspicion.n_hand + 1):
                        total *= kind
            finally:
                close_secrets(&squared)
        return total


cdef class Veiled(Belief):
    """Worlds in which one of the observer's own cards is of the kinds that the others may take it for, as often as they
    do: so that those who search for them cannot know it.

    A card of another kind changes places with the true one, wherever the observer has that. All other worlds come in
    the order in which a Belief alone draws them.
    """

    def __cinit__(self, View view, History history=None, double trust=1.0, int spot=0, uint64_t seed=0):
        cdef const Account* account = NULL if history is None else &history.account
        cdef const Knowledge* knowledge = view.game.knowledge
        cdef uint64_t public[STATE_WORDS]
        cdef uint8_t picks[PICKS_MAX]
        cdef Secrets secrets
        cdef Chances chances
        cdef double least
        cdef int i, true

        seed_rng(&self.side, seed, SIDE_STREAM)
        memset(&secrets, 0, sizeof(secrets))
        view.game.api.observe(view.game.rules, view.state, SPECTATOR, public)
        knowledge.suspect(view.game.rules, public, SPECTATOR, view.observer, account, &secrets.suspicion)
        self.seen = secrets.suspicion
        spots = [self.seen.spots[i] for i in range(self.seen.n_spots)]
        if spot not in spots:
            raise ValueError(f"spot: {spot} is none of {spots}")
        self.number = spots.index(spot)
        knowledge.read(view.game.rules, view.state, view.observer, &self.seen, picks)
        self.true = true = picks[self.number]
        failed = open_secrets(&secrets, trust)
        if failed < 0 or (not failed and expect(&secrets, &chances)):
            close_secrets(&secrets)
            raise MemoryError
        if failed:
            # Too many to be weighed: what is left is as likely as how many there are.
            for i in range(self.seen.n_kinds):
                chances.spots[self.number][i] = self.seen.held[i] / <double>count_bits(secrets.all)
        close_secrets(&secrets)
        self.guessed = chances.spots[self.number][true]
        # However unlikely the truth seems, it has to come up to be measured.
        least = max(self.guessed, LEAST_TRUE)
        for i in range(self.seen.n_kinds):
            self.chances[i] = chances.spots[self.number][i]
            if i == true:
                self.chances[i] = least
            elif self.guessed < LEAST_TRUE:
                self.chances[i] *= (1 - least) / (1 - self.guessed)

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
        Belief.draw(self, world, &self.side if kind != true else rng)
        self.pretends = kind != true
        if not self.pretends:
            return
        # As they are in this world: the order of his own deck is hidden from the observer, too.
        self.view.game.knowledge.read(self.view.game.rules, world, self.view.observer, &self.seen, picks)
        for i in range(n_cards(&self.seen)):
            if i != self.number and picks[i] == kind:
                picks[i] = <uint8_t>true
                break
        picks[self.number] = <uint8_t>kind
        self.view.game.knowledge.lay(self.view.game.rules, world, self.view.observer, &self.seen, picks)


def own_spots(View view):
    """The observer's own face-down cards: the game's number of each spot, and of the kind that lies there."""
    cdef const Knowledge* knowledge = view.game.knowledge
    cdef uint64_t public[STATE_WORDS]
    cdef Suspicion own
    cdef uint8_t picks[PICKS_MAX]
    cdef int i

    view.game.api.observe(view.game.rules, view.state, SPECTATOR, public)
    knowledge.suspect(view.game.rules, public, SPECTATOR, view.observer, NULL, &own)
    knowledge.read(view.game.rules, view.state, view.observer, &own, picks)
    return [(own.spots[i], own.kinds[picks[i]]) for i in range(own.n_spots)]

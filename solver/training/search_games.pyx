# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Play games of the search without Python, for training: each decision is that of `solve` with the same seed.

Nothing here takes the GIL between the deal and the end of a game, so threads of one process play side by side.
"""
from libc.math cimport sqrt
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from engine_cy.game_api cimport (
    CHANCE, DECISION_UNFINISHED, GAME_OVER, MAX_ACTIONS, MAX_PLAYERS, SPECTATOR, STATE_WORDS, ActionEvidence, GameApi,
    Knowledge, action_t,
)
from engine_cy.support.buffer cimport Buffer, bytes_of, extend
from engine_cy.support.rng cimport below, below64, next_bits, rng_t, seed_rng
from engine_cy.values cimport Game, View
from solver.beliefs cimport Belief
from solver.search cimport Searcher, SearchParameters, Tally

from solver.answer import LESS_LEAD, SAME_AFTER, SAME_WIN
from solver.config import fit_config
from solver.mistakes import DOUBT, DRAWS, KIND_SHIFT, KINDS, MILLION, OWN

cdef enum:
    PLAYERS_MAX = 32        # in a population
    SPARE_BYTES = 1 << 28   # of a tree, as in the default budget

cdef enum:
    SEARCHES
    FOLLOWS_POLICY
    PLAYS_AT_RANDOM

# The kinds of entries of a game, see solver/training/games.py.
cdef enum:
    BY_CHANCE
    FORCED
    UNSEARCHED
    SEARCHED
    STRAYED                 # searched, and then played at random

# Of the draws of players and random decisions: after those of the deals and seeds of all games.
cdef uint64_t POPULATION_STREAM = <uint64_t>1 << 40
cdef uint64_t MILLIONS = MILLION
cdef uint64_t ALIKE_AFTER = SAME_AFTER
cdef double ALIKE_WIN = SAME_WIN
cdef double ALIKE_LEAD = LESS_LEAD
# The errors of levels, as in solver/mistakes.py.
cdef uint64_t DRAWS_STREAM = DRAWS
cdef uint64_t KINDS_STREAM = KINDS
cdef int SHIFT_TO_KIND = KIND_SHIFT
cdef double UNTRIED_PLAYOUTS = DOUBT
cdef double OWN_ERROR = OWN
cdef double NOTHING = -1e300


# A member of the population.
cdef struct Player:
    int how
    SearchParameters settings
    double trust
    uint64_t iterations
    double misjudgement
    bint remembers
    double stray            # the probability to play a random decision instead of its own


# A decision at the root, in the terms by which an answer orders moves.
cdef struct Ranked:
    int number
    uint64_t visits
    double win
    double lead
    double spread


cdef bint is_before(const Ranked* a, const Ranked* b) noexcept nogil:
    """Return whether a move comes first: by visits, then by win, then by lead."""
    if a.visits != b.visits:
        return a.visits > b.visits
    if a.win != b.win:
        return a.win > b.win
    return a.lead > b.lead


cdef bint is_alike(const Ranked* move, const Ranked* best) noexcept nogil:
    """Return whether both moves are known to win equally often, as `solver.answer` defines it."""
    cdef double difference = move.win - best.win

    if not move.visits or not best.visits or move.visits < max(ALIKE_AFTER, best.visits // 100):
        return False
    return max(move.spread, best.spread, max(difference, -difference)) <= ALIKE_WIN


cdef double error_of(rng_t* rng) noexcept nogil:
    """Draw an error of a level."""
    cdef uint64_t total = 0
    cdef int _i

    for _i in range(3):
        total += below64(rng, MILLIONS)
    return 2 * (<double>total / MILLIONS - 1.5)


cdef class SearchGames:
    """Play games of one ruleset. `population` lists configurations with the iterations of a move, and the probability
    of a random decision instead of their own; `weights` how often a seat draws each.

    Without weights, the first of two plays against copies of the second, each deal once in every seat: these are the
    games of `solver.match` with the same seed, if both search.
    """

    cdef Game game
    cdef const GameApi* api
    cdef const Knowledge* knowledge
    cdef uint64_t seed
    cdef Player players[PLAYERS_MAX]
    cdef uint32_t weights[PLAYERS_MAX]
    cdef int n_players
    cdef uint32_t total_weight
    cdef bint is_match
    cdef Searcher searcher
    cdef Belief belief
    cdef View view              # of the player to act; belief and searcher read it
    cdef bint believes
    cdef bint logs
    cdef ActionEvidence logged
    cdef uint64_t state[STATE_WORDS]
    cdef rng_t chance
    cdef rng_t seeds
    cdef rng_t draws
    cdef int seats[MAX_PLAYERS]         # the member of the population in each seat
    cdef Ranked* ranked
    cdef int ranked_room
    cdef Buffer out
    cdef bint out_of_memory

    def __cinit__(self, Game game, uint64_t seed, list population, list weights=None):
        cdef Searcher searcher
        cdef Player* player

        self.is_match = not weights
        weights = weights or [1] * 2
        if not 0 < len(population) <= PLAYERS_MAX or len(weights) != len(population):
            raise ValueError(f"population: {len(population)} members and {len(weights)} weights; 1 to {PLAYERS_MAX}")
        self.game = game
        self.api = game.api
        self.knowledge = game.knowledge
        self.seed = seed
        start = game.deal(0)
        self.view = start.view(0)
        self.believes = game.has_beliefs
        self.logs = self.knowledge != NULL and self.knowledge.log_action != NULL
        if self.believes:
            self.belief = Belief(self.view, None, 0.0)
        for i, (config, iterations, stray) in enumerate(population):
            config = fit_config(config, game)
            if config.how == "search" and not iterations:
                raise ValueError(f"population: {config.name} has no iterations")
            player = &self.players[i]
            player.how = {"search": SEARCHES, "greedy": FOLLOWS_POLICY, "random": PLAYS_AT_RANDOM}[config.how]
            searcher = Searcher(self.view, config.settings(iterations or None), SPARE_BYTES, 0, 0, (), self.belief)
            player.settings = searcher.settings
            player.trust = config.trust
            player.iterations = iterations
            player.misjudgement = config.misjudgement
            player.remembers = config.remembers
            player.stray = stray
            self.weights[i] = weights[i]
            self.total_weight += weights[i]
            self.searcher = searcher
        self.n_players = len(population)

    def __dealloc__(self):
        free(self.ranked)
        free(self.out.data)

    def play(self, uint64_t begin, uint64_t end):
        """Return the games from number `begin` to `end` - 1, as bytes; solver/training/games.py reads them."""
        cdef uint64_t number

        self.out.size = 0
        self.out_of_memory = False
        with nogil:
            for number in range(begin, end):
                self.play_game(number)
        if self.out_of_memory:
            raise MemoryError
        return bytes_of(&self.out)

    cdef void play_game(self, uint64_t number) noexcept nogil:
        cdef action_t steps[3]
        cdef int n = self.game.n_players
        cdef uint8_t header[2 + MAX_PLAYERS]
        cdef double payoffs[MAX_PLAYERS]
        cdef int32_t scores[MAX_PLAYERS]
        cdef uint64_t deal = number // n if self.is_match else number
        cdef uint16_t n_entries = 0
        cdef size_t size_at
        cdef int player, n_steps, i

        seed_rng(&self.chance, self.seed, 2 * deal)
        seed_rng(&self.seeds, self.seed, 2 * deal + 1)
        seed_rng(&self.draws, self.seed, POPULATION_STREAM + number)
        memset(&self.logged, 0, sizeof(ActionEvidence))
        memset(header, 0, sizeof(header))
        header[0] = <uint8_t>(deal % n)
        self.api.deal(self.game.rules, self.state, header[0], &self.chance)
        for i in range(n):
            self.seats[i] = i != <int>(number % n) if self.is_match else self.draw_member()
            header[1 + i] = <uint8_t>self.seats[i]
        self.write(&number, 8)
        self.write(header, 1 + n)
        size_at = self.out.size
        self.write(&n_entries, 2)
        while True:
            player = self.api.to_act(self.game.rules, self.state)
            if player == GAME_OVER or self.out_of_memory:
                break
            n_steps = self.by_chance(steps) if player == CHANCE else self.decide(player, steps)
            for i in range(n_steps):
                if self.logs and player != CHANCE:
                    self.api.observe(self.game.rules, self.state, SPECTATOR, self.view.state)
                    self.knowledge.log_action(self.game.rules, self.view.state, steps[i], &self.logged)
                self.api.apply(self.game.rules, self.state, steps[i])
            n_entries += 1
        if self.out_of_memory:
            return
        memcpy(self.out.data + size_at, &n_entries, 2)
        self.api.payoffs(self.game.rules, self.state, payoffs)
        self.api.scores(self.game.rules, self.state, scores)
        self.write(payoffs, n * sizeof(double))
        self.write(scores, n * sizeof(int32_t))

    cdef int draw_member(self) noexcept nogil:
        cdef uint32_t draw = below(&self.draws, self.total_weight)
        cdef int i

        for i in range(self.n_players - 1):
            if draw < self.weights[i]:
                return i
            draw -= self.weights[i]
        return self.n_players - 1

    cdef int by_chance(self, action_t* steps) noexcept nogil:
        cdef action_t actions[MAX_ACTIONS]
        cdef int n = self.api.legal(self.game.rules, self.state, actions)
        cdef int pick = <int>below64(&self.chance, n)

        steps[0] = actions[pick]
        self.write_entry(BY_CHANCE, CHANCE, n, pick)
        return 1

    cdef int decide(self, int seat, action_t* steps) noexcept nogil:
        """Choose a decision and write its entry; return the number of its steps."""
        cdef Player* player = &self.players[self.seats[seat]]
        cdef uint64_t seed = next_bits(&self.seeds)
        cdef int what = SEARCHED if player.how == SEARCHES else UNSEARCHED
        cdef int pick
        cdef int n
        cdef uint64_t _i

        self.view.observer = seat
        self.api.observe(self.game.rules, self.state, seat, self.view.state)
        self.searcher.settings = player.settings
        # As `Question.worlds`: without trust, the game samples worlds.
        self.searcher.believes = self.believes and player.trust != 0
        if self.searcher.restart(self.view.state, seat, seed):
            self.out_of_memory = True
            return 0
        n = self.searcher.n_tallies
        if n == 1:
            what = FORCED
            pick = 0
        elif player.how == SEARCHES:
            if self.searcher.believes:
                self.belief.trust = player.trust
                self.belief.weigh_at(self.view.state, seat, &self.logged if player.remembers else NULL)
                if self.belief.fill_tables():
                    self.out_of_memory = True
                    return 0
            for _i in range(player.iterations):
                self.searcher.iterate()
            pick = self.choose(player, seat, seed)
        elif player.how == FOLLOWS_POLICY:
            pick = self.follow_policy()
        else:
            pick = <int>below64(&self.seeds, n)
        if what != FORCED and player.stray and below64(&self.draws, MILLIONS) < player.stray * MILLIONS:
            pick = <int>below64(&self.draws, n)
            what = STRAYED if what == SEARCHED else UNSEARCHED
        self.write_entry(what, seat, n, pick)
        if what == SEARCHED or what == STRAYED:
            self.write_statistics(seat)
        if self.out_of_memory:
            return 0
        memcpy(steps, self.searcher.tallies[pick].steps, sizeof(self.searcher.tallies[pick].steps))
        return self.searcher.tallies[pick].n_steps

    cdef int follow_policy(self) noexcept nogil:
        """Return the decision of the heuristic policy, as `Searcher.heuristic_decision` does."""
        cdef const Tally* tally
        cdef action_t steps[3]
        cdef bint more = True
        cdef int n = 0
        cdef int i, j

        self.api.sample(
            self.game.rules, self.searcher.root, self.searcher.observer, self.searcher.state, &self.searcher.rng)
        while more:
            steps[n] = self.knowledge.choose(self.game.rules, self.searcher.state, &self.searcher.rng)
            more = self.api.part(self.game.rules, self.searcher.state) & DECISION_UNFINISHED
            self.api.apply(self.game.rules, self.searcher.state, steps[n])
            n += 1
        for i in range(self.searcher.n_tallies):
            j = 0
            tally = &self.searcher.tallies[i]
            while j < n and tally.n_steps == n and tally.steps[j] == steps[j]:
                j += 1
            if j == n:
                return i
        return 0

    # --- from the statistics to a decision, as in solver/answer.py ---

    cdef int choose(self, const Player* player, int seat, uint64_t seed) noexcept nogil:
        """Return the number of the decision that an answer would have as its best."""
        if self.rank(seat):
            return 0
        return self.misjudged_best(player, seat, seed) if player.misjudgement else self.ranked[0].number

    cdef int misjudged_best(self, const Player* player, int seat, uint64_t seed) noexcept nogil:
        """Return the number of the decision that a level takes for the best, as `solver.mistakes` does."""
        cdef uint64_t base = seed ^ self.api.key(self.game.rules, self.view.state, seat)
        cdef const Tally* tally
        cdef rng_t rng, of_kind
        cdef uint64_t visits = 0
        cdef double untried = 0
        cdef double most = NOTHING
        cdef double value, kind
        cdef int best = 0
        cdef int i

        for i in range(self.searcher.n_tallies):
            visits += self.searcher.tallies[i].visits
            untried += self.searcher.tallies[i].payoffs[seat]
        untried = (untried / visits if visits else 0.0) - player.settings.first_play
        seed_rng(&rng, base, DRAWS_STREAM)
        for i in range(self.searcher.n_tallies):
            tally = &self.searcher.tallies[i]
            value = (tally.payoffs[seat] + UNTRIED_PLAYOUTS * untried) / (tally.visits + UNTRIED_PLAYOUTS)
            seed_rng(&of_kind, base, KINDS_STREAM + (tally.steps[0] >> SHIFT_TO_KIND))
            kind = error_of(&of_kind)
            value += player.misjudgement * (kind + OWN_ERROR * error_of(&rng))
            if value > most:
                most = value
                best = i
        return best

    cdef int rank(self, int seat) noexcept nogil:
        """Order the decisions as an answer does, the best first; return -1 if out of memory."""
        cdef int n = self.searcher.n_tallies
        cdef const Tally* tally
        cdef Ranked* ranked
        cdef Ranked move
        cdef double mean
        cdef int n_alike = 0
        cdef int i, j

        if n > self.ranked_room:
            ranked = <Ranked*>realloc(self.ranked, n * sizeof(Ranked))
            if ranked == NULL:
                self.out_of_memory = True
                return -1
            self.ranked = ranked
            self.ranked_room = n
        for i in range(n):
            tally = &self.searcher.tallies[i]
            move.number = i
            move.visits = tally.visits
            move.win = NOTHING
            move.lead = NOTHING
            move.spread = 1
            if tally.visits:
                mean = tally.payoffs[seat] / tally.visits
                move.win = mean
                if tally.visits > 1:
                    move.spread = sqrt(
                        max(tally.squares[seat] / tally.visits - mean * mean, 0.0) * tally.visits / (tally.visits - 1))
            if tally.ended:
                move.lead = <double>tally.leads[seat] / tally.ended
            j = i
            while j > 0 and is_before(&move, &self.ranked[j - 1]):
                self.ranked[j] = self.ranked[j - 1]
                j -= 1
            self.ranked[j] = move
        # Moves that win like the best come first, by their lead.
        move = self.ranked[0]
        self.take_alike(&move, n, &n_alike)
        return 0

    cdef void take_alike(self, const Ranked* best, int n, int* n_alike) noexcept nogil:
        cdef Ranked move
        cdef int i, j

        for i in range(n):
            if not is_alike(&self.ranked[i], best):
                continue
            move = self.ranked[i]
            j = i
            while j > n_alike[0]:
                self.ranked[j] = self.ranked[j - 1]
                j -= 1
            while j > 0 and self.ranked[j - 1].lead < move.lead:
                self.ranked[j] = self.ranked[j - 1]
                j -= 1
            self.ranked[j] = move
            n_alike[0] += 1

    # --- writing ---

    cdef void write(self, const void* data, size_t size) noexcept nogil:
        if not extend(&self.out, data, size):
            self.out_of_memory = True

    cdef void write_entry(self, int what, int seat, int n_options, int pick) noexcept nogil:
        cdef int16_t numbers[4]

        numbers[0] = <int16_t>what
        numbers[1] = <int16_t>seat
        numbers[2] = <int16_t>n_options
        numbers[3] = <int16_t>pick
        self.write(numbers, sizeof(numbers))

    cdef void write_statistics(self, int seat) noexcept nogil:
        """Write the number of the best decision, the mean payoffs of all seats after all decisions and after the best,
        then for each decision its visits and the mean payoff of its player.
        """
        cdef float means[2 * MAX_PLAYERS]
        cdef double total[MAX_PLAYERS]
        cdef const Tally* tally
        cdef const Tally* best = &self.searcher.tallies[self.ranked[0].number]
        cdef int16_t number = <int16_t>self.ranked[0].number
        cdef uint64_t visits = 0
        cdef uint32_t own
        cdef int n = self.game.n_players
        cdef int i, p
        cdef float mean

        memset(total, 0, sizeof(total))
        for i in range(self.searcher.n_tallies):
            tally = &self.searcher.tallies[i]
            visits += tally.visits
            for p in range(n):
                total[p] += tally.payoffs[p]
        for p in range(n):
            means[p] = <float>(total[p] / visits)
            means[n + p] = <float>(best.payoffs[p] / best.visits)
        self.write(&number, sizeof(number))
        self.write(means, 2 * n * sizeof(float))
        for i in range(self.searcher.n_tallies):
            tally = &self.searcher.tallies[i]
            own = <uint32_t>tally.visits
            mean = <float>(tally.payoffs[seat] / tally.visits) if tally.visits else 0
            self.write(&own, sizeof(own))
            self.write(&mean, sizeof(mean))

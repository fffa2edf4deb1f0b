# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Self-play of a policy, from which the weights are learned."""
from libc.stdint cimport int32_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, realloc

from engine_cy.game_api cimport CHANCE, MAX_ACTIONS, MAX_PLAYERS, GAME_OVER, STATE_WORDS, action_t
from engine_cy.learned.evaluation cimport evaluate_state
from engine_cy.learned.feature_api cimport STAGES_MAX, Feature, FeatureApi, FeatureList, MarkedActions, Policy
from engine_cy.learned.policy cimport choose_action, prefer
from engine_cy.support.buffer cimport Buffer, bytes_of, extend
from engine_cy.support.rng cimport below, next_bits, rng_t, seed_rng
from engine_cy.support.softmax cimport soften
from engine_cy.values cimport Game, Position

import array


cdef const FeatureApi* features_api(Game game) except NULL:
    if game.features == NULL:
        raise ValueError(f"game: no weights fit {game!r}")
    return game.features


def set_name(Game game):
    """Return the name of the set of weights for `game`, such as `oriflamme-3`."""
    cdef int number = features_api(game).set_of(game.rules)

    return game.weights[0].sets[number]


def features_of(Position position):
    """Return the index of the row of weights for `position`, and the features of each seat."""
    cdef const FeatureApi* api = features_api(position.game)
    cdef FeatureList features
    cdef const Feature* entry
    cdef int i

    features.n = 0
    api.tally(position.game.rules, position.state, &features)
    seats = [[0.0] * api.n_features for _ in range(position.game.n_players)]
    for i in range(features.n):
        entry = &features.entries[i]
        seats[entry.player][entry.number] += entry.value
    return api.row_of(position.game.rules, position.state), tuple([tuple(seat) for seat in seats])


cdef class PositionList:
    """Positions of games of one set, as a fit reads them: rows of weights, features of all seats, payoffs to learn."""

    cdef Game game              # one of the set
    cdef const FeatureApi* api
    cdef float* sums            # of each seat and feature; 0 between calls
    cdef Buffer rows            # int32
    cdef Buffer sizes           # int32: the number of features of each seat
    cdef Buffer numbers         # uint16
    cdef Buffer values          # float32
    cdef Buffer payoffs         # float64: of each seat
    cdef bint out_of_memory

    def __cinit__(self, Game game):
        self.game = game
        self.api = features_api(game)
        self.sums = <float*>calloc(MAX_PLAYERS * self.api.n_features, sizeof(float))
        if self.sums == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.sums)
        free(self.rows.data)
        free(self.sizes.data)
        free(self.numbers.data)
        free(self.values.data)
        free(self.payoffs.data)

    cdef void append(self, const void* rules, const void* state) noexcept nogil:
        """Append a state, without its payoffs."""
        cdef FeatureList features
        cdef const Feature* entry
        cdef float* value
        cdef int32_t row = self.api.row_of(rules, state)
        cdef int32_t size
        cdef int player, i

        features.n = 0
        self.api.tally(rules, state, &features)
        for i in range(features.n):
            entry = &features.entries[i]
            self.sums[entry.player * self.api.n_features + entry.number] += entry.value
        self.write(&self.rows, &row, sizeof(row))
        for player in range(self.game.n_players):
            size = 0
            for i in range(features.n):
                entry = &features.entries[i]
                value = &self.sums[player * self.api.n_features + entry.number]
                if entry.player == player and value[0] != 0:
                    self.write(&self.numbers, &entry.number, sizeof(entry.number))
                    self.write(&self.values, value, sizeof(value[0]))
                    value[0] = 0
                    size += 1
            self.write(&self.sizes, &size, sizeof(size))

    cdef void write(self, Buffer* buffer, const void* data, size_t size) noexcept nogil:
        if not extend(buffer, data, size):
            self.out_of_memory = True

    cdef void append_payoffs(self, const double* per_seat) noexcept nogil:
        self.write(&self.payoffs, per_seat, self.game.n_players * sizeof(double))

    def add(self, Position position, payoffs):
        """Add a position with the payoffs to learn, such as those of the end of its game."""
        cdef double per_seat[MAX_PLAYERS]
        cdef int i

        if set_name(position.game) != set_name(self.game):
            raise ValueError(f"position: it belongs to {set_name(position.game)}, not to {set_name(self.game)}")
        for i in range(self.game.n_players):
            per_seat[i] = payoffs[i]
        self.append(position.game.rules, position.state)
        self.append_payoffs(per_seat)
        if self.out_of_memory:
            raise MemoryError

    def arrays(self):
        """Return the positions as bytes.

        These are the rows (int32), the number of features of each seat (int32), their numbers (uint16), their values
        (float32), and the payoffs of each seat (float64).
        """
        if self.out_of_memory:
            raise MemoryError
        return (
            bytes_of(&self.rows), bytes_of(&self.sizes), bytes_of(&self.numbers), bytes_of(&self.values),
            bytes_of(&self.payoffs),
        )


cdef inline action_t choose_at_random(const FeatureApi* api, const void* rules, const void* state,
                                      rng_t* rng) noexcept nogil:
    cdef action_t actions[MAX_ACTIONS]
    return actions[below(rng, api.game.legal(rules, state, actions))]


def contest(Game game, int games, uint64_t seed, int seats):
    """Return the share of the wins of `seats` (bit p: player p), who play by the playout policy against random play."""
    cdef const FeatureApi* api = features_api(game)
    cdef const void* rules = game.rules
    cdef uint64_t state[STATE_WORDS]
    cdef rng_t rng
    cdef double per_seat[MAX_PLAYERS]
    cdef double total = 0
    cdef int g, player

    seed_rng(&rng, seed, 0)
    for g in range(games):
        api.game.deal(rules, state, g % game.n_players, &rng)
        player = api.game.to_act(rules, state)
        while player != GAME_OVER:
            if player != CHANCE and seats >> player & 1:
                api.game.apply(rules, state, choose_action(api, &api.playouts, rules, state, &rng))
            else:
                api.game.apply(rules, state, choose_at_random(api, rules, state, &rng))
            player = api.game.to_act(rules, state)
        api.game.payoffs(rules, state, per_seat)
        for player in range(game.n_players):
            if seats >> player & 1:
                total += per_seat[player]
    return total / games


cdef enum:
    BY_PRESENT = -1     # the policy that learns plays the seat
    AT_RANDOM = -2


cdef class SelfPlay:
    """Self-play of a policy, for training: of playouts, or the prior.

    A share `strangers` of the seats plays its game at random, a share `veterans` by an earlier policy (`remember`).
    """

    cdef Game game
    cdef const FeatureApi* api
    cdef const Policy* policy
    cdef const void* rules
    cdef rng_t rng
    cdef double strangers          # the probability that a seat plays a game at random
    cdef double veterans           # ... and that it plays by an earlier policy
    cdef float* past               # the weights of the marks of these policies
    cdef int n_past
    cdef Policy earlier            # the earlier policy to act
    cdef int players[MAX_PLAYERS]  # by seat: BY_PRESENT, AT_RANDOM, or the number of an earlier policy
    cdef float* gradients          # by stage and seat: of the log probability of its actions
    cdef uint16_t* touched         # by stage and seat: the indices of the marks in its gradient
    cdef int n_touched[STAGES_MAX * MAX_PLAYERS]

    def __cinit__(self, Game game, uint64_t seed, double strangers, double veterans=0.0, *, bint of_prior=False):
        self.game = game
        self.api = features_api(game)
        self.policy = &self.api.prior if of_prior else &self.api.playouts
        self.rules = game.rules
        self.strangers = strangers
        self.veterans = veterans
        self.earlier = self.policy[0]
        seed_rng(&self.rng, seed, 1)
        self.gradients = <float*>calloc(STAGES_MAX * MAX_PLAYERS * self.policy.n_marks, sizeof(float))
        self.touched = <uint16_t*>calloc(STAGES_MAX * MAX_PLAYERS * self.policy.n_marks, sizeof(uint16_t))
        if self.gradients == NULL or self.touched == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.gradients)
        free(self.touched)
        free(self.past)

    def remember(self, marks):
        """Add a policy, by the weights of its marks, to the earlier ones."""
        cdef int n = self.policy.n_marks
        cdef float* past
        cdef int i

        if len(marks) != n:
            raise ValueError(f"marks: {len(marks)} weights, not {n}")
        past = <float*>realloc(self.past, (self.n_past + 1) * n * sizeof(float))
        if past == NULL:
            raise MemoryError
        self.past = past
        for i in range(n):
            past[self.n_past * n + i] = marks[i]
        self.n_past += 1

    cdef void deal(self, void* state) noexcept nogil:
        cdef int player
        cdef double draw

        self.api.game.deal(self.rules, state, below(&self.rng, self.game.n_players), &self.rng)
        for player in range(self.game.n_players):
            draw = below(&self.rng, 1 << 20) / <double>(1 << 20)
            self.players[player] = BY_PRESENT
            if draw < self.strangers:
                self.players[player] = AT_RANDOM
            elif self.n_past and draw < self.strangers + self.veterans:
                self.players[player] = below(&self.rng, self.n_past)

    cdef bint is_random(self, const void* state) noexcept nogil:
        """Return whether the next action is random: by chance, or by a stranger."""
        cdef int player = self.api.game.to_act(self.rules, state)

        return player == CHANCE or self.players[player] == AT_RANDOM

    def contest(self, int games, int seats):
        """Return the share of the wins of `seats` (bit p: player p), who play by the policy.

        The others play by the earlier policies that `remember` added.
        """
        cdef uint64_t state[STATE_WORDS]
        cdef double per_seat[MAX_PLAYERS]
        cdef double total = 0
        cdef int player, _g

        if not self.n_past:
            raise ValueError("contest: no earlier policy, see remember()")
        with nogil:
            for _g in range(games):
                self.api.game.deal(self.rules, state, below(&self.rng, self.game.n_players), &self.rng)
                while True:
                    player = self.api.game.to_act(self.rules, state)
                    if player == GAME_OVER:
                        break
                    elif player == CHANCE:
                        self.api.game.apply(self.rules, state, choose_at_random(self.api, self.rules, state, &self.rng))
                    elif seats >> player & 1:
                        self.api.game.apply(self.rules, state, self.choose(state))
                    else:
                        self.api.game.apply(self.rules, state, self.choose_as_earlier(
                            state, below(&self.rng, self.n_past)))
                self.api.game.payoffs(self.rules, state, per_seat)
                for player in range(self.game.n_players):
                    if seats >> player & 1:
                        total += per_seat[player]
        return total / games

    cdef action_t choose(self, const void* state) noexcept nogil:
        """Choose an action by the policy."""
        return choose_action(self.api, self.policy, self.rules, state, &self.rng)

    cdef action_t choose_as_earlier(self, const void* state, int number) noexcept nogil:
        """Choose an action by an earlier policy."""
        self.earlier.weights = self.past + (number - self.api.set_of(self.rules)) * self.earlier.n_marks
        return choose_action(self.api, &self.earlier, self.rules, state, &self.rng)

    cdef void add_to_gradient(self, int entry, int mark, float amount) noexcept nogil:
        cdef float* gradient = self.gradients + entry * self.policy.n_marks + mark

        if gradient[0] == 0:
            self.touched[entry * self.policy.n_marks + self.n_touched[entry]] = <uint16_t>mark
            self.n_touched[entry] += 1
            gradient[0] = <float>1e-30     # not 0, so that it is listed once
        gradient[0] += amount
        if gradient[0] == 0:
            gradient[0] = <float>1e-30

    cdef action_t sample(self, const void* state, int stage, double heat, double* gradient) noexcept nogil:
        """Draw an action from the policy, and add the gradient of its log probability to that of its stage and seat.

        Add `heat` times the gradient of the entropy to `gradient`.
        """
        cdef action_t actions[MAX_ACTIONS]
        cdef float preferences[MAX_ACTIONS]
        cdef float shares[MAX_ACTIONS]
        cdef MarkedActions options
        cdef int n = self.api.game.legal(self.rules, state, actions)
        cdef int entry = stage * MAX_PLAYERS + self.api.game.to_act(self.rules, state)
        cdef int pick = 0
        cdef int i, m, number
        cdef float amount = 1
        cdef double draw
        cdef double mean = 0

        if n == 1:
            return actions[0]
        if self.is_random(state):
            return actions[below(&self.rng, n)]
        number = self.players[self.api.game.to_act(self.rules, state)]
        if number != BY_PRESENT:
            return self.choose_as_earlier(state, number)
        prefer(self.api, self.policy, self.rules, state, actions, n, &options, preferences)
        soften(preferences, n, shares)
        draw = <double>(next_bits(&self.rng) >> 11) / 9007199254740992.0
        while pick < n - 1 and draw >= shares[pick]:
            draw -= shares[pick]
            pick += 1
        for i in range(n):
            mean += shares[i] * preferences[i]
        for i in range(options.n):
            for m in range(options.width):
                if options.has_amounts:
                    amount = options.amounts[i][m]
                self.add_to_gradient(entry, options.marks[i][m], ((i == pick) - shares[i]) * amount)
                gradient[options.marks[i][m]] -= heat * shares[i] * (preferences[i] - mean) * amount
        return actions[pick]

    cdef void flush(self, int entry, double advantage, double* gradient) noexcept nogil:
        """Move the gradient of a stage and seat, times `advantage`, into `gradient`."""
        cdef float* own = self.gradients + entry * self.policy.n_marks
        cdef uint16_t* touched = self.touched + entry * self.policy.n_marks
        cdef int i

        for i in range(self.n_touched[entry]):
            gradient[touched[i]] += advantage * own[touched[i]]
            own[touched[i]] = 0
        self.n_touched[entry] = 0

    def gradient(self, int games, double trust, double heat):
        """Return the policy gradient by the weights of the marks, summed over `games`, as doubles.

        The advantage of a player's actions in a stage is a value after them minus the evaluation before the stage. The
        value mixes the evaluation after the stage (share `trust`) and the payoff. `heat` is the weight of the entropy:
        at the optimum, an action that wins `heat` less often than another is e times less probable.
        """
        cdef object total = array.array("d", bytes(8 * self.policy.n_marks))
        cdef double[::1] view = total
        cdef double values[(STAGES_MAX + 1) * MAX_PLAYERS]
        cdef const double* paid
        cdef const double* before
        cdef uint64_t state[STATE_WORDS]
        cdef int n_players = self.game.n_players
        cdef int player, stage, n_stages, _g
        cdef bint over

        with nogil:
            for _g in range(games):
                self.deal(state)
                stage = 0
                over = False
                evaluate_state(self.api, n_players, self.rules, state, values)
                while not over:
                    self.api.game.apply(self.rules, state, self.sample(state, stage, heat, &view[0]))
                    over = self.api.game.to_act(self.rules, state) == GAME_OVER
                    if over or self.api.stage_of(self.rules, state) > stage:
                        stage += 1
                        evaluate_state(self.api, n_players, self.rules, state, values + stage * MAX_PLAYERS)
                n_stages = stage
                paid = values + n_stages * MAX_PLAYERS
                for stage in range(n_stages):
                    before = values + stage * MAX_PLAYERS
                    for player in range(n_players):
                        self.flush(stage * MAX_PLAYERS + player, trust * before[MAX_PLAYERS + player]
                                   + (1 - trust) * paid[player] - before[player], &view[0])
        return total

    def positions(self, int games, double midway):
        """Return positions of `games`: all at the beginnings of stages, and a share `midway` of the others."""
        cdef PositionList positions = PositionList(self.game)
        cdef uint64_t state[STATE_WORDS]
        cdef double per_seat[MAX_PLAYERS]
        cdef int _i, _j, n, stage

        with nogil:
            for _i in range(games):
                self.deal(state)
                n = 0
                stage = -1
                while self.api.game.to_act(self.rules, state) != GAME_OVER:
                    if self.api.stage_of(self.rules, state) > stage or below(&self.rng, 1 << 20) < midway * (1 << 20):
                        stage = self.api.stage_of(self.rules, state)
                        positions.append(self.rules, state)
                        n += 1
                    if self.is_random(state):
                        self.api.game.apply(self.rules, state, choose_at_random(self.api, self.rules, state, &self.rng))
                    else:
                        self.api.game.apply(self.rules, state, self.choose(state))
                self.api.game.payoffs(self.rules, state, per_seat)
                for _j in range(n):
                    positions.append_payoffs(per_seat)
        return positions

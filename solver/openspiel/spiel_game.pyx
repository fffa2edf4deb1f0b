# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A game of OpenSpiel as a `GameApi`, for our search; `from_openspiel` makes them.

A state is its history: the numbers of all actions since the start, as plain bytes. States are therefore copied,
compared and stored like those of any game. A cache holds OpenSpiel's states of up to `CACHE_MAX` histories, and is
emptied when it is full; other histories are replayed. The functions of GameApi take the GIL and call Python objects:
this is slow, and threads wait for each other, but their results equal those of one thread.

**A view** is a world, too: one that the observer cannot distinguish from the truth, drawn by the game's own
`resample_from_infostate` with random numbers derived only from the observer's information. It does not hold the truth.

**Chance** has one action for each outcome if all are equally likely. Otherwise it draws digits below `DIGITS` until
they determine the outcome; no probability is off by more than 2 ** -45.

**Payoffs** are returns, scaled so that the game's lowest utility is 0 and its highest 1: exploration means the same in
every game. Scores are returns, rounded to whole numbers.
"""
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from engine_cy.values cimport Game, Position, GameState, View, new_position
from engine_cy.game_api cimport (
    CHANCE, MAX_ACTIONS, MAX_PLAYERS, NOBODY, SPECTATOR, STATE_WORDS, GameApi, action_t, begin_interface,
)
from engine_cy.support.hashing cimport hash_bytes, mix
from engine_cy.support.rng cimport below, next_bits, rng_t, seed_rng

from threading import get_ident

from engine_cy.errors import EngineError, InvalidPositionError, NotationError

cdef enum:
    HEAD = 16               # bytes of a state before its history
    CACHE_MAX = 1024        # histories in the cache
    DRAW = 1 << 16          # an action of chance is an outcome, or DRAW | digit
    DIGIT_BITS = 9
    DIGITS = 1 << DIGIT_BITS
    DRAWS_MAX = 5           # digits for one outcome
    BROKEN = 0xFF           # `n_drawn` of a state after an error

HISTORY_MAX = (STATE_WORDS * 8 - HEAD) // sizeof(uint16_t)
NUMBERS = DRAW              # actions and outcomes are numbered from 0 to less than this
OPTIONS_MAX = MAX_ACTIONS
PLAYERS_MAX = MAX_PLAYERS
_DRAWN = "~"                # prefix of a drawn digit in text
_START = "start"


cdef struct State:
    uint64_t drawn          # the digits drawn for the next outcome, as one number
    uint16_t length         # of the history
    int8_t to_act           # a seat, `CHANCE` or `NOBODY`
    uint8_t n_drawn         # digits, or BROKEN
    uint32_t unused
    uint16_t history[1]     # `SpielGame.room` numbers; those behind `length` are 0


# The `rules` argument of GameApi: the Python game.
cdef struct Rules:
    void* game              # borrowed; it owns these rules


cdef class Sampler:
    """A generator of random numbers in [0, 1), with the interface that OpenSpiel expects."""

    cdef rng_t rng

    def __call__(self):
        return <double>(next_bits(&self.rng) >> 11) / <double>(<uint64_t>1 << 53)


cdef class SpielNode:
    """OpenSpiel's state of a history, with its options."""

    cdef object state       # OpenSpiel's; never written
    cdef int to_act
    cdef list options       # legal actions, or the outcomes of chance
    cdef list bounds        # upper ends of the outcomes' parts of 0..1 but the last; None if equally likely


cdef SpielNode make_node(object state):
    cdef SpielNode node = SpielNode.__new__(SpielNode)
    cdef double total = 0

    node.state = state
    node.to_act = to_act_of(state)
    node.options = []
    if node.to_act == CHANCE:
        node.options, chances = map(list, zip(*state.chance_outcomes()))
        if len(chances) > MAX_ACTIONS or max(chances) - min(chances) > 1e-9:
            node.bounds = []
            for chance in chances:
                total += chance
                node.bounds.append(total)
            node.bounds.pop()
    elif node.to_act != NOBODY:
        node.options = state.legal_actions()
        if not 0 < len(node.options) <= MAX_ACTIONS:
            raise EngineError(f"legal actions: {state.get_game()} has {len(node.options)}, not 1 to {MAX_ACTIONS}, "
                              f"after {state.history()}")
    return node


cdef int to_act_of(object state) except -3:
    if state.is_terminal():
        return NOBODY
    elif state.is_chance_node():
        return CHANCE
    return state.current_player()


cdef object outcome_of(SpielNode node, uint64_t drawn, int n_drawn):
    """Return the outcome that the digits determine; None if another digit has to be drawn."""
    cdef double width = 1.0 / <double>(<uint64_t>1 << (DIGIT_BITS * n_drawn))
    cdef double low = <double>drawn * width
    cdef int i = 0

    for bound in node.bounds:
        if low < <double>bound:
            break
        i += 1
    if n_drawn == DRAWS_MAX or i == len(node.bounds) or low + width <= <double>node.bounds[i]:
        return node.options[i]
    return None


cdef class SpielGame(Game):
    """A game of OpenSpiel; see the module. Positions and views are written as histories: `2 0 1 | seen by A`."""

    cdef GameApi table
    cdef readonly object spiel            # OpenSpiel's game
    cdef int room                         # numbers in a history
    cdef object numbers                   # of all actions and outcomes
    cdef bint perfect                     # nothing is hidden
    cdef bint by_information              # nodes of players are keyed by information states, else by observations
    cdef object public_text               # state -> text, or None
    cdef double lowest, highest           # utility
    cdef dict cache                       # history -> SpielNode
    cdef dict errors                      # thread -> the first exception in a function that cannot raise
    cdef object __weakref__

    def __init__(self, spiel, int room, bint perfect, public_text):
        kind = spiel.get_type()
        self.spiel = spiel
        self.id = f"openspiel:{spiel}"
        self.n_players = spiel.num_players()
        self.ruleset = str(spiel)
        self.spec = (self.id, self.ruleset, self.n_players)
        self.room = room
        self.numbers = range(max(spiel.num_distinct_actions(), spiel.max_chance_outcomes()))
        self.perfect = perfect
        self.by_information = kind.provides_information_state_string
        self.public_text = public_text
        self.has_spectator = perfect or public_text is not None
        self.lowest, self.highest = spiel.min_utility(), spiel.max_utility()
        self.cache = {}
        self.errors = {}
        self.table = API
        begin_interface(&self.table, (HEAD + self.room * sizeof(uint16_t) + 15) // 16 * 16)
        self.api = &self.table
        (<Rules*>self.own(sizeof(Rules))).game = <void*>self

    # --- histories ---

    cdef SpielNode node(self, const State* state):
        """Return the node of a state's history, from the cache or by replaying it."""
        cdef bytes history = PyBytes_FromStringAndSize(<const char*>state.history, state.length * sizeof(uint16_t))
        node = self.cache.get(history)
        if node is None:
            if state.n_drawn == BROKEN:
                raise EngineError("state: an earlier action failed")
            node = make_node(self.replay([state.history[i] for i in range(state.length)], strictly=False))
            self.keep(history, <SpielNode>node)
        return <SpielNode>node

    cdef keep(self, bytes history, SpielNode node):
        if len(self.cache) >= CACHE_MAX:
            self.cache.clear()
        self.cache[history] = node

    cdef object replay(self, history, bint strictly=True):
        """Return OpenSpiel's state after a history.

        The history of a drawn world need not obey the rules (`strictly`): the trick-taking games draw players who held
        the suit that they did not follow.
        """
        state = self.spiel.new_initial_state()
        for number in history:
            if state.is_terminal() or number not in (state.legal_actions() if strictly else self.numbers):
                raise InvalidPositionError(f"history: {number} is not possible after {state.history()}")
            state.apply_action(number)
        return state

    cdef fill(self, State* state, object spiel_state):
        """Write a state from OpenSpiel's, and keep that in the cache."""
        cdef list history = spiel_state.history()
        cdef SpielNode node = make_node(spiel_state)
        cdef int i

        if len(history) > self.room:
            raise EngineError(f"history: {len(history)} actions; the maximum of {self.id} is {self.room}")
        memset(state, 0, self.table.state_size)
        for i in range(len(history)):
            state.history[i] = history[i]
        state.length = <uint16_t>len(history)
        state.to_act = <int8_t>node.to_act
        self.keep(PyBytes_FromStringAndSize(<const char*>state.history, state.length * sizeof(uint16_t)), node)

    cdef append(self, State* state, object number):
        if state.length >= self.room:
            raise EngineError(f"history: longer than {self.room} actions, the maximum of {self.id}")
        state.history[state.length] = number
        state.length += 1

    cdef step(self, State* state, action_t action):
        """Take an action, or draw a digit of an outcome."""
        cdef SpielNode before = self.node(state)
        cdef SpielNode after
        cdef object number = action

        if action >= DRAW:
            state.drawn = state.drawn << DIGIT_BITS | (action - DRAW)
            state.n_drawn += 1
            number = outcome_of(before, state.drawn, state.n_drawn)
            if number is None:
                return
            state.drawn = 0
            state.n_drawn = 0
        successor = before.state.clone()
        successor.apply_action(number)
        after = make_node(successor)
        self.append(state, number)
        state.to_act = <int8_t>after.to_act
        self.keep(PyBytes_FromStringAndSize(<const char*>state.history, state.length * sizeof(uint16_t)), after)

    cdef int play_on(self, State* state, rng_t* rng) except -1:
        """Play to the end at random; only the end enters the cache. Return the number of decisions."""
        cdef int decisions = 0
        cdef SpielNode now
        cdef uint64_t drawn
        cdef int n_drawn

        if state.to_act == NOBODY:
            return 0
        now = make_node(self.node(state).state.clone())
        drawn, n_drawn = state.drawn, state.n_drawn
        while now.to_act != NOBODY:
            if now.bounds is None:
                number = now.options[below(rng, <uint32_t>len(now.options))]
                decisions += now.to_act != CHANCE and len(now.options) > 1
            else:
                number = None
                while number is None:
                    drawn = drawn << DIGIT_BITS | below(rng, DIGITS)
                    n_drawn += 1
                    number = outcome_of(now, drawn, n_drawn)
            drawn, n_drawn = 0, 0
            now.state.apply_action(number)
            self.append(state, number)
            now = make_node(now.state)
        state.drawn = 0
        state.n_drawn = 0
        state.to_act = NOBODY
        self.keep(PyBytes_FromStringAndSize(<const char*>state.history, state.length * sizeof(uint16_t)), now)
        return decisions

    # --- observation ---

    cdef uint64_t key_of(self, const State* state, int observer) except? 0:
        cdef uint64_t key = mix(observer, state.length)

        key = mix(mix(key, <uint64_t>(state.to_act + 2)), state.n_drawn)
        if self.perfect:
            # Every player knows the history, which determines the state.
            return mix(hash_bytes(state, self.table.state_size, 0), key)
        if observer != SPECTATOR:
            return hash_text(self.private_text(self.node(state).state, observer), key)
        if self.public_text is not None:
            return hash_text(self.public_text(self.node(state).state), key)
        # No public information but the number of actions and the player to act.
        return key

    cdef str private_text(self, object state, int player):
        return state.information_state_string(player) if self.by_information else state.observation_string(player)

    cdef resample(self, const State* state, int observer, State* world, rng_t* rng):
        """Write into `world` a state that `observer` cannot distinguish from `state`."""
        cdef Sampler sampler
        cdef uint64_t room[STATE_WORDS]
        cdef State* other = <State*>room

        if self.perfect or state.n_drawn == BROKEN:
            memcpy(world, state, self.table.state_size)
            return
        if not 0 <= observer < self.n_players:
            raise EngineError(f"view: {self.id} has views for players only")
        sampler = Sampler.__new__(Sampler)
        sampler.rng = rng[0]
        sample = self.node(state).state.resample_from_infostate(observer, sampler)
        rng[0] = sampler.rng
        self.fill(other, sample)
        other.drawn, other.n_drawn = state.drawn, state.n_drawn
        if self.key_of(other, observer) != self.key_of(state, observer):
            raise EngineError(f"resample_from_infostate: {self.id} draws for player {observer} a state that they can "
                              f"distinguish from the present one: {sample.history()}")
        memcpy(world, other, self.table.state_size)

    @property
    def cache_size(self):
        """The number of OpenSpiel's states in the cache."""
        return len(self.cache)

    # --- errors ---

    cdef break_off(self, State* state, error):
        """End a state after an error in a function that cannot raise; `check` will raise it."""
        self.note(error)
        state.n_drawn = BROKEN
        state.to_act = NOBODY

    cdef note(self, error):
        self.errors.setdefault(get_ident(), error)

    cpdef int check(self) except -1:
        error = self.errors.pop(get_ident(), None) if self.errors else None
        if error is None:
            return 0
        if isinstance(error, EngineError):
            raise error
        raise EngineError(f"{self.id}: {error}") from error

    # --- the game in Python ---

    cdef const char* fault(self, const void* state, int observer) noexcept:
        cdef const State* checked = <const State*>state
        cdef uint64_t room[STATE_WORDS]
        cdef State* replayed = <State*>room

        if checked.length > self.room:
            return b"length: longer than any game"
        if checked.n_drawn >= DRAWS_MAX or checked.drawn >> (DIGIT_BITS * checked.n_drawn):
            return b"drawn: not a number of that many digits"
        try:
            history = [checked.history[i] for i in range(checked.length)]
            self.fill(replayed, self.replay(history, strictly=observer < 0))
            replayed.drawn, replayed.n_drawn = checked.drawn, checked.n_drawn
            if checked.n_drawn and (replayed.to_act != CHANCE or not self.is_open(replayed)):
                return b"drawn: no digit is due"
        except Exception:
            return b"history: an action that is not possible"
        if memcmp(replayed, checked, self.table.state_size):
            return b"to_act: not the player to act"
        return NULL

    cdef bint is_open(self, const State* state) except -1:
        """Return whether another digit has to be drawn for the outcome."""
        cdef SpielNode node = self.node(state)
        return node.bounds is not None and outcome_of(node, state.drawn, state.n_drawn) is None

    def at(self, spiel_state):
        """Return the position of a state of OpenSpiel's game, which must have a history."""
        cdef Position position = new_position(self)
        if str(spiel_state.get_game()) != self.ruleset:
            raise EngineError(f"state: of {spiel_state.get_game()}, not of {self.ruleset}")
        self.fill(<State*>position.state, self.replay(spiel_state.history()))
        return position

    def as_state(self, GameState table):
        """Return OpenSpiel's state of a position; for a view, that of the world that represents it."""
        return self.node(<const State*>table.state).state.clone()

    def describe(self, GameState at):
        """Return a position as OpenSpiel writes it; for a view, the text of its observer's information."""
        state = self.as_state(at)
        if isinstance(at, View) and not self.perfect:
            return self.private_text(state, (<View>at).observer)
        return str(state)

    def read_text(self, str text):
        cdef uint64_t room[STATE_WORDS]
        cdef State* state = <State*>room

        words, seen, seat = text.partition("| seen by ")
        words = [] if words.strip() == _START else words.split()
        drawn = [word for word in words if word.startswith(_DRAWN)]
        history = words[:len(words) - len(drawn)]
        try:
            history = [int(number) for number in history]
            digits = [int(word.removeprefix(_DRAWN)) for word in drawn]
        except ValueError:
            raise NotationError(f"history: {text!r} is neither '{_START}' nor a list of action numbers") from None
        self.fill(state, self.replay(history, strictly=not seen))
        for digit in digits:
            if not 0 <= digit < DIGITS or state.to_act != CHANCE or self.node(state).bounds is None:
                raise NotationError(f"drawn: {_DRAWN}{digit} is not possible, in {text!r}")
            self.step(state, DRAW | <action_t>digit)
        if seen and seat.strip() not in tuple(self.seats):
            raise NotationError(f"seen: {seat.strip()!r} is not one of {', '.join(self.seats)}, in {text!r}")
        packed = <bytes>(<const char*>state)[:self.table.state_size]
        return self.seats.index(seat.strip()) if seen else None, packed

    def write_state(self, bytes state, observer):
        cdef const State* at = <const State*><const char*>state
        words = [str(at.history[i]) for i in range(at.length)]
        for i in reversed(range(at.n_drawn)):
            words.append(f"{_DRAWN}{at.drawn >> (DIGIT_BITS * i) & (DIGITS - 1)}")
        return " ".join(words or [_START]) + (f" | seen by {self.seats[observer]}" if observer is not None else "")

    def read_steps(self, str text):
        digit = text.startswith(_DRAWN)
        try:
            number = int(text.removeprefix(_DRAWN))
        except ValueError:
            number = -1
        if not 0 <= number < (DIGITS if digit else NUMBERS):
            raise NotationError(f"action: {text!r} is not the number of an action of {self.id}")
        return (DRAW | number if digit else number,)

    def write_steps(self, tuple steps):
        fields = self.step_fields(steps)
        return f"{_DRAWN if fields['type'] == 'draw' else ''}{fields['number']}"

    def step_fields(self, tuple steps):
        if len(steps) != 1 or not 0 <= steps[0] < DRAW + DIGITS:
            raise NotationError(f"steps: {steps} are not an action of {self.id}")
        number = steps[0]
        return {"type": "draw", "number": number - DRAW} if number >= DRAW else {"type": "act", "number": number}

    def __reduce__(self):
        from solver.openspiel.openspiel_in_ours import from_openspiel
        return from_openspiel, (self.ruleset,)

    def __repr__(self):
        return f"from_openspiel({self.ruleset!r})"


cdef uint64_t hash_text(str text, uint64_t seed):
    cdef bytes data = text.encode()
    data += bytes(15 - (len(data) + 15) % 16)
    return hash_bytes(<const char*>data, len(data), mix(seed, len(text)))


# --- the functions of GameApi ---------------------------------------------------------------------------------

cdef inline SpielGame game_of(const void* rules):
    return <SpielGame>(<const Rules*>rules).game


cdef void deal(const void* rules, void* state, int first, rng_t* rng) noexcept with gil:
    game = game_of(rules)
    try:
        if first:
            raise EngineError(f"first: {first} is not possible; {game.id} itself chooses the first player")
        game.fill(<State*>state, game.spiel.new_initial_state())
    except Exception as error:
        memset(state, 0, game.table.state_size)
        game.break_off(<State*>state, error)


cdef int to_act(const void* rules, const void* state) noexcept nogil:
    return (<const State*>state).to_act


cdef int part(const void* rules, const void* state) noexcept nogil:
    return 0


cdef int round_number(const void* rules, const void* state) noexcept nogil:
    return 1


cdef int legal(const void* rules, const void* state, action_t* actions) noexcept with gil:
    cdef const State* at = <const State*>state
    cdef SpielNode node
    cdef int i

    if at.to_act == NOBODY:
        return 0
    game = game_of(rules)
    try:
        node = game.node(at)
    except Exception as error:
        game.note(error)
        return 0
    if node.bounds is not None:
        for i in range(DIGITS):
            actions[i] = DRAW | i
        return DIGITS
    for i in range(len(node.options)):
        actions[i] = node.options[i]
    return len(node.options)


cdef void apply(const void* rules, void* state, action_t action) noexcept with gil:
    game = game_of(rules)
    try:
        game.step(<State*>state, action)
    except Exception as error:
        game.break_off(<State*>state, error)


cdef int play_out(const void* rules, void* state, rng_t* rng) noexcept with gil:
    game = game_of(rules)
    try:
        return game.play_on(<State*>state, rng)
    except Exception as error:
        game.break_off(<State*>state, error)
        return 0


cdef list returns_of(SpielGame game, const State* state):
    """Return the returns of all players so far; zeros for a state after an error."""
    if state.n_drawn == BROKEN:
        return [0.0] * game.n_players
    try:
        return game.node(state).state.returns()
    except Exception as error:
        game.note(error)
        return [0.0] * game.n_players


cdef void payoffs(const void* rules, const void* state, double* per_seat) noexcept with gil:
    game = game_of(rules)
    cdef int seat

    for seat, won in enumerate(returns_of(game, <const State*>state)):
        per_seat[seat] = (<double>won - game.lowest) / (game.highest - game.lowest)


cdef void scores(const void* rules, const void* state, int32_t* per_seat) noexcept with gil:
    cdef int seat

    for seat, won in enumerate(returns_of(game_of(rules), <const State*>state)):
        per_seat[seat] = <int32_t>round(won)


cdef void observe(const void* rules, const void* state, int observer, void* view) noexcept with gil:
    game = game_of(rules)
    cdef rng_t rng

    try:
        seed_rng(&rng, game.key_of(<const State*>state, observer), 0)
        game.resample(<const State*>state, observer, <State*>view, &rng)
    except Exception as error:
        memset(view, 0, game.table.state_size)
        game.break_off(<State*>view, error)


cdef uint64_t key(const void* rules, const void* state, int observer) noexcept with gil:
    game = game_of(rules)
    try:
        return game.key_of(<const State*>state, observer)
    except Exception as error:
        game.note(error)
        return 0


cdef void sample(const void* rules, const void* view, int observer, void* world, rng_t* rng) noexcept with gil:
    game = game_of(rules)
    try:
        game.resample(<const State*>view, observer, <State*>world, rng)
    except Exception as error:
        memset(world, 0, game.table.state_size)
        game.break_off(<State*>world, error)


cdef uint64_t count_secrets(const void* rules, const void* world, int observer, int player) noexcept with gil:
    game = game_of(rules)
    if not game.perfect:
        game.note(EngineError(f"worlds: {game.id} draws worlds, and does not count them"))
    return 1


cdef void write_secret(
        const void* rules, void* world, int observer, int player, uint64_t index) noexcept nogil:
    """Do nothing: secrets are counted only without hidden information, and the state holds the only one."""


# `SpielGame` sets the size of states.
cdef GameApi API
API.deal = deal
API.to_act = to_act
API.legal = legal
API.apply = apply
API.part = part
API.round = round_number
API.play_out = play_out
API.payoffs = payoffs
API.scores = scores
API.observe = observe
API.key = key
API.sample = sample
API.count_secrets = count_secrets
API.write_secret = write_secret

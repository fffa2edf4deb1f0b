# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A game in Python as a `GameApi`: `python_game` makes one of a subclass of `GameRules`.

A state is what `GameRules.pack` writes, by default its text, as plain bytes: states are therefore copied, compared,
stored and sent like those of any game. A cache holds the Python objects of recent states; others are read back. The
functions of GameApi take the GIL and call Python methods: this is slow, and threads wait for each other, but their
results equal those of one thread.

**Errors**: a function of GameApi cannot raise. It notes the exception for its thread, and writes a state in which the
game is over; `check` raises. Until then, the thread calls no more methods of the rules.

**Chance** has one action for each outcome if all are equally likely. Otherwise it draws digits below `DIGITS` until
they determine the outcome; no probability is off by more than 2 ** -45.

**Payoffs** are scaled from `payoff_range` to 0..1: exploration means the same in every game.
"""
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.math cimport isfinite
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from engine_cy.game_api cimport (
    CHANCE, MAX_ACTIONS, MAX_PLAYERS, GAME_OVER, SPECTATOR, STATE_WORDS, GameApi, action_t, begin_interface,
)
from engine_cy.support.hashing cimport hash_bytes, mix
from engine_cy.support.rng cimport Rng, below, rng_t
from engine_cy.values cimport Game, GameState, Position, View, new_position

import re
from pathlib import PurePath
from threading import get_ident

from engine_cy.errors import EngineError, GameFaultError, HiddenCardError, InvalidRulesetError, NotationError, listed
from engine_cy.game_rules import GameRules
from engine_cy.support.world_random import WorldRandom

cdef enum:
    HEAD = 16               # bytes of a state before its text
    DRAW = 1 << 16          # an action is a number of `GameRules.actions`, or DRAW | digit
    DIGIT_BITS = 9
    DIGITS = 1 << DIGIT_BITS
    DRAWS_MAX = 5           # digits for one outcome
    BROKEN = 0xFF           # `n_drawn` of a state after an error
    PLAYOUT_MAX = 100_000   # actions in a game
    WORLDS_MAX = 20_000     # worlds that are enumerated, within a second or so
    HIDDEN_SAMPLES = 16     # worlds in which `hides_choice` looks for another choice

TEXT_MAX = STATE_WORDS * 8 - HEAD
ACTIONS_MAX = DRAW
OPTIONS_MAX = MAX_ACTIONS
PLAYERS_MAX = MAX_PLAYERS
_DIGIT = "~"                # prefix of a drawn digit in text
_SEEN = "| seen by "
_TEXT = re.compile(rf"(.*?)((?:\s*{_DIGIT}\d+)*)\s*(?:\{_SEEN}(.*))?", re.DOTALL)
_RESERVED = re.compile(rf"[\n\r#]|{_DIGIT}\d|\|\s*seen by|^\s|\s$")


cdef struct State:
    uint64_t drawn          # the digits drawn for the next outcome, as one number
    uint16_t length         # of the text
    int8_t to_act           # a seat, `CHANCE` or `GAME_OVER`
    uint8_t n_drawn         # digits, or BROKEN
    uint32_t unused
    char text[1]            # as packed; bytes behind `length` are 0


# The `rules` argument of GameApi: the Python game.
cdef struct Rules:
    void* game              # borrowed; it owns these rules


cdef class Node:
    """A state as a Python object, with everything that the rules have answered about it."""

    cdef object value       # the rules' own; never changed
    cdef bytes packed
    cdef int to_act
    cdef list options       # numbers of the legal actions; None until a search asks
    cdef list bounds        # of chance: upper ends of the outcomes' parts of 0..1 but the last; None if equally likely
    cdef dict successors    # action number -> packed state
    cdef dict seen          # player, or None -> their information as bytes
    cdef list payoffs       # None until a search asks


cdef class PythonGame(Game):
    """A game whose rules are a `GameRules`. Made by `python_game` and `new_game`."""

    cdef GameApi table
    cdef readonly object game_rules       # the GameRules
    cdef tuple origin                     # the function and the arguments that make the game again; None: `new_game`
    cdef object actions                   # texts, by number
    cdef dict texts                       # number of each action, by text
    cdef dict numbers                     # ... by the rules' own name of it: the text, or the number
    cdef bint numbered
    cdef tuple moves                      # the methods of the rules that random play calls
    cdef size_t room                      # bytes of a packed state
    cdef bint informs, packs, counts      # whether the rules have these optional methods
    cdef double lowest, highest           # payoff
    cdef int states_cached
    cdef dict recent, older               # packed state -> Node
    cdef dict errors                      # thread -> the first exception in a function that cannot raise
    cdef list generators                  # WorldRandom objects in no use
    cdef tuple enumerated                 # the last view, as bytes, its observer, and its packed worlds
    cdef object __weakref__

    def __init__(self, game_rules, str id, str ruleset, int players, tuple origin=None):
        kind = type(game_rules)
        self.game_rules = game_rules
        self.id = id
        self.n_players = players
        self.ruleset = ruleset
        self.spec = (id, ruleset, players)
        self.origin = origin
        self.informs = kind.information is not GameRules.information
        self.packs = kind.pack is not GameRules.pack
        self.counts = kind.worlds is not GameRules.worlds
        self.has_spectator = game_rules.has_spectator
        self.lowest, self.highest = game_rules.payoff_range
        self.room = game_rules.text_bytes
        self.states_cached = game_rules.states_cached // 2
        self.actions = tuple(game_rules.actions)
        self.texts = {text: number for number, text in enumerate(self.actions)}
        self.numbered = game_rules.numbered
        self.numbers = {number: number for number in range(len(self.actions))} if self.numbered else self.texts
        self.check_constants()
        self.moves = (game_rules.legal_actions, game_rules.advance, game_rules.to_act)
        self.recent, self.older = {}, {}
        self.errors = {}
        self.generators = []
        self.table = API
        begin_interface(&self.table, (HEAD + self.room + 15) // 16 * 16)
        self.api = &self.table
        (<Rules*>self.own(sizeof(Rules))).game = <void*>self

    cdef check_constants(self):
        name = type(self.game_rules).__name__
        if not 0 < len(self.actions) <= ACTIONS_MAX or len(self.texts) < len(self.actions):
            raise InvalidRulesetError(f"{self.id}: {name}.actions: {len(self.actions)} texts, of which "
                                      f"{len(self.texts)} differ; 1 to {ACTIONS_MAX} that differ are possible")
        for text in self.actions:
            if type(text) is not str or not text or _RESERVED.search(text) or "=" in text:
                raise InvalidRulesetError(f"{self.id}: {name}.actions: {text!r} is not a line without #, = and ~")
        if not (isfinite(self.lowest) and isfinite(self.highest) and self.lowest < self.highest):
            raise InvalidRulesetError(f"{self.id}: {name}.payoff_range: {self.game_rules.payoff_range} is not a range")
        if not 0 < self.room <= TEXT_MAX:
            raise InvalidRulesetError(f"{self.id}: {name}.text_bytes: {self.room} is not in 1..{TEXT_MAX}")

    # --- Python objects of states ---

    cdef Node node(self, const State* state):
        """Return the node of a state, from the cache or by reading it."""
        cdef bytes packed = PyBytes_FromStringAndSize(state.text, state.length)
        cdef Node node = self.find(packed)

        if node is None:
            if state.n_drawn == BROKEN:
                raise EngineError("state: an earlier action failed")
            node = self.add(self.game_rules.unpack(packed), packed)
            if self.pack(node.value) != packed:
                again = self.pack(node.value)
                raise self.wrong("unpack" if self.packs else "read", f"{packed!r} reads back as {again!r}")
        return node

    cdef Node find(self, bytes packed):
        node = self.recent.get(packed)
        if node is None:
            node = self.older.get(packed)
            if node is not None:
                self.keep(<Node>node)
        return <Node>node

    cdef keep(self, Node node):
        if len(self.recent) >= self.states_cached:
            self.older = self.recent
            self.recent = {}
        self.recent[node.packed] = node

    cdef Node add(self, value, bytes packed):
        """Make the node of a value, and keep it in the cache."""
        cdef Node node = Node.__new__(Node)

        if not self.packs:
            self.check_text(packed.decode())
        node.value = value
        node.packed = packed
        node.to_act = self.seat_of(value)
        node.successors = {}
        node.seen = {}
        self.keep(node)
        return node

    cdef Node enter(self, value):
        """Return the node of a value that the rules made."""
        cdef bytes packed = self.pack(value)
        cdef Node node = self.find(packed)
        return self.add(value, packed) if node is None else node

    cdef bytes pack(self, value):
        if self.packs:
            packed = self.game_rules.pack(value)
            if type(packed) is not bytes:
                raise self.wrong("pack", f"{packed!r} is not bytes")
        else:
            text = self.game_rules.write(value)
            if type(text) is not str:
                self.check_text(text)
            packed = (<str>text).encode()
        if <size_t>len(packed) > self.room:
            name = "pack" if self.packs else "write"
            raise self.wrong(name, f"{len(packed)} bytes, more than `text_bytes`, {self.room}: {packed!r}")
        return <bytes>packed

    cdef str text_of(self, value):
        text = self.game_rules.write(value)
        self.check_text(text)
        return <str>text

    cdef check_text(self, text):
        if type(text) is not str or _RESERVED.search(text):
            raise self.wrong("write", f"{text!r} is not a line of text without #, ~ and 'seen by'")

    cdef int seat_of(self, value) except -3:
        seat = self.game_rules.to_act(value)
        if seat is None:
            return GAME_OVER
        if type(seat) is not int or not CHANCE <= seat < self.n_players:
            seats = f"0 to {self.n_players - 1}"
            raise self.wrong("to_act", f"{seat!r} is neither a seat ({seats}), CHANCE nor None", value)
        return seat

    cdef fill(self, State* state, Node node):
        memset(state, 0, self.table.state_size)
        state.length = <uint16_t>len(node.packed)
        state.to_act = <int8_t>node.to_act
        memcpy(state.text, <const char*>node.packed, state.length)

    # --- actions ---

    cdef object legal_texts(self, value):
        legal = self.game_rules.legal_actions(value)
        if not len(legal):
            raise self.wrong("legal_actions", "none, and the game is not over", value)
        return legal

    cdef list bounds_of(self, value, legal):
        """Return the upper ends of the outcomes' parts of 0..1 but the last; None if they are equally likely."""
        cdef double total = 0
        cdef double chance

        chances = self.game_rules.chances(value)
        if chances is None:
            if len(legal) <= MAX_ACTIONS:
                return None
            chances = [1.0 / len(legal)] * len(legal)
        if len(chances) != len(legal):
            raise self.wrong("chances", f"{len(chances)} probabilities of {len(legal)} actions", value)
        if len(legal) <= MAX_ACTIONS and max(chances) - min(chances) <= 1e-9:
            return None
        bounds = []
        for number in chances:
            chance = number
            total += chance
            if not chance >= 0:
                break
            bounds.append(total)
        if len(bounds) < len(legal) or not abs(total - 1) < 1e-6:
            raise self.wrong("chances", f"{listed(chances)} are no probabilities that add up to 1", value)
        bounds.pop()
        return bounds

    cdef int look_ahead(self, Node node) except -1:
        """Ask the rules for the legal actions of a node."""
        if node.options is None:
            legal = self.legal_texts(node.value)
            if len(legal) > MAX_ACTIONS and node.to_act != CHANCE:
                raise self.wrong("legal_actions", f"{len(legal)} actions, more than {MAX_ACTIONS}", node.value)
            options = []
            for action in legal:
                number = self.numbers.get(action)
                if number is None:
                    raise self.wrong("legal_actions", f"{action!r} is not in `actions`", node.value)
                options.append(number)
            if len(set(options)) < len(options):
                raise self.wrong("legal_actions", f"an action occurs twice: {listed(legal)}", node.value)
            node.bounds = self.bounds_of(node.value, legal) if node.to_act == CHANCE else None
            node.options = options
        return 0

    cdef Node successor(self, Node node, number):
        """Return the node after an action of a node."""
        packed = node.successors.get(number)
        cdef Node after = None if packed is None else self.find(<bytes>packed)

        if after is None:
            self.look_ahead(node)
            if number not in node.options:
                action = self.actions[number]
                raise self.wrong("legal_actions", f"{action!r} is legal in a view, but not in its world", node.value)
            action = number if self.numbered else self.actions[number]
            after = self.enter(self.game_rules.apply(node.value, action))
            node.successors[number] = after.packed
        return after

    cdef step(self, State* state, action_t action):
        """Take an action, or draw a digit of an outcome."""
        cdef Node node = self.node(state)
        cdef object number = action
        cdef int index

        if action >= DRAW:
            self.look_ahead(node)
            state.drawn = state.drawn << DIGIT_BITS | (action - DRAW)
            state.n_drawn += 1
            index = outcome_of(node.bounds, state.drawn, state.n_drawn)
            if index < 0:
                return
            number = node.options[index]
        self.fill(state, self.successor(node, number))

    cdef int play_on(self, State* state, rng_t* rng) except -1:
        """Play to the end at random; only the end enters the cache. Return the number of decisions."""
        cdef int decisions = 0
        cdef int actions = 0
        cdef int seat = state.to_act
        cdef uint64_t drawn = state.drawn
        cdef int n_drawn = state.n_drawn
        cdef list bounds
        cdef int index

        if seat == GAME_OVER:
            return 0
        value = self.game_rules.copy(self.node(state).value)
        legal_actions, advance, to_act = self.moves     # looked up once: random play spends its time here
        while seat != GAME_OVER:
            legal = legal_actions(value)
            if not len(legal):
                legal = self.legal_texts(value)         # raises
            bounds = self.bounds_of(value, legal) if seat == CHANCE else None
            if bounds is None:
                index = below(rng, <uint32_t>len(legal))
                decisions += seat != CHANCE and len(legal) > 1
            else:
                index = -1
                while index < 0:
                    drawn = drawn << DIGIT_BITS | below(rng, DIGITS)
                    n_drawn += 1
                    index = outcome_of(bounds, drawn, n_drawn)
            drawn, n_drawn = 0, 0
            value = advance(value, legal[index])
            next_seat = to_act(value)
            if type(next_seat) is int and 0 <= next_seat < self.n_players:
                seat = next_seat
            else:
                seat = self.seat_of(value)
            actions += 1
            if actions > PLAYOUT_MAX:
                raise self.wrong("to_act", f"the game is not over after {PLAYOUT_MAX} more actions", value)
        self.fill(state, self.enter(value))
        return decisions

    cdef list payoffs_of(self, const State* state):
        """Return the payoffs by the rules; the lowest ones after an error."""
        cdef Node node
        cdef double payoff

        if state.n_drawn == BROKEN:
            return [self.lowest] * self.n_players
        node = self.node(state)
        if node.payoffs is None:
            payoffs = list(self.game_rules.payoffs(node.value))
            if len(payoffs) != self.n_players:
                raise self.wrong("payoffs", f"{len(payoffs)} payoffs of {self.n_players} players", node.value)
            for number in payoffs:
                payoff = number
                if not self.lowest - 1e-9 <= payoff <= self.highest + 1e-9:
                    raise self.wrong("payoffs", f"{number!r} is not in `payoff_range`, {self.lowest} to {self.highest}",
                                     node.value)
            node.payoffs = payoffs
        return node.payoffs

    # --- hidden information ---

    cdef object player_of(self, int observer):
        if observer == SPECTATOR:
            if not self.has_spectator:
                raise EngineError(f"view: {self.id} has views for players only")
            return None
        return observer

    cdef bytes seen(self, Node node, player):
        """Return the information of a player, or of a spectator, as bytes."""
        seen = node.seen.get(player)
        if seen is None:
            if self.informs:
                seen = self.game_rules.information(node.value, player)
                if type(seen) is not str:
                    raise self.wrong("information", f"{seen!r} is not text", node.value)
                seen = seen.encode()
            else:
                view = self.game_rules.observe(node.value, player)
                seen = node.packed if view is node.value else self.pack(view)
            node.seen[player] = seen
        return <bytes>seen

    cdef Node view_of(self, Node node, player):
        """Return the node of a player's view."""
        cdef Node view = self.enter(self.game_rules.observe(node.value, player))
        if view.to_act != node.to_act:
            raise self.wrong("observe", "another player is to act in the view", node.value)
        return view

    cdef resample(self, const State* view, int observer, State* world, rng_t* rng):
        """Write into `world` a state that `observer` cannot distinguish from `view`."""
        cdef uint64_t room[STATE_WORDS]
        cdef State* other = <State*>room
        cdef Node node, sampled
        cdef Rng source

        if view.n_drawn == BROKEN:
            memcpy(world, view, self.table.state_size)
            return
        player = self.player_of(observer)
        if player is None:
            raise EngineError(f"view: {self.id} samples worlds for players only")
        node = self.node(view)
        generator = self.generators.pop() if self.generators else WorldRandom()
        source = generator.source
        source.raw = rng[0]
        value = self.game_rules.sample_world(node.value, player, generator)
        rng[0] = source.raw
        self.generators.append(generator)
        if value is node.value:
            memcpy(world, view, self.table.state_size)
            return
        sampled = self.enter(value)
        self.check_world(sampled, node, player, "sample_world")
        self.fill(other, sampled)
        other.drawn, other.n_drawn = view.drawn, view.n_drawn
        memcpy(world, other, self.table.state_size)

    cdef check_world(self, Node world, Node view, player, method):
        if world.to_act != view.to_act or self.seen(world, player) != self.seen(view, player):
            raise self.wrong(method, f"player {player} can distinguish {self.text_of(world.value)!r} from the view",
                             view.value)

    cdef list packed_worlds(self, const State* state, int observer):
        """Return all worlds that fit a view, or the view of a position."""
        cdef Node node = self.node(state)
        cdef Node view = self.view_of(node, self.player_of(observer))
        cdef Node world
        cdef list worlds

        if self.enumerated is None or self.enumerated[:2] != (view.packed, observer):
            worlds = []
            for value in self.game_rules.worlds(view.value, observer):
                world = self.enter(value)
                self.check_world(world, view, observer, "worlds")
                worlds.append(world.packed)
                if len(worlds) > WORLDS_MAX:
                    raise self.wrong("worlds", f"more than {WORLDS_MAX}", view.value)
            if not worlds or len(set(worlds)) < len(worlds):
                raise self.wrong("worlds", "none, or one occurs twice", view.value)
            self.enumerated = (view.packed, observer, worlds)
        return self.enumerated[2]

    cdef bint hides_choice(self, View view) except -1:
        """Return whether one of some sampled worlds offers several decisions: a view may not show them."""
        cdef int seed

        for seed in range(HIDDEN_SAMPLES):
            if len((<Position>view.sample_world(seed)).list_actions()) > 1:
                return True
        return False

    # --- errors ---

    cdef object wrong(self, method, what, value=None):
        """Return the error of a method of the rules that returned an impossible value."""
        where = "" if value is None else f", in {shortened(repr(self.game_rules.write(value)))}"
        return GameFaultError(f"{self.id}: {type(self.game_rules).__name__}.{method}: {shortened(what)}{where}")

    cdef object explained(self, error):
        """Return the EngineError for an exception: its method and line in the rules, if they raised it."""
        method = line = file = None
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if method is None and not code.co_filename.endswith(_OWN_FILES):
                method, file = code.co_name, code.co_filename
            if code.co_filename == file:
                line = trace.tb_lineno
            trace = trace.tb_next
        if method is not None:
            return GameFaultError(f"{self.id}: {type(self.game_rules).__name__}.{method} "
                                  f"({PurePath(file).name}, line {line}): {type(error).__name__}: {error}")
        if isinstance(error, EngineError):
            return error
        return GameFaultError(f"{self.id}: {type(error).__name__}: {error}")

    cdef break_off(self, State* state, error):
        """Write a state in which the game is over, after an error in a function that cannot raise."""
        self.note(error)
        memset(state, 0, self.table.state_size)
        state.n_drawn = BROKEN
        state.to_act = GAME_OVER

    cdef note(self, error):
        self.errors.setdefault(get_ident(), error)

    cdef bint has_failed(self):
        """Return whether this thread has an error that `check` will raise."""
        return bool(self.errors) and get_ident() in self.errors

    cpdef int check(self) except -1:
        error = self.errors.pop(get_ident(), None) if self.errors else None
        if error is None:
            return 0
        if not isinstance(error, Exception):
            raise error             # such as KeyboardInterrupt
        raise self.explained(error) from error

    # --- the game in Python ---

    @property
    def cache_size(self):
        """The number of states in the cache."""
        return len(self.recent) + len(self.older)

    cdef const char* fault(self, const void* state, int observer) noexcept:
        cdef const State* checked = <const State*>state
        cdef uint64_t room[STATE_WORDS]
        cdef State* written = <State*>room
        cdef Node node

        if checked.length > self.room:
            return b"length: longer than any state"
        if checked.n_drawn >= DRAWS_MAX or checked.drawn >> (DIGIT_BITS * checked.n_drawn):
            return b"drawn: not a number of that many digits"
        try:
            value = self.game_rules.unpack(PyBytes_FromStringAndSize(checked.text, checked.length))
            self.fill(written, self.read_node(self.text_of(value), None if observer < 0 else observer))
            written.drawn, written.n_drawn = checked.drawn, checked.n_drawn
            if checked.n_drawn:
                node = self.node(written)
                if node.to_act != CHANCE or self.is_determined(node, checked):
                    return b"drawn: no digit is due"
        except Exception:
            return b"text: not a state of this game"
        if memcmp(written, checked, self.table.state_size):
            return b"text: another one than is written for its state"
        return NULL

    cdef bint is_determined(self, Node node, const State* state) except -1:
        """Return whether the digits drawn so far determine the outcome, or it needs none."""
        self.look_ahead(node)
        return node.bounds is None or outcome_of(node.bounds, state.drawn, state.n_drawn) >= 0

    cdef Node read_node(self, str text, observer):
        """Return the node of a position's or a view's text. The rules may raise anything for a text that is neither."""
        cdef Node node
        try:
            value = self.game_rules.read(text) if observer is None else self.game_rules.read_view(text, observer)
            node = self.enter(value)
        except EngineError:
            raise
        except Exception as error:
            raise NotationError(f"text: {text!r} is not a state of {self.id}: {error}") from error
        if observer is not None and self.view_of(node, observer) is not node:
            raise HiddenCardError(f"text: {text!r} tells more than {self.seats[observer]} sees, which is "
                                  f"{self.text_of(self.view_of(node, observer).value)!r}")
        return node

    def read_text(self, str text):
        cdef uint64_t room[STATE_WORDS]
        cdef State* state = <State*>room
        cdef Node node

        words, drawn, seat = _TEXT.fullmatch(text.strip()).groups()
        if seat is not None and seat.strip() not in tuple(self.seats):
            raise NotationError(f"seen: {seat.strip()!r} is not one of {', '.join(self.seats)}, in {text!r}")
        observer = None if seat is None else self.seats.index(seat.strip())
        node = self.read_node(words.strip(), observer)
        self.fill(state, node)
        for digit in drawn.replace(_DIGIT, " ").split():
            if int(digit) >= DIGITS or node.to_act != CHANCE or self.is_determined(node, state):
                raise NotationError(f"drawn: {_DIGIT}{digit} is not possible, in {text!r}")
            state.drawn = state.drawn << DIGIT_BITS | <uint64_t>int(digit)
            state.n_drawn += 1
        if state.n_drawn and self.is_determined(node, state):
            raise NotationError(f"drawn: the digits determine an outcome, in {text!r}")
        return observer, <bytes>(<const char*>state)[:self.table.state_size]

    def write_state(self, bytes state, observer):
        cdef const State* at = <const State*><const char*>state
        words = [self.text_of(self.node(at).value)]
        for i in reversed(range(at.n_drawn)):
            words.append(f"{_DIGIT}{at.drawn >> (DIGIT_BITS * i) & (DIGITS - 1)}")
        if observer is not None:
            words.append(f"{_SEEN}{self.seats[observer]}")
        return " ".join(words)

    def describe(self, GameState at):
        player = (<View>at).observer if isinstance(at, View) else None
        return self.game_rules.describe(self.value(at), player)

    def value(self, GameState table):
        """Return a position or view as a state of the rules."""
        return self.node(<const State*>table.state).value

    def at(self, value):
        """Return the position of a state of the rules."""
        cdef Position position = new_position(self)
        self.fill(<State*>position.state, self.enter(value))
        return position

    def read_steps(self, str text):
        number = self.texts.get(text.strip())
        if number is not None:
            return (number,)
        digit = text.strip().removeprefix(_DIGIT)
        if digit != text.strip() and digit.isdecimal() and int(digit) < DIGITS:
            return (DRAW | int(digit),)
        raise NotationError(f"action: {text!r} is not an action of {self.id}")

    def write_steps(self, tuple steps):
        fields = self.step_fields(steps)
        return f"{_DIGIT}{fields['number']}" if fields["type"] == "draw" else fields["text"]

    def step_fields(self, tuple steps):
        if len(steps) == 1 and 0 <= steps[0] < len(self.actions):
            return {"type": "act", "number": steps[0], "text": self.actions[steps[0]]}
        if len(steps) == 1 and DRAW <= steps[0] < DRAW + DIGITS:
            return {"type": "draw", "number": steps[0] - DRAW}
        raise NotationError(f"steps: {steps} are not an action of {self.id}")

    def __reduce__(self):
        return Game.__reduce__(self) if self.origin is None else self.origin

    def __repr__(self):
        if self.origin is None:
            return Game.__repr__(self)
        function, arguments = self.origin
        words = [argument.__name__ if isinstance(argument, type) else repr(argument) for argument in arguments]
        return f"{function.__name__}({', '.join(words)})"


_OWN_FILES = ("python_game.pyx", "game_rules.py")


cdef int outcome_of(list bounds, uint64_t drawn, int n_drawn) except -2:
    """Return the index of the outcome that the digits determine; -1 if another digit has to be drawn."""
    cdef double width = 1.0 / <double>(<uint64_t>1 << (DIGIT_BITS * n_drawn))
    cdef double low = <double>drawn * width
    cdef int i = 0

    for bound in bounds:
        if low < <double>bound:
            break
        i += 1
    if n_drawn == DRAWS_MAX or i == len(bounds) or low + width <= <double>bounds[i]:
        return i
    return -1


cdef uint64_t hash_text(bytes text, uint64_t seed):
    cdef bytes padded = text + bytes(15 - (len(text) + 15) % 16)
    return hash_bytes(<const char*>padded, len(padded), mix(seed, len(text)))


cdef str shortened(str text):
    """Shorten a text of a game for an error, which is one sentence."""
    return text if len(text) <= 300 else f"{text[:200]} ... ({len(text)} characters)"


def python_game(rules, ruleset=None, players=None, id=None):
    """Return the game of a subclass of GameRules; without an id, under the name of its class."""
    if not isinstance(rules, type) or not issubclass(rules, GameRules):
        raise InvalidRulesetError(f"{id or repr(rules)}: not a subclass of GameRules")
    name = id or f"{rules.__module__}:{rules.__qualname__}"
    if not set(rules.players) or not set(rules.players) <= set(range(2, MAX_PLAYERS + 1)):
        raise InvalidRulesetError(f"{name}: {rules.__name__}.players: {listed(rules.players)} are not within 2 to "
                                  f"{MAX_PLAYERS}")
    ruleset = rules.rulesets[0] if ruleset is None else ruleset
    players = (3 if 3 in rules.players else rules.players[0]) if players is None else players
    if ruleset not in rules.rulesets:
        raise InvalidRulesetError(f"ruleset: {ruleset!r} is not possible in {name} ({listed(rules.rulesets)})")
    if type(players) is not int or players not in rules.players:
        raise InvalidRulesetError(f"players: {players!r} is not possible in {name} ({listed(rules.players)})")
    origin = None if id else (python_game, (rules, ruleset, players))
    try:
        return PythonGame(rules(ruleset, players), name, ruleset, players, origin)
    except EngineError:
        raise
    except Exception as error:
        raise InvalidRulesetError(f"{name}: {rules.__name__}({ruleset!r}, {players}): "
                                  f"{type(error).__name__}: {error}") from error


# --- the functions of GameApi ---------------------------------------------------------------------------------

cdef inline PythonGame game_of(const void* rules):
    return <PythonGame>(<const Rules*>rules).game


cdef void deal(const void* rules, void* state, int first, rng_t* rng) noexcept with gil:
    game = game_of(rules)
    try:
        game.fill(<State*>state, game.enter(game.game_rules.start(first)))
    except BaseException as error:
        game.break_off(<State*>state, error)


cdef int to_act(const void* rules, const void* state) noexcept nogil:
    return (<const State*>state).to_act


cdef int part(const void* rules, const void* state) noexcept nogil:
    return 0


cdef int round_number(const void* rules, const void* state) noexcept with gil:
    game = game_of(rules)
    try:
        return 1 if game.has_failed() else game.game_rules.round(game.node(<const State*>state).value)
    except BaseException as error:
        game.note(error)
        return 1


cdef int legal(const void* rules, const void* state, action_t* actions) noexcept with gil:
    cdef const State* at = <const State*>state
    cdef Node node
    cdef int i

    if at.to_act == GAME_OVER:
        return 0
    game = game_of(rules)
    try:
        node = game.node(at)
        game.look_ahead(node)
    except BaseException as error:
        game.note(error)
        actions[0] = 0          # a search takes it, and `apply` fails, too
        return 1
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
    except BaseException as error:
        game.break_off(<State*>state, error)


cdef int play_out(const void* rules, void* state, rng_t* rng) noexcept with gil:
    game = game_of(rules)
    try:
        return game.play_on(<State*>state, rng)
    except BaseException as error:
        game.break_off(<State*>state, error)
        return 0


cdef void payoffs(const void* rules, const void* state, double* per_seat) noexcept with gil:
    game = game_of(rules)
    cdef int seat

    for seat in range(game.n_players):
        per_seat[seat] = 0
    try:
        for seat, won in enumerate(game.payoffs_of(<const State*>state)):
            per_seat[seat] = (<double>won - game.lowest) / (game.highest - game.lowest)
    except BaseException as error:
        game.note(error)


cdef void scores(const void* rules, const void* state, int32_t* per_seat) noexcept with gil:
    game = game_of(rules)
    cdef const State* at = <const State*>state
    cdef int seat

    for seat in range(game.n_players):
        per_seat[seat] = 0
    if at.n_drawn == BROKEN:
        return
    try:
        points = game.game_rules.scores(game.node(at).value)
        if points is None:
            points = [round(won) for won in game.payoffs_of(at)] if at.to_act == GAME_OVER else [0] * game.n_players
        if len(points) != game.n_players:
            raise game.wrong("scores", f"{len(points)} scores of {game.n_players} players")
        for seat in range(game.n_players):
            per_seat[seat] = points[seat]
    except BaseException as error:
        game.note(error)


cdef void observe(const void* rules, const void* state, int observer, void* view) noexcept with gil:
    game = game_of(rules)
    cdef const State* at = <const State*>state
    cdef State* seen = <State*>view
    cdef Node node

    try:
        player = game.player_of(observer)
        node = game.view_of(game.node(at), player)
        if game.view_of(node, player) is not node:
            raise game.wrong("observe", "the view of the view is another one", node.value)
        drawn, n_drawn = at.drawn, at.n_drawn       # `view` may be `state`
        game.fill(seen, node)
        seen.drawn, seen.n_drawn = drawn, n_drawn
    except BaseException as error:
        game.break_off(seen, error)


cdef uint64_t key(const void* rules, const void* state, int observer) noexcept with gil:
    game = game_of(rules)
    cdef const State* at = <const State*>state
    cdef uint64_t seed = mix(mix(observer, <uint64_t>(at.to_act + 2)), mix(at.drawn, at.n_drawn))

    if at.n_drawn == BROKEN:
        return 0
    try:
        return hash_text(game.seen(game.node(at), game.player_of(observer)), seed)
    except BaseException as error:
        game.note(error)
        return 0


cdef void sample(const void* rules, const void* view, int observer, void* world, rng_t* rng) noexcept with gil:
    game = game_of(rules)
    try:
        if game.has_failed():
            raise EngineError("state: an earlier call failed")
        game.resample(<const State*>view, observer, <State*>world, rng)
    except BaseException as error:
        game.break_off(<State*>world, error)


cdef uint64_t count_secrets(const void* rules, const void* world, int observer, int player) noexcept with gil:
    """Count all worlds as the secrets of the first player: they need not be independent."""
    game = game_of(rules)
    if player:
        return 1
    try:
        if not game.counts:
            raise EngineError(f"worlds: {game.id} draws worlds, and does not count them")
        return len(game.packed_worlds(<const State*>world, observer))
    except BaseException as error:
        game.note(error)
        return 1


cdef void write_secret(
        const void* rules, void* world, int observer, int player, uint64_t index) noexcept with gil:
    game = game_of(rules)
    cdef State* at = <State*>world
    cdef bytes packed

    if player:
        return
    try:
        packed = game.packed_worlds(at, observer)[index]
        memset(at.text, 0, game.room)
        memcpy(at.text, <const char*>packed, len(packed))
        at.length = <uint16_t>len(packed)
    except BaseException as error:
        game.break_off(at, error)


# `PythonGame` completes a copy of it.
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

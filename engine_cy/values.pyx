# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Games for Python callers: Game, Position, View and Action.

All four are immutable values: they compare by content, hash, print as text and pickle as bytes. Their methods check
every argument and raise an EngineError if it is invalid.
"""
cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport UINT32_MAX, int32_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from engine_cy.game_api cimport (
    DECISION_BEGUN, DECISION_UNFINISHED, GAME_OVER, INTERFACE_VERSION, MAX_ACTIONS, MAX_DECISION, MAX_PLAYERS,
    STATE_WORDS, GameApi, Knowledge, action_t,
)
from engine_cy.support.hashing cimport hash_bytes
from engine_cy.support.rng cimport WORLD_STREAM, Rng, rng_t, seed_rng

from engine_cy.errors import (
    EngineError, IllegalActionError, InvalidPositionError, InvalidRulesetError, InvalidViewError, NotationError, listed,
)
from engine_cy.seats import SEATS


def read_seat(seat, n_players, field="player"):
    """Return the number of a seat from its number or its letter."""
    if isinstance(seat, str) and len(seat) == 1 and seat.upper() in SEATS[:n_players]:
        return SEATS.index(seat.upper())
    if type(seat) is int and 0 <= seat < n_players:
        return seat
    raise EngineError(f"{field}: {seat!r} is not at this table ({listed(SEATS[:n_players])}, or 0 to {n_players - 1})")


cdef Rng as_rng(object seed, stream=0):
    return seed if isinstance(seed, Rng) else Rng(seed, stream)


cdef interface_fault_of(int version, int api_size, int knowledge_size):
    built = (version, api_size, knowledge_size)
    here = (INTERFACE_VERSION, sizeof(GameApi), sizeof(Knowledge))
    if built == here:
        return None
    return (f"it was built for version {built[0]} of the interface with {built[1]} and {built[2]} bytes, not for "
            f"version {here[0]} with {here[1]} and {here[2]}; build it again with this engine's headers")


def check_interface(int version, int api_size, int knowledge_size):
    """Refuse the import of a game that was built with other headers: its methods must not run."""
    fault = interface_fault_of(version, api_size, knowledge_size)
    if fault is not None:
        raise ImportError(fault)


cdef class Game:
    """A game under one ruleset, for a number of players. Made by `new_game`; one object serves all threads."""

    def __cinit__(self):
        self.interned = [None] * INTERNED
        self.weights = ()
        self.has_spectator = True

    def __dealloc__(self):
        PyMem_Free(self.rules)

    cdef void* own(self, size_t size) except NULL:
        """Allocate zeroed memory for the rules, freed with the game."""
        self.rules = PyMem_Malloc(size)
        if self.rules == NULL:
            raise MemoryError
        memset(self.rules, 0, size)
        return self.rules

    # --- methods that each game overrides ---

    @staticmethod
    def editions_of(str game):
        """Return the editions of the game with this id, the default one first."""
        return ["standard"]

    cdef const char* fault(self, const void* state, int observer) noexcept:
        """Return the first invariant that `state`, any bytes, violates, or NULL. `observer`: of a view, or -1."""
        return NULL

    cdef bint hides_choice(self, View view) except -1:
        """Return whether the player to act in a view, which is another player's, may have several decisions."""
        return len(view.list_actions()) > 1

    cpdef int check(self) except -1:
        """Raise the pending error of this thread: functions of GameApi cannot raise. Ours never fail."""
        return 0

    def read_text(self, str text):
        """Return the observer in `text`, or None, and the bytes of its position or view."""
        raise NotImplementedError

    def write_state(self, bytes state, observer):
        raise NotImplementedError

    cdef object error_for(self, const void* state, int observer):
        """Return the error for the fault of a state."""
        fault = (<bytes>self.fault(state, observer)).decode()
        return InvalidPositionError(fault) if observer < 0 else InvalidViewError(fault)

    def complete(self, parts):
        """Return a table in words with the fields that were omitted, each in the simplest way that fits the others."""
        raise EngineError(f"table: {self.id} reads its tables from text only")

    def pack(self, parts):
        """Return the bytes of a complete table in words, and all its faults."""
        raise EngineError(f"table: {self.id} reads its tables from text only")

    def describe(self, GameState at):
        """Return a position or view in words: its public `table`, the secrets known to its observer, and `observer`."""
        raise NotImplementedError

    def picture(self, GameState at):
        """Return the picture of a position or view (pictures.py): a game without one of its own shows its text."""
        from engine_cy.pictures import Picture
        return Picture(self.id, at.scores, to_act=at.to_act, text=str(at))

    def read_steps(self, str text):
        """Return the steps of an action from its text."""
        raise NotImplementedError

    def write_steps(self, tuple steps):
        raise NotImplementedError

    def pack_fields(self, dict fields):
        """Return the steps of an action from its valid parts, the inverse of `step_fields`."""
        raise EngineError(f"action: {self.id} reads its actions from text only")

    def step_fields(self, tuple steps):
        """Return the parts of an action as a dict with a `type`."""
        raise NotImplementedError

    def explain_illegal(self, GameState table, Action action, list legal):
        """Return the reason why `action` is not among the `legal` actions at `table`, in words of the game."""
        return "not possible here"

    def observed_steps(self, bytes state, tuple steps, int observer):
        """Return an action as `observer` sees it: its steps, and the names of the cards that it shows to them."""
        raise EngineError(f"game: {self.id} cannot be followed from one seat")

    def show(self, bytes view, tuple steps, list names, int observer):
        """Return `view` with `names`, the cards that the action will show. Raises if their number is wrong."""
        raise EngineError(f"game: {self.id} cannot be followed from one seat")

    def start(self, deal, first=0):
        """Return the start of a game with a given deal, in the game's own terms."""
        raise EngineError(f"deal: {self.id} is dealt by actions of chance")

    def read_deal(self, list lines, int first, observer):
        """Read the start in a record's header: a position, or a view if there is an observer."""
        if lines:
            raise NotationError(f"{lines[0].split()[0]}: {self.id} has no such line in its header")
        return self.deal(0, first)

    def write_deal(self, GameState start):
        """Return the lines of a record's header that describe `start`, or None if it is not the start of a game."""
        return None

    def name_of(self, int kind):
        """Return the name of the card with the game's number `kind`."""
        raise NotImplementedError

    def place_at(self, bytes view, int spot):
        """Return the place of the face-down card with the game's number `spot`."""
        raise NotImplementedError

    # --- methods for callers ---

    def faults(self, parts):
        """Return all faults of a table in words, which may omit fields: none if a game can be played on from it."""
        try:
            return self.pack(self.complete(parts))[1]
        except InvalidPositionError as error:
            return [error.fault]

    cdef bytes pack_parts(self, parts):
        state, faults = self.pack(self.complete(parts))
        if faults:
            raise faults[0].refusal(parts.observer)
        return state

    @property
    def has_fixed_first(self):
        """Whether the game itself chooses the first player: a deal then has `first` 0."""
        return False

    def deal(self, seed=0, first=0):
        """Deal the start of a game at random, by `seed`: a number or an Rng."""
        cdef Position position = new_position(self)
        cdef Rng rng = as_rng(seed)
        self.api.deal(self.rules, position.state, read_seat(first, self.n_players, "first"), &rng.raw)
        self.check()
        return position

    def position(self, str text):
        """Read a position from its text."""
        observer, state = self.read_text(text)
        if observer is not None:
            raise NotationError(f"seen: this is a view, not a position: {text!r}")
        return self.position_from_bytes(state)

    def view(self, str text):
        """Read a view from its text, which names the observer."""
        observer, state = self.read_text(text)
        if observer is None:
            raise NotationError(f"seen: a view names its observer, as in '| seen by A', in {text!r}")
        return self.view_from_bytes(state, observer)

    def from_parts(self, parts):
        """Make the position, or the view if there is an observer, of a table in words, which may omit fields."""
        state = self.pack_parts(parts)
        if parts.observer is None:
            return self.position_from_bytes(state)
        return self.view_from_bytes(state, parts.observer)

    def action(self, str text):
        """Read an action from its text."""
        return self.intern(self.read_steps(text))

    def action_from_fields(self, dict fields):
        """Make an action of its parts, as `Action.fields` has them. They must be valid."""
        return self.intern(self.pack_fields(fields))

    def action_from_steps(self, tuple steps):
        cdef object known

        if len(steps) == 1 and 0 <= steps[0] <= UINT32_MAX:
            known = self.interned[self.place_of(steps[0])]
            if known is not None:
                return known
        # In any game, steps are an action if its text reads back as the same steps.
        if not 1 <= len(steps) <= MAX_DECISION or self.read_steps(self.write_steps(steps)) != steps:
            raise NotationError(f"steps: {steps} are not an action")
        return self.intern(steps)

    cdef Action intern(self, tuple steps):
        cdef action_t raw[MAX_DECISION]
        cdef int i

        for i in range(len(steps)):
            raw[i] = steps[i]
        return self.action_of(raw, len(steps))

    def position_from_bytes(self, bytes state):
        """Restore a position from its bytes. Raises InvalidPositionError if they are not a table of this game."""
        cdef Position position = new_position(self)
        self.fill_from_bytes(position, state, -1, InvalidPositionError)
        return position

    def view_from_bytes(self, bytes state, int observer):
        """Restore a view from its bytes. Raises InvalidViewError if they are not a view of this game."""
        cdef View view = View.__new__(View, self)
        view.observer = read_seat(observer, self.n_players, "observer")
        self.fill_from_bytes(view, state, view.observer, InvalidViewError)
        return view

    cdef fill_from_bytes(self, GameState table, bytes state, int observer, error):
        if <size_t>len(state) != self.api.state_size:
            raise error(f"bytes: {len(state)} bytes, but a state of {self.id} has {self.api.state_size}")
        memcpy(table.state, <const char*>state, self.api.state_size)
        if self.fault(table.state, observer) != NULL:
            raise self.error_for(table.state, observer)
        if self.api.part(self.rules, table.state) & DECISION_BEGUN:
            raise error("bytes: the table is in the middle of a decision")

    cdef Action action_of(self, const action_t* steps, int n):
        """Return the Action for `steps`. Actions of one step are interned, so that listing them is cheap."""
        cdef int place = self.place_of(steps[0]) if n == 1 else 0
        cdef object known
        cdef Action action

        if n == 1:
            known = self.interned[place]
            if known is not None:
                return <Action>known
        action = Action.__new__(Action)
        action.game = self
        action.n_steps = n
        memcpy(action.steps, steps, n * sizeof(action_t))
        if n == 1 and self.n_interned < INTERNED // 2:
            self.interned[place] = action
            self.n_interned += 1
        return action

    cdef int place_of(self, action_t step) except -1:
        """Return the place of the action with this single step among the interned ones, or the free place for it."""
        cdef uint32_t place = (step * <uint32_t>2654435761) >> 20
        cdef object entry

        while True:
            entry = self.interned[place]
            if entry is None or (<Action>entry).steps[0] == step:
                return place
            place = (place + 1) % INTERNED

    @property
    def interface_fault(self):
        """The reason why no search can use the game, which was built with other headers; None for a sound game."""
        cdef const GameApi* api = self.api
        if api == NULL:
            return "it has no interface"
        fault = interface_fault_of(api.version, api.api_size, api.knowledge_size)
        if fault is not None:
            return fault
        if not 0 < api.state_size <= STATE_WORDS * 8 or api.state_size % 16:
            return f"its states have {api.state_size} bytes, not a multiple of 16 up to {STATE_WORDS * 8}"
        if not 2 <= self.n_players <= MAX_PLAYERS:
            return f"it has {self.n_players} players, not 2 to {MAX_PLAYERS}"
        return None

    @property
    def has_knowledge(self):
        """Whether the game has learned knowledge: a prior, a playout policy and an evaluation."""
        return self.knowledge != NULL

    def check_knowledge(self):
        """Raise InvalidRulesetError if weights of the learned knowledge do not fit the rules of the game."""
        for weights in self.weights:
            if weights.fault:
                raise InvalidRulesetError(f"game: the weights of {self.id} do not fit its rules: {weights.fault}")

    @property
    def has_history(self):
        """Whether the game can be followed from one seat, because it defines what each seat sees of an action."""
        return type(self).observed_steps is not Game.observed_steps

    @property
    def has_beliefs(self):
        """Whether the game has a belief model, which weighs the possible hidden cards."""
        return self.knowledge != NULL and self.knowledge.score_secrets != NULL

    @property
    def state_size(self):
        """Bytes of a position."""
        return self.api.state_size

    @property
    def seats(self):
        """The letters of the seats."""
        return SEATS[:self.n_players]

    def __eq__(self, other):
        return isinstance(other, Game) and self.spec == (<Game>other).spec

    def __hash__(self):
        return hash((self.id, self.n_players))

    def __reduce__(self):
        from engine_cy.registry import new_game
        return new_game, self.spec

    def __repr__(self):
        return f"new_game({self.id!r}, {self.spec[1]!r}, players={self.n_players})"


@cython.final
cdef class Action:
    """One whole decision, such as `place Spy front` or `move 2 to 5`."""

    def __init__(self):
        raise TypeError("actions come from game.action(text) and legal_actions()")

    @property
    def code(self):
        """The action as numbers, one per step."""
        return tuple([self.steps[i] for i in range(self.n_steps)])

    @property
    def fields(self):
        """The parts of the action, `type` first."""
        return self.game.step_fields(self.code)

    @property
    def type(self):
        return self.fields["type"]

    def __eq__(self, other):
        cdef Action action
        if not isinstance(other, Action):
            return NotImplemented
        action = <Action>other
        return (self.n_steps == action.n_steps and self.game.id == action.game.id
                and not memcmp(self.steps, action.steps, self.n_steps * sizeof(action_t)))

    def __hash__(self):
        return hash(self.code)

    def __reduce__(self):
        return Game.action_from_steps, (self.game, self.code)

    def __str__(self):
        return self.game.write_steps(self.code)

    def __repr__(self):
        return f"<Action {self}>"


@cython.freelist(64)
cdef class GameState:
    """Base class of positions and views: a game, and the bytes of a state."""

    def __cinit__(self, Game game):
        self.game = game
        self.state = self.small
        if game.api.state_size > sizeof(self.small):
            self.state = <unsigned char*>PyMem_Malloc(game.api.state_size)
            if self.state == NULL:
                raise MemoryError

    def __dealloc__(self):
        if self.state != self.small:
            PyMem_Free(self.state)

    @property
    def to_act(self):
        """The seat to act, CHANCE (-1), or None when the game is over."""
        cdef int seat = self.game.api.to_act(self.game.rules, self.state)
        return None if seat == GAME_OVER else seat

    @property
    def is_over(self):
        return self.game.api.to_act(self.game.rules, self.state) == GAME_OVER

    @property
    def parts(self):
        """The table in words, with the secrets that its observer knows, as classes of the game's own module."""
        return self.game.describe(self)

    @property
    def table(self):
        """The public part of the table in words."""
        return self.parts.table

    @property
    def scores(self):
        """The points of each seat."""
        cdef int32_t scores[MAX_PLAYERS]
        self.game.api.scores(self.game.rules, self.state, scores)
        self.game.check()
        return tuple([scores[i] for i in range(self.game.n_players)])

    @property
    def round(self):
        """The current round, from 1; always 1 in a game without rounds."""
        cdef int number = self.game.api.round(self.game.rules, self.state)
        self.game.check()
        return number

    @property
    def payoffs(self):
        """The payoff of each seat, once the game is over; in a game with a winner, the shares of the win."""
        cdef double payoffs[MAX_PLAYERS]
        if not self.is_over:
            raise EngineError("payoffs: the game is not over")
        self.game.api.payoffs(self.game.rules, self.state, payoffs)
        self.game.check()
        return tuple([payoffs[i] for i in range(self.game.n_players)])

    def to_svg(self, theme="auto", lang="en"):
        """Draw the table, with the cards that the position or view holds.

        `theme`: "auto", "light" or "dark"; `lang`: "en", "fr" or "de". Games of `eminence.new_game` have
        the words of all three, those of the engine alone English ones.
        """
        from engine_cy.picture_words import words_in
        from engine_cy.pictures import to_svg
        return to_svg(self.game.picture(self), theme, words_in(self.game, lang))

    def _repr_svg_(self):
        """Return the picture that notebooks show."""
        return self.to_svg()

    cdef list list_actions(self):
        """Return all whole decisions, each once."""
        cdef action_t steps[MAX_DECISION]
        cdef list decisions = []

        self.extend(decisions, self.state, steps, 0)
        self.game.check()
        return decisions

    cdef extend(self, list decisions, const unsigned char* state, action_t* steps, int n):
        """Add the decisions that start with the first `n` of `steps`, which led to `state`."""
        cdef action_t actions[MAX_ACTIONS]
        cdef uint64_t room[STATE_WORDS]
        cdef unsigned char* next_state = <unsigned char*>room
        cdef const GameApi* api = self.game.api
        cdef void* rules = self.game.rules
        cdef bint more = api.part(rules, state) & DECISION_UNFINISHED
        cdef int n_actions = api.legal(rules, state, actions)
        cdef int i

        for i in range(n_actions):
            steps[n] = actions[i]
            if more:
                memcpy(next_state, state, api.state_size)
                api.apply(rules, next_state, actions[i])
                self.extend(decisions, next_state, steps, n + 1)
            else:
                decisions.append(self.game.action_of(steps, n + 1))

    cdef Action read(self, object action):
        if isinstance(action, str):
            return self.game.action(action)
        if not isinstance(action, Action):
            raise IllegalActionError(f"action: {action!r} is neither an Action nor text")
        if (<Action>action).game.id != self.game.id:
            other = (<Action>action).game.id
            raise IllegalActionError(f"action: '{action}' is an action of {other}, not of {self.game.id}")
        return <Action>action

    cdef refuse(self, Action action):
        if self.is_over:
            why = "the game is over"
        else:
            legal = self.list_actions()
            shown = listed(legal[:12]) + (f" and {len(legal) - 12} more" if len(legal) > 12 else "")
            why = f"{self.game.explain_illegal(self, action, legal)} (legal: {shown})"
        raise IllegalActionError(f"action: '{action}': {why}, in '{self}'")

    cdef bint same_bytes(self, GameState other):
        return self.game == other.game and not memcmp(self.state, other.state, self.game.api.state_size)

    def __hash__(self):
        return hash_bytes(self.state, self.game.api.state_size, 0)

    def __bytes__(self):
        return (<char*>self.state)[:self.game.api.state_size]


cdef Position new_position(Game game):
    return Position.__new__(Position, game)


@cython.final
cdef class Position(GameState):
    """A table with nothing hidden."""

    def __init__(self, game):
        raise TypeError("positions come from game.deal(), game.position(text) and position.play(action)")

    def legal_actions(self):
        """Return the legal decisions of the player to act, each once; none when the game is over."""
        return self.list_actions()

    cdef refuse(self, Action action):
        """Refuse an action by the view of the player to act: the message may reach that player."""
        cdef int seat = self.game.api.to_act(self.game.rules, self.state)

        if seat >= 0:
            (<View>self.view(seat)).refuse(action)
        why = "chance is to act, and this is not one of its actions" if seat != GAME_OVER else "the game is over"
        raise IllegalActionError(f"action: '{action}': {why}")

    def play(self, action):
        """Return the position after `action`, an Action or its text.

        Raises IllegalActionError, which lists the legal actions.
        """
        cdef action_t actions[MAX_ACTIONS]
        cdef Action taken = <Action>action if type(action) is Action else self.read(action)
        cdef Position after = self.clone()
        cdef const GameApi* api = self.game.api
        cdef int step, i, n

        if taken.game is not self.game:
            taken = self.read(action)
        for step in range(taken.n_steps):
            n = api.legal(self.game.rules, after.state, actions)
            i = 0
            while i < n and actions[i] != taken.steps[step]:
                i += 1
            # The steps must be one whole decision.
            is_unfinished = api.part(self.game.rules, after.state) & DECISION_UNFINISHED != 0
            if i == n or is_unfinished != (step < taken.n_steps - 1):
                self.refuse(taken)
            api.apply(self.game.rules, after.state, taken.steps[step])
        self.game.check()
        return after

    cpdef Position clone(self):
        """Return a new object with the same bytes. Only measurements need it, as positions are immutable."""
        cdef Position other = Position.__new__(Position, self.game)
        memcpy(other.state, self.state, self.game.api.state_size)
        return other

    def play_out(self, seed=0):
        """Play to the end by uniformly random decisions; return the last position."""
        cdef Position end = self.clone()
        cdef Rng rng = as_rng(seed)
        self.game.api.play_out(self.game.rules, end.state, &rng.raw)
        self.game.check()
        return end

    def seen(self, action, player):
        """Return the text of `action`, legal here, as `player` will see it: for `View.play` and records."""
        cdef Action taken = self.read(action)
        steps, names = self.game.observed_steps(bytes(self), taken.code, read_seat(player, self.game.n_players))
        return self.game.write_steps(steps) + (f" = {','.join(names)}" if names else "")

    def seen_action(self, action, player):
        """Return `action`, legal here, as `player` will see it, without the cards that it shows."""
        cdef Action taken = self.read(action)
        steps, _ = self.game.observed_steps(bytes(self), taken.code, read_seat(player, self.game.n_players))
        return self.game.action_from_steps(steps)

    def view(self, player):
        """Return the view of `player`."""
        cdef View view = View.__new__(View, self.game)
        view.observer = read_seat(player, self.game.n_players)
        self.game.api.observe(self.game.rules, self.state, view.observer, view.state)
        self.game.check()
        return view

    @property
    def fault(self):
        """The first invariant that the position violates. A value other than None is a bug in the engine."""
        if self.game.fault(self.state, -1) == NULL:
            return None
        return str(self.game.error_for(self.state, -1))

    def __eq__(self, other):
        return self.same_bytes(<GameState>other) if isinstance(other, Position) else NotImplemented

    def __hash__(self):
        return GameState.__hash__(self)

    def __reduce__(self):
        return Game.position_from_bytes, (self.game, bytes(self))

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __str__(self):
        return self.game.write_state(bytes(self), None)

    def __repr__(self):
        return f"<Position {self}>"


@cython.final
cdef class View(GameState):
    """A table as one player, the observer, sees it; all other facts are masked."""

    def __init__(self, game):
        raise TypeError("views come from position.view(player) and game.view(text)")

    def legal_actions(self):
        """Return the legal decisions of the observer; none if another player is to act."""
        return self.list_actions() if self.to_act == self.observer else []

    @property
    def forced_action(self):
        """The only legal decision, if the other players see that it is the only one; else None.

        A faster answer to a secretly forced decision would reveal hidden cards through its timing.
        """
        cdef uint64_t world[STATE_WORDS]
        cdef View other
        cdef rng_t rng
        cdef list decisions = self.legal_actions()

        if len(decisions) != 1:
            return None
        seed_rng(&rng, 0, 0)
        self.game.api.sample(self.game.rules, self.state, self.observer, world, &rng)
        other = View.__new__(View, self.game)
        other.observer = (self.observer + 1) % self.game.n_players
        self.game.api.observe(self.game.rules, world, other.observer, other.state)
        return None if self.game.hides_choice(other) else decisions[0]

    def play(self, action):
        """Return the view after an action that the observer saw, an Action or text.

        Text names the cards that the action shows to the observer, as in `reveal = Heir`. A card that another player
        places is `?`.
        """
        cdef View after
        text, _, shown = str(action).partition("=")
        cdef Action taken = self.read(text.strip() if shown else action)
        names = [name.strip() for name in shown.split(",")] if shown else []
        cdef Position at = new_position(self.game)
        memcpy(at.state, self.state, self.game.api.state_size)
        if taken not in self.list_actions():
            self.refuse(taken)
        state = self.game.show(bytes(self), taken.code, names, self.observer)
        memcpy(at.state, <const char*>state, self.game.api.state_size)
        at = at.play(taken)
        after = View.__new__(View, self.game)
        after.observer = self.observer
        self.game.api.observe(self.game.rules, at.state, self.observer, after.state)
        return after

    def place_of(self, int spot):
        """Return the place of a face-down card, as a dict in the game's own terms; `spot` is its number in a belief."""
        return self.game.place_at(bytes(self), spot)

    @property
    def key(self):
        """A 64-bit hash, equal for views that look the same to their observer."""
        cdef uint64_t key = self.game.api.key(self.game.rules, self.state, self.observer)
        self.game.check()
        return key

    def count_worlds(self):
        """Return the number of positions that fit the view."""
        cdef int seat
        total = 1
        for seat in range(self.game.n_players):
            total *= self.game.api.count_secrets(self.game.rules, self.state, self.observer, seat)
        self.game.check()
        return total

    def worlds(self):
        """Yield all positions that fit the view. There may be billions: see `count_worlds`."""
        cdef Position start = new_position(self.game)
        memcpy(start.state, self.state, self.game.api.state_size)
        return self._worlds(start, 0)

    def _worlds(self, Position world, int seat):
        """Yield the worlds that differ from `world` only in the secrets of `seat` and the seats after it."""
        cdef Position other
        cdef uint64_t i, n

        if seat == self.game.n_players:
            yield world
            return
        n = self.game.api.count_secrets(self.game.rules, world.state, self.observer, seat)
        self.game.check()
        for i in range(n):
            other = world.clone()
            self.game.api.write_secret(self.game.rules, other.state, self.observer, seat, i)
            yield from self._worlds(other, seat + 1)

    def sample_world(self, seed=0):
        """Sample a position that fits the view, weighted by the deals that lead to it. `seed`: a number or Rng."""
        cdef Position world = new_position(self.game)
        cdef Rng rng = as_rng(seed, WORLD_STREAM)
        self.game.api.sample(self.game.rules, self.state, self.observer, world.state, &rng.raw)
        self.game.check()
        return world

    @property
    def fault(self):
        """The first invariant that the view violates. A value other than None is a bug in the engine."""
        if self.game.fault(self.state, self.observer) == NULL:
            return None
        return str(self.game.error_for(self.state, self.observer))

    def __eq__(self, other):
        if not isinstance(other, View):
            return NotImplemented
        return self.observer == (<View>other).observer and self.same_bytes(<GameState>other)

    def __hash__(self):
        return GameState.__hash__(self) ^ self.observer

    def __reduce__(self):
        return Game.view_from_bytes, (self.game, bytes(self), self.observer)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __str__(self):
        return self.game.write_state(bytes(self), self.observer)

    def __repr__(self):
        return f"<View {self}>"

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The safe face of every game: Game, Position, View and Action.

All four are values: they never change, compare by content, hash, print as text and pickle as bytes. Whatever is
wrong with what a caller passes is refused with a message before anything happens.
"""
cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from engine_cy.game_api cimport BEGUN, MAX_ACTIONS, MAX_DECISION, MAX_PLAYERS, MORE, NOBODY, STATE_WORDS, action_t
from engine_cy.support.hashing cimport hash_bytes
from engine_cy.support.rng cimport WORLD_STREAM, Rng, rng_t, seed_rng

from engine_cy.errors import (
    EngineError, IllegalActionError, InvalidPositionError, InvalidViewError, NotationError, listed,
)
from engine_cy.seats import SEATS


def read_seat(seat, n_players, field="player"):
    """A seat's number from the number or its letter."""
    if isinstance(seat, str) and len(seat) == 1 and seat.upper() in SEATS[:n_players]:
        return SEATS.index(seat.upper())
    if type(seat) is int and 0 <= seat < n_players:
        return seat
    raise EngineError(f"{field}: {seat!r} is not at this table ({listed(SEATS[:n_players])}, or 0 to {n_players - 1})")


cdef Rng as_rng(object seed, stream=0):
    return seed if isinstance(seed, Rng) else Rng(seed, stream)


cdef class Game:
    """A ruleset and a number of players. Made by `new_game`; one object serves all threads."""

    def __cinit__(self):
        self.interned = [None] * INTERNED
        self.has_spectator = True

    def __dealloc__(self):
        PyMem_Free(self.rules)

    cdef void* own(self, size_t size) except NULL:
        """Zeroed memory for the rules, freed with the game."""
        self.rules = PyMem_Malloc(size)
        if self.rules == NULL:
            raise MemoryError
        memset(self.rules, 0, size)
        return self.rules

    # --- what each game says for itself ---

    cdef const char* fault(self, const void* state, int observer) noexcept:
        """The first invariant that any `state` breaks, or NULL; `observer` is the one of a view, or -1."""
        return NULL

    cdef bint hides_choice(self, const void* view) noexcept:
        """Return whether one action that a view lists for the player to act may stand for several hidden ones."""
        return False

    cpdef int check(self) except -1:
        """Raise what went wrong on this thread in the functions of the door, which cannot; ours never fail."""
        return 0

    def read_text(self, str text):
        """The observer that `text` names, or None, and the bytes of the position or view that it stands for."""
        raise NotImplementedError

    def write_state(self, bytes state, observer):
        raise NotImplementedError

    def pack_table(self, table):
        """The bytes of the position or view that `table`, or a draft of one, describes in words."""
        raise EngineError(f"table: {self.id} reads its tables from text only")

    def describe(self, GameState at):
        """A position or view in words."""
        raise NotImplementedError

    def read_steps(self, str text):
        """The steps of the action that `text` stands for."""
        raise NotImplementedError

    def write_steps(self, tuple steps):
        raise NotImplementedError

    def step_fields(self, tuple steps):
        """The parts of an action as a dict with a `type`."""
        raise NotImplementedError

    def why_not(self, GameState table, Action action, list legal):
        """Why `action` is not possible at `table`, where only `legal` ones are, in the game's own words."""
        return "not possible here"

    def seen_steps(self, bytes state, tuple steps, int observer):
        """An action as `observer` sees it: its steps, and the names of the cards that it shows him."""
        raise EngineError(f"game: {self.id} cannot be followed from one seat")

    def show(self, bytes view, tuple steps, list names, int observer):
        """`view` with the cards named that the action is about to show; refuses too few and too many names."""
        raise EngineError(f"game: {self.id} cannot be followed from one seat")

    def start(self, deal, first=0):
        """The start of a game dealt as `deal` says, in the game's own terms."""
        raise EngineError(f"deal: {self.id} is dealt by actions of chance")

    def read_deal(self, list lines, int first, observer):
        """The start that a record's header describes: a position, or a view if there is an observer."""
        if lines:
            raise NotationError(f"{lines[0].split()[0]}: {self.id} has no such line")
        return self.deal(0, first)

    def write_deal(self, GameState start):
        """The header lines that describe `start`, or None if it is no start."""
        return None

    def name_of(self, int kind):
        """The card that `kind`, a number of the game's own, stands for."""
        raise NotImplementedError

    def place_at(self, bytes view, int spot):
        """Where the face-down card lies that `spot`, a number of the game's own, stands for."""
        raise NotImplementedError

    # --- what callers use ---

    def deal(self, seed=0, first=0):
        """A table at the start of a game, dealt at random from `seed` (a number or an Rng)."""
        cdef Position position = new_position(self)
        cdef Rng rng = as_rng(seed)
        self.api.deal(self.rules, position.state, read_seat(first, self.n_players, "first"), &rng.raw)
        self.check()
        return position

    def position(self, str text):
        """The position that `text` stands for."""
        observer, state = self.read_text(text)
        if observer is not None:
            raise NotationError(f"seen: this is a view, not a position: {text!r}")
        return self.position_from_bytes(state)

    def view(self, str text):
        """The view that `text` stands for; it names its observer."""
        observer, state = self.read_text(text)
        if observer is None:
            raise NotationError(f"seen: a view names its observer, as in '| seen by A', in {text!r}")
        return self.view_from_bytes(state, observer)

    def from_table(self, table):
        """The position, or the view if it has an observer, that a table or a draft of one describes."""
        state = self.pack_table(table)
        if table.observer is None:
            return self.position_from_bytes(state)
        return self.view_from_bytes(state, table.observer)

    def action(self, str text):
        """The action that `text` stands for."""
        return self.intern(self.read_steps(text))

    def action_from_steps(self, tuple steps):
        # What can be written down and read back is an action, whatever the game.
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
        """A position from what `bytes(position)` gave; bytes that are no table of this game are refused."""
        cdef Position position = new_position(self)
        self.fill_from_bytes(position, state, -1, InvalidPositionError)
        return position

    def view_from_bytes(self, bytes state, int observer):
        """A view from what `bytes(view)` gave."""
        cdef View view = View.__new__(View, self)
        view.observer = read_seat(observer, self.n_players, "observer")
        self.fill_from_bytes(view, state, view.observer, InvalidViewError)
        return view

    cdef fill_from_bytes(self, GameState table, bytes state, int observer, error):
        cdef const char* fault
        if <size_t>len(state) != self.api.state_size:
            raise error(f"bytes: {len(state)} bytes are no state of {self.id}, which has {self.api.state_size}")
        memcpy(table.state, <const char*>state, self.api.state_size)
        fault = self.fault(table.state, observer)
        if fault != NULL:
            raise error(fault.decode())
        if self.api.part(self.rules, table.state) & BEGUN:
            raise error("bytes: a table in the middle of a decision")

    cdef Action action_of(self, const action_t* steps, int n):
        """The Action for `steps`; those of one step are made once, so that listing them is cheap."""
        cdef uint32_t at
        cdef Action action
        cdef object found

        if n == 1:
            at = (steps[0] * <uint32_t>2654435761) >> 20
            while True:
                found = self.interned[at & (INTERNED - 1)]
                if found is None:
                    break
                action = <Action>found
                if action.steps[0] == steps[0]:
                    return action
                at += 1
        action = Action.__new__(Action)
        action.game = self
        action.n_steps = n
        memcpy(action.steps, steps, n * sizeof(action_t))
        if n == 1 and self.n_interned < INTERNED // 2:
            self.interned[at & (INTERNED - 1)] = action
            self.n_interned += 1
        return action

    @property
    def has_knowledge(self):
        """Whether the game knows more about itself than its rules: priors, playouts, evaluation."""
        return self.knowledge != NULL

    @property
    def can_be_followed(self):
        """Whether the game says what each seat sees of an action."""
        return type(self).seen_steps is not Game.seen_steps

    @property
    def has_suspicions(self):
        """Whether the game knows what speaks for hidden cards being what they are."""
        return self.knowledge != NULL and self.knowledge.suspect != NULL

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
        """The action as numbers, one a step."""
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
    """What positions and views share: a game, and the bytes of a state."""

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
        """The seat whose turn it is, CHANCE (-1), or None when the game is over."""
        cdef int seat = self.game.api.to_act(self.game.rules, self.state)
        return None if seat == NOBODY else seat

    @property
    def is_over(self):
        return self.game.api.to_act(self.game.rules, self.state) == NOBODY

    @property
    def table(self):
        """All there is to see in words, as a value of the game's own type."""
        return self.game.describe(self)

    @property
    def scores(self):
        """The points of each seat."""
        cdef int32_t scores[MAX_PLAYERS]
        self.game.api.scores(self.game.rules, self.state, scores)
        return tuple([scores[i] for i in range(self.game.n_players)])

    @property
    def payoffs(self):
        """What each seat is paid, once the game is over; where one wins, the shares of the win."""
        cdef double payoffs[MAX_PLAYERS]
        if not self.is_over:
            raise EngineError("payoffs: the game is not over")
        self.game.api.payoffs(self.game.rules, self.state, payoffs)
        return tuple([payoffs[i] for i in range(self.game.n_players)])

    cdef list list_actions(self):
        """All whole decisions, each once."""
        cdef action_t steps[MAX_DECISION]
        cdef list found

        found = []
        self.extend(found, self.state, steps, 0)
        self.game.check()
        return found

    cdef extend(self, list found, const unsigned char* state, action_t* steps, int n):
        """Add the decisions that begin with the `n` steps which led to `state`."""
        cdef action_t actions[MAX_ACTIONS]
        cdef uint64_t room[STATE_WORDS]
        cdef unsigned char* next_state = <unsigned char*>room
        cdef const GameApi* api = self.game.api
        cdef void* rules = self.game.rules
        cdef bint more = api.part(rules, state) & MORE
        cdef int n_actions = api.legal(rules, state, actions)
        cdef int i

        for i in range(n_actions):
            steps[n] = actions[i]
            if more:
                memcpy(next_state, state, api.state_size)
                api.apply(rules, next_state, actions[i])
                self.extend(found, next_state, steps, n + 1)
            else:
                found.append(self.game.action_of(steps, n + 1))

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
            why = f"{self.game.why_not(self, action, legal)} (legal: {shown})"
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
        """Everything the player to act may do, whole decisions, each once; empty when the game is over."""
        return self.list_actions()

    cdef refuse(self, Action action):
        """Refuse an action, and show only what the player to act sees: the text may reach that player."""
        cdef int seat = self.game.api.to_act(self.game.rules, self.state)

        if seat >= 0:
            (<View>self.view(seat)).refuse(action)
        why = "chance is to act, and draws nothing of the kind" if seat != NOBODY else "the game is over"
        raise IllegalActionError(f"action: '{action}': {why}")

    def play(self, action):
        """The position after `action` (an Action or its text); an illegal one is refused with what was legal."""
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
            # The steps have to be all of one decision.
            if i == n or (api.part(self.game.rules, after.state) & MORE != 0) != (step < taken.n_steps - 1):
                self.refuse(taken)
            api.apply(self.game.rules, after.state, taken.steps[step])
        self.game.check()
        return after

    cpdef Position clone(self):
        """Another object with the same bytes. Positions never change, so only measurements need it."""
        cdef Position other = Position.__new__(Position, self.game)
        memcpy(other.state, self.state, self.game.api.state_size)
        return other

    def play_out(self, seed=0):
        """The end of a game that goes on from here with uniformly random decisions."""
        cdef Position end = self.clone()
        cdef Rng rng = as_rng(seed)
        self.game.api.play_out(self.game.rules, end.state, &rng.raw)
        self.game.check()
        return end

    def seen(self, action, player):
        """The text of `action`, about to be played here, as `player` will see it; for `View.play` and records."""
        cdef Action taken = self.read(action)
        steps, names = self.game.seen_steps(bytes(self), taken.code, read_seat(player, self.game.n_players))
        return self.game.write_steps(steps) + (f" = {','.join(names)}" if names else "")

    def seen_action(self, action, player):
        """Return `action`, about to be played here, as `player` sees it, without the cards that it shows."""
        cdef Action taken = self.read(action)
        steps, _ = self.game.seen_steps(bytes(self), taken.code, read_seat(player, self.game.n_players))
        return self.game.action_from_steps(steps)

    def view(self, player):
        """What `player` sees."""
        cdef View view = View.__new__(View, self.game)
        view.observer = read_seat(player, self.game.n_players)
        self.game.api.observe(self.game.rules, self.state, view.observer, view.state)
        self.game.check()
        return view

    @property
    def fault(self):
        """The first invariant that this position breaks; None as long as the engine is right."""
        cdef const char* fault = self.game.fault(self.state, -1)
        return None if fault == NULL else fault.decode()

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
    """What one player, the observer, sees of a table; the rest is blotted out."""

    def __init__(self, game):
        raise TypeError("views come from position.view(player) and game.view(text)")

    def legal_actions(self):
        """What the observer may do; empty unless it is the observer's turn."""
        return self.list_actions() if self.to_act == self.observer else []

    @property
    def forced_action(self):
        """The one decision that the observer can take, if all others see that there is no other; else None. An answer
        to another forced one, given sooner than to a choice, would tell them what they do not see."""
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
        if len(other.list_actions()) > 1 or self.game.hides_choice(other.state):
            return None
        return decisions[0]

    def play(self, action):
        """The view after an action that the observer saw: an Action, or text.

        Text names the cards that the action shows him, as in `reveal = Heir`; a card placed by another is `?`.
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
        """Where a face-down card lies, as a dict in the game's own terms; `spot` is its number in a belief."""
        return self.game.place_at(bytes(self), spot)

    @property
    def key(self):
        """A 64-bit number, equal for views that look the same to their observer."""
        return self.game.api.key(self.game.rules, self.state, self.observer)

    def count_worlds(self):
        """How many positions fit this view."""
        cdef int seat
        total = 1
        for seat in range(self.game.n_players):
            total *= self.game.api.count_secrets(self.game.rules, self.state, self.observer, seat)
        self.game.check()
        return total

    def worlds(self):
        """All positions that fit this view, one after the other. See `count_worlds` before asking for many."""
        cdef Position start = new_position(self.game)
        memcpy(start.state, self.state, self.game.api.state_size)
        return self._worlds(start, 0)

    def _worlds(self, Position world, int seat):
        """The worlds that differ from `world` in the secrets of `seat` and the seats after it."""
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
        """Sample a position that fits this view, as often as deals lead to it; `seed` is a number or an Rng."""
        cdef Position world = new_position(self.game)
        cdef Rng rng = as_rng(seed, WORLD_STREAM)
        self.game.api.sample(self.game.rules, self.state, self.observer, world.state, &rng.raw)
        self.game.check()
        return world

    @property
    def fault(self):
        """The first invariant that this view breaks; None as long as the engine is right."""
        cdef const char* fault = self.game.fault(self.state, self.observer)
        return None if fault == NULL else fault.decode()

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

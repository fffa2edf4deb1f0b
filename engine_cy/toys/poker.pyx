# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Kuhn and Leduc poker for two players: games small enough to be solved exactly.

Both are variants of one game. The players ante a chip and get a card each. They bet in one or two rounds; before the
second, a public card is dealt. A player who folds loses their stake. At a showdown, a pair with the public card beats
the higher rank, and equal ranks share the pot.

Chance deals the cards, first to seat A, then to seat B, regardless of the first player.
"""
from libc.stdint cimport int8_t, int32_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from engine_cy.values cimport Action, Game, GameState
from engine_cy.game_api cimport CHANCE, NOBODY, GameApi, action_t, begin_interface
from engine_cy.support.hashing cimport hash_bytes
from engine_cy.support.rng cimport below, rng_t

from engine_cy.errors import InvalidRulesetError, NotationError, listed
from engine_cy.toys import table as tables
from engine_cy.toys.variants import VARIANTS

cdef enum:
    ANTE = 1
    ROUNDS = 2              # of betting, at most
    MOVES = 4               # in a round, at most: check, raise, raise, call
    OPTIONS = 8             # actions to choose from, at most

# A card is its index in the variant's cards, from 1.
cdef enum:
    NO_CARD = 0             # not dealt yet
    UNKNOWN_CARD = 15       # a card that the observer of a view does not know

# An action is a move or DEAL | card.
cdef enum:
    NO_MOVE
    FOLD
    CALL                    # also with nothing to call, which is a check
    RAISE
    PASS                    # a fold or a check
    BET                     # a call or a raise
    DEAL = 16


cdef struct Rules:
    uint8_t n_cards
    uint8_t suits
    uint8_t n_rounds
    uint8_t raises_max
    uint8_t raise_sizes[ROUNDS]
    uint8_t pass_or_bet


cdef struct State:
    uint8_t cards[2]                # of each seat
    uint8_t public_card
    uint8_t first                   # the seat that starts each round of betting
    uint8_t moves[ROUNDS][MOVES]    # in the order of play; then NO_MOVE
    uint8_t stakes[2]               # chips each seat has put in
    uint8_t raises                  # in this round
    int8_t to_act                   # a seat, CHANCE or `NOBODY`


# --- the course of a game -------------------------------------------------------------------------------------

cdef void clear(State* state, int first) noexcept nogil:
    """Write the table before the first card is dealt."""
    memset(state, 0, sizeof(State))
    state.first = <uint8_t>first
    state.stakes[0] = ANTE
    state.stakes[1] = ANTE
    state.to_act = CHANCE


cdef int to_act(const Rules* rules, const State* state) noexcept nogil:
    return state.to_act


cdef int round_number(const Rules* rules, const State* state) noexcept nogil:
    return 1


cdef int part(const Rules* rules, const State* state) noexcept nogil:
    return 0


cdef inline int round_of(const State* state) noexcept nogil:
    """Return the round of betting, from 0."""
    return state.public_card != NO_CARD


cdef inline bint owes(const State* state) noexcept nogil:
    """Return whether the seat to act has a bet to call."""
    return state.stakes[state.to_act] < state.stakes[1 - state.to_act]


cdef inline bint is_dealt(const State* state, int card) noexcept nogil:
    return card == state.cards[0] or card == state.cards[1] or card == state.public_card


cdef int legal_actions(const Rules* rules, const State* state, action_t* actions) noexcept nogil:
    cdef int n = 0
    cdef int card

    if state.to_act == NOBODY:
        return 0
    elif state.to_act == CHANCE:
        for card in range(1, rules.n_cards + 1):
            if not is_dealt(state, card):
                actions[n] = DEAL | card
                n += 1
        return n
    elif rules.pass_or_bet:
        actions[0] = PASS
        actions[1] = BET
        return 2
    if owes(state):
        actions[n] = FOLD
        n += 1
    actions[n] = CALL
    n += 1
    if state.raises < rules.raises_max:
        actions[n] = RAISE
        n += 1
    return n


cdef void apply(const Rules* rules, State* state, action_t action) noexcept nogil:
    if action >= DEAL:
        lay(state, <uint8_t>(action - DEAL))
    else:
        bet(rules, state, <uint8_t>action)


cdef inline void lay(State* state, uint8_t card) noexcept nogil:
    """Deal `card` to the next place without a card: seat A, seat B, or face up for both."""
    if state.cards[0] == NO_CARD:
        state.cards[0] = card
        return
    elif state.cards[1] == NO_CARD:
        state.cards[1] = card
    else:
        state.public_card = card
    state.to_act = <int8_t>state.first


cdef inline void bet(const Rules* rules, State* state, uint8_t move) noexcept nogil:
    cdef int round = round_of(state)
    cdef int me = state.to_act
    cdef int other = 1 - me
    cdef bint owed = owes(state)
    cdef int n = 0

    while state.moves[round][n] != NO_MOVE:
        n += 1
    state.moves[round][n] = move
    if move == PASS:
        move = FOLD if owed else CALL
    elif move == BET:
        move = CALL if owed else RAISE

    if move == FOLD:
        state.to_act = NOBODY
        return
    state.stakes[me] = state.stakes[other]
    if move == RAISE:
        state.stakes[me] += rules.raise_sizes[round]
        state.raises += 1
        state.to_act = <int8_t>other
    elif owed or me != state.first:
        state.raises = 0
        state.to_act = CHANCE if round + 1 < rules.n_rounds else NOBODY
    else:
        state.to_act = <int8_t>other


cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    cdef action_t actions[OPTIONS]
    cdef int decisions = 0
    cdef int n

    while state.to_act != NOBODY:
        n = legal_actions(rules, state, actions)
        decisions += state.to_act != CHANCE and n > 1
        apply(rules, state, actions[below(rng, n)])
    return decisions


cdef void deal(const Rules* rules, State* state, int first, rng_t* rng) noexcept nogil:
    """Write the start of a game. It is not random: chance deals the cards by actions."""
    clear(state, first)


# --- the end --------------------------------------------------------------------------------------------------

cdef inline bint is_showdown(const State* state) noexcept nogil:
    """Return whether the game ended without a fold. A player who folds has the smaller stake."""
    return state.to_act == NOBODY and state.stakes[0] == state.stakes[1]


cdef inline int strength(const Rules* rules, const State* state, int seat) noexcept nogil:
    cdef int rank = (state.cards[seat] - 1) // rules.suits

    if state.public_card != NO_CARD and rank == (state.public_card - 1) // rules.suits:
        return rank + rules.n_cards
    return rank


cdef void scores(const Rules* rules, const State* state, int32_t* per_seat) noexcept nogil:
    """Write the chips won or lost. Until the end, each stake counts as lost."""
    cdef int lead = state.stakes[0] - state.stakes[1]
    cdef int seat

    for seat in range(2):
        per_seat[seat] = -state.stakes[seat]
    if state.to_act == NOBODY:
        if lead == 0:
            lead = strength(rules, state, 0) - strength(rules, state, 1)
        if lead == 0:
            per_seat[0] = per_seat[1] = 0
        else:
            seat = lead < 0     # the winner
            per_seat[seat] = state.stakes[1 - seat]


cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil:
    cdef int32_t chips[2]
    cdef int seat

    scores(rules, state, chips)
    for seat in range(2):
        per_seat[seat] = chips[seat]


# --- views ----------------------------------------------------------------------------------------------------

cdef inline bint is_secret(const State* state, int seat) noexcept nogil:
    """Return whether `seat` has a card that the opponent does not see. Only a showdown turns the cards up."""
    return state.cards[seat] != NO_CARD and not is_showdown(state)


cdef void observe(const Rules* rules, const State* state, int observer, State* view) noexcept nogil:
    cdef int seat

    memcpy(view, state, sizeof(State))
    for seat in range(2):
        if seat != observer and is_secret(state, seat):
            view.cards[seat] = UNKNOWN_CARD


cdef uint64_t key(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef State view

    observe(rules, state, observer, &view)
    return hash_bytes(&view, sizeof(State), observer)


# --- worlds ---------------------------------------------------------------------------------------------------

cdef int possible_cards(const Rules* rules, const State* world, int observer, uint8_t* cards) noexcept nogil:
    """List the cards that the opponent of `observer` may have; return their number."""
    cdef int n = 0
    cdef int card

    for card in range(1, rules.n_cards + 1):
        if card != world.cards[observer] and card != world.public_card:
            cards[n] = <uint8_t>card
            n += 1
    return n


cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int opponent) noexcept nogil:
    cdef uint8_t cards[OPTIONS]

    return possible_cards(rules, world, observer, cards) if opponent != observer and is_secret(world, opponent) else 1


cdef void write_secret(const Rules* rules, State* world, int observer, int opponent, uint64_t index) noexcept nogil:
    cdef uint8_t cards[OPTIONS]

    if opponent != observer and is_secret(world, opponent):
        possible_cards(rules, world, observer, cards)
        world.cards[opponent] = cards[index]


cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil:
    cdef int opponent = 1 - observer

    memcpy(world, view, sizeof(State))
    write_secret(rules, world, observer, opponent, below(rng, <int>count_secrets(rules, view, observer, opponent)))


# --- validation -----------------------------------------------------------------------------------------------

cdef bint is_legal(const Rules* rules, const State* state, action_t action) noexcept nogil:
    cdef action_t actions[OPTIONS]
    cdef int n = legal_actions(rules, state, actions)
    cdef int i

    for i in range(n):
        if actions[i] == action:
            return True
    return False


cdef uint8_t next_card(const State* state, const State* so_far) noexcept nogil:
    """Return the card of `state` that chance deals next at `so_far`, or NO_CARD."""
    if so_far.cards[0] == NO_CARD:
        return state.cards[0]
    elif so_far.cards[1] == NO_CARD:
        return state.cards[1]
    return state.public_card


cdef const char* card_fault(const Rules* rules, const State* state) noexcept nogil:
    cdef int seat

    for seat in range(2):
        if state.cards[seat] > rules.n_cards and state.cards[seat] != UNKNOWN_CARD:
            return b"cards: no such card"
    if state.public_card > rules.n_cards:
        return b"public_card: no such card"
    if state.cards[0] != NO_CARD and state.cards[0] != UNKNOWN_CARD and state.cards[0] == state.cards[1]:
        return b"cards: both players have the same card"
    if state.public_card != NO_CARD and (
            state.public_card == state.cards[0] or state.public_card == state.cards[1]):
        return b"public_card: a player has this card"
    return NULL


cdef const char* course_fault(const Rules* rules, const State* state) noexcept nogil:
    """Replay the cards and moves of a state, from which all of its bytes follow."""
    cdef State replayed
    cdef int round, i
    cdef uint8_t move

    clear(&replayed, state.first)
    for round in range(ROUNDS):
        while replayed.to_act == CHANCE and next_card(state, &replayed) != NO_CARD:
            lay(&replayed, next_card(state, &replayed))
        for i in range(MOVES):
            move = state.moves[round][i]
            if move == NO_MOVE:
                break
            if move >= DEAL or replayed.to_act < 0 or not is_legal(rules, &replayed, move):
                return b"moves: an illegal move"
            bet(rules, &replayed, move)
    if memcmp(replayed.cards, state.cards, sizeof(state.cards)):
        return b"cards: dealt out of turn"
    if replayed.public_card != state.public_card:
        return b"public_card: dealt too early"
    if memcmp(replayed.moves, state.moves, sizeof(state.moves)):
        return b"moves: made out of turn"
    if memcmp(replayed.stakes, state.stakes, sizeof(state.stakes)):
        return b"stakes: do not follow from the moves"
    if replayed.raises != state.raises:
        return b"raises: not the number of raises in this round"
    if replayed.to_act != state.to_act:
        return b"to_act: not the seat to act"
    return NULL


cdef const char* sight_fault(const State* state, int observer) noexcept nogil:
    """Check that the unknown cards are exactly those that the observer, if any, does not see."""
    cdef bint hidden
    cdef int seat

    for seat in range(2):
        hidden = observer >= 0 and seat != observer and is_secret(state, seat)
        if hidden and state.cards[seat] != UNKNOWN_CARD:
            return b"cards: the observer does not see this card"
        if not hidden and state.cards[seat] == UNKNOWN_CARD:
            return b"cards: this card cannot be unknown here"
    return NULL


cdef const char* state_fault(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef const char* fault

    if state.first > 1:
        return b"first: no such seat"
    fault = card_fault(rules, state)
    if fault == NULL:
        fault = course_fault(rules, state)
    if fault == NULL:
        fault = sight_fault(state, observer)
    return fault


# GameApi passes Rules and State as plain bytes, hence the casts.
cdef GameApi API
begin_interface(&API, sizeof(State))
API.deal = <void (*)(const void*, void*, int, rng_t*) noexcept nogil>deal
API.to_act = <int (*)(const void*, const void*) noexcept nogil>to_act
API.legal = <int (*)(const void*, const void*, action_t*) noexcept nogil>legal_actions
API.apply = <void (*)(const void*, void*, action_t) noexcept nogil>apply
API.part = <int (*)(const void*, const void*) noexcept nogil>part
API.round = <int (*)(const void*, const void*) noexcept nogil>round_number
API.play_out = <int (*)(const void*, void*, rng_t*) noexcept nogil>play_out
API.payoffs = <void (*)(const void*, const void*, double*) noexcept nogil>payoffs
API.scores = <void (*)(const void*, const void*, int32_t*) noexcept nogil>scores
API.observe = <void (*)(const void*, const void*, int, void*) noexcept nogil>observe
API.key = <uint64_t (*)(const void*, const void*, int) noexcept nogil>key
API.sample = <void (*)(const void*, const void*, int, void*, rng_t*) noexcept nogil>sample
API.count_secrets = <uint64_t (*)(const void*, const void*, int, int) noexcept nogil>count_secrets
API.write_secret = <void (*)(const void*, void*, int, int, uint64_t) noexcept nogil>write_secret


# --- the game in Python ---------------------------------------------------------------------------------------

cdef class Poker(Game):
    """Kuhn or Leduc poker.

    The text of a position is the course of the game: the cards of A and B, the moves, the public card, the moves of the
    second round, as in `K Q | pass bet` or `Ka Qb | call call | Qa | raise`. `-` is a card that is not dealt yet, `?` a
    card that the observer of a view does not see; `| first B` and `| seen by A` follow where they apply.
    """

    cdef readonly tuple cards       # the names; card c is cards[c - 1]
    cdef dict words                 # step -> word in a position
    cdef dict steps                 # word -> step

    def __init__(self, str game, ruleset, players):
        cdef Rules* rules

        if ruleset is not None and ruleset != "standard":
            raise InvalidRulesetError(f"ruleset: {ruleset!r} is not possible in {game} (standard)")
        if type(players) is not int or players != 2:
            raise InvalidRulesetError(f"players: {players!r} is not possible in {game} (2)")
        variant = VARIANTS[game]
        self.api = &API
        self.id = game
        self.n_players = players
        self.ruleset = "standard"
        self.spec = (game, "standard", players)
        self.cards = variant.cards
        verbs = {PASS: "pass", BET: "bet"} if variant.pass_or_bet else {FOLD: "fold", CALL: "call", RAISE: "raise"}
        self.words = verbs | {DEAL | card: name for card, name in enumerate(variant.cards, 1)}
        self.steps = {word: step for step, word in self.words.items()}
        rules = <Rules*>self.own(sizeof(Rules))
        rules.n_cards = len(variant.cards)
        rules.suits = variant.suits
        rules.n_rounds = len(variant.raise_sizes)
        rules.raises_max = variant.raises_max
        for round, size in enumerate(variant.raise_sizes):
            rules.raise_sizes[<int>round] = size
        rules.pass_or_bet = variant.pass_or_bet

    cdef const char* fault(self, const void* state, int observer) noexcept:
        return state_fault(<const Rules*>self.rules, <const State*>state, observer)

    def describe(self, GameState at):
        cdef const State* state = <const State*>at.state

        return tables.Table(
            cards=(self.card_name(state.cards[0]), self.card_name(state.cards[1])),
            public_card=self.card_name(state.public_card),
            moves=tuple([self.move_words(state, round) for round in range(ROUNDS)]),
            stakes=(state.stakes[0], state.stakes[1]),
            first=state.first,
            to_act=at.to_act,
            observer=getattr(at, "observer", None),
        )

    cdef card_name(self, int card):
        if card == NO_CARD:
            return None
        return "?" if card == UNKNOWN_CARD else self.words[DEAL | card]

    cdef tuple move_words(self, const State* state, int round):
        return tuple([self.words[move] for move in state.moves[round][:MOVES] if move != NO_MOVE])

    # --- positions and views as text ---

    def read_text(self, str text):
        """Play the cards and moves of the text."""
        cdef State state
        parts = [" ".join(part.split()) for part in text.split("|")]
        course = [part for part in parts if not part.startswith(("first", "seen"))]
        first = self.read_field(parts, "first", "first ", text)
        observer = self.read_field(parts, "seen", "seen by ", text)

        clear(&state, first or 0)
        words = [word for part in course for word in part.split() if word != "-"]
        for i, word in enumerate(words):
            options = self.options(&state)
            if word == "?" and observer is not None and state.to_act == CHANCE:
                apply(<const Rules*>self.rules, &state, DEAL | UNKNOWN_CARD)
            elif word in options:
                apply(<const Rules*>self.rules, &state, self.steps[word])
            else:
                after = f"after {' '.join(words[:i])!r}" if i else "at the start"
                raise NotationError(f"words[{i}]: {word!r} is not possible {after} ({listed(options)}), in {text!r}")
        canonical = self.write_course(&state)
        if course != canonical:
            raise NotationError(f"text: {' | '.join(course)!r} must be {' | '.join(canonical)!r}, in {text!r}")
        return observer, (<char*>&state)[:sizeof(State)]

    def read_field(self, parts, name, prefix, text):
        """Return the seat in the part of the text that starts with `name`, or None if there is no such part."""
        fields = [part for part in parts if part.startswith(name)]
        if not fields:
            return None
        if len(fields) > 1:
            raise NotationError(f"{name}: occurs {len(fields)} times, in {text!r}")
        letter = fields[0].removeprefix(prefix)
        if letter not in tuple(self.seats):
            raise NotationError(f"{name}: {fields[0]!r} is not one of {listed(prefix + seat for seat in self.seats)}")
        return self.seats.index(letter)

    cdef list options(self, const State* state):
        cdef action_t actions[OPTIONS]
        cdef int n = legal_actions(<const Rules*>self.rules, state, actions)
        return [self.words[actions[i]] for i in range(n)]

    cdef list write_course(self, const State* state):
        """Write the cards and moves in the order of play."""
        parts = [
            [self.card_name(state.cards[0]) or "-", self.card_name(state.cards[1]) or "-"],
            self.move_words(state, 0),
            [self.card_name(state.public_card)] if state.public_card != NO_CARD else [],
            self.move_words(state, 1),
        ]
        return [" ".join(part) for part in parts if part]

    def write_state(self, bytes state, observer):
        cdef const State* at = <const State*><const char*>state
        parts = self.write_course(at)
        if at.first:
            parts.append(f"first {self.seats[at.first]}")
        if observer is not None:
            parts.append(f"seen by {self.seats[observer]}")
        return " | ".join(parts)

    # --- actions ---

    def read_steps(self, str text):
        *deals, word = text.split() or [""]
        step = self.steps.get(word, NO_MOVE)
        if step == NO_MOVE or deals != (["deal"] if step >= DEAL else []):
            raise NotationError(f"action: {text!r} is not one of {listed(map(self.phrase, self.words))}")
        return (step,)

    def phrase(self, step):
        return f"deal {self.words[step]}" if step >= DEAL else self.words[step]

    def step_fields(self, tuple steps):
        if len(steps) != 1 or steps[0] not in self.words:
            raise NotationError(f"steps: {steps} are not an action of {self.id}")
        word = self.words[steps[0]]
        return {"type": "deal", "card": word} if steps[0] >= DEAL else {"type": word}

    def write_steps(self, tuple steps):
        return " ".join(self.step_fields(steps).values())

    def why_not(self, GameState table, Action action, list legal):
        cdef const State* state = <const State*>table.state
        cdef const Rules* rules = <const Rules*>self.rules

        if state.to_act == CHANCE:
            return "this card is already dealt" if action.steps[0] >= DEAL else "chance deals a card first"
        elif action.steps[0] >= DEAL:
            return f"{self.seats[state.to_act]} is to act, not chance"
        elif action.steps[0] == FOLD:
            return "there is nothing to call"
        return f"a round has {rules.raises_max} raises at most"

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, binding=False
"""Liar's Dice for two to five players, in Cython: the rules and the notation of examples/games/liars_dice.

Each player rolls some dice in secret. In turn, they raise the bid on the dice of all players together, as in `bid 3x5`,
at least three fives, or call the last bidder a liar; then all dice are shown. The highest face is wild: it counts as
every face. A ruleset such as `5x6` is the number of dice of each player and of their sides.

A game of your own can start as a copy of this folder: docs/how_to/game_in_cython.md explains it part by part.
"""
from libc.stdint cimport int8_t, int32_t, uint8_t, uint64_t  # no-cython-lint: int32_t is used in a cast
from libc.string cimport memcmp, memcpy, memset

from engine_cy.game_api cimport (
    CHANCE, GAME_OVER, MAX_PLAYERS, GameApi, action_t, begin_interface,
    apply_f, count_secrets_f, deal_f, key_f, legal_f, observe_f, part_f, payoffs_f, play_out_f, round_f, sample_f,
    scores_f, to_act_f, write_secret_f,
)
from engine_cy.support.hashing cimport hash_bytes
from engine_cy.support.rng cimport below, rng_t
from engine_cy.values cimport Action, Game, GameState

from engine_cy import InvalidRulesetError, NotationError

cdef enum:
    MAX_DICE = 25           # five of each of five players
    BID_WORDS = 3           # 64 bids each; 25 dice of six sides allow 150
    UNKNOWN = 0xFF          # in a view, a die that the observer does not see

RULESETS = ("1x6", "2x6", "5x6", "1x4", "2x3")


# An action is a number: a roll of each face, then a bid of each rank, the lowest first, then `liar`. The legal actions
# of a player are therefore a range of numbers.
cdef struct Rules:
    uint8_t n_players
    uint8_t n_dice          # of each player
    uint8_t n_all           # of all players
    uint8_t sides
    uint8_t n_bids          # ranks: bid r is `r // sides + 1` dice of the face `r % sides + 1`


# Facts only, without pointers: assigning a state copies it. Its size is a multiple of 16 bytes.
cdef struct State:
    uint64_t bids[BID_WORDS]    # a bit for each bid of the game: bids rise, so the set gives their order
    uint8_t dice[MAX_DICE]      # seat by seat, a face from 1, or UNKNOWN; 0: not rolled yet
    uint8_t n_rolled
    uint8_t n_made              # bids
    uint8_t next_bid            # the rank above the last bid
    uint8_t first               # the seat that bids first
    uint8_t is_called
    int8_t to_act               # a seat, `CHANCE` or `GAME_OVER`
    uint8_t padding[9]


# --- the course of a game -----------------------------------------------------------------------------------------

cdef void start(State* state, int first) noexcept nogil:
    memset(state, 0, sizeof(State))
    state.first = <uint8_t>first
    state.to_act = CHANCE


cdef void deal(const Rules* rules, State* state, int first, rng_t* rng) noexcept nogil:
    """Write the start of a game. It is not random: chance rolls the dice by actions."""
    start(state, first)


cdef inline void roll(const Rules* rules, State* state, uint8_t face) noexcept nogil:
    state.dice[state.n_rolled] = face
    state.n_rolled += 1
    if state.n_rolled == rules.n_all:
        state.to_act = <int8_t>state.first


cdef inline void bid(const Rules* rules, State* state, int rank) noexcept nogil:
    state.bids[rank >> 6] |= <uint64_t>1 << (rank & 63)
    state.n_made += 1
    state.next_bid = <uint8_t>(rank + 1)
    state.to_act = <int8_t>(state.to_act + 1 if state.to_act + 1 < rules.n_players else 0)


cdef inline void call(State* state) noexcept nogil:
    state.is_called = True
    state.to_act = GAME_OVER


cdef int to_act(const Rules* rules, const State* state) noexcept nogil:
    return state.to_act


cdef int part(const Rules* rules, const State* state) noexcept nogil:
    return 0        # every action is a whole decision


cdef int round_number(const Rules* rules, const State* state) noexcept nogil:
    return 1


cdef inline int n_legal(const Rules* rules, const State* state, action_t* lowest) noexcept nogil:
    """Return the number of legal actions, and write the lowest: the others follow it."""
    if state.to_act == CHANCE:
        lowest[0] = 0
        return rules.sides
    elif state.to_act == GAME_OVER:
        return 0
    lowest[0] = rules.sides + state.next_bid
    return rules.n_bids - state.next_bid + (state.n_made > 0)


cdef int legal(const Rules* rules, const State* state, action_t* actions) noexcept nogil:
    cdef action_t lowest
    cdef int n = n_legal(rules, state, &lowest)
    cdef int i

    for i in range(n):
        actions[i] = lowest + i
    return n


cdef void apply(const Rules* rules, State* state, action_t action) noexcept nogil:
    if action < rules.sides:
        roll(rules, state, <uint8_t>(action + 1))
    elif action < <action_t>(rules.sides + rules.n_bids):
        bid(rules, state, action - rules.sides)
    else:
        call(state)


cdef int play_out(const Rules* rules, State* state, rng_t* rng) noexcept nogil:
    cdef action_t lowest
    cdef int decisions = 0
    cdef int n

    while state.to_act == CHANCE:
        roll(rules, state, <uint8_t>(1 + below(rng, rules.sides)))
    while state.to_act != GAME_OVER:
        n = n_legal(rules, state, &lowest)
        decisions += n > 1
        apply(rules, state, lowest + below(rng, n))
    return decisions


# --- the end ------------------------------------------------------------------------------------------------------

cdef void scores(const Rules* rules, const State* state, int32_t* per_seat) noexcept nogil:
    """Write 1 for the winner of the call, -1 for the loser, 0 for the others."""
    cdef int rank = state.next_bid - 1
    cdef int caller = (state.first + state.n_made) % rules.n_players
    cdef int bidder = (caller + rules.n_players - 1) % rules.n_players
    cdef int fitting = 0
    cdef int i

    for i in range(rules.n_players):
        per_seat[i] = 0
    if not state.is_called:
        return
    for i in range(rules.n_all):
        fitting += state.dice[i] == rank % rules.sides + 1 or state.dice[i] == rules.sides
    per_seat[caller] = 1 if fitting <= rank // rules.sides else -1
    per_seat[bidder] = -per_seat[caller]


cdef void payoffs(const Rules* rules, const State* state, double* per_seat) noexcept nogil:
    """Write the scores in the scale of every search, 0 to 1."""
    cdef int32_t points[MAX_PLAYERS]
    cdef int seat

    scores(rules, state, points)
    for seat in range(rules.n_players):
        per_seat[seat] = 0.5 * (points[seat] + 1)


# --- hidden information -------------------------------------------------------------------------------------------

cdef inline bint is_hidden(const Rules* rules, const State* state, int die, int observer) noexcept nogil:
    """Return whether `observer` does not see a die. This function alone decides it."""
    return not state.is_called and die // rules.n_dice != observer


cdef void observe(const Rules* rules, const State* state, int observer, State* view) noexcept nogil:
    cdef int die

    memcpy(view, state, sizeof(State))
    for die in range(state.n_rolled):
        if is_hidden(rules, state, die, observer):
            view.dice[die] = UNKNOWN


cdef uint64_t key(const Rules* rules, const State* state, int observer) noexcept nogil:
    cdef State view

    observe(rules, state, observer, &view)
    return hash_bytes(&view, sizeof(State), observer)


cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil:
    cdef int die

    memcpy(world, view, sizeof(State))
    for die in range(world.n_rolled):
        if is_hidden(rules, world, die, observer):
            world.dice[die] = <uint8_t>(1 + below(rng, rules.sides))


cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int player) noexcept nogil:
    cdef uint64_t n = 1
    cdef int die

    for die in range(player * rules.n_dice, (player + 1) * rules.n_dice):
        if die < world.n_rolled and is_hidden(rules, world, die, observer):
            n *= rules.sides
    return n


cdef void write_secret(const Rules* rules, State* world, int observer, int player, uint64_t index) noexcept nogil:
    """Write the digits of `index` as the player's hidden dice."""
    cdef int die

    for die in range(player * rules.n_dice, (player + 1) * rules.n_dice):
        if die < world.n_rolled and is_hidden(rules, world, die, observer):
            world.dice[die] = <uint8_t>(1 + index % rules.sides)
            index //= rules.sides


cdef GameApi API
begin_interface(&API, sizeof(State))
API.deal = <deal_f>deal
API.to_act = <to_act_f>to_act
API.legal = <legal_f>legal
API.apply = <apply_f>apply
API.part = <part_f>part
API.round = <round_f>round_number
API.play_out = <play_out_f>play_out
API.payoffs = <payoffs_f>payoffs
API.scores = <scores_f>scores
API.observe = <observe_f>observe
API.key = <key_f>key
API.sample = <sample_f>sample
API.count_secrets = <count_secrets_f>count_secrets
API.write_secret = <write_secret_f>write_secret


# --- bytes from outside -------------------------------------------------------------------------------------------

cdef const char* state_fault(const Rules* rules, const State* state, int observer) noexcept nogil:
    """Replay the dice and bids of a state, from which all of its bytes follow."""
    cdef State replayed
    cdef bint unknown
    cdef int i

    if state.first >= rules.n_players:
        return b"first: no such first player"
    start(&replayed, state.first)
    for i in range(rules.n_all):
        if not state.dice[i]:
            break
        unknown = observer >= 0 and is_hidden(rules, state, i, observer)
        if unknown and state.dice[i] != UNKNOWN:
            return b"dice: the observer does not see this die"
        if not unknown and state.dice[i] > rules.sides:
            return b"dice: not a side of a die, or unknown where the dice are seen"
        roll(rules, &replayed, state.dice[i])
    for i in range(rules.n_bids):
        if state.bids[i >> 6] >> (i & 63) & 1:
            if replayed.to_act == CHANCE:
                return b"bids: made before all dice are rolled"
            bid(rules, &replayed, i)
    if state.is_called:
        if not replayed.n_made:
            return b"called: only a bid can be called"
        call(&replayed)
    if memcmp(&replayed, state, sizeof(State)):
        return b"table: not the course of a game"
    return NULL


# --- the game in Python -------------------------------------------------------------------------------------------

cdef class LiarsDice(Game):
    """Liar's Dice. The text of a table is the dice of each player, the bids, and the first player."""

    cdef tuple actions      # texts, by number
    cdef dict numbers       # number of each action, by text

    def __init__(self, str game, ruleset, players):
        cdef Rules* rules

        ruleset = RULESETS[0] if ruleset is None else ruleset
        if ruleset not in RULESETS:
            raise InvalidRulesetError(f"ruleset: {ruleset!r} is not possible in {game} ({', '.join(RULESETS)})")
        if type(players) is not int or not 2 <= players <= 5:
            raise InvalidRulesetError(f"players: {players!r} is not possible in {game} (2, 3, 4, 5)")
        self.api = &API
        self.id = game
        self.n_players = players
        self.ruleset = ruleset
        self.spec = (game, ruleset, players)
        rules = <Rules*>self.own(sizeof(Rules))
        rules.n_players = players
        rules.n_dice, rules.sides = map(int, ruleset.split("x"))
        rules.n_all = players * rules.n_dice
        rules.n_bids = rules.n_all * rules.sides
        rolls = [f"roll {face + 1}" for face in range(rules.sides)]
        bids = [f"bid {rank // rules.sides + 1}x{rank % rules.sides + 1}" for rank in range(rules.n_bids)]
        self.actions = (*rolls, *bids, "liar")
        self.numbers = {text: number for number, text in enumerate(self.actions)}

    @staticmethod
    def editions_of(str game):
        return list(RULESETS)

    cdef const char* fault(self, const void* state, int observer) noexcept:
        return state_fault(<const Rules*>self.rules, <const State*>state, observer)

    # --- actions ---

    def read_steps(self, str text):
        number = self.numbers.get(" ".join(text.split()))
        if number is None:
            raise NotationError(f"action: {text!r} is not an action of {self.id}, such as 'bid 2x3' or 'liar'")
        return (number,)

    def write_steps(self, tuple steps):
        if len(steps) != 1 or not 0 <= steps[0] < len(self.actions):
            raise NotationError(f"steps: {steps} are not an action of {self.id}")
        return self.actions[steps[0]]

    def step_fields(self, tuple steps):
        verb, _, detail = self.write_steps(steps).partition(" ")
        if verb == "bid":
            amount, face = map(int, detail.split("x"))
            return {"type": verb, "amount": amount, "face": face}
        return {"type": verb, "face": int(detail)} if detail else {"type": verb}

    def explain_illegal(self, GameState table, Action action, list legal):
        cdef const State* state = <const State*>table.state

        if action.type == "roll" or state.to_act == CHANCE:
            return "chance rolls all dice before the first bid"
        return "there is no bid to call" if action.type == "liar" else "a bid must be higher than the last"

    # --- positions and views as text ---

    def read_text(self, str text):
        """Return the observer and the bytes of a text such as `3 ? 1x4 liar, first A | seen by A`."""
        cdef const Rules* rules = <const Rules*>self.rules
        cdef State state

        table, _, seat = text.partition("|")
        course, _, first = table.partition(",")
        observer = self.read_seat(seat, "seen by", text) if seat else None
        words = course.split()
        hands, bids = words[:rules.n_players], words[rules.n_players:]
        start(&state, self.read_seat(first, "first", text))
        if len(hands) < rules.n_players:
            raise NotationError(f"dice: {len(hands)} players, not {rules.n_players}, in {text!r}")
        for seat, hand in enumerate(hands):
            for die in hand.strip("-"):
                if state.n_rolled // rules.n_dice != seat:
                    raise NotationError(f"dice: players have {rules.n_dice} each, rolled in turn, in {text!r}")
                roll(rules, &state, UNKNOWN if die == "?" else self.read_face(die, text))
        for word in bids:
            if state.to_act < 0:
                raise NotationError(f"bids: {word!r} does not follow rolls and bids, in {text!r}")
            elif word == "liar" and state.n_made:
                call(&state)
                continue
            rank = self.numbers.get(f"bid {word}", 0) - <int>rules.sides
            if rank < <int>state.next_bid:
                raise NotationError(f"bids: {word!r} is not a bid, or not higher than the last, in {text!r}")
            bid(rules, &state, rank)
        return observer, (<char*>&state)[:sizeof(State)]

    def read_face(self, die, text):
        number = self.numbers.get(f"roll {die}")
        if number is None:
            raise NotationError(f"dice: {die!r} is not a side: dice have {(<Rules*>self.rules).sides}, in {text!r}")
        return number + 1

    def read_seat(self, words, prefix, text):
        letter = words.strip().removeprefix(prefix).strip()
        if not words.strip().startswith(prefix) or letter not in tuple(self.seats):
            raise NotationError(f"{prefix}: {words.strip()!r} is not '{prefix} ' and a seat, in {text!r}")
        return self.seats.index(letter)

    def write_state(self, bytes state, observer):
        text = self.write_table(<const State*><const char*>state)
        return text if observer is None else f"{text} | seen by {self.seats[observer]}"

    cdef write_table(self, const State* state):
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int i

        dice = ["?" if die == UNKNOWN else str(die) for die in state.dice[:state.n_rolled]]
        hands = ["".join(dice[i:i + rules.n_dice]) or "-" for i in range(0, rules.n_all, rules.n_dice)]
        bids = [self.actions[rules.sides + i].removeprefix("bid ")
                for i in range(rules.n_bids) if state.bids[i >> 6] >> (i & 63) & 1]
        return " ".join([*hands, *bids, *["liar"] * state.is_called]) + f", first {self.seats[state.first]}"

    def describe(self, GameState at):
        return self.write_table(<const State*>at.state)

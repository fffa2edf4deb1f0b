# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Kuhn and Leduc poker for two players: games small enough to be solved exactly.

Both are variants of one game. The players ante a chip and get a card each. They bet in one or two rounds; before the
second, a public card is dealt. A player who folds loses their stake. At a showdown, a pair with the public card beats
the higher rank, and equal ranks share the pot.

Chance deals the cards, first to seat A, then to seat B, regardless of the first player.
"""
from libc.stdint cimport int32_t, uint64_t  # no-cython-lint: int32_t is used in a cast

from engine_cy.values cimport Action, Game, GameState
from engine_cy.game_api cimport (
    CHANCE, GameApi, action_t, begin_interface,
    apply_f, count_secrets_f, deal_f, key_f, legal_f, observe_f, part_f, payoffs_f, play_out_f, round_f, sample_f,
    scores_f, to_act_f, write_secret_f,
)
from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.state cimport State, state_fault
from engine_cy.kuhn_leduc.turn cimport apply, clear, legal_actions, payoffs, play_out, scores
from engine_cy.kuhn_leduc.view cimport key, observe
from engine_cy.kuhn_leduc.words cimport (
    BET, CALL, DEAL, FOLD, MOVES, NO_CARD, NO_MOVE, OPTIONS, PASS, RAISE, ROUNDS, UNKNOWN_CARD,
)
from engine_cy.kuhn_leduc.worlds cimport count_secrets, sample, write_secret
from engine_cy.support.rng cimport rng_t

from engine_cy.errors import InvalidRulesetError, NotationError, listed
from engine_cy.kuhn_leduc import table as tables
from engine_cy.kuhn_leduc.editions import VARIANTS


# --- GameApi --------------------------------------------------------------------------------------------------

cdef void deal(const Rules* rules, State* state, int first, rng_t* rng) noexcept nogil:
    """Write the start of a game. It is not random: chance deals the cards by actions."""
    clear(state, first)


cdef int to_act(const Rules* rules, const State* state) noexcept nogil:
    return state.to_act


cdef int round_number(const Rules* rules, const State* state) noexcept nogil:
    return 1


cdef int part(const Rules* rules, const State* state) noexcept nogil:
    return 0


cdef GameApi API
begin_interface(&API, sizeof(State))
API.deal = <deal_f>deal
API.to_act = <to_act_f>to_act
API.legal = <legal_f>legal_actions
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

        table = tables.Table(
            public_card=self.card_name(state.public_card),
            moves=tuple([self.move_words(state, round) for round in range(ROUNDS)]),
            stakes=(state.stakes[0], state.stakes[1]),
            first=state.first,
            to_act=at.to_act,
        )
        cards = (self.card_name(state.cards[0]), self.card_name(state.cards[1]))
        return tables.Parts(table, cards, getattr(at, "observer", None))

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

    def explain_illegal(self, GameState table, Action action, list legal):
        cdef const State* state = <const State*>table.state
        cdef const Rules* rules = <const Rules*>self.rules

        if state.to_act == CHANCE:
            return "this card is already dealt" if action.steps[0] >= DEAL else "chance deals a card first"
        elif action.steps[0] >= DEAL:
            return f"{self.seats[state.to_act]} is to act, not chance"
        elif action.steps[0] == FOLD:
            return "there is nothing to call"
        return f"a round has {rules.raises_max} raises at most"


# The games of this folder, and its place in the list of all games.
GAMES = {"kuhn_poker": Poker, "leduc_poker": Poker}
PLACE = 3

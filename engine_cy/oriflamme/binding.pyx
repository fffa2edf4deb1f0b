# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The binding of Oriflamme: fills in GameApi and Knowledge, and converts tables in words to states and back."""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from engine_cy.faults cimport Breaches, byte
from engine_cy.values cimport Action, Game, GameState, View
from engine_cy.game_api cimport BEGUN, MORE, NOBODY, GameApi, Knowledge, action_t, begin_interface
from engine_cy.learned.evaluation cimport evaluate_state
from engine_cy.learned.policy cimport choose_action, prior_of
from engine_cy.oriflamme cimport worlds
from engine_cy.oriflamme.features cimport FEATURE_API
from engine_cy.oriflamme.rules cimport Rules, pack
from engine_cy.oriflamme.state cimport (
    FACE_UP, KIND, UNKNOWN_HAND, State, card_at, cards_played, family, held, hold,
)
from engine_cy.oriflamme.evidence cimport add_belief_functions
from engine_cy.oriflamme.turn cimport apply, clear, legal_actions, payoffs, play_out, resolve
from engine_cy.oriflamme.validate cimport find_faults, find_table_faults
from engine_cy.oriflamme.view cimport key, observe
from engine_cy.oriflamme.words cimport (
    ASK_COPY, ASK_DROP, ASK_LIFT, ASK_NOTHING, ASK_PAIR_FIRST, ASK_PAIR_SECOND, ASK_PLACE, ASK_REVEAL, ASK_ROB,
    ASK_TARGET, BACK, N_KINDS, NO_CARD, NO_KIND, ON, UNKNOWN_KIND, VERB_COPY, VERB_DROP, VERB_KEEP,
    VERB_LIFT, VERB_PAIR_FIRST, VERB_PAIR_SECOND, VERB_PLACE, VERB_REVEAL, VERB_ROB, VERB_TARGET,
)
from engine_cy.support.rng cimport below, rng_t

from engine_cy.errors import IllegalActionError, NoWorldError, listed
from engine_cy.tables import refusal
from engine_cy.values import read_seat
from engine_cy.oriflamme import notation
from engine_cy.oriflamme import table as tables
from engine_cy.oriflamme.editions import editions_of, read_ruleset, table_numbers
from engine_cy.oriflamme.evidence import BELIEFS
from engine_cy.oriflamme.faults import SENTENCES, fault_of
from engine_cy.oriflamme.features import WEIGHTS
from engine_cy.oriflamme.validate import Rule


# --- GameApi --------------------------------------------------------------------------------------------------

cdef void deal(const Rules* rules, State* state, int first, rng_t* rng) noexcept nogil:
    """Deal each player a random hand, with equally many cards of each family."""
    cdef int player, kind, n, _copy, _i
    cdef int per_family = rules.hand_size // rules.copies
    cdef uint8_t kinds[N_KINDS]

    clear(rules, state, first)
    for player in range(rules.n_players):
        for _copy in range(rules.copies):
            for kind in range(N_KINDS):
                kinds[kind] = <uint8_t>kind
            n = N_KINDS
            for _i in range(per_family):
                kind = below(rng, n)
                state.hands[player] = hold(state.hands[player], kinds[kind])
                n -= 1
                kinds[kind] = kinds[n]


cdef int to_act(const Rules* rules, const State* state) noexcept nogil:
    if state.ask == ASK_NOTHING:
        return NOBODY
    return state.to_act


cdef int round_number(const Rules* rules, const State* state) noexcept nogil:
    return state.round


cdef int part(const Rules* rules, const State* state) noexcept nogil:
    if state.ask == ASK_LIFT or state.ask == ASK_PAIR_FIRST:
        return MORE
    elif state.ask == ASK_DROP or state.ask == ASK_PAIR_SECOND:
        return BEGUN
    return 0


cdef void scores(const Rules* rules, const State* state, int32_t* per_seat) noexcept nogil:
    cdef int player

    for player in range(rules.n_players):
        per_seat[player] = state.points[player]


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
API.sample = <void (*)(const void*, const void*, int, void*, rng_t*) noexcept nogil>worlds.sample
API.count_secrets = <uint64_t (*)(const void*, const void*, int, int) noexcept nogil>worlds.count_secrets
API.write_secret = <void (*)(const void*, void*, int, int, uint64_t) noexcept nogil>worlds.write_secret
FEATURE_API.game = &API


# --- Knowledge ------------------------------------------------------------------------------------------------

cdef void prior(const void* rules, const void* state, const action_t* actions, int n, float* shares) noexcept nogil:
    prior_of(&FEATURE_API, rules, state, actions, n, shares)


cdef action_t choose(const void* rules, const void* state, rng_t* rng) noexcept nogil:
    return choose_action(&FEATURE_API, rules, state, rng)


cdef void evaluate(const void* rules, const void* state, double* per_seat) noexcept nogil:
    evaluate_state(&FEATURE_API, (<const Rules*>rules).n_players, rules, state, per_seat)


cdef Knowledge KNOWLEDGE
KNOWLEDGE.prior = prior
KNOWLEDGE.choose = choose
KNOWLEDGE.evaluate = evaluate
add_belief_functions(&KNOWLEDGE)


# --- the game in Python ---------------------------------------------------------------------------------------

# The questions in words. Outside, both halves of a decision are one question.
PHASE_OF = {
    ASK_PLACE: "place", ASK_REVEAL: "reveal", ASK_TARGET: "target", ASK_ROB: "rob", ASK_COPY: "copy",
    ASK_LIFT: "move", ASK_PAIR_FIRST: "pair", ASK_NOTHING: "over",
}
ASK_OF = {phase: ask for ask, phase in PHASE_OF.items()}
RULES = [rule.name for rule in Rule if SENTENCES[rule.name]]      # a rule without a sentence cannot be imported

cdef enum:
    NO_SUCH_KIND = N_KINDS        # a card of another edition, in a table in words


cdef class Oriflamme(Game):
    """Oriflamme or its prototype, which share the rules code."""

    cdef readonly tuple cards
    cdef readonly object frame

    @staticmethod
    def editions_of(str game):
        return editions_of(game)

    def __init__(self, str game, ruleset, players):
        self.ruleset = read_ruleset(game, ruleset)
        numbers = table_numbers(self.ruleset, players)
        changed = self.ruleset.overrides()
        spec = {"edition": self.ruleset.edition, **changed} if changed else self.ruleset.edition
        self.api = &API
        self.knowledge = &KNOWLEDGE
        self.features = &FEATURE_API
        self.weights = (WEIGHTS, BELIEFS)
        self.id = game
        self.n_players = players
        self.spec = (game, spec, players)
        self.cards = self.ruleset.cards
        self.frame = tables.TableShape(
            self.cards, players, numbers["copies"], numbers["hand_size"], numbers["start_points"], numbers["n_rounds"],
            numbers["cards_per_turn"], numbers["tokens_on_keep"],
        )
        pack(<Rules*>self.own(sizeof(Rules)), self.cards, numbers)

    cdef const char* fault(self, const void* state, int observer) noexcept:
        cdef Breaches breaches

        find_faults(<const Rules*>self.rules, <const State*>state, observer, &breaches)
        if breaches.n == 0:
            return NULL
        return b"state: breaks a rule"

    cdef object error_for(self, const void* state, int observer):
        cdef Breaches breaches

        find_faults(<const Rules*>self.rules, <const State*>state, observer, &breaches)
        return self.worded(&breaches, None)[0].refusal(None if observer < 0 else observer)

    cdef bint hides_choice(self, View view) except -1:
        """Return whether there are several decisions, or `place ?` may be one of several cards.

        Views do not show if the cards of a hand are equal.
        """
        cdef const Rules* rules = <const Rules*>self.rules
        cdef const State* state = <const State*>view.state

        if Game.hides_choice(self, view):
            return True
        return state.ask == ASK_PLACE and rules.hand_size - cards_played(rules, state, state.to_act) > 1

    def start(self, deal, first=0):
        """Return the start of a game: for each seat, `deal` lists the cards that it has set aside, by name or id."""
        aside = [[notation.read_card(name, self.cards) for name in names] for names in deal]
        return self.from_table(tables.dealt(aside, read_seat(first, self.n_players, "first"), self.frame))

    def read_deal(self, list lines, int first, observer):
        return self.from_table(notation.read_deal(lines, first, observer, self.frame))

    def write_deal(self, GameState start):
        return notation.write_deal(start.table, self.frame)

    # --- actions as an observer sees them ---

    cdef list shown_ids(self, const State* state, tuple steps):
        """Return the ids of the face-down cards that an action shows: it turns them up or eliminates them."""
        cdef int verb = <int>steps[0] >> 16
        cdef bint eye = (<Rules*>self.rules).eye
        cdef int slot

        if verb == VERB_REVEAL:
            slots = [state.cursor]
        elif verb == VERB_TARGET or verb == VERB_PAIR_FIRST or (verb == VERB_COPY and eye):
            slots = [step >> 8 & 0xFF for step in steps]
        else:
            slots = []
        return [state.tops[slot] for slot in slots if not card_at(state, slot) & FACE_UP]

    def observed_steps(self, bytes state, tuple steps, int observer):
        cdef const State* at = <const State*><const char*>state
        cdef int verb = <int>steps[0] >> 16

        if at.to_act != observer and verb == VERB_PLACE:
            return (steps[0] & ~0xFF00 | UNKNOWN_KIND << 8,), []
        shown = [at.cards[i] for i in self.shown_ids(at, steps)]
        return steps, [self.cards[card & KIND].name for card in shown if family(card) != observer]

    def show(self, bytes view, tuple steps, list names, int observer):
        cdef State state

        memcpy(&state, <const char*>view, sizeof(State))
        unknown = [i for i in self.shown_ids(&state, steps) if state.cards[i] & KIND == UNKNOWN_KIND]
        if len(names) != len(unknown):
            text = self.write_steps(steps)
            raise IllegalActionError(
                f"action: '{text}' shows {len(unknown)} cards that the observer did not know, but names {len(names)}; "
                f"name them as in '{text} = Heir'"
            )
        for card_id, name in zip(unknown, names):
            kind = self.kind(notation.read_card(name, self.cards))
            owner = family(state.cards[card_id])
            if not worlds.unseen(<const Rules*>self.rules, &state, owner) >> kind & 1:
                seat = self.seats[owner]
                raise IllegalActionError(f"action: {name!r} cannot be shown: {seat} has no more of them")
            state.cards[card_id] = <uint8_t>(owner << 4 | kind | FACE_UP)
        return (<char*>&state)[:sizeof(State)]

    # --- tables in words ---

    def complete(self, table):
        return tables.complete(table, self.frame)

    def pack(self, table):
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int observer = -1 if table.observer is None else table.observer
        cdef State state
        cdef Breaches breaches

        self.fill(&state, table)
        if table.phase is None:
            # The card at the cursor acts next. The table in words then no longer describes the state.
            find_table_faults(rules, &state, observer, &breaches)
            if breaches.n:
                return None, self.worded(&breaches, table)
            resolve(rules, &state)
            table = None
        find_faults(rules, &state, observer, &breaches)
        return (<char*>&state)[:sizeof(State)], self.worded(&breaches, table)

    cdef list worded(self, const Breaches* breaches, table):
        """Return the faults of a table, or of bytes if it is None."""
        cdef int i

        return [
            fault_of(RULES[breaches.found[i].rule], breaches.found[i].at, breaches.found[i].index,
                     breaches.found[i].value, breaches.found[i].bound, self.frame, table)
            for i in range(breaches.n)
        ]

    cdef fill(self, State* state, table):
        """Write a complete table. Numbers that do not fit into a byte become 255, which no field accepts."""
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int player, card_id, below_id

        clear(rules, state, byte(table.first))
        state.round = byte(table.round)
        state.ask = ASK_REVEAL if table.phase is None else ASK_OF[table.phase]
        state.to_act = 0 if table.phase == "over" else byte(table.to_act)
        state.cursor = 0 if table.phase == "place" or table.phase == "over" else byte(table.cursor)
        if table.acting is not None:
            state.acting = self.kind(table.acting)
        for slot in table.slots:
            below_id = NO_CARD
            for card in reversed(slot):
                card_id = self.free_id(state, table, card)
                state.cards[card_id] = <uint8_t>(self.kind(card.card) | card.family << 4 | FACE_UP * card.face_up)
                state.below[card_id] = <uint8_t>below_id
                state.tokens[card_id] = byte(card.tokens)
                below_id = card_id
            state.tops[state.n_slots] = <uint8_t>below_id
            state.n_slots += 1
        total = sum([len(slot) for slot in table.slots]) + sum([len(pile) for pile in table.piles])
        state.turn = tables.cards_placed(
            self.frame, table.phase, table.round, table.first, table.to_act, total)
        for player in range(rules.n_players):
            state.points[player] = byte(table.points[player])
            state.piles[player] = self.packed_cards(table, "piles", player)
            state.hands[player] = self.packed_cards(table, "hands", player)

    cdef int free_id(self, const State* state, table, card) except -1:
        """Return the id of a card in the queue, which no other card may have."""
        cdef int cards_each = (<const Rules*>self.rules).cards_each
        cdef int card_id

        if not 1 <= card.nth <= cards_each:
            why = f"is not in 1..{cards_each}, the cards that a family plays"
            raise refusal(table.observer, f"slots.{self.seats[card.family]}.nth", card.nth, why)
        card_id = card.family * cards_each + card.nth - 1
        if state.cards[card_id] != NO_CARD:
            why = "is the number of two cards"
            raise refusal(table.observer, f"slots.{self.seats[card.family]}.nth", card.nth, why)
        return card_id

    cdef uint32_t packed_cards(self, table, str field, int player) except? 0:
        """Return a hand or pile as bits."""
        cdef uint32_t cards = 0
        cdef int kind

        names = getattr(table, field)[player]
        if names is None:
            return UNKNOWN_HAND
        for name in names:
            kind = self.kind(name)
            if kind == NO_SUCH_KIND:
                why = f"is no card of this edition ({listed(self.frame.ids)})"
                raise refusal(table.observer, f"{field}[{self.seats[player]}]", name, why)
            if held(cards, kind) == 2:
                why = f"copies; a family has {self.frame.copies}"
                raise refusal(table.observer, f"cards[{self.seats[player]}].{name}", 3, why, NoWorldError)
            cards = hold(cards, kind)
        return cards

    cdef int kind(self, name) except -1:
        """Return the number of a card, UNKNOWN_KIND for None."""
        if name is None:
            return UNKNOWN_KIND
        return self.frame.ids.index(name) if name in self.frame.ids else NO_SUCH_KIND

    def describe(self, GameState at):
        """Return the table in words."""
        observer = getattr(at, "observer", None)
        return self.table_of(bytes(at), observer)

    def table_of(self, bytes raw, observer):
        cdef const State* state = <const State*><const char*>raw
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int card_id
        cdef bint resolving = state.ask != ASK_PLACE and state.ask != ASK_NOTHING
        slots = []

        for slot in range(state.n_slots):
            cards = []
            card_id = state.tops[slot]
            while card_id != NO_CARD:
                cards.append(tables.PlayedCard(
                    family(state.cards[card_id]),
                    self.name(state.cards[card_id] & KIND),
                    bool(state.cards[card_id] & FACE_UP),
                    state.tokens[card_id],
                    card_id % rules.cards_each + 1,
                ))
                card_id = state.below[card_id]
            slots.append(tuple(cards))
        return tables.Table(
            slots=tuple(slots),
            round=state.round,
            first=state.first,
            phase=PHASE_OF[state.ask],
            to_act=None if state.ask == ASK_NOTHING else state.to_act,
            cursor=state.cursor if resolving else None,
            acting=None if state.acting == NO_KIND else self.name(state.acting),
            points=tuple([state.points[p] for p in range(rules.n_players)]),
            hands=tuple([self.kinds_in(state.hands[p]) for p in range(rules.n_players)]),
            piles=tuple([self.kinds_in(state.piles[p]) for p in range(rules.n_players)]),
            observer=observer,
        )

    cdef name(self, int kind):
        return self.cards[kind].id if kind < N_KINDS else None

    def name_of(self, int kind):
        return self.cards[kind].name

    def place_at(self, bytes view, int spot):
        cdef const State* state = <const State*><const char*>view
        cdef int nth = spot % (<const Rules*>self.rules).cards_each + 1
        cdef uint8_t at
        cdef int slot, depth

        for slot in range(state.n_slots):
            at = state.tops[slot]
            depth = 0
            while at != NO_CARD:
                if at == spot:
                    return {"slot": slot, "under": depth, "nth": nth}
                at = state.below[at]
                depth += 1
        raise ValueError(f"spot: no card in the queue has number {spot}")

    cdef kinds_in(self, uint32_t hand):
        if hand == UNKNOWN_HAND:
            return None
        return tuple([self.cards[kind].id for kind in range(N_KINDS) for _ in range(held(hand, kind))])

    # --- text ---

    def read_text(self, str text):
        table = notation.read_table(text, self.frame)
        return table.observer, self.pack_table(table)

    def write_state(self, bytes state, observer):
        return notation.write_table(self.table_of(state, observer), self.frame)

    def read_steps(self, str text):
        return self.steps_of(notation.read_action(text, self.cards))

    def steps_of(self, dict parts):
        """Return the steps of an action from its parts."""
        verb = parts["type"]
        if verb == "place":
            kind = UNKNOWN_KIND if parts["card"] == "?" else self.kind(parts["card"])
            at = parts["at"]
            place = 0 if at == "front" else BACK if at == "back" else ON | at["on"]
            return (VERB_PLACE << 16 | kind << 8 | place,)
        elif verb == "reveal":
            return (VERB_REVEAL << 16,)
        elif verb == "keep":
            return (VERB_KEEP << 16,)
        elif verb == "target":
            return (VERB_TARGET << 16 | parts["slot"] << 8,)
        elif verb == "rob":
            return (VERB_ROB << 16 | parts["player"] << 8,)
        elif verb == "copy":
            return (VERB_COPY << 16 | parts["slot"] << 8,)
        elif verb == "move":
            to = parts["to"]
            place = to["gap"] if "gap" in to else ON | to["on"]
            return (VERB_LIFT << 16 | parts["slot"] << 8, VERB_DROP << 16 | place << 8)
        near, far = parts["slots"]
        return (VERB_PAIR_FIRST << 16 | near << 8, VERB_PAIR_SECOND << 16 | far << 8)

    def step_fields(self, tuple steps):
        cdef action_t step = steps[0]
        cdef int verb = step >> 16
        cdef int first = step >> 8 & 0xFF
        cdef int second = step & 0xFF

        if len(steps) == 2:
            step = steps[1]
            second = step >> 8 & 0xFF
            if verb == VERB_PAIR_FIRST:
                return {"type": "pair", "slots": [first, second]}
            to = {"on": second & (ON - 1)} if second & ON else {"gap": second}
            return {"type": "move", "slot": first, "to": to}
        if verb == VERB_PLACE:
            at = "front" if second == 0 else "back" if second == BACK else {"on": second & (ON - 1)}
            return {"type": "place", "card": self.name(first) or "?", "at": at}
        elif verb == VERB_REVEAL or verb == VERB_KEEP:
            return {"type": "reveal" if verb == VERB_REVEAL else "keep"}
        elif verb == VERB_ROB:
            return {"type": "rob", "player": first}
        return {"type": "target" if verb == VERB_TARGET else "copy", "slot": first}

    def explain_illegal(self, GameState at, Action action, list legal):
        return notation.explain_illegal(at.table, action.fields, [possible.fields for possible in legal], self.frame)

    def write_steps(self, tuple steps):
        return notation.write_action(self.step_fields(steps), self.cards)

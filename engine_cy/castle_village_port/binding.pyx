# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Castle, Village, Port as a `GameApi`, and the conversion of tables in words to states and back."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy

from engine_cy.castle_village_port.features cimport FEATURE_API, fits
from engine_cy.castle_village_port.rules cimport Rules, pack
from engine_cy.castle_village_port.state cimport (
    NO_CARD, NOT_SHOWN, UNKNOWN_HAND, State, bit, drawn_before, owner_of, value_of,
)
from engine_cy.castle_village_port.evidence cimport add_belief_functions
from engine_cy.castle_village_port.turn cimport apply, clear, end_round_from, legal_actions, payoffs, play_out
from engine_cy.castle_village_port.validate cimport find_faults
from engine_cy.castle_village_port.view cimport key, observe
from engine_cy.castle_village_port.words cimport (
    ASK_COPY, ASK_DISCARD, ASK_MOVE, ASK_NOTHING, ASK_ORDER, ASK_PLACE, ASK_REPLACE, ASK_ROB, ASK_SELECT, ASK_SWAP,
    GOLD_MAX, LOCATIONS, MAX_VALUE, NOWHERE, UNKNOWN,
    VERB_COPY, VERB_DISCARD, VERB_MOVE, VERB_ORDER, VERB_PLACE, VERB_REPLACE,
    VERB_ROB, VERB_SELECT, VERB_SWAP,
)
from engine_cy.castle_village_port.worlds cimport count_secrets, sample, write_secret
from engine_cy.faults cimport Breaches, byte
from engine_cy.values cimport Action, Game, GameState
from engine_cy.game_api cimport CHANCE, NOBODY, GameApi, Knowledge, action_t, begin_interface
from engine_cy.learned.evaluation cimport evaluate_state
from engine_cy.learned.policy cimport choose_action, prior_of
from engine_cy.support.rng cimport below, rng_t

from engine_cy.castle_village_port import notation
from engine_cy.castle_village_port import table as tables
from engine_cy.castle_village_port.cards import LOCATIONS as NAMES
from engine_cy.castle_village_port.editions import EDITIONS, read_ruleset, table_numbers
from engine_cy.castle_village_port.faults import SENTENCES, fault_of
from engine_cy.castle_village_port.features import WEIGHTS
from engine_cy.castle_village_port.validate import Rule
from engine_cy.errors import IllegalActionError, NotationError, NoWorldError, listed
from engine_cy.tables import refusal
from engine_cy.values import read_seat


# --- the functions of GameApi ---------------------------------------------------------------------------------

cdef void deal(const Rules* rules, State* state, int first, rng_t* rng) noexcept nogil:
    """Shuffle each player's cards into a deck, and draw their hand."""
    cdef int player, value, n, _i
    cdef uint8_t cards[MAX_VALUE]

    clear(rules, state, first)
    for player in range(rules.n_players):
        n = 0
        for value in range(1, MAX_VALUE + 1):
            if rules.values & bit(value):
                cards[n] = <uint8_t>value
                n += 1
        for _i in range(drawn_before(rules, 1)):
            value = below(rng, n)
            state.hands[player] |= bit(cards[value])
            n -= 1
            cards[value] = cards[n]
        while n:
            value = below(rng, n)
            state.decks[player][state.n_deck[player]] = cards[value]
            state.n_deck[player] += 1
            n -= 1
            cards[value] = cards[n]


cdef int to_act(const Rules* rules, const State* state) noexcept nogil:
    if state.ask == ASK_NOTHING:
        return NOBODY
    elif state.ask == ASK_REPLACE:
        return CHANCE
    return state.to_act


cdef int round_number(const Rules* rules, const State* state) noexcept nogil:
    return state.round


cdef int part(const Rules* rules, const State* state) noexcept nogil:
    return 0


cdef void scores(const Rules* rules, const State* state, int32_t* per_seat) noexcept nogil:
    cdef int player

    for player in range(rules.n_players):
        per_seat[player] = state.gold[player]


# GameApi takes Rules and State as plain bytes, hence the casts.
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

ASK_WORDS = {
    ASK_SELECT: "select", ASK_PLACE: "place", ASK_MOVE: "move", ASK_ROB: "rob", ASK_COPY: "copy", ASK_SWAP: "swap",
    ASK_REPLACE: "replace", ASK_ORDER: "order", ASK_DISCARD: "discard", ASK_NOTHING: None,
}
ASK_OF = {word: ask for ask, word in ASK_WORDS.items()}
RULES = [rule.name for rule in Rule if SENTENCES[rule.name]]      # a rule without a sentence cannot be imported


cdef class CastleVillagePort(Game):
    """Castle, Village, Port with the house's tables or a caller's."""

    cdef readonly object frame

    @staticmethod
    def editions_of(str game):
        return list(EDITIONS)

    def __init__(self, str game, ruleset, players):
        self.ruleset = read_ruleset(ruleset)
        numbers = table_numbers(self.ruleset, players)
        overrides = self.ruleset.overrides()
        self.api = &API
        self.id = game
        self.n_players = players
        edition = self.ruleset.edition
        self.spec = (game, {"edition": edition, **overrides} if overrides else edition, players)
        self.frame = tables.frame_of(numbers)
        pack(<Rules*>self.own(sizeof(Rules)), numbers)
        if fits(<const Rules*>self.rules):
            self.knowledge = &KNOWLEDGE
            self.features = &FEATURE_API
            self.weights = (WEIGHTS,)

    cdef const char* fault(self, const void* state, int observer) noexcept:
        cdef Breaches breaches

        find_faults(<const Rules*>self.rules, <const State*>state, observer, False, &breaches)
        if breaches.n == 0:
            return NULL
        return b"state: breaks a rule"

    cdef object error_for(self, const void* state, int observer):
        cdef Breaches breaches

        find_faults(<const Rules*>self.rules, <const State*>state, observer, False, &breaches)
        return self.worded(&breaches, None)[0].refusal(None if observer < 0 else observer)

    def start(self, deal, first=0):
        """Start a game from each seat's whole deck, top first, before the first draw."""
        return self.from_table(tables.dealt(deal, read_seat(first, self.n_players, "first"), self.frame))

    def read_deal(self, list lines, int first, observer):
        return self.from_table(notation.read_deal(lines, first, observer, self.frame))

    def write_deal(self, GameState start):
        return notation.write_deal(start.table, self.frame)

    # --- an observer's view of an action ---

    cdef list cards_drawn(self, const State* state, action_t action, int player):
        """Return the cards that `player` draws if the action ends the round, in order; UNKNOWN if the deck is."""
        cdef State after

        memcpy(&after, state, sizeof(State))
        apply(<const Rules*>self.rules, &after, action)
        return [state.decks[player][i] for i in range(state.n_deck[player] - 1, after.n_deck[player] - 1, -1)]

    def name_of(self, int kind):
        return str(kind)

    def place_at(self, bytes view, int spot):
        return {"at": "selected"}

    def observed_steps(self, bytes state, tuple steps, int observer):
        cdef State at
        cdef action_t action = steps[0]
        cdef int verb = action >> 24

        memcpy(&at, <const char*>state, sizeof(State))
        names = [str(card) for card in self.cards_drawn(&at, action, observer)]
        if verb == VERB_PLACE and at.to_act != observer:
            names.insert(0, str(at.selected[at.to_act]))
        if (verb == VERB_SELECT and at.to_act != observer) or (verb == VERB_REPLACE and at.victim != observer):
            action = verb << 24 | UNKNOWN << 16
        return (action,), names

    def show(self, bytes view, tuple steps, list names, int observer):
        cdef State state
        cdef action_t action = steps[0]
        cdef int player, i
        text = self.write_steps(steps)

        memcpy(&state, <const char*>view, sizeof(State))
        values = [self.shown_value(name, text) for name in names]
        player = state.to_act
        if action >> 24 == VERB_PLACE and state.selected[player] == NOT_SHOWN:
            if not values:
                raise IllegalActionError(f"action: '{text}' shows the card placed; name it as in '{text} = 9'")
            self.check_possible(&state, observer, player, values[:1], text)
            state.selected[player] = values.pop(0)
        n_drawn = len(self.cards_drawn(&state, action, observer))
        if len(values) != n_drawn:
            raise IllegalActionError(
                f"action: '{text}' makes the observer draw {n_drawn} cards, but {len(values)} are named; name them, in "
                f"order, as in '{text} = 9,4'"
            )
        self.check_possible(&state, observer, observer, values, text)
        for i, value in enumerate(values):
            state.decks[observer][state.n_deck[observer] - 1 - i] = value
        return (<char*>&state)[:sizeof(State)]

    def shown_value(self, str name, str text):
        if not name.isdecimal() or int(name) not in self.frame.values:
            raise NotationError(f"action: {name!r}, as shown by '{text}', is not a card ({self.frame.values})")
        return int(name)

    cdef check_possible(self, const State* state, int observer, int player, list values, str text):
        """Refuse cards that cannot be shown because they lie elsewhere already or are named twice."""
        cdef int location, i
        known = set()

        for location in range(LOCATIONS):
            for i in range(state.n_row[location]):
                if owner_of(state.rows[location][i]) == player:
                    known.add(value_of(state.rows[location][i]))
        known.update([v for v in range(1, 16) if state.piles[player] & bit(v)])
        if player == observer:
            known.update([v for v in range(1, 16) if state.hands[player] & bit(v)], [state.selected[player]])
        for value in values:
            if value in known:
                seat = self.seats[player]
                raise IllegalActionError(f"action: '{text}' cannot show {value}: {seat}'s lies elsewhere")
            known.add(value)

    # --- tables in words ---

    def complete(self, table):
        return tables.complete(table, self.frame)

    def pack(self, table):
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int observer = -1 if table.observer is None else table.observer
        cdef bint ended = table.phase == "round_end" and table.ask is None
        cdef State state
        cdef Breaches breaches

        self.fill(&state, table)
        find_faults(rules, &state, observer, ended, &breaches)
        if ended and breaches.n == 0:
            # Start the walk at the end of the round, up to its first question.
            end_round_from(rules, &state, 0)
            find_faults(rules, &state, observer, False, &breaches)
            table = None
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
        """Write a complete table. Numbers that do not fit become ones that no field accepts."""
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int player, location, i

        clear(rules, state, byte(table.first))
        state.round = byte(table.round)
        state.turn = byte(table.turn)
        state.ask = ASK_OF[table.ask]
        state.revealing = table.phase == "reveal"
        for location, row in enumerate(table.rows):
            if len(row) > rules.n_players * rules.n_cards:
                why = f"cards are more than the {rules.n_players * rules.n_cards} of all players"
                raise refusal(table.observer, NAMES[location], len(row), why)
            self.check_values(table, NAMES[location] + "[{}].value", [card.value for card in row])
            state.n_row[location] = len(row)
            for i, card in enumerate(row):
                state.rows[location][i] = packed_card(card)
        for player in range(rules.n_players):
            state.gold[player] = min(max(table.gold[player], -1), GOLD_MAX + 1)
            state.piles[player] = self.packed_values(table, "piles", player)
            state.hands[player] = self.packed_values(table, "hands", player)
            state.selected[player] = self.packed_selected(table, player)
            if table.orders[player] is not None:
                state.orders[player] = NAMES.index(table.orders[player])
            self.fill_deck(state, table, player)
        self.fill_turn(state, table)

    cdef fill_deck(self, State* state, table, int player):
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int i

        deck = table.decks[player]
        state.n_deck[player] = max(rules.n_cards - drawn_before(rules, state.round), 0)
        if deck is not None:
            self.packed_values(table, "decks", player)
            state.n_deck[player] = len(deck)
            for i, value in enumerate(reversed(deck)):
                state.decks[player][i] = value

    cdef uint8_t packed_selected(self, table, int player) except? 255:
        card = table.selected[player]
        if card is None:
            return NOT_SHOWN
        elif card:
            self.check_values(table, f"selected[{self.seats[player]}]", [card])
        return card

    cdef uint16_t packed_values(self, table, str field, int player) except? 0:
        """Return a hand, pile or deck as bits."""
        cdef uint16_t cards = 0

        values = getattr(table, field)[player]
        if values is None:
            return UNKNOWN_HAND
        self.check_values(table, f"{field}[{self.seats[player]}]", values)
        for value in values:
            if cards & bit(value):
                path = f"cards[{self.seats[player]}].{value}"
                raise refusal(table.observer, path, values.count(value), "copies; each player has one", NoWorldError)
            cards |= bit(value)
        return cards

    cdef check_values(self, table, str path, values):
        """Refuse values of cards that this table does not have; `path` may have a place for the index."""
        for i, value in enumerate(values):
            if value not in self.frame.values:
                why = f"is not a card of this table ({listed(self.frame.values)})"
                raise refusal(table.observer, path.format(i), value, why)

    cdef fill_turn(self, State* state, table):
        """Write the player to act, the acting card, and the progress of the turn and of the walk."""
        cdef const Rules* rules = <const Rules*>self.rules

        if table.acting is not None:
            state.acting = packed_card(table.acting)
        state.effect = 0 if table.effect is None else byte(table.effect)
        # Chance acts for the owner of the acting card.
        state.to_act = owner_of(state.acting) if table.to_act == CHANCE else byte(table.to_act or 0)
        state.victim = byte(table.victim)
        if table.phase == "select" or table.phase == "reveal":
            state.n_done = (state.to_act + rules.n_players - state.first) % rules.n_players
        if table.walk is not None:
            state.walking = NAMES.index(table.walk)
        state.from_right = table.from_right
        for card in table.due:
            state.due[<int>card.owner] |= bit(card.value)
        for card in table.ranked:
            state.ranked[<int>card.owner] |= bit(card.value)

    def describe(self, GameState at):
        """Return the table in words."""
        return self.table_of(bytes(at), getattr(at, "observer", None))

    def table_of(self, bytes raw, observer):
        cdef State state
        cdef int n = self.n_players

        memcpy(&state, <const char*>raw, sizeof(State))
        players = range(n)
        rows = tuple([
            tuple([row_card(state.rows[location][i]) for i in range(state.n_row[location])])
            for location in range(LOCATIONS)
        ])
        cards = [card for row in rows for card in row]
        phase = "reveal"
        if state.ask == ASK_SELECT:
            phase = "select"
        elif state.ask == ASK_NOTHING:
            phase = "over"
        elif state.walking != NOWHERE:
            phase = "round_end"
        seat = to_act(<const Rules*>self.rules, &state)
        gold = tuple([state.gold[p] for p in players])
        return tables.Table(
            rows=rows,
            round=state.round,
            turn=state.turn,
            first=state.first,
            phase=phase,
            ask=ASK_WORDS[state.ask],
            to_act=None if seat == NOBODY else seat,
            gold=gold,
            selected=tuple([None if state.selected[p] == NOT_SHOWN else state.selected[p] for p in players]),
            orders=tuple([None if state.orders[p] == NOWHERE else NAMES[state.orders[p]] for p in players]),
            hands=tuple([None if state.hands[p] == UNKNOWN_HAND else values_in(state.hands[p]) for p in players]),
            decks=tuple([
                None if observer is not None else
                tuple([state.decks[p][i] for i in range(state.n_deck[p] - 1, -1, -1)]) for p in players
            ]),
            piles=tuple([values_in(state.piles[p]) for p in players]),
            acting=None if state.acting == NO_CARD else row_card(state.acting),
            effect=None if state.acting == NO_CARD else state.effect,
            victim=None if state.victim == NOWHERE else state.victim,
            walk=None if state.walking == NOWHERE else NAMES[state.walking],
            due=tuple([card for card in cards if state.due[<int>card.owner] & bit(card.value)]),
            ranked=tuple([card for card in cards if state.ranked[<int>card.owner] & bit(card.value)]),
            from_right=bool(state.from_right),
            observer=observer,
            remembered_gold=gold if self.frame.hidden_gold and observer is not None else None,
        )

    # --- text ---

    def read_text(self, str text):
        table = notation.read_table(text, self.frame)
        return table.observer, self.pack_table(table)

    def write_state(self, bytes state, observer):
        return notation.write_table(self.table_of(state, observer), self.frame)

    def read_steps(self, str text):
        """Return the step of an action in words."""
        parts = notation.read_action(text)
        verb = parts["type"]
        if verb == "select" or verb == "replacement":
            value = UNKNOWN if parts["card"] == "?" else parts["card"]
            return ((VERB_SELECT if verb == "select" else VERB_REPLACE) << 24 | value << 16,)
        elif verb == "place_in":
            return (VERB_PLACE << 24 | NAMES.index(parts["location"]) << 16 | parts["index"] << 8,)
        elif verb == "move":
            card = packed_part(parts["card"])
            return (VERB_MOVE << 24 | card << 16 | NAMES.index(parts["to"]) << 8 | parts["index"],)
        elif verb == "order":
            return (VERB_ORDER << 24 | parts["player"] << 16 | NAMES.index(parts["location"]) << 8,)
        elif verb == "rob" or verb == "swap":
            return ((VERB_ROB if verb == "rob" else VERB_SWAP) << 24 | parts["player"] << 16,)
        return ((VERB_COPY if verb == "copy" else VERB_DISCARD) << 24 | packed_part(parts["card"]) << 16,)

    def step_fields(self, tuple steps):
        cdef action_t step = steps[0]
        cdef int verb = step >> 24
        cdef int a = step >> 16 & 0xFF
        cdef int b = step >> 8 & 0xFF

        if verb == VERB_SELECT or verb == VERB_REPLACE:
            return {"type": "select" if verb == VERB_SELECT else "replacement", "card": "?" if a == UNKNOWN else a}
        elif verb == VERB_PLACE:
            return {"type": "place_in", "location": location_name(a), "index": b}
        elif verb == VERB_MOVE:
            return {"type": "move", "card": card_part(a), "to": location_name(b), "index": <int>(step & 0xFF)}
        elif verb == VERB_ORDER:
            return {"type": "order", "player": a, "location": location_name(b)}
        elif verb == VERB_ROB or verb == VERB_SWAP:
            return {"type": "rob" if verb == VERB_ROB else "swap", "player": a}
        return {"type": "copy" if verb == VERB_COPY else "discard", "card": card_part(a)}

    def explain_illegal(self, GameState at, Action action, list legal):
        return notation.explain_illegal(at.table, action.fields, [possible.fields for possible in legal], self.frame)

    def write_steps(self, tuple steps):
        return notation.write_action(self.step_fields(steps))


cdef row_card(uint8_t card):
    return tables.RowCard(value_of(card), owner_of(card))


cdef uint8_t packed_card(card) except? 0:
    return card.owner << 4 | card.value


cdef values_in(uint16_t cards):
    return tuple([value for value in range(MAX_VALUE, 0, -1) if cards & bit(value)])


cdef card_part(int card):
    return {"value": card & 0x0F, "player": card >> 4}


cdef int packed_part(card) except -1:
    return card["player"] << 4 | card["value"]


cdef location_name(int location):
    return NAMES[location % LOCATIONS]

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Castle, Village, Port as a `GameApi`, and the conversion of tables in words to states and back."""
from libc.stdint cimport int32_t, uint8_t, uint16_t
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
    ASK_NOTHING, ASK_REPLACE, GOLD_MAX, LOCATIONS, MAX_VALUE, NOWHERE, UNKNOWN, VERB_PLACE, VERB_REPLACE, VERB_SELECT,
)
from engine_cy.castle_village_port.worlds cimport count_secrets, sample, write_secret
from engine_cy.faults cimport Breaches, byte
from engine_cy.table_game cimport TableGame, find_faults_f
from engine_cy.game_api cimport (
    CHANCE, GAME_OVER, GameApi, Knowledge, action_t, begin_interface,
    apply_f, count_secrets_f, deal_f, key_f, legal_f, observe_f, part_f, payoffs_f, play_out_f, round_f, sample_f,
    scores_f, to_act_f, write_secret_f,
)
from engine_cy.learned.evaluation cimport evaluate_state
from engine_cy.learned.policy cimport choose_action, prior_of
from engine_cy.support.rng cimport below, rng_t

from engine_cy.castle_village_port import notation
from engine_cy.castle_village_port import table as tables
from engine_cy.castle_village_port.actions import ACTIONS
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
        return GAME_OVER
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

FEATURE_API.game = &API


# --- Knowledge ------------------------------------------------------------------------------------------------

cdef void prior(const void* rules, const void* state, const action_t* actions, int n, float* shares) noexcept nogil:
    prior_of(&FEATURE_API, rules, state, actions, n, shares)


cdef action_t choose(const void* rules, const void* state, rng_t* rng) noexcept nogil:
    return choose_action(&FEATURE_API, &FEATURE_API.playouts, rules, state, rng)


cdef void evaluate(const void* rules, const void* state, double* per_seat) noexcept nogil:
    evaluate_state(&FEATURE_API, (<const Rules*>rules).n_players, rules, state, per_seat)


cdef Knowledge KNOWLEDGE
KNOWLEDGE.prior = prior
KNOWLEDGE.prior_by_hand = NULL      # it takes long: more iterations are worth more
KNOWLEDGE.choose = choose
KNOWLEDGE.evaluate = evaluate
add_belief_functions(&KNOWLEDGE)


# --- the game in Python ---------------------------------------------------------------------------------------

ASK_OF = {**ACTIONS.questions, "over": ASK_NOTHING}
ASK_WORDS = {ask: word for word, ask in ASK_OF.items()}
RULES = [rule.name for rule in Rule if SENTENCES[rule.name]]      # a rule without a sentence cannot be imported


cdef void state_faults(const Rules* rules, const State* state, int observer, Breaches* breaches) noexcept nogil:
    find_faults(rules, state, observer, False, breaches)


cdef class CastleVillagePort(TableGame):
    """Castle, Village, Port with the house's tables or a caller's."""

    @staticmethod
    def editions_of(str game):
        return list(EDITIONS)

    def __init__(self, str game, ruleset, players):
        self.ruleset = read_ruleset(ruleset)
        numbers = table_numbers(self.ruleset, players)
        overrides = self.ruleset.overrides()
        self.api = &API
        self.find_faults = <find_faults_f>state_faults
        self.tables, self.notation, self.actions = tables, notation, ACTIONS
        self.fault_of, self.rule_names = fault_of, RULES
        self.id = game
        self.n_players = players
        edition = self.ruleset.edition
        self.spec = (game, {"edition": edition, **overrides} if overrides else edition, players)
        self.shape = tables.shape_of(numbers)
        pack(<Rules*>self.own(sizeof(Rules)), numbers)
        if fits(<const Rules*>self.rules):
            self.knowledge = &KNOWLEDGE
            self.features = &FEATURE_API
            self.weights = (WEIGHTS,)

    def start(self, deal, first=0):
        """Start a game from each seat's whole deck, top first, before the first draw."""
        return self.from_deal(tables.Deal(read_seat(first, self.n_players, "first"), tuple(map(tuple, deal))))

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
        if not name.isdecimal() or int(name) not in self.shape.values:
            raise NotationError(f"action: {name!r}, as shown by '{text}', is not a card ({self.shape.values})")
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

    def pack(self, parts):
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int observer = -1 if parts.observer is None else parts.observer
        cdef bint ended = parts.table.ask == "walk"
        cdef State state
        cdef Breaches breaches

        derived_faults = tables.derived_faults(parts, self.shape)
        self.fill(&state, parts)
        find_faults(rules, &state, observer, ended, &breaches)
        if ended and breaches.n == 0:
            # Start the walk at the end of the round, up to its first question.
            end_round_from(rules, &state, 0)
            find_faults(rules, &state, observer, False, &breaches)
            parts = None
        return (<char*>&state)[:sizeof(State)], self.worded(&breaches, parts) + derived_faults

    cdef fill(self, State* state, parts):
        """Write a complete table. Numbers that do not fit become ones that no field accepts."""
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int player, location, i

        table = parts.table
        clear(rules, state, byte(table.first))
        state.round = byte(table.round)
        state.turn = byte(table.turn)
        state.ask = ASK_NOTHING if table.ask == "walk" else ASK_OF[table.ask]
        state.revealing = table.phase == "reveal"
        for location, row in enumerate(table.rows):
            if len(row) > rules.n_players * rules.n_cards:
                why = f"cards are more than the {rules.n_players * rules.n_cards} of all players"
                raise refusal(parts.observer, f"table.{NAMES[location]}", len(row), why)
            self.check_values(parts, f"table.{NAMES[location]}[{{}}].value", [card.value for card in row])
            state.n_row[location] = len(row)
            for i, card in enumerate(row):
                state.rows[location][i] = packed_card(card)
        gold = table.known_gold
        for player in range(rules.n_players):
            state.gold[player] = min(max(gold[player], -1), GOLD_MAX + 1)
            if table.orders[player] is not None:
                state.orders[player] = NAMES.index(table.orders[player])
            state.piles[player] = self.packed_values(parts, f"table.piles[{self.seats[player]}]", table.piles[player])
            self.fill_secrets(state, parts, player)
        self.fill_turn(state, table)

    cdef fill_secrets(self, State* state, parts, int player):
        """Write a player's hand, selected card and deck, as far as they are known."""
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int i

        own = parts.secrets_of(player)
        state.n_deck[player] = max(rules.n_cards - drawn_before(rules, state.round), 0)
        if own is None:
            state.hands[player] = UNKNOWN_HAND
            state.selected[player] = NOT_SHOWN if player in parts.table.selected else 0
            return
        path = tables.path_of(parts, player)
        state.hands[player] = self.packed_values(parts, f"{path}.hand", own.hand)
        if own.selected:
            self.check_values(parts, f"{path}.selected", [own.selected])
        state.selected[player] = own.selected
        if parts.observer is None:
            deck = parts.decks[player]
            self.packed_values(parts, f"decks[{self.seats[player]}]", deck)
            state.n_deck[player] = len(deck)
            for i, value in enumerate(reversed(deck)):
                state.decks[player][i] = value

    cdef uint16_t packed_values(self, parts, str path, values) except? 0:
        """Return a hand, pile or deck as bits."""
        cdef uint16_t cards = 0

        self.check_values(parts, path + "[{}]", values)
        for value in values:
            if cards & bit(value):
                why = f"copies of {value}; each player has one"
                raise refusal(parts.observer, path, values.count(value), why, NoWorldError)
            cards |= bit(value)
        return cards

    cdef check_values(self, parts, str path, values):
        """Refuse values of cards that this table does not have; `path` may have a place for the index."""
        for i, value in enumerate(values):
            if value not in self.shape.values:
                why = f"is not a card of this table ({listed(self.shape.values)})"
                raise refusal(parts.observer, path.format(i), value, why)

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
            state.walking = NAMES.index(table.walk.location)
            state.from_right = table.walk.from_right
            for card in table.walk.due:
                state.due[<int>card.owner] |= bit(card.value)
            for card in table.walk.ranked:
                state.ranked[<int>card.owner] |= bit(card.value)

    def picture(self, at):
        from engine_cy.castle_village_port.pictures import picture
        return picture(at)

    def parts_of(self, bytes raw, observer):
        cdef State state
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int n = self.n_players
        cdef int drawn, p

        memcpy(&state, <const char*>raw, sizeof(State))
        rows = [
            tuple([row_card(state.rows[location][i]) for i in range(state.n_row[location])])
            for location in range(LOCATIONS)
        ]
        cards = [card for row in rows for card in row]
        seat = to_act(rules, &state)
        gold = tuple([state.gold[p] for p in range(n)])
        hides_gold = self.shape.hidden_gold and observer is not None
        piles = tuple([values_in(state.piles[p]) for p in range(n)])
        selected = tuple([p for p in range(n) if state.selected[p]])
        played = [sum([card.owner == p for card in cards]) + len(piles[p]) + (p in selected) for p in range(n)]
        drawn = drawn_before(rules, state.round)
        walk = None
        if state.walking != NOWHERE:
            walk = tables.Walk(
                NAMES[state.walking],
                tuple([card for card in cards if state.due[<int>card.owner] & bit(card.value)]),
                tuple([card for card in cards if state.ranked[<int>card.owner] & bit(card.value)]),
                bool(state.from_right),
            )
        table = tables.Table(
            castle=rows[0],
            village=rows[1],
            port=rows[2],
            round=state.round,
            turn=state.turn,
            first=state.first,
            ask=ASK_WORDS[state.ask],
            to_act=None if seat == GAME_OVER else seat,
            acting=None if state.acting == NO_CARD else row_card(state.acting),
            effect=None if state.acting == NO_CARD else state.effect,
            victim=None if state.victim == NOWHERE else state.victim,
            gold=None if hides_gold else gold,
            remembered_gold=gold if hides_gold else None,
            orders=tuple([None if state.orders[p] == NOWHERE else NAMES[state.orders[p]] for p in range(n)]),
            piles=piles,
            walk=walk,
            hand_sizes=tuple([drawn - played[p] for p in range(n)]),
            deck_sizes=(rules.n_cards - drawn,) * n,
            selected=selected,
        )
        if observer is not None:
            return tables.SeenTable(
                observer, table, tables.Secrets(values_in(state.hands[<int>observer]), state.selected[<int>observer]))
        decks = tuple([tuple([state.decks[p][i] for i in range(state.n_deck[p] - 1, -1, -1)]) for p in range(n)])
        secrets = tuple([tables.Secrets(values_in(state.hands[p]), state.selected[p]) for p in range(n)])
        return tables.WholeTable(table, secrets, decks)


cdef row_card(uint8_t card):
    return tables.RowCard(value_of(card), owner_of(card))


cdef uint8_t packed_card(card) except? 0:
    return card.owner << 4 | card.value


cdef values_in(uint16_t cards):
    return tuple([value for value in range(MAX_VALUE, 0, -1) if cards & bit(value)])


# The games of this folder, and its place in the list of all games.
GAMES = {"castle_village_port": CastleVillagePort}
PLACE = 2

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The binding of Oriflamme: fills in GameApi and Knowledge, and converts tables in words to states and back."""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcpy

from engine_cy.faults cimport Breaches, byte
from engine_cy.table_game cimport TableGame, find_faults_f
from engine_cy.values cimport Game, View
from engine_cy.game_api cimport (
    DECISION_BEGUN, DECISION_UNFINISHED, GAME_OVER, GameApi, Knowledge, action_t, begin_interface,
    apply_f, count_secrets_f, deal_f, key_f, legal_f, observe_f, part_f, payoffs_f, play_out_f, round_f, sample_f,
    scores_f, to_act_f, write_secret_f,
)
from engine_cy.learned.evaluation cimport evaluate_state
from engine_cy.learned.policy cimport choose_action, prior_of, shares_of
from engine_cy.oriflamme cimport worlds
from engine_cy.oriflamme.features cimport FEATURE_API
from engine_cy.oriflamme.rules cimport Rules, pack
from engine_cy.oriflamme.state cimport (
    FACE_UP, KIND, MASKED, UNKNOWN_HAND, State, card_at, cards_played, family, held, hold, is_unknown,
)
from engine_cy.oriflamme.evidence cimport add_belief_functions
from engine_cy.oriflamme.turn cimport apply, clear, legal_actions, payoffs, play_out, resolve
from engine_cy.oriflamme.validate cimport find_faults, find_table_faults
from engine_cy.oriflamme.view cimport key, observe
from engine_cy.oriflamme.words cimport (
    ASK_DROP, ASK_LIFT, ASK_NOTHING, ASK_PAIR_FIRST, ASK_PAIR_SECOND, ASK_PLACE, ASK_REVEAL, NO_CARD, NO_KIND,
    UNKNOWN_KIND, VERB_PLACE,
)
from engine_cy.support.rng cimport below, rng_t

from engine_cy.errors import IllegalActionError, NoWorldError, listed
from engine_cy.tables import refusal
from engine_cy.values import read_seat
from engine_cy.oriflamme import notation
from engine_cy.oriflamme import table as tables
from engine_cy.oriflamme.actions import ACTIONS
from engine_cy.oriflamme.cards import read_card
from engine_cy.oriflamme.editions import editions_of, read_ruleset, table_numbers
from engine_cy.oriflamme.evidence import BELIEFS
from engine_cy.oriflamme.faults import SENTENCES, fault_of
from engine_cy.oriflamme.features import WEIGHTS
from engine_cy.oriflamme.validate import Rule


# --- GameApi --------------------------------------------------------------------------------------------------

cdef void deal(const Rules* rules, State* state, int first, rng_t* rng) noexcept nogil:
    """Deal each player a random hand, with equally many cards of each family."""
    cdef int player, kind, card, n, _family, _i
    cdef int per_family = rules.hand_size // rules.families
    cdef uint8_t kinds[32]

    clear(rules, state, first)
    for player in range(rules.n_players):
        for _family in range(rules.families):
            n = 0
            for kind in range(rules.n_kinds):
                for _i in range(rules.family[kind]):
                    kinds[n] = <uint8_t>kind
                    n += 1
            for _i in range(per_family):
                card = below(rng, n)
                state.hands[player] = hold(rules, state.hands[player], kinds[card])
                n -= 1
                kinds[card] = kinds[n]


cdef int to_act(const Rules* rules, const State* state) noexcept nogil:
    if state.ask == ASK_NOTHING:
        return GAME_OVER
    return state.to_act


cdef int round_number(const Rules* rules, const State* state) noexcept nogil:
    return state.round


cdef int part(const Rules* rules, const State* state) noexcept nogil:
    if state.ask == ASK_LIFT or state.ask == ASK_PAIR_FIRST:
        return DECISION_UNFINISHED
    elif state.ask == ASK_DROP or state.ask == ASK_PAIR_SECOND:
        return DECISION_BEGUN
    return 0


cdef void scores(const Rules* rules, const State* state, int32_t* per_seat) noexcept nogil:
    cdef int player

    for player in range(rules.n_players):
        per_seat[player] = state.points[player]


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
API.sample = <sample_f>worlds.sample
API.count_secrets = <count_secrets_f>worlds.count_secrets
API.write_secret = <write_secret_f>worlds.write_secret
FEATURE_API.game = &API


# --- Knowledge ------------------------------------------------------------------------------------------------

cdef void prior(const void* rules, const void* state, const action_t* actions, int n, float* shares) noexcept nogil:
    prior_of(&FEATURE_API, rules, state, actions, n, shares)


cdef void prior_by_hand(const void* rules, const void* state, const action_t* actions, int n,
                        float* shares) noexcept nogil:
    # Opponents know what they do: neither soft nor wide, which would take longer for nothing.
    shares_of(&FEATURE_API, &FEATURE_API.playouts, rules, state, actions, n, shares)


cdef action_t choose(const void* rules, const void* state, rng_t* rng) noexcept nogil:
    return choose_action(&FEATURE_API, &FEATURE_API.playouts, rules, state, rng)


cdef void evaluate(const void* rules, const void* state, double* per_seat) noexcept nogil:
    evaluate_state(&FEATURE_API, (<const Rules*>rules).n_players, rules, state, per_seat)


cdef Knowledge KNOWLEDGE
KNOWLEDGE.prior = prior
KNOWLEDGE.prior_by_hand = prior_by_hand
KNOWLEDGE.choose = choose
KNOWLEDGE.evaluate = evaluate
add_belief_functions(&KNOWLEDGE)


# --- the game in Python ---------------------------------------------------------------------------------------

# The questions in words. Outside, both halves of a decision are one question.
ASK_OF = {**ACTIONS.questions, "over": ASK_NOTHING}
ASK_WORDS = {ask: word for word, ask in ASK_OF.items()}
RULES = [rule.name for rule in Rule if SENTENCES[rule.name]]      # a rule without a sentence cannot be imported

cdef enum:
    NO_SUCH_KIND = 64 | MASKED - 1        # a card of another edition, in a table in words


cdef class Oriflamme(TableGame):
    """Oriflamme or its prototype, which share the rules code."""

    cdef readonly tuple cards

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
        self.find_faults = <find_faults_f>find_faults
        self.tables, self.notation, self.actions = tables, notation, ACTIONS
        self.fault_of, self.rule_names = fault_of, RULES
        self.weights = (WEIGHTS, BELIEFS)
        self.id = game
        self.n_players = players
        self.spec = (game, spec, players)
        self.cards = self.ruleset.cards
        self.shape = tables.TableShape(
            self.cards, players, numbers["copies"], numbers["hand_size"], numbers["start_points"], numbers["n_rounds"],
            numbers["cards_per_turn"], numbers["tokens_on_keep"],
        )
        pack(<Rules*>self.own(sizeof(Rules)), self.cards, numbers)

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
        aside = tuple([tuple([read_card(name, self.cards) for name in names]) for names in deal])
        return self.from_deal(tables.Deal(read_seat(first, self.n_players, "first"), aside))

    # --- actions as an observer sees them ---

    cdef list shown_ids(self, const State* state, tuple steps):
        """Return the ids of the face-down cards that an action shows: it turns them up, or they leave the queue."""
        cdef const Rules* rules = <const Rules*>self.rules
        cdef State after = state[0]
        cdef int slot, card_id
        shown = []

        for step in steps:
            apply(rules, &after, step)
        for slot in range(state.n_slots):
            card_id = state.tops[slot]
            # A card that left is NO_CARD, which has this bit, too.
            if not state.cards[card_id] & FACE_UP and after.cards[card_id] & FACE_UP:
                shown.append(card_id)
        return shown

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
        unknown = [i for i in self.shown_ids(&state, steps) if is_unknown(&state, state.cards[i])]
        if len(names) != len(unknown):
            text = self.write_steps(steps)
            raise IllegalActionError(
                f"action: '{text}' shows {len(unknown)} cards that the observer did not know, but names {len(names)}; "
                f"name them as in '{text} = Heir'"
            )
        for card_id, name in zip(unknown, names):
            kind = self.kind(read_card(name, self.cards))
            owner = family(state.cards[card_id])
            if not worlds.unseen(<const Rules*>self.rules, &state, owner) >> kind & 1:
                seat = self.seats[owner]
                raise IllegalActionError(f"action: {name!r} cannot be shown: {seat} has no more of them")
            state.cards[card_id] = <uint8_t>(owner << 4 | kind | FACE_UP)
        return (<char*>&state)[:sizeof(State)]

    # --- tables in words ---

    def pack(self, parts):
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int observer = -1 if parts.observer is None else parts.observer
        cdef State state
        cdef Breaches breaches

        derived_faults = tables.derived_faults(parts, self.shape)
        self.fill(&state, parts)
        if parts.table.ask is None:
            # The card at the cursor acts next. The table in words then no longer describes the state.
            find_table_faults(rules, &state, observer, &breaches)
            if breaches.n:
                return None, self.worded(&breaches, parts) + derived_faults
            resolve(rules, &state)
            parts = None
        find_faults(rules, &state, observer, &breaches)
        return (<char*>&state)[:sizeof(State)], self.worded(&breaches, parts) + derived_faults

    cdef fill(self, State* state, parts):
        """Write a complete table. Numbers that do not fit into a byte become 255, which no field accepts."""
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int player, card_id, below_id

        table = parts.table
        clear(rules, state, byte(table.first))
        state.round = byte(table.round)
        state.ask = ASK_REVEAL if table.ask is None else ASK_OF[table.ask]
        state.to_act = 0 if table.ask == "over" else byte(table.to_act)
        state.cursor = 0 if table.ask == "place" or table.ask == "over" else byte(table.cursor)
        if table.acting is not None:
            state.acting = self.kind(table.acting)
        for slot, kinds in zip(table.slots, tables.kinds_in_queue(parts)):
            below_id = NO_CARD
            for card, kind in zip(reversed(slot.cards), reversed(kinds)):
                card_id = self.free_id(state, parts, slot.family, card.nth)
                state.cards[card_id] = <uint8_t>(
                    self.bits_of(parts, slot.family, kind) | <int>slot.family << 4 | FACE_UP * (card.card is not None))
                state.below[card_id] = <uint8_t>below_id
                state.tokens[card_id] = byte(card.tokens)
                below_id = card_id
            state.tops[state.n_slots] = <uint8_t>below_id
            state.n_slots += 1
        total = sum([len(slot.cards) for slot in table.slots]) + sum([len(pile) for pile in table.piles])
        state.turn = tables.cards_placed(self.shape, table.ask, table.round, table.first, table.to_act, total)
        for player in range(rules.n_players):
            own = parts.secrets_of(player)
            state.points[player] = byte(table.points[player])
            state.piles[player] = self.packed_cards(parts, f"table.piles[{self.seats[player]}]", table.piles[player])
            state.hands[player] = UNKNOWN_HAND if own is None else self.packed_cards(
                parts, f"{tables.path_of(parts, player)}.hand", own.hand)

    cdef int free_id(self, const State* state, parts, int seat, int nth) except -1:
        """Return the id of a card in the queue, which no other card may have."""
        cdef int cards_each = (<const Rules*>self.rules).cards_each
        cdef int card_id

        if not 1 <= nth <= cards_each:
            why = f"is not in 1..{cards_each}, the numbers of the cards that {self.seats[seat]} plays"
            raise refusal(parts.observer, "table.slots", nth, why)
        card_id = seat * cards_each + nth - 1
        if state.cards[card_id] != NO_CARD:
            raise refusal(parts.observer, "table.slots", nth, f"is the number of two cards of {self.seats[seat]}")
        return card_id

    cdef uint32_t packed_cards(self, parts, str path, names) except? 0:
        """Return a hand or pile as bits."""
        cdef const Rules* rules = <const Rules*>self.rules
        cdef uint32_t cards = 0
        cdef int kind

        for i, name in enumerate(names):
            kind = self.kind(name)
            if kind == NO_SUCH_KIND:
                why = f"is no card of this edition ({listed(self.shape.ids)})"
                raise refusal(parts.observer, f"{path}[{i}]", name, why)
            if held(rules, cards, kind) == rules.held_max[kind]:
                why = f"copies of {name}; a family has {rules.held_max[kind]}"
                raise refusal(parts.observer, path, names.count(name), why, NoWorldError)
            cards = hold(rules, cards, kind)
        return cards

    cdef int bits_of(self, parts, int seat, name) except -1:
        """Return the bits of a card in the queue; refuse it if they cannot say that it is unknown or foreign."""
        cdef int n_kinds = (<const Rules*>self.rules).n_kinds
        cdef int kind = self.kind(name)
        cdef bint known = parts.secrets_of(seat) is not None

        if kind == NO_SUCH_KIND and n_kinds >= MASKED:
            why = f"is no card of this edition ({listed(self.shape.ids)})"
            raise refusal(parts.observer, "table.slots", name, why)
        elif kind == UNKNOWN_KIND and n_kinds > MASKED and known:
            raise refusal(parts.observer, f"{tables.path_of(parts, seat)}.face_down", "?", "must be known; name it")
        return kind & KIND

    cdef int kind(self, name) except -1:
        """Return the number of a card, UNKNOWN_KIND for None."""
        if name is None:
            return UNKNOWN_KIND
        return self.shape.ids.index(name) if name in self.shape.ids else NO_SUCH_KIND

    def picture(self, at):
        from engine_cy.oriflamme.pictures import picture
        return picture(at)

    def parts_of(self, bytes raw, observer):
        cdef const State* state = <const State*><const char*>raw
        cdef const Rules* rules = <const Rules*>self.rules
        cdef int card_id, p
        cdef bint resolving = state.ask != ASK_PLACE and state.ask != ASK_NOTHING
        slots = []
        face_down = [[] for _ in range(rules.n_players)]

        for slot in range(state.n_slots):
            cards = []
            card_id = state.tops[slot]
            while card_id != NO_CARD:
                kind = None if is_unknown(state, state.cards[card_id]) else self.name(state.cards[card_id] & KIND)
                if not state.cards[card_id] & FACE_UP:
                    face_down[family(state.cards[card_id])].append(kind)
                    kind = None
                cards.append(tables.PlayedCard(kind, state.tokens[card_id], card_id % rules.cards_each + 1))
                card_id = state.below[card_id]
            slots.append(tables.Slot(family(card_at(state, slot)), tuple(cards)))
        piles = tuple([self.kinds_in(state.piles[p]) for p in range(rules.n_players)])
        table = tables.Table(
            slots=tuple(slots),
            round=state.round,
            first=state.first,
            ask=ASK_WORDS[state.ask],
            to_act=None if state.ask == ASK_NOTHING else state.to_act,
            cursor=state.cursor if resolving else None,
            acting=None if state.acting == NO_KIND else self.name(state.acting),
            points=tuple([state.points[p] for p in range(rules.n_players)]),
            piles=piles,
            hand_sizes=tuple([rules.hand_size - cards_played(rules, state, p) for p in range(rules.n_players)]),
        )
        secrets = tuple([
            tables.Secrets(self.kinds_in(state.hands[p]), tuple(face_down[p])) for p in range(rules.n_players)])
        return tables.parts_of(table, secrets, observer)

    cdef name(self, int kind):
        return self.cards[kind].id if kind < len(self.cards) else None

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
        cdef const Rules* rules

        if hand == UNKNOWN_HAND:
            return None
        rules = <const Rules*>self.rules
        return tuple([card.id for kind, card in enumerate(self.cards) for _ in range(held(rules, hand, kind))])


# The games of this folder, and its place in the list of all games.
GAMES = {"oriflamme": Oriflamme, "oriflamme_prototype": Oriflamme}
PLACE = 1

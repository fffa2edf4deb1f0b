# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Evidence on hidden cards: sums of weights from tables that solver/training/beliefs.py fits.

Most of the evidence for the kind of a face-down card is on the table, its *traces*: the round in which it was placed,
its age, its tokens, the cards above and below it, its targets. A view shows these, so a belief needs no history. A log
of the actions adds the log probabilities with which the player, by their preferences, would have placed such a card
there and kept it.

A trace is read by the player's *style*: that of a strong search, of a plain one, of the policy, or random play. Each
style has its weights. A log shows how probable each style is; the evidence is the mean over the styles, so it is weak
where they disagree or the player may be playing at random.
"""
from cpython cimport array
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from engine_cy.support.portable_math cimport logarithm
from engine_cy.support.softmax cimport soften
from engine_cy.families cimport COPIES_MAX
from engine_cy.values cimport Position, View
from engine_cy.game_api cimport (
    MAX_ACTIONS, MAX_KINDS, MAX_PLAYERS, ActionEvidence, Knowledge, SecretEvidence, action_t,
    log_action_f, read_picks_f, score_secrets_f, write_picks_f,
)
from engine_cy.action_log cimport History
from engine_cy.learned.policy cimport shares_of
from engine_cy.oriflamme.features cimport (
    FEATURE_API, PHASES, SITUATIONS, Summary, fill_summary, list_shown_roles, role_of, set_of, situation,
    threat_to,
)
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport FACE_UP, KIND, State, card_at, cards_played, family, held, hold
from engine_cy.oriflamme.turn cimport legal_actions
from engine_cy.oriflamme.words cimport (
    ASK_COPY, ASK_LIFT, ASK_PLACE, ASK_REVEAL, ASK_TARGET, N_ROLES, NO_CARD, VERB_REVEAL,
)
from engine_cy.oriflamme.worlds cimport Hidden, find_hidden, unseen

from pathlib import Path

from engine_cy.learned.weights import ROLE, Layout, WeightTable, Weights
from engine_cy.oriflamme.features import SETS
from engine_cy.oriflamme.words import Role

cdef enum:
    AGES = 7
    TRACES_EACH = 7     # of a card in a spot
    N_STYLES = 4        # of players
    STYLE_FACTS = 7     # see `list_style_facts`

# The traces of a face-down card: the index of each table in the weights.
TRACES = Layout(Role.__members__)
cdef int OF_AGE = TRACES.add(PHASES, AGES, ROLE)            # rounds left when it was placed, age in rounds
cdef int OF_TOKENS = TRACES.add(2, 5, ROLE)                 # is covered, tokens
cdef int OF_STACK = TRACES.add(3, 3, ROLE)                  # cards above and below: none, face down, face up
cdef int OF_END = TRACES.add(2, 2, ROLE)                    # is at the front, is at the back
cdef int OF_THREAT = TRACES.add(4, ROLE)                    # value of `threat_to`
cdef int OF_STANDING = TRACES.add(PHASES, 3, ROLE)          # rounds left, owner's standing
cdef int OF_FINDS = TRACES.add(2, SITUATIONS, ROLE)         # was kept, value of `situation`
cdef int OF_HAND = TRACES.add(PHASES, 2, ROLE)              # a card in hand: rounds left, has yet to place this round

FACTORS = Layout()
FACTORS.add(2)      # of the logged evidence from the placement of a card and from keeping it

STYLE = Layout()
STYLE.add(STYLE_FACTS)

# A row for each style of play. Random play leaves no traces: its weights are 0.
STYLES = ("search", "plain", "greedy", "random")
assert len(STYLES) == N_STYLES
BELIEFS = Weights(Path(__file__).with_name("beliefs.json"), 3, SETS,
                  {"bare": WeightTable(N_STYLES, TRACES), "told": WeightTable(N_STYLES, TRACES),
                   "factors": WeightTable(N_STYLES, FACTORS), "styles": WeightTable(N_STYLES, STYLE)})
# Weights by set: of the traces, without [0] and with [1] a log of the actions, and of the logged evidence.
cdef int N_TRACES = BELIEFS.width("bare")
cdef const float* TRACE_WEIGHTS[2]
TRACE_WEIGHTS[0] = (<array.array>BELIEFS.memory["bare"]).data.as_floats
TRACE_WEIGHTS[1] = (<array.array>BELIEFS.memory["told"]).data.as_floats
cdef const float* FACTOR_WEIGHTS = (<array.array>BELIEFS.memory["factors"]).data.as_floats
cdef const float* STYLE_WEIGHTS = (<array.array>BELIEFS.memory["styles"]).data.as_floats


# The place of a face-down card, from which its traces follow.
cdef struct Spot:
    int slot
    int above           # the card above it: 0 none, 1 face down, 2 face up
    int beneath         # the card below it, likewise
    int threat


cdef inline int face(const State* state, uint8_t card_id) noexcept nogil:
    if card_id == NO_CARD:
        return 0
    return 2 if state.cards[card_id] & FACE_UP else 1


cdef inline Spot spot_of(const Rules* rules, const State* view, const Summary* summary, int card_id) noexcept nogil:
    cdef Spot spot
    cdef int slot, above
    cdef uint8_t at

    memset(&spot, 0, sizeof(spot))
    for slot in range(view.n_slots):
        above = 0
        at = view.tops[slot]
        while at != NO_CARD:
            if at == card_id:
                spot.slot = slot
                spot.above = above
                spot.beneath = face(view, view.below[at])
                spot.threat = threat_to(rules, view, summary, slot)
                return spot
            above = face(view, at)
            at = view.below[at]
    return spot


cdef inline void traces_of(const Rules* rules, const State* view, const Summary* summary, const Spot* spot, int card_id,
                           int role, uint16_t* traces) noexcept nogil:
    """Write the indices of the traces that a card would have in this role."""
    cdef int placed = 1 + card_id % rules.cards_each // rules.cards_per_turn      # its round
    cdef int age = min(view.round - placed, AGES - 1)
    cdef bint was_kept = age > 0 or view.tokens[card_id] > 0
    cdef int before = min(rules.n_rounds - placed, PHASES - 1)
    cdef int find = situation(rules, view, summary, spot.slot, role)

    traces[0] = <uint16_t>(OF_AGE + (before * AGES + age) * N_ROLES + role)
    traces[1] = <uint16_t>(OF_TOKENS + ((spot.above > 0) * 5 + min(view.tokens[card_id], 4)) * N_ROLES + role)
    traces[2] = <uint16_t>(OF_STACK + (spot.above * 3 + spot.beneath) * N_ROLES + role)
    traces[3] = <uint16_t>(OF_END + ((spot.slot == 0) * 2 + (spot.slot == summary.last)) * N_ROLES + role)
    traces[4] = <uint16_t>(OF_THREAT + spot.threat * N_ROLES + role)
    traces[5] = <uint16_t>(OF_STANDING + (summary.phase * 3 + summary.standing) * N_ROLES + role)
    traces[6] = <uint16_t>(OF_FINDS + (was_kept * SITUATIONS + find) * N_ROLES + role)


cdef inline int trace_in_hand(const Rules* rules, const State* view, int player, int role) noexcept nogil:
    cdef int to_place = cards_played(rules, view, player) < view.round * rules.cards_per_turn

    return OF_HAND + (min(rules.n_rounds - view.round, PHASES - 1) * 2 + to_place) * N_ROLES + role


cdef void list_secrets(const Rules* rules, const State* view, int player, SecretEvidence* evidence) noexcept nogil:
    """List the hidden cards of a player and their possible places, with evidence 0."""
    cdef Hidden hidden
    cdef int kind, copies, i

    find_hidden(rules, view, player, &hidden)
    evidence.n_kinds = 0
    evidence.ordered = False
    evidence.n_families = rules.families
    evidence.family_size = rules.family_size
    for copies in range(COPIES_MAX, 0, -1):
        for kind in range(rules.n_kinds):
            if held(rules, hidden.pool, kind) == copies:
                evidence.kinds[evidence.n_kinds] = <uint8_t>kind
                evidence.held[evidence.n_kinds] = <uint8_t>copies
                evidence.family[evidence.n_kinds] = rules.family[kind]
                evidence.in_hand[evidence.n_kinds] = 0
                evidence.n_kinds += 1
    evidence.n_hand = hidden.n_hand
    evidence.n_spots = hidden.n_ids
    for i in range(hidden.n_ids):
        evidence.spots[i] = hidden.ids[i]
        for kind in range(evidence.n_kinds):
            evidence.in_spot[i][kind] = 0


cdef inline void list_style_facts(const Rules* rules, const State* view, const ActionEvidence* logged, int player,
                                  float* facts) noexcept nogil:
    """Write the facts that speak for a player's style: a constant, and with a log the sums over the player's choices
    and over their face-up cards, whose placement and keeps are known now.
    """
    cdef int card_id

    memset(facts, 0, STYLE_FACTS * sizeof(float))
    facts[0] = 1
    if logged == NULL:
        return
    facts[1] = logged.choices[player]
    facts[2] = logged.by_policy[player]
    facts[3] = logged.by_chance[player]
    for card_id in range(player * rules.cards_each, player * rules.cards_each + cards_played(rules, view, player)):
        if view.cards[card_id] != NO_CARD and view.cards[card_id] & FACE_UP:
            facts[4] += 1
            facts[5] += logged.placed[card_id][view.cards[card_id] & KIND]
            facts[6] += logged.kept[card_id][view.cards[card_id] & KIND]


cdef inline void weigh_styles(const Rules* rules, const State* view, const ActionEvidence* logged, int player,
                              float* shares) noexcept nogil:
    """Write the probability of each style, by logistic regression on the facts."""
    cdef const float* weights = STYLE_WEIGHTS + set_of(rules) * N_STYLES * STYLE_FACTS
    cdef float facts[STYLE_FACTS]
    cdef float preferences[N_STYLES]
    cdef int s, i

    list_style_facts(rules, view, logged, player, facts)
    for s in range(N_STYLES):
        preferences[s] = 0
        for i in range(STYLE_FACTS):
            preferences[s] += weights[s * STYLE_FACTS + i] * facts[i]
    soften(preferences, N_STYLES, shares)


cdef void score_secrets(const Rules* rules, const State* view, int observer, int player, const ActionEvidence* logged,
                        SecretEvidence* evidence) noexcept nogil:
    cdef int which = set_of(rules)
    cdef bint has_log = logged != NULL and logged.n_actions > 0
    cdef const float* weights = TRACE_WEIGHTS[has_log] + which * N_STYLES * N_TRACES
    cdef const float* factors = FACTOR_WEIGHTS + which * N_STYLES * 2
    cdef float styles[N_STYLES]
    cdef Summary summary
    cdef uint32_t shown[MAX_PLAYERS]
    cdef uint16_t traces[TRACES_EACH]
    cdef Spot spot
    cdef int i, k, m, s, role, card_id
    cdef float total

    evidence.n_kinds = 0
    if player == observer:
        return
    list_secrets(rules, view, player, evidence)
    list_shown_roles(rules, view, shown)
    fill_summary(rules, view, shown, player, player, &summary)
    weigh_styles(rules, view, logged, player, styles)
    for k in range(evidence.n_kinds):
        role = role_of(rules, evidence.kinds[k])
        for s in range(N_STYLES):
            evidence.in_hand[k] += styles[s] * weights[s * N_TRACES + trace_in_hand(rules, view, player, role)]
    for i in range(evidence.n_spots):
        card_id = evidence.spots[i]
        spot = spot_of(rules, view, &summary, card_id)
        for k in range(evidence.n_kinds):
            role = role_of(rules, evidence.kinds[k])
            traces_of(rules, view, &summary, &spot, card_id, role, traces)
            for s in range(N_STYLES):
                total = 0
                for m in range(TRACES_EACH):
                    total += weights[s * N_TRACES + traces[m]]
                if has_log:
                    total += factors[2 * s] * logged.placed[card_id][evidence.kinds[k]]
                    total += factors[2 * s + 1] * logged.kept[card_id][evidence.kinds[k]]
                evidence.in_spot[i][k] += styles[s] * total


cdef void write_picks(const Rules* rules, State* world, int player, const SecretEvidence* evidence,
                      const uint8_t* picks) noexcept nogil:
    cdef uint32_t hand = 0
    cdef uint8_t* card
    cdef int i

    for i in range(evidence.n_spots):
        card = &world.cards[evidence.spots[i]]
        card[0] = <uint8_t>(card[0] & ~KIND | evidence.kinds[picks[i]])
    for i in range(evidence.n_spots, evidence.n_spots + evidence.n_hand):
        hand = hold(rules, hand, evidence.kinds[picks[i]])
    world.hands[player] = hand


cdef void read_picks(const Rules* rules, const State* world, int player, const SecretEvidence* evidence,
                     uint8_t* picks) noexcept nogil:
    cdef int number[MAX_KINDS]
    cdef int left[MAX_KINDS]
    cdef int n = evidence.n_spots
    cdef int i, k, kind, _i

    for k in range(evidence.n_kinds):
        number[evidence.kinds[k]] = k
        left[k] = evidence.held[k]
    for i in range(evidence.n_spots):
        picks[i] = <uint8_t>number[world.cards[evidence.spots[i]] & KIND]
        left[picks[i]] -= 1
    for kind in range(rules.n_kinds):
        for _i in range(held(rules, world.hands[player], kind)):
            picks[n] = <uint8_t>number[kind]
            left[number[kind]] -= 1
            n += 1
    for k in range(evidence.n_kinds):
        for _i in range(left[k]):
            picks[n] = <uint8_t>k
            n += 1


# --- the evidence of the actions -----------------------------------------------------------------------------

cdef inline void log_style(ActionEvidence* logged, int player, double by_policy, double by_chance) noexcept nogil:
    """Log the probability of a choice by the policy, and at random; a forced one says nothing."""
    if by_chance == 1:
        return
    logged.choices[player] += 1
    logged.by_policy[player] += <float>logarithm(almost(by_policy, by_chance))
    logged.by_chance[player] += <float>logarithm(by_chance)


cdef inline double almost(double by_policy, double by_chance) noexcept nogil:
    """Return the probability of a choice by a player who takes one choice in twenty at random."""
    return 0.95 * by_policy + 0.05 * by_chance


cdef inline double share_of(const Rules* rules, const State* state, action_t action, double* by_chance) noexcept nogil:
    """Return the probability of an action by the policy, and write that at random; both are 0 if it is illegal."""
    cdef action_t actions[MAX_ACTIONS]
    cdef float shares[MAX_ACTIONS]
    cdef int n = legal_actions(rules, state, actions)
    cdef int i

    by_chance[0] = 0
    shares_of(&FEATURE_API, &FEATURE_API.playouts, rules, state, actions, n, shares)
    for i in range(n):
        if actions[i] == action:
            by_chance[0] = 1.0 / n
            return shares[i]
    return 0


cdef void log_placement(const Rules* rules, const State* view, action_t action, ActionEvidence* logged) noexcept nogil:
    """Log the probability of each card that the player may hold, given its place, as if the hand held all of them."""
    cdef action_t actions[MAX_ACTIONS]
    cdef float shares[MAX_ACTIONS]
    cdef int card_id = view.to_act * rules.cards_each + cards_played(rules, view, view.to_act)
    cdef double by_policy = 0
    cdef int n_here = 0
    cdef int n, i, kind
    cdef State state

    memcpy(&state, view, sizeof(State))
    state.hands[view.to_act] = unseen(rules, view, view.to_act)
    n = legal_actions(rules, &state, actions)
    shares_of(&FEATURE_API, &FEATURE_API.playouts, rules, &state, actions, n, shares)
    for i in range(n):
        if actions[i] & 0xFF == action & 0xFF:
            by_policy += shares[i]
            n_here += 1
    for i in range(n):
        if actions[i] & 0xFF == action & 0xFF:
            kind = actions[i] >> 8 & 0xFF
            logged.placed[card_id][kind] = <float>logarithm(almost(shares[i] / by_policy, 1.0 / n_here))
    log_style(logged, view.to_act, by_policy, n_here / <double>n)


cdef void log_open_choice(const Rules* rules, const State* view, action_t action,
                          ActionEvidence* logged) noexcept nogil:
    """Log the probability of a choice that depends on nothing hidden."""
    cdef State state
    cdef double by_policy, by_chance

    memcpy(&state, view, sizeof(State))
    state.hands[view.to_act] = unseen(rules, view, view.to_act)     # with it, no card of the player is unknown
    by_policy = share_of(rules, &state, action, &by_chance)
    log_style(logged, view.to_act, by_policy, by_chance)


cdef void log_secret_choice(const Rules* rules, const State* view, action_t action, int slot, bint stays_hidden,
                            ActionEvidence* logged) noexcept nogil:
    """Log the probability of a choice for each kind that the player's face-down card in `slot` may have."""
    cdef uint8_t card_id = view.tops[slot]
    cdef uint32_t pool = unseen(rules, view, view.to_act)
    cdef double by_policy = 0
    cdef double by_chance = 0
    cdef double share, even
    cdef int n_kinds = 0
    cdef State state
    cdef int kind

    memcpy(&state, view, sizeof(State))
    state.hands[view.to_act] = pool
    for kind in range(rules.n_kinds):
        if pool >> kind & 1:
            state.cards[card_id] = <uint8_t>(view.cards[card_id] & ~KIND | kind)
            share = share_of(rules, &state, action, &even)
            if stays_hidden:
                logged.kept[card_id][kind] += <float>logarithm(almost(share, even))
            by_policy += share
            by_chance += even
            n_kinds += 1
    log_style(logged, view.to_act, by_policy / n_kinds, by_chance / n_kinds)


cdef void log_action(const Rules* rules, const State* view, action_t action, ActionEvidence* logged) noexcept nogil:
    cdef int slot = -1

    logged.n_actions += 1
    if view.ask == ASK_PLACE:
        log_placement(rules, view, action, logged)
        return
    elif view.ask == ASK_REVEAL:
        slot = view.cursor
    elif view.ask == ASK_TARGET or view.ask == ASK_COPY or view.ask == ASK_LIFT:
        slot = action >> 8 & 0xFF
    if slot >= 0 and not card_at(view, slot) & FACE_UP and family(card_at(view, slot)) == view.to_act:
        # A revealed card is public and needs no evidence.
        log_secret_choice(rules, view, action, slot, action >> 16 != VERB_REVEAL, logged)
    else:
        log_open_choice(rules, view, action, logged)


cdef void add_belief_functions(Knowledge* knowledge) noexcept:
    knowledge.score_secrets = <score_secrets_f>score_secrets
    knowledge.write_picks = <write_picks_f>write_picks
    knowledge.read_picks = <read_picks_f>read_picks
    knowledge.log_action = <log_action_f>log_action


# --- for training ---------------------------------------------------------------------------------------------

EACH = TRACES_EACH


def traces(View view, int player, History history):
    """Return the unweighted evidence on the hidden cards of `player`, for training.

    The tuple holds the game's numbers of the hidden kinds, the number of cards of each, the number of cards in hand,
    and for each kind the index of its trace in hand. Its last item lists for each spot its number and, for each kind,
    the indices of its traces and the logged evidence from its placement and from being kept.
    """
    cdef const Rules* rules = <const Rules*>view.game.rules
    cdef const State* state = <const State*>view.state
    cdef SecretEvidence evidence
    cdef Summary summary
    cdef uint32_t shown[MAX_PLAYERS]
    cdef uint16_t numbers[TRACES_EACH]
    cdef Spot spot
    cdef int i, k, m, card_id

    list_secrets(rules, state, player, &evidence)
    list_shown_roles(rules, state, shown)
    fill_summary(rules, state, shown, player, player, &summary)
    kinds = [evidence.kinds[k] for k in range(evidence.n_kinds)]
    in_hand = [trace_in_hand(rules, state, player, role_of(rules, kind)) for kind in kinds]
    spots = []
    for i in range(evidence.n_spots):
        card_id = evidence.spots[i]
        spot = spot_of(rules, state, &summary, card_id)
        rows = []
        for k in range(evidence.n_kinds):
            traces_of(rules, state, &summary, &spot, card_id, role_of(rules, evidence.kinds[k]), numbers)
            rows.append([numbers[m] for m in range(TRACES_EACH)])
        spots.append((card_id, rows, [history.evidence.placed[card_id][kind] for kind in kinds],
                      [history.evidence.kept[card_id][kind] for kind in kinds]))
    copies = [evidence.held[k] for k in range(evidence.n_kinds)]
    return kinds, copies, evidence.n_hand, in_hand, spots


def style_facts(View view, int player, History history):
    """Return the facts that speak for a player's style, for training."""
    cdef float facts[STYLE_FACTS]
    cdef int i

    list_style_facts(<const Rules*>view.game.rules, <const State*>view.state, &history.evidence, player, facts)
    return [facts[i] for i in range(STYLE_FACTS)]


def secrets(Position position, int player, list spots):
    """Return the kinds of `player`'s cards in these spots and in hand, for training."""
    cdef const Rules* rules = <const Rules*>position.game.rules
    cdef const State* state = <const State*>position.state

    return ([state.cards[card_id] & KIND for card_id in spots],
            [kind for kind in range(rules.n_kinds) for _ in range(held(rules, state.hands[player], kind))])

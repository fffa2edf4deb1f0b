# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Evidence for hidden cards in Castle, Village, Port: for the card that each opponent has selected.

Candidates are the cards that the opponent may hold. A card is the likelier, the better it is for its owner, by the
preferences of actions. Decks are in any order; a card that is not selected may as well be in hand as in the deck.
"""
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from engine_cy.castle_village_port.features cimport FEATURE_API
from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport NO_CARD, UNKNOWN_HAND, State, bit
from engine_cy.castle_village_port.turn cimport legal_actions
from engine_cy.castle_village_port.words cimport ASK_SELECT, MAX_VALUE
from engine_cy.castle_village_port.worlds cimport Hidden, hidden_of
from engine_cy.values cimport Position, View
from engine_cy.learned.policy cimport preferences_of
from engine_cy.game_api cimport (
    MAX_ACTIONS, MAX_KINDS, ActionEvidence, Knowledge, SecretEvidence, action_t,
    log_action_f, read_picks_f, score_secrets_f, write_picks_f,
)

# Weight of preferences in beliefs about selected cards: half of the number that solver/training/beliefs.py fits to a
# mixture of players, as strangers have other preferences.
cdef float PREFERENCE_WEIGHT = 0.225

# The only spot.
cdef enum:
    SELECTED = 0


cdef void list_secrets(const Rules* rules, const State* view, int observer, int player,
                       SecretEvidence* evidence) noexcept nogil:
    """List the cards that a player hides and their possible places, all without evidence."""
    cdef Hidden hidden = hidden_of(rules, view, observer, player)
    cdef int k

    evidence.ordered = True
    evidence.n_families = 0
    evidence.n_kinds = hidden.n_cards
    evidence.n_spots = hidden.with_selected
    evidence.spots[0] = SELECTED
    evidence.n_hand = 0 if player == observer else hidden.n_cards - hidden.n_ordered
    for k in range(hidden.n_cards):
        evidence.kinds[k] = hidden.cards[k]
        evidence.held[k] = 1
        evidence.family[k] = 0
        evidence.in_hand[k] = 0
        evidence.in_spot[0][k] = 0


cdef void prefer_selections(const Rules* rules, const State* view, int player, const SecretEvidence* evidence,
                            float* preferences) noexcept nogil:
    """Compute the player's preference for selecting each card, as if all candidates were in hand."""
    cdef action_t actions[MAX_ACTIONS]
    cdef float by_action[MAX_ACTIONS]
    cdef int action_of[MAX_VALUE + 1]
    cdef State state
    cdef int n, i, k

    memcpy(&state, view, sizeof(State))
    state.ask = ASK_SELECT
    state.to_act = <uint8_t>player
    state.selected[player] = NO_CARD
    state.hands[player] = 0
    for k in range(evidence.n_kinds):
        state.hands[player] |= bit(evidence.kinds[k])
    n = legal_actions(rules, &state, actions)
    preferences_of(&FEATURE_API, &FEATURE_API.playouts, rules, &state, actions, n, by_action)
    for i in range(n):
        action_of[actions[i] >> 16 & 0xFF] = i
    for k in range(evidence.n_kinds):
        preferences[k] = by_action[action_of[evidence.kinds[k]]]


cdef void score_secrets(const Rules* rules, const State* view, int observer, int player, const ActionEvidence* logged,
                        SecretEvidence* evidence) noexcept nogil:
    cdef float preferences[MAX_KINDS]
    cdef int k

    list_secrets(rules, view, observer, player, evidence)
    if evidence.n_spots and evidence.n_kinds > 1:
        prefer_selections(rules, view, player, evidence, preferences)
        for k in range(evidence.n_kinds):
            evidence.in_spot[0][k] = PREFERENCE_WEIGHT * preferences[k]


cdef void write_picks(const Rules* rules, State* world, int player, const SecretEvidence* evidence,
                      const uint8_t* picks) noexcept nogil:
    cdef int n = evidence.n_spots
    cdef int i

    if n:
        world.selected[player] = evidence.kinds[picks[0]]
    if evidence.n_hand or world.hands[player] == UNKNOWN_HAND:
        world.hands[player] = 0
        for i in range(evidence.n_hand):
            world.hands[player] |= bit(evidence.kinds[picks[n + i]])
    n += evidence.n_hand
    for i in range(world.n_deck[player]):
        world.decks[player][i] = evidence.kinds[picks[n + i]]


cdef void read_picks(const Rules* rules, const State* world, int player, const SecretEvidence* evidence,
                     uint8_t* picks) noexcept nogil:
    cdef bint taken[MAX_KINDS]
    cdef int n = evidence.n_spots
    cdef int i, k, value

    for k in range(evidence.n_kinds):
        taken[k] = False
        if n and evidence.kinds[k] == world.selected[player]:
            picks[0] = <uint8_t>k
            taken[k] = True
    if evidence.n_hand:
        for k in range(evidence.n_kinds):
            if not taken[k] and world.hands[player] & bit(evidence.kinds[k]):
                picks[n] = <uint8_t>k
                taken[k] = True
                n += 1
    for i in range(world.n_deck[player]):
        value = world.decks[player][i]
        for k in range(evidence.n_kinds):
            if evidence.kinds[k] == value:
                picks[n] = <uint8_t>k
                taken[k] = True
                n += 1
    # For a hidden deck: the cards that are left, in any order.
    for k in range(evidence.n_kinds):
        if not taken[k]:
            picks[n] = <uint8_t>k
            n += 1


cdef void log_action(const Rules* rules, const State* view, action_t action, ActionEvidence* logged) noexcept nogil:
    """Note nothing: every card selected earlier has been shown since."""
    pass


cdef void add_belief_functions(Knowledge* knowledge) noexcept:
    knowledge.score_secrets = <score_secrets_f>score_secrets
    knowledge.write_picks = <write_picks_f>write_picks
    knowledge.read_picks = <read_picks_f>read_picks
    knowledge.log_action = <log_action_f>log_action


# --- for the fitting ------------------------------------------------------------------------------------------

def selections(Position position, int player):
    """Return the candidates for the card that `player` has selected, the preference for each, and the truth.

    None without a selected card, or with a single candidate.
    """
    cdef const Rules* rules = <const Rules*>position.game.rules
    cdef View view = position.view((player + 1) % position.game.n_players)
    cdef SecretEvidence evidence
    cdef float preferences[MAX_KINDS]
    cdef int k

    list_secrets(rules, <const State*>view.state, view.observer, player, &evidence)
    if not evidence.n_spots or evidence.n_kinds < 2:
        return None
    prefer_selections(rules, <const State*>view.state, player, &evidence, preferences)
    return ([evidence.kinds[k] for k in range(evidence.n_kinds)],
            [preferences[k] for k in range(evidence.n_kinds)],
            (<const State*>position.state).selected[player])

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
from engine_cy.game_api cimport MAX_ACTIONS, MAX_KINDS, Account, Knowledge, Suspicion, action_t

# Weight of preferences in beliefs about selected cards, fitted by solver/training/beliefs.py to a mixture of players.
cdef float PREFERENCE_WEIGHT = 0.45

# The only spot.
cdef enum:
    SELECTED = 0


cdef void list_secrets(const Rules* rules, const State* view, int observer, int player,
                       Suspicion* suspicion) noexcept nogil:
    """List the cards that a player hides and their possible places, all without evidence."""
    cdef Hidden hidden = hidden_of(rules, view, observer, player)
    cdef int k

    suspicion.ordered = True
    suspicion.two_families = False
    suspicion.n_kinds = hidden.n_cards
    suspicion.n_spots = hidden.with_selected
    suspicion.spots[0] = SELECTED
    suspicion.n_hand = 0 if player == observer else hidden.n_cards - hidden.n_ordered
    for k in range(hidden.n_cards):
        suspicion.kinds[k] = hidden.cards[k]
        suspicion.held[k] = 1
        suspicion.in_hand[k] = 0
        suspicion.in_spot[0][k] = 0


cdef void prefer_selections(const Rules* rules, const State* view, int player, const Suspicion* suspicion,
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
    for k in range(suspicion.n_kinds):
        state.hands[player] |= bit(suspicion.kinds[k])
    n = legal_actions(rules, &state, actions)
    preferences_of(&FEATURE_API, rules, &state, actions, n, by_action)
    for i in range(n):
        action_of[actions[i] >> 16 & 0xFF] = i
    for k in range(suspicion.n_kinds):
        preferences[k] = by_action[action_of[suspicion.kinds[k]]]


cdef void suspect(const Rules* rules, const State* view, int observer, int player, const Account* account,
                  Suspicion* suspicion) noexcept nogil:
    cdef float preferences[MAX_KINDS]
    cdef int k

    list_secrets(rules, view, observer, player, suspicion)
    if suspicion.n_spots and suspicion.n_kinds > 1:
        prefer_selections(rules, view, player, suspicion, preferences)
        for k in range(suspicion.n_kinds):
            suspicion.in_spot[0][k] = PREFERENCE_WEIGHT * preferences[k]


cdef void lay(const Rules* rules, State* world, int player, const Suspicion* suspicion,
              const uint8_t* picks) noexcept nogil:
    cdef int n = suspicion.n_spots
    cdef int i

    if n:
        world.selected[player] = suspicion.kinds[picks[0]]
    if suspicion.n_hand or world.hands[player] == UNKNOWN_HAND:
        world.hands[player] = 0
        for i in range(suspicion.n_hand):
            world.hands[player] |= bit(suspicion.kinds[picks[n + i]])
    n += suspicion.n_hand
    for i in range(world.n_deck[player]):
        world.decks[player][i] = suspicion.kinds[picks[n + i]]


cdef void read(const Rules* rules, const State* world, int player, const Suspicion* suspicion,
               uint8_t* picks) noexcept nogil:
    cdef bint taken[MAX_KINDS]
    cdef int n = suspicion.n_spots
    cdef int i, k, value

    for k in range(suspicion.n_kinds):
        taken[k] = False
        if n and suspicion.kinds[k] == world.selected[player]:
            picks[0] = <uint8_t>k
            taken[k] = True
    if suspicion.n_hand:
        for k in range(suspicion.n_kinds):
            if not taken[k] and world.hands[player] & bit(suspicion.kinds[k]):
                picks[n] = <uint8_t>k
                taken[k] = True
                n += 1
    for i in range(world.n_deck[player]):
        value = world.decks[player][i]
        for k in range(suspicion.n_kinds):
            if suspicion.kinds[k] == value:
                picks[n] = <uint8_t>k
                taken[k] = True
                n += 1
    # For a hidden deck: the cards that are left, in any order.
    for k in range(suspicion.n_kinds):
        if not taken[k]:
            picks[n] = <uint8_t>k
            n += 1


cdef void tell(const Rules* rules, const State* view, action_t action, Account* account) noexcept nogil:
    """Note nothing: every card selected earlier has been shown since."""
    pass


cdef void add_belief_functions(Knowledge* knowledge) noexcept:
    knowledge.suspect = <void (*)(const void*, const void*, int, int, const Account*,
                                  Suspicion*) noexcept nogil>suspect
    knowledge.lay = <void (*)(const void*, void*, int, const Suspicion*, const uint8_t*) noexcept nogil>lay
    knowledge.read = <void (*)(const void*, const void*, int, const Suspicion*, uint8_t*) noexcept nogil>read
    knowledge.tell = <void (*)(const void*, const void*, action_t, Account*) noexcept nogil>tell


# --- for the fitting ------------------------------------------------------------------------------------------

def selections(Position position, int player):
    """Return the candidates for the card that `player` has selected, the preference for each, and the truth.

    None without a selected card, or with a single candidate.
    """
    cdef const Rules* rules = <const Rules*>position.game.rules
    cdef View view = position.view((player + 1) % position.game.n_players)
    cdef Suspicion suspicion
    cdef float preferences[MAX_KINDS]
    cdef int k

    list_secrets(rules, <const State*>view.state, view.observer, player, &suspicion)
    if not suspicion.n_spots or suspicion.n_kinds < 2:
        return None
    prefer_selections(rules, <const State*>view.state, player, &suspicion, preferences)
    return ([suspicion.kinds[k] for k in range(suspicion.n_kinds)],
            [preferences[k] for k in range(suspicion.n_kinds)],
            (<const State*>position.state).selected[player])

"""The game interface: the only functions through which a search uses a game.

A game is a table of C functions over two pieces of plain bytes: its *rules* (one ruleset and number of players,
constant once made) and a *state* (one table; cloned by copying `state_size` bytes). The functions never take the GIL,
allocate or fail; callers pass only legal actions. Any number of threads may call them, as long as no two threads write
the same state.

A **view** is a state, too, in which `observe` has masked all facts that the observer does not see; no other function
decides what is hidden. `legal` and `apply` work on views for the observer's own actions.

**Players** are seats 0, 1, ...; **chance** acts like a player whose legal actions are equally likely; a
**decision** may take several actions in a row by one player (`part`): a search treats each as a move.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from engine_cy.support.rng cimport rng_t

ctypedef uint32_t action_t

cdef enum:
    MAX_PLAYERS = 5
    MAX_ACTIONS = 512     # the most legal actions in a state of any game
    MAX_DECISION = 3      # the most actions in one decision
    STATE_WORDS = 96      # the size of the largest state of any game, in words of 8 bytes

    CHANCE = -1           # result of `to_act` when chance decides
    GAME_OVER = -2        # ... and when the game is over
    SPECTATOR = 7         # an observer without a seat, who sees only public facts

    MAX_KINDS = 16        # the most kinds of hidden cards of one player
    MAX_SPOTS = 16        # the most spots of one player with one hidden card each

    # The version of GameApi, Knowledge and values.pxd. Raise it with every change of them: games that were built with
    # other headers are refused.
    INTERFACE_VERSION = 4

    DECISION_BEGUN = 1        # earlier actions belong to the same decision as the next action
    DECISION_UNFINISHED = 2   # later actions belong to it, too


# GameApi holds one function of each of these types. Rules and states are passed as plain bytes, so a game casts its own
# functions: `API.deal = <deal_f>deal`.
# --- playing ---
# Write the start of a game, dealt at random, to `state`; `first` is the first player.
ctypedef void (*deal_f)(const void* rules, void* state, int first, rng_t* rng) noexcept nogil
# Return the seat to act, CHANCE or `GAME_OVER`.
ctypedef int (*to_act_f)(const void* rules, const void* state) noexcept nogil
# Write the legal actions, each once, to actions[0..MAX_ACTIONS-1]; return their number.
ctypedef int (*legal_f)(const void* rules, const void* state, action_t* actions) noexcept nogil
ctypedef void (*apply_f)(const void* rules, void* state, action_t action) noexcept nogil
# Return which part of a decision the next action is: 0 for a whole one, else DECISION_BEGUN, DECISION_UNFINISHED or
# both.
ctypedef int (*part_f)(const void* rules, const void* state) noexcept nogil
# Return the current round, from 1; always 1 in a game without rounds.
ctypedef int (*round_f)(const void* rules, const void* state) noexcept nogil
# Play to the end, each whole decision uniformly at random; return the number of decisions with two options or more.
ctypedef int (*play_out_f)(const void* rules, void* state, rng_t* rng) noexcept nogil

# --- the end ---
# Write each seat's payoff at the end of the game; in a game with a winner, the shares of the win, which sum to 1.
ctypedef void (*payoffs_f)(const void* rules, const void* state, double* per_seat) noexcept nogil
# Write each seat's current points (gold, chips).
ctypedef void (*scores_f)(const void* rules, const void* state, int32_t* per_seat) noexcept nogil

# --- views ---
# Write to `view` the state as `observer`, a player or SPECTATOR, sees it.
ctypedef void (*observe_f)(const void* rules, const void* state, int observer, void* view) noexcept nogil
# Return a 64-bit key, equal for two states exactly when `observer` sees the same (up to hash collisions).
ctypedef uint64_t (*key_f)(const void* rules, const void* state, int observer) noexcept nogil

# --- worlds: the secrets of the players, each independent of the others' ---
# Sample a state that `observer` cannot distinguish from `view`, weighted by the deals that lead to it.
ctypedef void (*sample_f)(const void* rules, const void* view, int observer, void* world, rng_t* rng) noexcept nogil
# Return the number of possible secrets of `player` for `observer`, given the rest of `world`: a state, or a view,
# whose masked cards exclude nothing. For the observer's own seat, count the facts that they do not see either,
# such as the order of their deck; 1 if there are no such facts.
ctypedef uint64_t (*count_secrets_f)(const void* rules, const void* world, int observer, int player) noexcept nogil
# Write the index-th secret of `player` into `world`, and leave the rest unchanged.
ctypedef void (*write_secret_f)(const void* rules, void* world, int observer, int player, uint64_t index) noexcept nogil


cdef struct GameApi:
    # The headers that the game was built with; `begin_interface` writes them.
    uint32_t version
    uint16_t api_size     # bytes of GameApi
    uint16_t knowledge_size

    size_t state_size     # bytes of a state, a multiple of 16

    deal_f deal
    to_act_f to_act
    legal_f legal
    apply_f apply
    part_f part
    round_f round
    play_out_f play_out

    payoffs_f payoffs
    scores_f scores

    observe_f observe
    key_f key

    sample_f sample
    count_secrets_f count_secrets
    write_secret_f write_secret


# The hidden cards of one player, with the evidence for each place of each card: in one of the player's *spots*, in hand
# or elsewhere. Evidence is a log weight: the probability of a secret is proportional to exp(sum over its cards).
cdef struct SecretEvidence:
    int n_kinds                   # of hidden cards; kinds that the player may have twice come first
    uint8_t kinds[MAX_KINDS]      # the game's numbers of the kinds
    uint8_t held[MAX_KINDS]       # the number of cards of each kind
    int n_spots                   # spots, with one card each
    uint8_t spots[MAX_SPOTS]      # the game's numbers of the spots
    int n_hand                    # cards in hand; the remaining cards are elsewhere
    bint ordered                  # whether the order of the remaining cards matters; all orders are equally likely
    int n_families                # dealt to the player (families.pxd); 0 if all secrets are equally likely
    int family_size               # cards in a family
    uint8_t family[MAX_KINDS]     # cards of each hidden kind in a family; 0 without families
    float in_spot[MAX_SPOTS][MAX_KINDS]
    float in_hand[MAX_KINDS]


# The evidence from the actions of a game that the table no longer shows: a log weight for each of the game's spots and
# kinds, and sums over each player's choices that speak for their style. It uses only public facts, so it serves all
# observers.
cdef enum:
    MAX_LOGGED_SPOTS = 64

cdef struct ActionEvidence:
    uint32_t n_actions            # logged actions; 0 if the course of the game is unknown
    float placed[MAX_LOGGED_SPOTS][MAX_KINDS]
    float kept[MAX_LOGGED_SPOTS][MAX_KINDS]
    float choices[MAX_PLAYERS]    # by player: the number of choices
    float by_policy[MAX_PLAYERS]  # ... the log probability of these choices by the game's policy
    float by_chance[MAX_PLAYERS]  # ... and at random


# Knowledge holds one function of each of these types.
# Write the probability of each of `n` legal actions for a good player; the sum is 1.
ctypedef void (*prior_f)(const void* rules, const void* state, const action_t* actions, int n,
                         float* shares) noexcept nogil
# Choose a sensible legal action, for playouts.
ctypedef action_t (*choose_f)(const void* rules, const void* state, rng_t* rng) noexcept nogil
# Write the expected payoff of each seat, in the unit of `payoffs`.
ctypedef void (*evaluate_f)(const void* rules, const void* state, double* per_seat) noexcept nogil

# --- beliefs: all of these are NULL in a game without a belief model ---
# Write the evidence on the secrets of `player`, from the view of `observer` and of the logged actions, or NULL.
ctypedef void (*score_secrets_f)(const void* rules, const void* view, int observer, int player,
                                 const ActionEvidence* logged, SecretEvidence* evidence) noexcept nogil
# Write a secret into `world`. `picks` are indices into `kinds`: for each spot, the hand, the remaining cards.
ctypedef void (*write_picks_f)(const void* rules, void* world, int player, const SecretEvidence* evidence,
                               const uint8_t* picks) noexcept nogil
# Read the secret of `player` from `world`: the picks with which `write_picks` would write it.
ctypedef void (*read_picks_f)(const void* rules, const void* world, int player, const SecretEvidence* evidence,
                              uint8_t* picks) noexcept nogil
# Log an action, the next one at the table of `view`, which is a spectator's. The result must not depend on the
# parts of the action that a spectator does not see.
ctypedef void (*log_action_f)(const void* rules, const void* view, action_t action,
                              ActionEvidence* logged) noexcept nogil


# Learned knowledge of a game beyond its rules, the only source of strategy for a search. A game may have no knowledge
# (NULL), and a search must work without. engine_cy/learned has what the knowledge of all games shares.
cdef struct Knowledge:
    prior_f prior
    # At each visit to an opponent's node: the probabilities for the hand in this world. NULL: the prior, once for all.
    prior_f prior_by_hand
    choose_f choose
    evaluate_f evaluate

    score_secrets_f score_secrets
    write_picks_f write_picks
    read_picks_f read_picks
    log_action_f log_action


cdef inline int begin_interface(GameApi* api, size_t state_size) except -1:
    """Write the first fields of a game's interface. Every game calls this before it fills in its functions.

    A game that was built with other headers is refused here, before any of its methods run.
    """
    from engine_cy.values import check_interface
    check_interface(INTERFACE_VERSION, sizeof(GameApi), sizeof(Knowledge))
    api.version = INTERFACE_VERSION
    api.api_size = sizeof(GameApi)
    api.knowledge_size = sizeof(Knowledge)
    api.state_size = state_size

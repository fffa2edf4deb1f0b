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
    NOBODY = -2           # ... and when the game is over
    SPECTATOR = 7         # an observer without a seat, who sees only public facts

    MAX_KINDS = 16        # the most kinds of hidden cards of one player
    MAX_SPOTS = 16        # the most spots of one player with one hidden card each

    # The version of GameApi, Knowledge and values.pxd. Raise it with every change of them: games that were built with
    # other headers are refused.
    INTERFACE_VERSION = 1

    BEGUN = 1             # earlier actions belong to the same decision as the next action
    MORE = 2              # later actions belong to it, too


cdef struct GameApi:
    # --- the headers that the game was built with; `begin_interface` writes them -------------------------
    uint32_t version
    uint16_t api_size     # bytes of GameApi
    uint16_t knowledge_size

    size_t state_size     # bytes of a state, a multiple of 16

    # --- playing -----------------------------------------------------------------------------------------
    # Write the start of a game, dealt at random, to `state`; `first` is the first player.
    void (*deal)(const void* rules, void* state, int first, rng_t* rng) noexcept nogil
    # Return the seat to act, CHANCE or `NOBODY`.
    int (*to_act)(const void* rules, const void* state) noexcept nogil
    # Write the legal actions, each once, to actions[0..MAX_ACTIONS-1]; return their number.
    int (*legal)(const void* rules, const void* state, action_t* actions) noexcept nogil
    void (*apply)(const void* rules, void* state, action_t action) noexcept nogil
    # Return which part of a decision the next action is: 0 for a whole one, else `BEGUN`, `MORE` or both.
    int (*part)(const void* rules, const void* state) noexcept nogil
    # Return the current round, from 1; always 1 in a game without rounds.
    int (*round)(const void* rules, const void* state) noexcept nogil
    # Play to the end, each whole decision uniformly at random; return the number of decisions with two options or more.
    int (*play_out)(const void* rules, void* state, rng_t* rng) noexcept nogil

    # --- the end -----------------------------------------------------------------------------------------
    # Write each seat's payoff at the end of the game; in a game with a winner, the shares of the win, which sum to 1.
    void (*payoffs)(const void* rules, const void* state, double* per_seat) noexcept nogil
    # Write each seat's current points (gold, chips).
    void (*scores)(const void* rules, const void* state, int32_t* per_seat) noexcept nogil

    # --- views -------------------------------------------------------------------------------------------
    # Write to `view` the state as `observer`, a player or SPECTATOR, sees it.
    void (*observe)(const void* rules, const void* state, int observer, void* view) noexcept nogil
    # Return a 64-bit key, equal for two states exactly when `observer` sees the same (up to hash collisions).
    uint64_t (*key)(const void* rules, const void* state, int observer) noexcept nogil

    # --- worlds: the secrets of the players, each independent of the others' -----------------------------
    # Sample a state that `observer` cannot distinguish from `view`, weighted by the deals that lead to it.
    void (*sample)(const void* rules, const void* view, int observer, void* world, rng_t* rng) noexcept nogil
    # Return the number of possible secrets of `player` for `observer`, given the rest of `world`: a state, or a view,
    # whose masked cards exclude nothing. For the observer's own seat, count the facts that they do not see either,
    # such as the order of their deck; 1 if there are no such facts.
    uint64_t (*count_secrets)(const void* rules, const void* world, int observer, int player) noexcept nogil
    # Write the index-th secret of `player` into `world`, and leave the rest unchanged.
    void (*write_secret)(const void* rules, void* world, int observer, int player, uint64_t index) noexcept nogil


# The hidden cards of one player, with the evidence for each place of each card: in one of the player's *spots*, in hand
# or elsewhere. Evidence is a log weight: the probability of a secret is proportional to exp(sum over its cards).
cdef struct Suspicion:
    int n_kinds                   # of hidden cards; kinds that the player may have twice come first
    uint8_t kinds[MAX_KINDS]      # the game's numbers of the kinds
    uint8_t held[MAX_KINDS]       # the number of cards of each kind
    int n_spots                   # spots, with one card each
    uint8_t spots[MAX_SPOTS]      # the game's numbers of the spots
    int n_hand                    # cards in hand; the remaining cards are elsewhere
    bint ordered                  # whether the order of the remaining cards matters; all orders are equally likely
    bint two_families             # whether the player was dealt two families of one card of each kind: families.pxd
    float in_spot[MAX_SPOTS][MAX_KINDS]
    float in_hand[MAX_KINDS]


# The evidence from the actions of a game that the table no longer shows: a log weight for each of the game's spots and
# kinds. It uses only public facts, so one account serves all observers.
cdef enum:
    MAX_ACCOUNTS = 64

cdef struct Account:
    uint32_t n_actions            # logged actions; 0 if the course of the game is unknown
    float placed[MAX_ACCOUNTS][MAX_KINDS]
    float kept[MAX_ACCOUNTS][MAX_KINDS]


# Learned knowledge of a game beyond its rules, the only source of strategy for a search. A game may have no knowledge
# (NULL), and a search must work without. engine_cy/learned has what the knowledge of all games shares.
cdef struct Knowledge:
    # Write the probability of each of `n` legal actions for a good player; the sum is 1.
    void (*prior)(const void* rules, const void* state, const action_t* actions, int n,
                  float* shares) noexcept nogil
    # Choose a sensible legal action, for playouts.
    action_t (*choose)(const void* rules, const void* state, rng_t* rng) noexcept nogil
    # Write the expected payoff of each seat, in the unit of `payoffs`.
    void (*evaluate)(const void* rules, const void* state, double* per_seat) noexcept nogil

    # --- beliefs: all of these are NULL in a game without a belief model ---------------------------------
    # Write the evidence on the secrets of `player`, from the view of `observer` and an account of the game or NULL.
    void (*suspect)(const void* rules, const void* view, int observer, int player, const Account* account,
                    Suspicion* suspicion) noexcept nogil
    # Write a secret into `world`. `picks` are indices into `kinds`: for each spot, the hand, the remaining cards.
    void (*lay)(const void* rules, void* world, int player, const Suspicion* suspicion,
                const uint8_t* picks) noexcept nogil
    # Read the secret of `player` from `world`: the picks with which `lay` would write it.
    void (*read)(const void* rules, const void* world, int player, const Suspicion* suspicion,
                 uint8_t* picks) noexcept nogil
    # Log an action, the next one at the table of `view`, which is a spectator's. The result must not depend on the
    # parts of the action that a spectator does not see.
    void (*tell)(const void* rules, const void* view, action_t action, Account* account) noexcept nogil


cdef inline void begin_interface(GameApi* api, size_t state_size) noexcept nogil:
    """Write the first fields of a game's interface. Every game calls this before it fills in its functions."""
    api.version = INTERFACE_VERSION
    api.api_size = sizeof(GameApi)
    api.knowledge_size = sizeof(Knowledge)
    api.state_size = state_size

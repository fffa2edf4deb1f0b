"""The door: all that a search may know of a game.

A game is a table of C functions over two pieces of plain bytes: its *rules* (one ruleset and number of players,
never written after it was made) and a *state* (one table; cloned by copying `state_size` bytes). Nothing here
takes the GIL, allocates or fails; callers pass only legal actions. All functions may be called from any number
of threads as long as no two write the same state.

A **view** is a state too, with everything the observer does not see blotted out (`observe`, the only function
that decides what is hidden). `legal` and `apply` work on views for whatever the observer may do himself.

**Players** are seats 0, 1, ...; **chance** acts like a player whose legal actions are equally likely; a
**decision** may take several actions in a row by one player (`part`): a search treats each as a move.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from engine_cy.support.rng cimport rng_t

ctypedef uint32_t action_t

cdef enum:
    MAX_PLAYERS = 5
    MAX_ACTIONS = 512     # no state of any game has more legal actions
    MAX_DECISION = 3      # no decision takes more actions in a row
    STATE_WORDS = 96      # no state of any game takes more 8-byte words

    CHANCE = -1           # what `to_act` says when no player is asked
    NOBODY = -2           # ... and when the game is over
    SPECTATOR = 7         # an observer in a seat that no game has: sees only what all see

    MAX_KINDS = 16        # of cards that one player may hide
    MAX_SPOTS = 16        # of his that take one card each

    BEGUN = 1             # earlier actions belong to the same decision as the next one
    MORE = 2              # and later ones


cdef struct GameApi:
    size_t state_size     # bytes of a state, a multiple of 16

    # --- playing -----------------------------------------------------------------------------------------
    # Put a fresh table, dealt at random, into `state`; `first` is the first player.
    void (*deal)(const void* rules, void* state, int first, rng_t* rng) noexcept nogil
    # Whose turn it is: a seat, CHANCE or NOBODY.
    int (*to_act)(const void* rules, const void* state) noexcept nogil
    # Write the legal actions, without repetition, into actions[0..MAX_ACTIONS-1]; return how many.
    int (*legal)(const void* rules, const void* state, action_t* actions) noexcept nogil
    void (*apply)(const void* rules, void* state, action_t action) noexcept nogil
    # What part of a decision the next action is: 0 all of it, else BEGUN, MORE or both.
    int (*part)(const void* rules, const void* state) noexcept nogil
    # The round being played, from 1; a game without rounds has one.
    int (*round)(const void* rules, const void* state) noexcept nogil
    # Play to the end, each whole decision uniformly at random; return the decisions that had two options or more.
    int (*play_out)(const void* rules, void* state, rng_t* rng) noexcept nogil

    # --- the end -----------------------------------------------------------------------------------------
    # What each seat is paid when the game is over; where one wins, the shares of the win (they add up to 1).
    void (*payoffs)(const void* rules, const void* state, double* per_seat) noexcept nogil
    # Points (gold, chips) each seat owns now.
    void (*scores)(const void* rules, const void* state, int32_t* per_seat) noexcept nogil

    # --- what is seen ------------------------------------------------------------------------------------
    # The observer is a player or SPECTATOR.
    void (*observe)(const void* rules, const void* state, int observer, void* view) noexcept nogil
    # Equal for two states exactly when `observer` sees the same (up to a 64-bit hash).
    uint64_t (*key)(const void* rules, const void* state, int observer) noexcept nogil

    # --- what may be true: the players' secrets, none of which depends on another's -----------------------
    # Draw one of the states that `observer` could not tell from `view` into `world`, as often as deals lead to it.
    void (*sample)(const void* rules, const void* view, int observer, void* world, rng_t* rng) noexcept nogil
    # How many secrets `player` could have, as `observer` sees it, everything else being as in `world` (a state, or a
    # view: what is blotted out there excludes nothing). The observer's own are what is hidden from him too, such as
    # the order of his deck; 1 if nothing is.
    uint64_t (*count_secrets)(const void* rules, const void* world, int observer, int player) noexcept nogil
    # Rewrite `player`'s secrets in `world` to the index-th of them, all else untouched.
    void (*write_secret)(const void* rules, void* world, int observer, int player, uint64_t index) noexcept nogil


# What one player hides from an observer: cards, of which each lies in one of his *spots*, is in his hand, or elsewhere;
# and what speaks for each being there. The chance of a whole secret is in proportion to e to the sum of what speaks for
# its cards.
cdef struct Suspicion:
    int n_kinds                   # of cards that may be anywhere; those that he may have twice come first
    uint8_t kinds[MAX_KINDS]      # what the game calls them
    uint8_t held[MAX_KINDS]       # how many there are of each
    int n_spots                   # each takes one card
    uint8_t spots[MAX_SPOTS]      # what the game calls them
    int n_hand                    # cards in hand; the rest is elsewhere
    bint ordered                  # whether the order of the rest matters, which is any
    bint two_families             # whether he was dealt two families, each with one card of each kind: families.pxd
    float in_spot[MAX_SPOTS][MAX_KINDS]
    float in_hand[MAX_KINDS]


# What can be learned of hidden cards from what players did, beyond what the table shows: a number for each of what the
# game calls a spot and a kind. Everybody has seen the same of it, so one account serves all observers.
cdef enum:
    MAX_ACCOUNTS = 64

cdef struct Account:
    uint32_t n_actions            # that were added; 0: nothing is known of what was done
    float placed[MAX_ACCOUNTS][MAX_KINDS]
    float kept[MAX_ACCOUNTS][MAX_KINDS]


# What a game knows about itself beyond its rules: the only source of game wisdom for a search. A game may have
# none (NULL); a search must work without. Implemented in the game's own knowledge.pyx.
cdef struct Knowledge:
    # How likely a good player is to choose each of `n` legal actions; adds up to 1.
    void (*prior)(const void* rules, const void* state, const action_t* actions, int n,
                  float* shares) noexcept nogil
    # A sensible legal action, for playouts.
    action_t (*choose)(const void* rules, const void* state, rng_t* rng) noexcept nogil
    # What each seat may expect to be paid from here, in the unit of `payoffs`.
    void (*evaluate)(const void* rules, const void* state, double* per_seat) noexcept nogil

    # --- what players may hide: NULL in all of these where nothing speaks for anything ---------------------
    # What `observer` may think of `player`'s secrets, from his view and, unless it is NULL, an account of the game.
    void (*suspect)(const void* rules, const void* view, int observer, int player, const Account* account,
                    Suspicion* suspicion) noexcept nogil
    # Write a secret: for each spot, then for the hand, then for the rest, the number of a kind of the suspicion.
    void (*lay)(const void* rules, void* world, int player, const Suspicion* suspicion,
                const uint8_t* picks) noexcept nogil
    # The other way round: a player's secret as the numbers of kinds that `lay` would write.
    void (*read)(const void* rules, const void* world, int player, const Suspicion* suspicion,
                 uint8_t* picks) noexcept nogil
    # Add to the account an action, about to be taken at the table that a spectator sees. What he will not see of the
    # action changes nothing.
    void (*tell)(const void* rules, const void* view, action_t action, Account* account) noexcept nogil

"""Declare the search as plain data: its parameters, its state, and its tallies."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from engine_cy.values cimport Game, View
from engine_cy.game_api cimport MAX_ACTIONS, MAX_PLAYERS, STATE_WORDS, GameApi, Knowledge, action_t
from engine_cy.support.rng cimport rng_t
from solver.beliefs cimport WorldSampler
from solver.tree cimport Node, Tree

cdef enum:
    MAX_DEPTH = 1024              # nodes in one descent

# The information that keys the nodes.
cdef enum:
    NODES_PUBLIC                  # others' nodes: public information, and their own actions since the root
    NODES_OWN                     # each player's nodes: everything they see, including their hand
    NODES_WORLD                   # the whole state: each world has a tree of perfect information


# The models of the other seats' play.
cdef enum:
    PLAYS_AS_I                    # as well as the search
    PLAYS_NOISY                   # the same, with one random decision in four
    PLAYS_GREEDY                  # by the game's heuristic policy
    PLAYS_RANDOM


cdef struct SearchParameters:
    uint8_t models[MAX_PLAYERS]   # by seat; the observer's own entry is not used
    uint8_t modelled              # whether any model is not PLAYS_AS_I
    uint8_t nodes
    uint8_t flat                  # no tree below the root's decision
    uint8_t puct                  # select by PUCT with the game's prior, else by UCB1
    uint8_t priors_by_hand        # opponents' nodes are shared by hands that have priors of their own
    uint8_t known_playouts        # play out with the game's learned policy, else at random
    uint8_t horizon               # evaluate after this many rounds, counted from the root's; 0: play to the end
    float exploration
    double first_play             # PUCT: the value of an untried action is its node's mean minus this
    uint64_t full_half            # iterations after which half of the playouts ignore the horizon; 0: none do
    uint32_t world_repeats        # iterations for each sampled world


# The sums over the playouts behind one whole decision at the root.
cdef struct Tally:
    action_t steps[3]
    uint8_t n_steps
    uint64_t visits
    uint64_t ended                        # visits whose playouts reached the end; the others were evaluated
    double payoffs[MAX_PLAYERS]           # sums
    double squares[MAX_PLAYERS]           # of the payoffs
    int64_t scores[MAX_PLAYERS]           # this and the following: only over the playouts that reached the end
    int64_t score_squares[MAX_PLAYERS]
    int64_t leads[MAX_PLAYERS]            # score minus the best of the others
    uint32_t ranks[MAX_PLAYERS][MAX_PLAYERS]      # number of times that each seat came 1st, 2nd, ...


# An edge on the path of an iteration.
cdef struct Passed:
    uint32_t block
    uint16_t room                         # of the block
    uint16_t edge
    uint8_t player                        # the player who chose it


cdef struct Trail:
    Passed passed[MAX_DEPTH]
    int n
    action_t decision[3]                  # the root's decision in this iteration, step by step
    int n_decision
    bint deciding                         # the decision is not complete yet


@cython.final
cdef class Searcher:
    cdef readonly Game game
    cdef readonly int observer
    cdef const GameApi* api
    cdef const Knowledge* knowledge
    cdef const void* rules
    cdef SearchParameters settings
    cdef WorldSampler belief              # None: all worlds are equally likely
    cdef bint believes
    cdef int root_round
    cdef uint64_t root[STATE_WORDS]
    cdef action_t root_actions[MAX_ACTIONS]       # the observer's actions at the root, ascending; if they are to act
    cdef int n_root
    cdef uint64_t root_key                # of the observer's node
    cdef uint64_t world[STATE_WORDS]
    cdef uint64_t state[STATE_WORDS]
    cdef uint64_t own[MAX_PLAYERS]        # hash of each player's own actions since the first root
    cdef uint64_t own_before[MAX_PLAYERS]         # ... up to the present root
    cdef Tree tree
    cdef uint64_t bytes_max               # of the tree
    cdef Trail trail
    cdef Tally* tallies
    cdef int n_tallies
    cdef int tallies_room
    cdef bint restricted                  # to the tallies' decisions; else all legal decisions have a tally
    cdef bint watches                     # the observer is not to act
    cdef rng_t rng                        # for choices and playouts
    cdef rng_t world_rng                  # for worlds: searches with one seed and stream draw the same ones
    cdef action_t forced[3]               # the root's decision, if every iteration takes the same one
    cdef int n_forced
    cdef double last[MAX_PLAYERS]         # payoffs of the last playout
    cdef readonly uint64_t iterations
    cdef readonly uint64_t counted        # iterations in worlds that fit the view
    cdef readonly uint64_t worlds
    cdef bint pretends                    # the last world contradicts the view, see SecretCard
    cdef bint records                     # keep the observer's payoff in each world
    cdef double* payoffs
    cdef uint64_t n_payoffs
    cdef uint64_t payoffs_room
    cdef int stop_flag

    cdef int make_room_for_payoffs(self, uint64_t more) except -1
    cdef look_at(self, View view, WorldSampler belief, tuple among)
    cdef int restart(self, const void* view, int observer, uint64_t seed) noexcept nogil
    cdef int begin_at(self, const void* view) noexcept nogil
    cdef int list_decisions(self, const uint64_t* state, int n) noexcept nogil
    cdef int add_tally(self, int n) noexcept nogil
    cdef void iterate(self) noexcept nogil
    cdef bint likely_action(self, int player, const action_t* actions, int n, action_t* action) noexcept nogil
    cdef void descend(self) noexcept nogil
    cdef uint64_t node_key(self, int player) noexcept nogil
    cdef bint step(self, int player, uint64_t key, const action_t* actions, int n) noexcept nogil
    cdef int considered(self, action_t* actions, int n) noexcept nogil
    cdef bint modelled_action(self, int player, const action_t* actions, int n, action_t* action) noexcept nogil
    cdef void take(self, int player, action_t action) noexcept nogil
    cdef int choose(self, Node* node, int player, const action_t* actions, int n, bint* is_new) noexcept nogil
    cdef int weigh(self, const Node* node, const action_t* actions, int n, uint32_t once, const float* shares,
                   uint16_t* untried, int* n_untried) noexcept nogil
    cdef bint widen(self, Node* node, int n) noexcept nogil
    cdef int add_edge(self, Node* node, action_t action) noexcept nogil
    cdef void add_priors(self, Node* node, const action_t* actions, int n, const float* shares,
                         const uint16_t* untried, int n_untried) noexcept nogil
    cdef void draw_world(self, uint64_t* world) noexcept nogil
    cdef bint play_on(self) noexcept nogil
    cdef void back_up(self, bint ended) noexcept nogil
    cdef Tally* tally_of_decision(self) noexcept nogil
    cdef tuple row_of(self, const Tally* tally)

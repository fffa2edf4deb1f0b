"""The search as plain data: what is searched, how, and what came of it."""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from engine_cy.values cimport Game, View
from engine_cy.game_api cimport MAX_ACTIONS, MAX_PLAYERS, STATE_WORDS, GameApi, Knowledge, action_t
from engine_cy.support.rng cimport rng_t
from solver.beliefs cimport WorldSampler
from solver.tree cimport Node, Tree

cdef enum:
    MAX_DEPTH = 1024              # nodes in one descent

# Whose nodes are told apart by what.
cdef enum:
    NODES_PUBLIC                  # others': what everybody saw, and their own actions since the root
    NODES_OWN                     # everybody's: all that he sees, his hand too
    NODES_WORLD                   # everything: each world has a tree of perfect information


# How the other seats are thought to play.
cdef enum:
    PLAYS_AS_I                    # as well as the search lets them
    PLAYS_NOISY                   # so, but one decision in four is random
    PLAYS_GREEDY                  # by the game's rule of thumb
    PLAYS_RANDOM


cdef struct SearchParameters:
    uint8_t models[MAX_PLAYERS]   # of each seat; the observer's own is not asked
    uint8_t modelled              # whether any seat plays otherwise than as I
    uint8_t nodes
    uint8_t flat                  # no tree below the root's decision
    uint8_t puct                  # choose by PUCT with the game's prior, else by UCB1
    uint8_t known_playouts        # play out as the game's knowledge would, else at random
    uint8_t horizon               # evaluate when so many rounds have ended, counted from the root's; 0: play to the end
    float exploration
    double first_play             # PUCT: an action never tried counts as much less than its node's mean
    uint64_t full_half            # iterations by which half of the playouts go to the end all the same; 0: none do
    uint32_t world_repeats        # iterations for each sampled world


# What the playouts behind one whole decision at the root came to.
cdef struct Tally:
    action_t steps[3]
    uint8_t n_steps
    uint64_t visits
    uint64_t ended                        # of these, those whose playouts went to the end; the rest were evaluated
    double payoffs[MAX_PLAYERS]           # sums
    double squares[MAX_PLAYERS]           # of the payoffs
    int64_t scores[MAX_PLAYERS]           # from here on only of those that went to the end
    int64_t score_squares[MAX_PLAYERS]
    int64_t leads[MAX_PLAYERS]            # score less the best of the others
    uint32_t ranks[MAX_PLAYERS][MAX_PLAYERS]      # how often each seat came 1st, 2nd, ...


# An edge that an iteration passed.
cdef struct Passed:
    uint32_t block
    uint16_t room                         # of the block
    uint16_t edge
    uint8_t player                        # who chose it


cdef struct Trail:
    Passed passed[MAX_DEPTH]
    int n
    action_t decision[3]                  # the root's decision in this iteration, step by step
    int n_decision
    bint deciding                         # it is not complete yet


@cython.final
cdef class Searcher:
    cdef readonly Game game
    cdef readonly int observer
    cdef const GameApi* api
    cdef const Knowledge* knowledge
    cdef const void* rules
    cdef SearchParameters settings
    cdef WorldSampler belief              # None: all worlds are alike
    cdef bint believes
    cdef int root_round
    cdef uint64_t root[STATE_WORDS]
    cdef action_t root_actions[MAX_ACTIONS]       # what the observer may do there, ascending; where it is his turn
    cdef int n_root
    cdef uint64_t root_key                # of his node
    cdef uint64_t world[STATE_WORDS]
    cdef uint64_t state[STATE_WORDS]
    cdef uint64_t own[MAX_PLAYERS]        # hash of each player's own actions since the first root
    cdef uint64_t own_before[MAX_PLAYERS]         # ... up to the present root
    cdef Tree tree
    cdef Trail trail
    cdef Tally* tallies
    cdef int n_tallies
    cdef bint restricted                  # to the tallies' decisions; else they are all that are legal
    cdef bint watches                     # the observer is not to act
    cdef rng_t rng                        # for choices and playouts
    cdef rng_t world_rng                  # for worlds: searches of one seed and stream meet the same
    cdef action_t forced[3]               # the root's decision, where only one is to be looked at
    cdef int n_forced
    cdef double last[MAX_PLAYERS]         # what the last playout paid
    cdef readonly uint64_t iterations
    cdef readonly uint64_t counted        # of the iterations, those whose worlds fit the view
    cdef readonly uint64_t worlds
    cdef bint pretends                    # the last world is none that the observer thinks possible, see SecretCard
    cdef bint records                     # keep what each world paid the observer
    cdef double* payoffs
    cdef uint64_t n_payoffs
    cdef uint64_t payoffs_room
    cdef int stop_flag

    cdef int make_room_for_payoffs(self, uint64_t more) except -1
    cdef look_at(self, View view, WorldSampler belief, tuple among)
    cdef void iterate(self) noexcept nogil
    cdef bint likely_action(self, int player, const action_t* actions, int n, action_t* action) noexcept nogil
    cdef void descend(self) noexcept nogil
    cdef uint64_t node_key(self, int player) noexcept nogil
    cdef bint step(self, int player, uint64_t key, const action_t* actions, int n) noexcept nogil
    cdef int considered(self, action_t* actions, int n) noexcept nogil
    cdef bint modelled_action(self, int player, const action_t* actions, int n, action_t* action) noexcept nogil
    cdef void take(self, int player, action_t action) noexcept nogil
    cdef int choose(self, Node* node, const action_t* actions, int n, bint* is_new) noexcept nogil
    cdef int weigh(self, const Node* node, const action_t* actions, int n, uint32_t once, uint16_t* untried,
                   int* n_untried) noexcept nogil
    cdef bint widen(self, Node* node, int n) noexcept nogil
    cdef int add_edge(self, Node* node, action_t action) noexcept nogil
    cdef void add_priors(self, Node* node, const action_t* actions, int n, const uint16_t* untried,
                         int n_untried) noexcept nogil
    cdef void draw_world(self, uint64_t* world) noexcept nogil
    cdef bint play_on(self) noexcept nogil
    cdef void back_up(self, bint ended) noexcept nogil
    cdef Tally* tally_of_decision(self) noexcept nogil

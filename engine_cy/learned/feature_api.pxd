"""The interface between a game and the learning that all games share: how the game describes a state in numbers.

A game fills in one `FeatureApi`, in its features.pyx. The functions never take the GIL, allocate or fail.
"""
from libc.stdint cimport uint8_t, uint16_t

from engine_cy.game_api cimport MAX_ACTIONS, MAX_PLAYERS, GameApi, action_t

cdef enum:
    MARKS_EACH = 11     # the most marks of an action
    STAGES_MAX = 15     # the most stages of a game
    FEATURES_MAX = 512  # the most entries of a list of features


# The marks of the legal actions of a state.
cdef struct MarkedActions:
    int n                                      # the number of actions with marks; later ones have the preference 0
    int width                                  # the number of marks of each action
    bint has_amounts                           # False: each amount is 1
    uint16_t marks[MAX_ACTIONS][MARKS_EACH]
    float amounts[MAX_ACTIONS][MARKS_EACH]


# The weights of marks, by set; Weights owns the memory.
cdef struct Policy:
    int n_marks
    bint is_wide                               # whether an action has its wide marks, too
    const float* weights


# A feature of a player, such as the number of cards in the queue; entries of one feature add up.
cdef struct Feature:
    uint16_t number
    uint8_t player
    float value


# The features of all players; a feature without an entry is 0.
cdef struct FeatureList:
    int n
    Feature entries[FEATURES_MAX]


cdef inline void count(FeatureList* features, int player, int number, float value) noexcept nogil:
    """Add an entry, unless its value is 0."""
    cdef Feature* entry

    if value != 0 and features.n < FEATURES_MAX:
        entry = &features.entries[features.n]
        entry.number = <uint16_t>number
        entry.player = <uint8_t>player
        entry.value = value
        features.n += 1


# Return the index of the set of weights.
ctypedef int (*set_of_f)(const void* rules) noexcept nogil
# List the marks of each of `n` legal actions, from facts that the player to act sees. Wide marks, if any, come after
# the others: they take time, and serve where few actions are weighed.
ctypedef void (*mark_f)(const void* rules, const void* state, const action_t* actions, int n, bint wide,
                        MarkedActions* options) noexcept nogil
# Return the row of the weights of the features.
ctypedef int (*row_of_f)(const void* rules, const void* state) noexcept nogil
# List the features of each player.
ctypedef void (*tally_f)(const void* rules, const void* state, FeatureList* features) noexcept nogil
# Return the stage, such as the round, from 0. Training evaluates each stage, and credits its actions by the change.
ctypedef int (*stage_of_f)(const void* rules, const void* state) noexcept nogil


cdef struct FeatureApi:
    const GameApi* game

    Policy playouts
    Policy prior
    const float* sharpness                     # of the prior, by set: the part of its preferences that it keeps

    # The weights of the features, by set and row; Weights owns the memory.
    int n_rows
    int n_features
    const float* features

    set_of_f set_of
    mark_f mark
    row_of_f row_of
    tally_f tally
    stage_of_f stage_of

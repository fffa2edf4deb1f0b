"""The learned evaluation: the share of the win that each player may expect.

The *standing* of a player adds up the weights of their features, such as "cards in the queue"; the evaluation is the
softmax of the standings.
"""
from engine_cy.game_api cimport MAX_PLAYERS, GAME_OVER
from engine_cy.learned.feature_api cimport Feature, FeatureApi, FeatureList
from engine_cy.support.softmax cimport share_out


cdef inline void evaluate_state(const FeatureApi* api, int n_players, const void* rules, const void* state,
                                double* per_seat) noexcept nogil:
    """Write the expected payoff of each seat; the payoffs, once the game is over."""
    cdef FeatureList features
    cdef double standings[MAX_PLAYERS]
    cdef const Feature* entry
    cdef const float* weights
    cdef int i

    if api.game.to_act(rules, state) == GAME_OVER:
        api.game.payoffs(rules, state, per_seat)
        return
    features.n = 0
    api.tally(rules, state, &features)
    weights = api.features + (api.set_of(rules) * api.n_rows + api.row_of(rules, state)) * api.n_features
    for i in range(MAX_PLAYERS):
        standings[i] = 0
    for i in range(features.n):
        entry = &features.entries[i]
        standings[entry.player] += weights[entry.number] * entry.value
    share_out(standings, n_players, per_seat)

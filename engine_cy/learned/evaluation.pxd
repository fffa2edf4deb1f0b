"""The learned evaluation: the share of the win that each player may expect.

The *standing* of a player adds up the weights of their features, such as "cards in the queue"; the evaluation is the
softmax of the standings.
"""
from engine_cy.game_api cimport MAX_PLAYERS, GAME_OVER
from engine_cy.learned.feature_api cimport FeatureApi, FeatureCounts
from engine_cy.support.softmax cimport share_out


cdef inline void evaluate_state(const FeatureApi* api, int n_players, const void* rules, const void* state,
                                double* per_seat) noexcept nogil:
    """Write the expected payoff of each seat; the payoffs, once the game is over."""
    cdef FeatureCounts tally
    cdef int player
    cdef int row

    if api.game.to_act(rules, state) == GAME_OVER:
        api.game.payoffs(rules, state, per_seat)
        return
    row = api.set_of(rules) * api.n_rows + api.row_of(rules, state)
    tally.weights = api.features + row * api.n_features
    tally.features = NULL
    for player in range(MAX_PLAYERS):
        tally.totals[player] = 0
    api.tally(rules, state, &tally)
    share_out(tally.totals, n_players, per_seat)

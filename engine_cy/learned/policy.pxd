"""The learned policies: the prior of actions, and the choices of playouts.

The *preference* of an action adds up the weights of its *marks*, such as "a Spy, two rounds left, at the front", each
times an amount. A playout takes the greatest preference after a little noise is added. The prior of a search is the
softmax of softened preferences, by a policy that may weigh more marks.

Equal inputs give equal bits on every machine: no libm, and every sum has a fixed order.
"""
from engine_cy.game_api cimport MAX_ACTIONS, action_t
from engine_cy.learned.feature_api cimport FeatureApi, MarkedActions, Policy
from engine_cy.support.rng cimport rng_t
from engine_cy.support.softmax cimport best_shaken, soften


cdef inline void prefer(const FeatureApi* api, const Policy* policy, const void* rules, const void* state,
                        const action_t* actions, int n, MarkedActions* options, float* preferences) noexcept nogil:
    """Write the marks and the preference of each of `n` legal actions."""
    cdef const float* weights = policy.weights + api.set_of(rules) * policy.n_marks
    cdef float total
    cdef int i, m

    api.mark(rules, state, actions, n, policy.is_wide, options)
    for i in range(options.n):
        total = 0
        if options.has_amounts:
            for m in range(options.width):
                total += weights[options.marks[i][m]] * options.amounts[i][m]
        else:
            for m in range(options.width):
                total += weights[options.marks[i][m]]
        preferences[i] = total
    for i in range(options.n, n):
        preferences[i] = 0


cdef inline void preferences_of(const FeatureApi* api, const Policy* policy, const void* rules, const void* state,
                                const action_t* actions, int n, float* preferences) noexcept nogil:
    cdef MarkedActions options

    prefer(api, policy, rules, state, actions, n, &options, preferences)


cdef inline void shares_of(const FeatureApi* api, const Policy* policy, const void* rules, const void* state,
                           const action_t* actions, int n, float* shares) noexcept nogil:
    """Write the probability of each of `n` legal actions."""
    cdef float preferences[MAX_ACTIONS]

    preferences_of(api, policy, rules, state, actions, n, preferences)
    soften(preferences, n, shares)


cdef inline void prior_of(const FeatureApi* api, const void* rules, const void* state, const action_t* actions, int n,
                          float* shares) noexcept nogil:
    """Write the prior of each of `n` legal actions.

    A search also looks at moves that the policy would not choose, so the prior keeps only a part of the preferences.
    """
    cdef float sharpness = api.sharpness[api.set_of(rules)]
    cdef float preferences[MAX_ACTIONS]
    cdef int i

    preferences_of(api, &api.prior, rules, state, actions, n, preferences)
    for i in range(n):
        preferences[i] *= sharpness
    soften(preferences, n, shares)


cdef inline action_t choose_action(const FeatureApi* api, const Policy* policy, const void* rules, const void* state,
                                   rng_t* rng) noexcept nogil:
    """Return the action with the greatest preference plus noise."""
    cdef action_t actions[MAX_ACTIONS]
    cdef float preferences[MAX_ACTIONS]
    cdef int n = api.game.legal(rules, state, actions)

    if n == 1:
        return actions[0]
    preferences_of(api, policy, rules, state, actions, n, preferences)
    return actions[best_shaken(preferences, n, 0.4, rng)]

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Kuhn poker with a prior: the holder of a King nearly always calls a bet, the holder of another card folds."""
from engine_cy.game_api cimport Knowledge, action_t, choose_f, prior_f
from engine_cy.kuhn_leduc.state cimport State, owes
from engine_cy.kuhn_leduc.words cimport BET
from engine_cy.support.rng cimport rng_t
from engine_cy.values cimport Game

from engine_cy.kuhn_leduc.binding import Poker

cdef enum:
    KING = 3

cdef float LIKELY = 0.999


cdef void prior(const void* rules, const State* state, const action_t* actions, int n, float* shares) noexcept nogil:
    cdef bint bets = state.cards[state.to_act] == KING
    cdef int i

    for i in range(n):
        shares[i] = 0.5 if not owes(state) else LIKELY if (actions[i] == BET) == bets else 1 - LIKELY


cdef action_t choose(const void* rules, const State* state, rng_t* rng) noexcept nogil:
    return BET


cdef Knowledge KNOWLEDGE
KNOWLEDGE.prior = <prior_f>prior
KNOWLEDGE.prior_by_hand = <prior_f>prior
KNOWLEDGE.choose = <choose_f>choose


def known_kuhn():
    """Return the game."""
    cdef Game game = Poker("kuhn_poker", None, 2)

    game.knowledge = &KNOWLEDGE
    return game

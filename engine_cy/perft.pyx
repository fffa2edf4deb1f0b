# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Counts of action sequences, to test the rules of a game."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from engine_cy.values cimport Game, Position
from engine_cy.game_api cimport MAX_ACTIONS, DECISION_UNFINISHED, STATE_WORDS, GameApi, action_t


cdef uint64_t count_leaves(const GameApi* api, const void* rules, const void* state, int depth) noexcept nogil:
    """Count the sequences of `depth` decisions; in the middle of a decision, its rest is the first one."""
    cdef action_t actions[MAX_ACTIONS]
    cdef uint64_t child[STATE_WORDS]
    cdef uint64_t leaves = 0
    cdef int n = api.legal(rules, state, actions)
    cdef int i

    if not api.part(rules, state) & DECISION_UNFINISHED:
        depth -= 1
        if depth == 0:
            return n
    for i in range(n):
        memcpy(child, state, api.state_size)
        api.apply(rules, child, actions[i])
        leaves += count_leaves(api, rules, child, depth)
    return leaves


def perft(Position position, int depth):
    """Count the sequences of `depth` whole decisions and chance outcomes from `position`.

    Forced decisions count. Games that end before `depth` add nothing.
    """
    cdef uint64_t leaves
    cdef Game game = position.game

    if depth < 1:
        raise ValueError(f"depth: {depth} is not 1 or more")
    with nogil:
        leaves = count_leaves(game.api, game.rules, position.state, depth)
    return leaves

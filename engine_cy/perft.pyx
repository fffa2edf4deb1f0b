# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Count the sequences of moves of any game."""
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from engine_cy.values cimport Game, Position
from engine_cy.game_api cimport MAX_ACTIONS, MORE, STATE_WORDS, GameApi, action_t


cdef uint64_t count_leaves(const GameApi* api, const void* rules, const void* state, int depth) noexcept nogil:
    """Sequences of `depth` whole decisions from `state`; within a decision, of the rest of it and `depth` - 1 more."""
    cdef action_t actions[MAX_ACTIONS]
    cdef uint64_t child[STATE_WORDS]
    cdef uint64_t leaves = 0
    cdef int n = api.legal(rules, state, actions)
    cdef int i

    if not api.part(rules, state) & MORE:
        depth -= 1
        if depth == 0:
            return n
    for i in range(n):
        memcpy(child, state, api.state_size)
        api.apply(rules, child, actions[i])
        leaves += count_leaves(api, rules, child, depth)
    return leaves


def perft(Position position, int depth):
    """The number of sequences of `depth` whole decisions (and chance outcomes) from `position`, forced ones included.

    A game that ends earlier counts nothing.
    """
    cdef uint64_t leaves
    cdef Game game = position.game

    if depth < 1:
        raise ValueError(f"depth: {depth} is not from 1 on")
    with nogil:
        leaves = count_leaves(game.api, game.rules, position.state, depth)
    return leaves

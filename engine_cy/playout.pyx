# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""What can be done with any game through the door alone: count move sequences, play random games under watch."""
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy

from engine_cy.game cimport Game, Position
from engine_cy.game_api cimport MAX_ACTIONS, MAX_PLAYERS, MORE, NOBODY, SPECTATOR, STATE_WORDS, GameApi, action_t
from engine_cy.rng cimport below, below64, rng_t, seed_rng


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


def perft_split(Position position, int depth):
    """The sequences of `depth` decisions behind each first action."""
    return {
        action: 1 if depth == 1 else perft(position.play(action), depth - 1) for action in position.legal_actions()
    }


class Fault(Exception):
    """The engine broke one of its own laws."""


cdef object where(Game game, const void* state, const char* what):
    return Fault(f"{what.decode()}, in {game!r}: {(<char*>state)[:game.api.state_size].hex()}")


cdef watch(Game game, const void* state, rng_t* rng):
    """Check every invariant of `state`, and for one player what he sees and what may be true."""
    cdef uint64_t view[STATE_WORDS]
    cdef uint64_t world[STATE_WORDS]
    cdef uint64_t again[STATE_WORDS]
    cdef const GameApi* api = game.api
    cdef int observer = below(rng, game.n_players)
    cdef int player = below(rng, game.n_players)
    cdef uint64_t n
    cdef const char* fault = game.fault(state, -1)

    if fault != NULL:
        raise where(game, state, fault)
    api.observe(game.rules, state, observer, view)
    fault = game.fault(view, observer)
    if fault != NULL:
        raise where(game, view, fault)
    api.sample(game.rules, view, observer, world, rng)
    n = api.count_secrets(game.rules, view, observer, player)
    if n == 0:
        raise where(game, view, b"count_secrets: none")
    api.write_secret(game.rules, world, observer, player, below64(rng, n))
    fault = game.fault(world, -1)
    if fault != NULL:
        raise where(game, world, fault)
    api.observe(game.rules, world, observer, again)
    if memcmp(view, again, api.state_size):
        raise where(game, world, b"sample: the world looks different to its observer")
    if api.key(game.rules, state, observer) != api.key(game.rules, world, observer):
        raise where(game, world, b"key: the world has another key for its observer")
    if api.key(game.rules, state, SPECTATOR) != api.key(game.rules, world, SPECTATOR):
        raise where(game, world, b"key: the world has another key for a spectator, who sees less than any player")


def play_watched(Game game, uint64_t n_games, uint64_t seed=0):
    """Play random games action by action, all laws checked after each; return the actions played, or raise Fault."""
    cdef uint64_t state[STATE_WORDS]
    cdef uint64_t end[STATE_WORDS]
    cdef action_t actions[MAX_ACTIONS]
    cdef double payoffs[MAX_PLAYERS]
    cdef const GameApi* api = game.api
    cdef uint64_t played = 0
    cdef uint64_t number
    cdef rng_t rng
    cdef int n

    for number in range(n_games):
        seed_rng(&rng, seed, number)
        api.deal(game.rules, state, below(&rng, game.n_players), &rng)
        memcpy(end, state, api.state_size)
        api.play_out(game.rules, end, &rng)
        if api.to_act(game.rules, end) != NOBODY:
            raise where(game, end, b"play_out: the game is not over")
        watch(game, end, &rng)
        while api.to_act(game.rules, state) != NOBODY:
            watch(game, state, &rng)
            n = api.legal(game.rules, state, actions)
            if not 0 < n <= MAX_ACTIONS:
                raise where(game, state, b"legal: no action, or too many")
            api.apply(game.rules, state, actions[below(&rng, n)])
            played += 1
        watch(game, state, &rng)
        api.payoffs(game.rules, state, payoffs)
    return played

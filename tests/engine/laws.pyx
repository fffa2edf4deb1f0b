# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Check the laws of the engine at every state of random games."""
from libc.stdint cimport uint64_t
from libc.string cimport memcmp, memcpy

from engine_cy.values cimport Game
from engine_cy.game_api cimport MAX_ACTIONS, MAX_PLAYERS, GAME_OVER, SPECTATOR, STATE_WORDS, GameApi, action_t
from engine_cy.support.rng cimport below, below64, rng_t, seed_rng


class Fault(Exception):
    """The engine broke one of its own laws."""


cdef object fault_at(Game game, const void* state, const char* what):
    return Fault(f"{what.decode()}, in {game!r}: {(<char*>state)[:game.api.state_size].hex()}")


cdef check_bytes(Game game, const void* state, int observer):
    if game.fault(state, observer) != NULL:
        raise fault_at(game, state, str(game.error_for(state, observer)).encode())


cdef check_laws(Game game, const void* state, rng_t* rng):
    """Check every invariant of a state, and the view and the sampled worlds of one random player."""
    cdef uint64_t view[STATE_WORDS]
    cdef uint64_t world[STATE_WORDS]
    cdef uint64_t again[STATE_WORDS]
    cdef const GameApi* api = game.api
    cdef int observer = below(rng, game.n_players)
    cdef int player = below(rng, game.n_players)
    cdef uint64_t n

    check_bytes(game, state, -1)
    api.observe(game.rules, state, observer, view)
    check_bytes(game, view, observer)
    api.sample(game.rules, view, observer, world, rng)
    n = api.count_secrets(game.rules, view, observer, player)
    if n == 0:
        raise fault_at(game, view, b"count_secrets: none")
    api.write_secret(game.rules, world, observer, player, below64(rng, n))
    check_bytes(game, world, -1)
    api.observe(game.rules, world, observer, again)
    if memcmp(view, again, api.state_size):
        raise fault_at(game, world, b"sample: the world looks different to its observer")
    if api.key(game.rules, state, observer) != api.key(game.rules, world, observer):
        raise fault_at(game, world, b"key: the world has another key for its observer")
    if api.key(game.rules, state, SPECTATOR) != api.key(game.rules, world, SPECTATOR):
        raise fault_at(game, world, b"key: the world has another key for a spectator, who sees less than any player")


def check_random_games(Game game, uint64_t n_games, uint64_t seed=0):
    """Play random games and check all laws after each action; return the number of actions, or raise Fault."""
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
        if api.to_act(game.rules, end) != GAME_OVER:
            raise fault_at(game, end, b"play_out: the game is not over")
        check_laws(game, end, &rng)
        while api.to_act(game.rules, state) != GAME_OVER:
            check_laws(game, state, &rng)
            n = api.legal(game.rules, state, actions)
            if not 0 < n <= MAX_ACTIONS:
                raise fault_at(game, state, b"legal: no action, or too many")
            api.apply(game.rules, state, actions[below(&rng, n)])
            played += 1
        check_laws(game, state, &rng)
        api.payoffs(game.rules, state, payoffs)
    return played

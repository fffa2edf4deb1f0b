# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Loops that have to run in C, as a search would run them."""
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from engine_cy.game cimport Game, Position
from engine_cy.game_api cimport STATE_WORDS
from engine_cy.oriflamme.state cimport State
from engine_cy.rng cimport Rng

cdef extern from *:
    """
    // Nothing is computed here, but the compiler has to believe that all memory is read and written: what was copied
    // before has to be there, and no two copies can be made into one.
    #define touch(place) __asm__ volatile("" : : "r"(place) : "memory")
    """
    void touch(const void* place) noexcept nogil


def play_outs(list positions, long n, Rng rng):
    """Play `n` random games from copies of `positions` in turn; return how many decisions had two options or more."""
    cdef Game game = (<Position>positions[0]).game
    cdef size_t size = game.api.state_size
    cdef long n_positions = len(positions)
    cdef uint64_t room[STATE_WORDS]
    cdef long decisions = 0
    cdef long at, i, _i
    cdef char* starts = <char*>malloc(n_positions * size)

    if starts == NULL:
        raise MemoryError
    for i in range(n_positions):
        memcpy(starts + i * size, (<Position>positions[i]).state, size)
    with nogil:
        at = 0
        for _i in range(n):
            memcpy(room, starts + at * size, size)
            decisions += game.api.play_out(game.rules, room, &rng.raw)
            at = at + 1 if at + 1 < n_positions else 0
    free(starts)
    return decisions


# Both ways to copy use the same places, so that they cross as many cache lines.
cdef State here
cdef State there


cdef put_here(Position position):
    if sizeof(State) != position.game.api.state_size:
        raise ValueError(f"{position.game!r} has states of another size")
    memcpy(&here, position.state, sizeof(State))


def copy_by_memcpy(Position position, long n):
    """Copy the state `n` times with libc's memcpy, which is told the size at run time: what a search does."""
    cdef size_t size = position.game.api.state_size
    cdef long _i

    put_here(position)
    for _i in range(n):
        memcpy(&there, &here, size)
        touch(&here)
        touch(&there)


def copy_by_assignment(Position position, long n):
    """Copy the state `n` times as the game's own code does, for which the compiler knows the size."""
    global there
    cdef long _i

    put_here(position)
    for _i in range(n):
        there = here
        touch(&here)
        touch(&there)

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Run loops in C, as a search does."""
from libc.stdint cimport uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from engine_cy.castle_village_port.state cimport State as CastleState
from engine_cy.support.state_copy cimport copy_state
from engine_cy.values cimport Game, Position
from engine_cy.game_api cimport STATE_WORDS
from engine_cy.oriflamme.state cimport State as QueueState
from engine_cy.support.rng cimport Rng

cdef extern from *:
    """
    // Make the compiler assume that all memory is read and written here: it must complete each copy, and must not merge
    // two of them.
    #define touch(place) __asm__ volatile("" : : "r"(place) : "memory")
    """
    void touch(const void* place) noexcept nogil


def play_outs(list positions, long n, Rng rng):
    """Play `n` random games from copies of `positions` in turn; return the decisions with two options or more."""
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


# Both ways to copy use the same addresses, so that they cross the same number of cache lines.
cdef union AnyState:
    QueueState queue
    CastleState castle

cdef AnyState here
cdef AnyState there


def copy_by_memcpy(Position position, long n):
    """Copy the state `n` times with libc's memcpy, which gets the size at run time, as in a search."""
    cdef size_t size = position.game.api.state_size
    cdef long _i

    memcpy(&here, position.state, size)
    for _i in range(n):
        memcpy(&there, &here, size)
        touch(&here)
        touch(&there)


def copy_in_engine(Position position, long n):
    """Copy the state `n` times like the game's own code, with a size known to the compiler."""
    cdef size_t size = position.game.api.state_size
    cdef long _i

    memcpy(&here, position.state, size)
    if size == sizeof(QueueState):
        for _i in range(n):
            copy_state(&there, &here, sizeof(QueueState))
            touch(&here)
            touch(&there)
    elif size == sizeof(CastleState):
        for _i in range(n):
            copy_state(&there, &here, sizeof(CastleState))
            touch(&here)
            touch(&there)
    else:
        raise ValueError(f"{position.game!r}: unknown state size; Oriflamme and Castle, Village, Port are accepted")

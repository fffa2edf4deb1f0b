"""What a checked build holds the games to while they are searched: EMINENCE_CFLAGS="-DEMINENCE_CHECKED".

A world that does not look to the observer as the root does, or a key that holds more than its player sees, would make
a search play well for a reason that no player has. Such a search is aborted. The usual build checks nothing.
"""
from libc.stdint cimport uint64_t
from libc.string cimport memcmp

from engine_cy.game_api cimport SPECTATOR, STATE_WORDS, GameApi

cdef extern from *:
    """
    #include <stdio.h>
    #include <stdlib.h>

    #ifdef EMINENCE_CHECKED
    #define EMINENCE_IS_CHECKED 1
    #else
    #define EMINENCE_IS_CHECKED 0
    #endif

    static inline void eminence_abort_search(const char* why) {
        fprintf(stderr, "a checked build aborts this search: %s\\n", why);
        abort();
    }
    """
    bint IS_CHECKED "EMINENCE_IS_CHECKED"
    void abort_search "eminence_abort_search" (const char* why) noexcept nogil


cdef inline void check_world(const GameApi* api, const void* rules, const void* root, int observer,
                             const void* world) noexcept nogil:
    """A sampled world looks to its observer as the root of the search does, to the last byte."""
    cdef uint64_t seen[STATE_WORDS]

    if IS_CHECKED:
        api.observe(rules, world, observer, seen)
        if memcmp(seen, root, api.state_size):
            abort_search(b"a sampled world does not look like the root to its observer")


cdef inline void check_pretence(const GameApi* api, const void* rules, const void* root,
                                const void* world) noexcept nogil:
    """A world in which the observer's own cards are others looks to everybody else as the root does."""
    cdef uint64_t seen[STATE_WORDS]
    cdef uint64_t public[STATE_WORDS]

    if IS_CHECKED:
        api.observe(rules, world, SPECTATOR, seen)
        api.observe(rules, root, SPECTATOR, public)
        if memcmp(seen, public, api.state_size):
            abort_search(b"a world that only pretends does not look like the root to the others")


cdef inline void check_key(const GameApi* api, const void* rules, const void* state, int observer) noexcept nogil:
    """A key follows from what its observer sees."""
    cdef uint64_t seen[STATE_WORDS]

    if IS_CHECKED:
        api.observe(rules, state, observer, seen)
        if api.key(rules, seen, observer) != api.key(rules, state, observer):
            abort_search(b"a key depends on what its observer does not see")

"""Check the games during a search, in builds with EMINENCE_CFLAGS="-DEMINENCE_CHECKED" only.

A sampled world that looks different from the root to the observer, or a key that depends on more than its player sees,
would leak hidden information into the search. A checked build aborts such a search. The usual build checks nothing.
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
    """Check that a sampled world looks to its observer exactly like the root of the search, to the last byte."""
    cdef uint64_t seen[STATE_WORDS]

    if IS_CHECKED:
        api.observe(rules, world, observer, seen)
        if memcmp(seen, root, api.state_size):
            abort_search(b"a sampled world does not look like the root to its observer")


cdef inline void check_pretence(const GameApi* api, const void* rules, const void* root,
                                const void* world) noexcept nogil:
    """Check that a world with other own cards of the observer looks to a spectator exactly like the root."""
    cdef uint64_t seen[STATE_WORDS]
    cdef uint64_t public[STATE_WORDS]

    if IS_CHECKED:
        api.observe(rules, world, SPECTATOR, seen)
        api.observe(rules, root, SPECTATOR, public)
        if memcmp(seen, public, api.state_size):
            abort_search(b"a world that only pretends does not look like the root to the others")


cdef inline void check_key(const GameApi* api, const void* rules, const void* state, int observer) noexcept nogil:
    """Check that a key depends only on what its observer sees."""
    cdef uint64_t seen[STATE_WORDS]

    if IS_CHECKED:
        api.observe(rules, state, observer, seen)
        if api.key(rules, seen, observer) != api.key(rules, state, observer):
            abort_search(b"a key depends on what its observer does not see")

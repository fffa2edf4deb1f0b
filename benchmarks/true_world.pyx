# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""A sampler of worlds that knows the hidden cards, for the cheater of cheater.py: no part of the product has one."""
from engine_cy.support.rng cimport rng_t
from engine_cy.support.state_copy cimport copy_state
from engine_cy.values cimport Position, View
from solver.beliefs cimport WorldSampler


cdef class TrueWorld(WorldSampler):
    """Sample nothing but the true position."""

    cdef Position position

    def __cinit__(self, View view, Position position):
        if position.view(view.observer) != view:
            raise ValueError(f"position: {position} does not fit the view {view}")
        self.view = view
        self.position = position

    cpdef int prepare(self) except -1:
        return 0

    cdef void draw(self, void* world, rng_t* rng) noexcept nogil:
        copy_state(world, self.position.state, self.view.game.api.state_size)

"""Selection formulas: which of a node's actions to try next."""
from libc.math cimport sqrt

from solver.tree cimport Edge


cdef inline double ucb(const Edge* edge, double c, double log_available) noexcept nogil:
    """UCB1 with availability for the number of trials (Cowling, Powley, Whitehouse 2012): an action that was seldom
    legal is not explored as if it had been passed over."""
    return edge.value / edge.visits + c * sqrt(log_available / edge.visits)


cdef inline double puct(const Edge* edge, double prior, double c, double unvisited) noexcept nogil:
    """PUCT; an action never tried counts as `unvisited`."""
    cdef double value = edge.value / edge.visits if edge.visits else unvisited

    return value + c * prior * sqrt(<double>edge.available) / (1 + edge.visits)

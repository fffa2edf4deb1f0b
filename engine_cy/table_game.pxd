"""A game whose tables in words are dataclasses, with text, actions and faults by its own modules."""
from engine_cy.faults cimport Breaches
from engine_cy.values cimport Game

# Find the faults of any bytes as a state. `observer` is the one of a view, or -1.
ctypedef void (*find_faults_f)(const void* rules, const void* state, int observer, Breaches* breaches) noexcept nogil


cdef class TableGame(Game):
    cdef find_faults_f find_faults
    cdef readonly object shape            # the numbers and cards of its tables
    cdef object tables                    # the game's modules `table` and `notation`
    cdef object notation
    cdef object actions                   # its declared actions
    cdef object fault_of                  # words a breach of a rule
    cdef list rule_names                  # the names of its rules, by number

    cdef list worded(self, const Breaches* breaches, parts)

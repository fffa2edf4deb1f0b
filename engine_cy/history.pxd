from engine_cy.game cimport Game
from engine_cy.game_api cimport Account


cdef class History:
    cdef readonly Game game
    cdef readonly int n_actions
    cdef Account account

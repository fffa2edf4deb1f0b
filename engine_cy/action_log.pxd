"""The log of a game, for beliefs."""
from engine_cy.values cimport Game
from engine_cy.game_api cimport Account


cdef class History:
    cdef readonly Game game
    cdef public object start      # the tables before the first and after the last action, where they are known
    cdef public object end
    cdef list texts
    cdef Account account

"""The log of one game: its actions, and the statistics that beliefs read."""
from engine_cy.values cimport Game
from engine_cy.game_api cimport ActionEvidence


cdef class History:
    cdef readonly Game game
    cdef public object start      # the table before the first action, or None
    cdef public object end        # the table after the last action, or None
    cdef list texts               # the actions, as text
    cdef ActionEvidence evidence

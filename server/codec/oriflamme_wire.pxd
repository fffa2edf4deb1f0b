from engine_cy.game cimport View
from engine_cy.oriflamme.api cimport Oriflamme
from server.codec.numbers cimport Numbers
from server.codec.wire cimport Part


# The view that a message says, None if it is not to be read here.
cdef View view_in(Oriflamme game, Part message, Numbers numbers)

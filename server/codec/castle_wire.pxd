from engine_cy.castle_village_port.api cimport CastleVillagePort
from engine_cy.game cimport View
from server.codec.numbers cimport Numbers
from server.codec.wire cimport Part


# The view that a message says, None if it is not to be read here.
cdef View view_in(CastleVillagePort game, Part message, Numbers numbers)

from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.game_api cimport Knowledge

cdef Knowledge KNOWLEDGE

# Whether the weights say anything about a table with these rules.
cdef bint fits(const Rules* rules) noexcept nogil

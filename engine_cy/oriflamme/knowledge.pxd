from engine_cy.game_api cimport Knowledge

cdef Knowledge KNOWLEDGE

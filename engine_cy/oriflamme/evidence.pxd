from engine_cy.game_api cimport Knowledge


cdef void add_suspicion(Knowledge* knowledge) noexcept

from engine_cy.game_api cimport Knowledge


cdef void add_belief_functions(Knowledge* knowledge) noexcept

from libc.stdint cimport uint8_t

from engine_cy.kuhn_leduc.words cimport ROUNDS


cdef struct Rules:
    uint8_t n_cards
    uint8_t suits
    uint8_t n_rounds
    uint8_t raises_max
    uint8_t raise_sizes[ROUNDS]
    uint8_t pass_or_bet

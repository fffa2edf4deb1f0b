# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The states that fit a view: the cards that the opponent may have."""
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from engine_cy.kuhn_leduc.rules cimport Rules
from engine_cy.kuhn_leduc.state cimport State, is_secret
from engine_cy.kuhn_leduc.words cimport OPTIONS
from engine_cy.support.rng cimport below, rng_t


cdef int possible_cards(const Rules* rules, const State* world, int observer, uint8_t* cards) noexcept nogil:
    """List the cards that the opponent of `observer` may have; return their number."""
    cdef int n = 0
    cdef int card

    for card in range(1, rules.n_cards + 1):
        if card != world.cards[observer] and card != world.public_card:
            cards[n] = <uint8_t>card
            n += 1
    return n


cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int opponent) noexcept nogil:
    cdef uint8_t cards[OPTIONS]

    return possible_cards(rules, world, observer, cards) if opponent != observer and is_secret(world, opponent) else 1


cdef void write_secret(const Rules* rules, State* world, int observer, int opponent, uint64_t index) noexcept nogil:
    cdef uint8_t cards[OPTIONS]

    if opponent != observer and is_secret(world, opponent):
        possible_cards(rules, world, observer, cards)
        world.cards[opponent] = cards[index]


cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil:
    cdef int opponent = 1 - observer

    memcpy(world, view, sizeof(State))
    write_secret(rules, world, observer, opponent, below(rng, <int>count_secrets(rules, view, observer, opponent)))

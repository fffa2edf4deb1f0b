# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The states that fit a view: the others' hands, selected cards and decks, and the order of the observer's own deck.

Each player has their own cards, so the secrets of different players are independent. A *secret* of a player is a
selected card, an order of the deck, and a hand of the rest; the observer's is only an order of their own deck. Secrets
are indexed: the digits of an index, in mixed radix, pick one after the other from the cards that are left.
"""
from libc.stdint cimport uint8_t, uint16_t, uint64_t

from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport NO_CARD, State, bit, owner_of, value_of
from engine_cy.castle_village_port.words cimport LOCATIONS, MAX_VALUE
from engine_cy.support.state_copy cimport copy_state
from engine_cy.support.rng cimport below, rng_t


cdef Hidden hidden_of(const Rules* rules, const State* world, int observer, int player) noexcept nogil:
    cdef Hidden hidden
    cdef uint16_t left = rules.values & ~world.piles[player]
    cdef int location, i, value
    cdef uint8_t card

    for location in range(LOCATIONS):
        for i in range(world.n_row[location]):
            card = world.rows[location][i]
            if owner_of(card) == player:
                left &= ~bit(value_of(card))
    hidden.with_selected = player != observer and world.selected[player] != NO_CARD
    if player == observer:
        left &= ~world.hands[player]
        if world.selected[player] != NO_CARD:
            left &= ~bit(world.selected[player])
    hidden.n_cards = 0
    for value in range(1, MAX_VALUE + 1):
        if left & bit(value):
            hidden.cards[hidden.n_cards] = <uint8_t>value
            hidden.n_cards += 1
    hidden.n_ordered = world.n_deck[player] + hidden.with_selected
    return hidden


cdef uint64_t count_secrets(const Rules* rules, const State* world, int observer, int player) noexcept nogil:
    cdef Hidden hidden = hidden_of(rules, world, observer, player)
    cdef uint64_t n = 1
    cdef int i

    for i in range(hidden.n_ordered):
        n *= hidden.n_cards - i
    return n


cdef inline uint8_t pick(Hidden* hidden, int n) noexcept nogil:
    """Take the n-th of the cards that are left."""
    cdef uint8_t value = hidden.cards[n]

    hidden.n_cards -= 1
    hidden.cards[n] = hidden.cards[hidden.n_cards]
    return value


cdef inline void lay_out(State* world, int observer, int player, Hidden* hidden, const uint8_t* picks) noexcept nogil:
    """Write the secret that `picks` stand for, one for each card that lies in order."""
    cdef int i
    cdef int n = 0

    if hidden.with_selected:
        world.selected[player] = pick(hidden, picks[0])
        n = 1
    for i in range(world.n_deck[player]):
        world.decks[player][i] = pick(hidden, picks[n + i])
    if player != observer:
        world.hands[player] = 0
        for i in range(hidden.n_cards):
            world.hands[player] |= bit(hidden.cards[i])


cdef void write_secret(const Rules* rules, State* world, int observer, int player, uint64_t index) noexcept nogil:
    cdef Hidden hidden = hidden_of(rules, world, observer, player)
    cdef uint8_t picks[MAX_VALUE]
    cdef int i

    for i in range(hidden.n_ordered):
        picks[i] = <uint8_t>(index % (hidden.n_cards - i))
        index //= hidden.n_cards - i
    lay_out(world, observer, player, &hidden, picks)


cdef void sample(const Rules* rules, const State* view, int observer, State* world, rng_t* rng) noexcept nogil:
    cdef Hidden hidden
    cdef uint8_t picks[MAX_VALUE]
    cdef int player, i

    copy_state(world, view, sizeof(State))
    for player in range(rules.n_players):
        hidden = hidden_of(rules, world, observer, player)
        for i in range(hidden.n_ordered):
            picks[i] = <uint8_t>below(rng, hidden.n_cards - i)
        lay_out(world, observer, player, &hidden, picks)

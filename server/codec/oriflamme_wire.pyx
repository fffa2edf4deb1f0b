# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Views of Oriflamme out of the bytes of a message. What is not written as most write it, leaves anything out or is
wrong is not read here."""
from libc.stdint cimport uint8_t
from libc.string cimport memset

from engine_cy.game cimport View
from engine_cy.game_api cimport MAX_PLAYERS
from engine_cy.oriflamme.api cimport HELD_MAX, UNSAID, Oriflamme, Said, SaidCard
from engine_cy.oriflamme.vocab cimport MAX_PLAYED
from server.codec.numbers cimport Numbers
from server.codec.wire cimport (
    Field, Part, next_field, part_of, read_list, read_packed, read_seat, read_sides, read_small, read_smalls,
)

# The fields of the messages in oriflamme.proto that are parts, as sets of their numbers.
cdef enum:
    OF_TABLE = 1 << 1 | 1 << 8 | 1 << 9 | 1 << 10
    LISTS_OF_TABLE = 1 << 1 | 1 << 9
    OF_SECRETS = 1 << 1 | 1 << 2
    OF_SLOT = 1 << 2


# The observer's own face-down cards, in the order of the queue.
cdef struct FaceDown:
    int n
    int n_laid
    uint8_t kinds[MAX_PLAYED]


def read_view(Oriflamme game, bytes raw, Numbers numbers):
    """The view that a message says, None if it is not to be read here."""
    return view_in(game, part_of(raw), numbers)


cdef View view_in(Oriflamme game, Part message, Numbers numbers):
    cdef Part table, own
    cdef FaceDown hidden
    cdef Said said

    memset(&said, 0, sizeof(said))
    memset(&hidden, 0, sizeof(hidden))
    said.ask = said.to_act = said.cursor = said.acting = said.first = UNSAID
    if not read_sides(&message, &said.observer, &table, &own) or not read_own(&own, numbers, &said, &hidden):
        return None
    if not read_table(&table, numbers, &said, &hidden):
        return None
    return game.view_as_said(&said)


cdef bint read_own(Part* message, Numbers numbers, Said* said, FaceDown* hidden) noexcept nogil:
    cdef Field field
    cdef int found, n

    memset(&field, 0, sizeof(field))
    while True:
        found = next_field(message, &field, OF_SECRETS, 0)
        if found <= 0:
            return found == 0
        if field.number == 1:
            n = numbers.cards_in(&field.part, said.hand, HELD_MAX)
            said.n_hand = <uint8_t>n
        elif field.number == 2:
            n = numbers.cards_in(&field.part, hidden.kinds, MAX_PLAYED)
            hidden.n = n
        else:
            return False
        if n < 0:
            return False


cdef bint read_table(Part* message, Numbers numbers, Said* said, FaceDown* hidden) noexcept nogil:
    cdef Field field
    cdef uint8_t number
    cdef int found, n
    cdef int slot = 0

    memset(&field, 0, sizeof(field))
    while True:
        found = next_field(message, &field, OF_TABLE, LISTS_OF_TABLE)
        if found <= 0:
            return found == 0 and hidden.n_laid == hidden.n
        n = 0
        if field.number == 1:
            if not read_slot(&field.part, slot, numbers, said, hidden):
                return False
            slot += 1
        elif field.number == 8:
            n = read_packed(&field.part, said.points, MAX_PLAYERS)
            said.n_points = <uint8_t>n
        elif field.number == 9:
            if said.n_piles == MAX_PLAYERS or not read_pile(&field.part, numbers, said):
                return False
        elif field.number == 10:
            n = read_packed(&field.part, said.hand_sizes, MAX_PLAYERS)
            said.n_hand_sizes = <uint8_t>n
        elif field.number > 7 or not read_small(field.value, &number):
            return False
        elif field.number == 2:
            said.round = number
        elif field.number == 3:
            read_seat(&field, &said.first)
        elif field.number == 4:
            said.ask = numbers.asks[number]
        elif field.number == 5:
            read_seat(&field, &said.to_act)
        elif field.number == 6:
            said.cursor = number
        elif number:
            said.acting = numbers.kinds[number]
            if said.acting == UNSAID:
                return False
        if n < 0:
            return False


cdef bint read_slot(Part* message, int slot, Numbers numbers, Said* said, FaceDown* hidden) noexcept nogil:
    cdef Field field
    cdef uint8_t family = UNSAID
    cdef int first = said.n_cards
    cdef int found

    memset(&field, 0, sizeof(field))
    while True:
        found = next_field(message, &field, OF_SLOT, OF_SLOT)
        if found <= 0:
            return found == 0 and said.n_cards > first
        if field.number == 1:
            if not read_seat(&field, &family):
                return False
        elif field.number > 2 or said.n_cards == MAX_PLAYED:
            return False
        elif not read_card(&field.part, slot, family, numbers, said, hidden):
            return False


cdef bint read_card(Part* message, int slot, uint8_t family, Numbers numbers, Said* said,
                    FaceDown* hidden) noexcept nogil:
    cdef SaidCard* card = &said.cards[said.n_cards]
    cdef uint8_t told[3]          # which card lies face up, tokens, and nth

    if not read_smalls(message, told, 3):
        return False
    card.slot = <uint8_t>slot
    card.family = family
    card.face_up = told[0] != 0
    card.tokens = told[1]
    card.nth = told[2]
    card.kind = numbers.kinds[told[0]] if told[0] else UNSAID
    said.n_cards += 1
    if told[0]:
        return card.kind != UNSAID
    if family == said.observer:
        if hidden.n_laid == hidden.n:
            return False
        card.kind = hidden.kinds[hidden.n_laid]
        hidden.n_laid += 1
    return True


cdef bint read_pile(Part* message, Numbers numbers, Said* said) noexcept nogil:
    cdef Part cards
    cdef int n

    if not read_list(message, &cards):
        return False
    n = numbers.cards_in(&cards, said.piles[said.n_piles], HELD_MAX)
    said.n_pile[said.n_piles] = <uint8_t>n
    said.n_piles += 1
    return n >= 0

# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Suggestions as bytes: what is believed of hidden cards are many numbers, slow to write one by one."""
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from engine_cy.game cimport View
from engine_cy.game_api cimport MAX_KINDS, MAX_PLAYERS, MAX_SPOTS, Suspicion
from engine_cy.oriflamme.api cimport Oriflamme
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport State
from server.codec.wire cimport write_double, write_number, write_part, write_varint
from solver.beliefs cimport Belief
from solver.chances cimport Chances

# The fields of the messages in solver.proto.
cdef enum:
    BELIEFS = 5                   # Suggestion
    EFFECTIVE_SAMPLE_SIZE = 6
    FITTING_WORLDS = 21

    SEAT = 1                      # SeatBelief
    FACE_DOWN = 2
    HAND = 3
    SELECTED = 4

    SLOT = 1                      # FaceDownBelief
    DEPTH = 2
    NTH = 3
    CARDS = 4

    OF_ORIFLAMME = 1              # CardProbability
    OF_CASTLE_VILLAGE_PORT = 2
    PROBABILITY = 3

    # Bytes at most: of one card and its chance, of a list of these, of a seat, and of all.
    CARD_SIZE = 16
    CARDS_SIZE = MAX_KINDS * CARD_SIZE
    SPOT_SIZE = CARDS_SIZE + 24
    SEAT_SIZE = MAX_SPOTS * (SPOT_SIZE + 4) + CARDS_SIZE + 8
    ALL_SIZE = MAX_PLAYERS * (SEAT_SIZE + 4) + 96


cdef uint8_t* write_cards(uint8_t* at, int field, const Suspicion* suspicion, const double* chances, int card_field,
                          const uint8_t* cards) noexcept nogil:
    """The chances of kinds, in the order of these, which the message calls `cards`."""
    cdef uint8_t entry[CARD_SIZE]
    cdef uint8_t* end
    cdef int place[MAX_KINDS]
    cdef int kind, i

    for kind in range(MAX_KINDS):
        place[kind] = -1
    for i in range(suspicion.n_kinds):
        place[suspicion.kinds[i]] = i
    for kind in range(MAX_KINDS):
        if place[kind] >= 0:
            end = write_varint(write_varint(entry, card_field << 3), cards[kind])
            end = write_double(end, PROBABILITY, chances[place[kind]])
            at = write_part(at, field, entry, end - entry)
    return at


cdef uint8_t* write_queue(uint8_t* at, Oriflamme game, const State* state, const Suspicion* suspicion,
                          const Chances* chances, const uint8_t* cards) noexcept:
    """The face-down cards from the first slot to the last, in a slot from the top down."""
    cdef int cards_each = (<const Rules*>game.rules).cards_each
    cdef uint8_t spot[SPOT_SIZE]
    cdef uint8_t* end
    cdef int order[MAX_SPOTS]
    cdef int slots[MAX_SPOTS]
    cdef int depths[MAX_SPOTS]
    cdef int i, k

    for i in range(suspicion.n_spots):
        game.find(state, suspicion.spots[i], &slots[i], &depths[i])
        k = i
        while k > 0 and (slots[order[k - 1]] - slots[i] or depths[order[k - 1]] - depths[i]) > 0:
            order[k] = order[k - 1]
            k -= 1
        order[k] = i
    for k in range(suspicion.n_spots):
        i = order[k]
        end = write_number(spot, SLOT, slots[i])
        end = write_number(end, DEPTH, depths[i])
        end = write_number(end, NTH, suspicion.spots[i] % cards_each + 1)
        end = write_cards(end, CARDS, suspicion, chances.spots[i], OF_ORIFLAMME, cards)
        at = write_part(at, FACE_DOWN, spot, end - spot)
    return at


def beliefs_as_bytes(Belief belief, bytes cards):
    """What is believed, as bytes of a Suggestion; `cards` has the contract's number of each kind."""
    cdef uint8_t whole[ALL_SIZE]
    cdef uint8_t* end = write_beliefs(whole, belief, cards)

    return (<char*>whole)[:end - whole]


cdef uint8_t* write_beliefs(uint8_t* at, Belief belief, bytes cards) except NULL:
    cdef View view = belief.view
    cdef Oriflamme game = view.game if isinstance(view.game, Oriflamme) else None
    cdef int card_field = OF_CASTLE_VILLAGE_PORT if game is None else OF_ORIFLAMME
    cdef uint8_t numbers[MAX_KINDS]
    cdef uint8_t part[SEAT_SIZE]
    cdef uint8_t* end
    cdef const Suspicion* suspicion
    cdef Chances chances
    cdef int seat, i

    if len(cards) > MAX_KINDS:
        raise ValueError(f"cards: {len(cards)} kinds; at most {MAX_KINDS} are possible")
    memset(numbers, 0, sizeof(numbers))
    memcpy(numbers, <const char*>cards, len(cards))
    for seat in range(view.game.n_players):
        suspicion = &belief.secrets[seat].suspicion
        if seat == view.observer:
            continue
        end = write_number(part, SEAT, seat + 1)
        if suspicion.n_kinds:
            if not belief.chances_of(seat, &chances):
                continue
            if game is not None:
                end = write_queue(end, game, <const State*>view.state, suspicion, &chances, numbers)
            if suspicion.n_hand:
                end = write_cards(end, HAND, suspicion, chances.hand, card_field, numbers)
            if game is None:
                for i in range(suspicion.n_spots):
                    end = write_cards(end, SELECTED, suspicion, chances.spots[i], card_field, numbers)
        at = write_part(at, BELIEFS, part, end - part)
    at = write_double(at, EFFECTIVE_SAMPLE_SIZE, belief.effective_worlds)
    return write_double(at, FITTING_WORLDS, view.count_worlds())

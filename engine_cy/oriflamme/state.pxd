"""The bytes of a table, and the elementary operations on it.

The *id* of a card is family * cards_each + the number of cards that the family had placed before. Ids are therefore
public: the only hidden fields are `cards` (the kinds of face-down cards) and `hands`.
"""
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memmove

from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.words cimport NO_CARD

cdef extern from *:
    """
    #define highest_bit(bits) (31 - __builtin_clz(bits))
    """
    int highest_bit(uint32_t bits) noexcept nogil
    int lowest_bit "__builtin_ctz" (uint32_t bits) noexcept nogil

cdef enum:
    FACE_UP = 0x80
    FAMILY = 0x70
    KIND = 0x0F
    MASKED = 0x0F                 # the kind bits of an unknown card; see `is_unknown`
    UNKNOWN_HAND = 0x80000000     # the hand of another player in a view
    SLOTS = 48                    # MAX_PLAYED, and room to shift sixteen bytes at once
    TOKENS_MAX = 20               # one per round, and one for each Decree that moves a card ahead of the cursor
    POINTS_MAX = 250


cdef struct State:
    uint8_t tops[SLOTS]           # the top card of each slot, first to last; then NO_CARD
    uint8_t cards[32]             # by id: FACE_UP | family << 4 | kind; NO_CARD unless in the queue
    uint8_t below[32]             # by id: the card it covers, or NO_CARD
    uint8_t tokens[32]            # by id
    uint32_t hands[5]             # bit k: holds kind k; the bits of rules.more[k], from the highest on: more of it
    uint32_t piles[5]             # the cards that have left the queue, in the same format
    uint8_t points[5]
    uint8_t round                 # from 1
    uint8_t first                 # first player
    uint8_t turn                  # cards placed this round
    uint8_t n_slots
    uint8_t cursor                # slot being resolved; 0 in placement
    uint8_t ask                   # the question to the player to act, one of ASK_
    uint8_t to_act                # 0 when the game is over
    uint8_t acting                # kind of the ability that asks, else NO_KIND
    uint8_t chosen                # slot chosen in the first half of a decision, else NO_SLOT
    uint8_t padding[10]           # zeros, up to a multiple of 16


cdef inline uint8_t card_at(const State* state, int slot) noexcept nogil:
    """Return the top card of `slot`."""
    return state.cards[state.tops[slot]]


cdef inline int family(uint8_t card) noexcept nogil:
    return (card & FAMILY) >> 4


cdef inline bint owned(const Rules* rules, const State* state, int slot, int player) noexcept nogil:
    """Return whether `slot` belongs to `player`, by the id of its top card."""
    return <uint8_t>(state.tops[slot] - player * rules.cards_each) < rules.cards_each


cdef inline bint same_family(uint8_t a, uint8_t b) noexcept nogil:
    return (a ^ b) & FAMILY == 0


cdef inline bint is_unknown(const State* state, uint8_t card) noexcept nogil:
    """Return whether `card` is hidden from the observer of a view. A family may have 16 kinds: the last is no mask."""
    return card & (FACE_UP | KIND) == MASKED and state.hands[family(card)] == UNKNOWN_HAND


cdef inline uint32_t hold(const Rules* rules, uint32_t hand, int kind) noexcept nogil:
    """Return `hand` with one more card of `kind`, if the player has one more."""
    cdef uint32_t once = <uint32_t>1 << kind

    if not hand & once:
        return hand | once
    return hand | <uint32_t>1 << highest_bit(rules.more[kind] & ~hand | 1)


cdef inline uint32_t without(const Rules* rules, uint32_t hand, int kind) noexcept nogil:
    """Return `hand` with one card less of `kind`."""
    cdef uint32_t further = hand & rules.more[kind]

    # Without a branch, which would be hard to predict: the lowest further card, or the only one.
    return hand & ~(further & (0 - further) | <uint32_t>(further == 0) << kind)


cdef inline uint32_t without_all(const Rules* rules, uint32_t hand, int kind) noexcept nogil:
    return hand & ~(rules.more[kind] | <uint32_t>1 << kind)


cdef inline int held(const Rules* rules, uint32_t hand, int kind) noexcept nogil:
    """Return the number of cards of `kind` in `hand`."""
    cdef uint32_t further = hand & rules.more[kind]
    cdef int n = (hand >> kind & 1) + (further != 0)

    further &= further - 1
    while further:
        further &= further - 1
        n += 1
    return n


cdef inline void open_slot(State* state, int gap, int card_id) noexcept nogil:
    """Insert a slot at `gap` for a card that covers no other."""
    cdef uint8_t* at = state.tops + gap
    if state.n_slots - gap > 16:
        memmove(at + 17, at + 16, 14)
    memmove(at + 1, at, 16)
    at[0] = <uint8_t>card_id
    state.n_slots += 1


cdef inline void close_slot(State* state, int slot) noexcept nogil:
    """Remove an empty slot from the queue."""
    cdef uint8_t* at = state.tops + slot
    memmove(at, at + 1, 16)
    if state.n_slots - slot > 16:
        memmove(at + 16, at + 17, 15)
    state.n_slots -= 1


cdef inline bint uncover(State* state, int slot) noexcept nogil:
    """Take the top card off `slot`; return whether this removes the slot. The caller updates the card's own bytes."""
    cdef uint8_t below = state.below[state.tops[slot]]
    if below == NO_CARD:
        close_slot(state, slot)
        return True
    state.tops[slot] = below
    return False


cdef inline void to_pile(const Rules* rules, State* state, int card_id) noexcept nogil:
    """Put `card_id`, which `uncover` has taken off, on its owner's pile; its tokens return to the supply."""
    cdef uint8_t card = state.cards[card_id]
    state.piles[family(card)] = hold(rules, state.piles[family(card)], card & KIND)
    state.cards[card_id] = NO_CARD
    state.below[card_id] = NO_CARD
    state.tokens[card_id] = 0


cdef inline int cards_played(const Rules* rules, const State* state, int player) noexcept nogil:
    """Return the number of cards that `player` has placed in the game."""
    cdef int turns = state.turn // rules.cards_per_turn           # complete turns of this round
    cdef int place = player - state.first                         # in the order of this round
    cdef int this_round = 0

    if place < 0:
        place += rules.n_players
    if place < turns:
        this_round = rules.cards_per_turn
    elif place == turns:
        this_round = state.turn % rules.cards_per_turn
    return (state.round - 1) * rules.cards_per_turn + this_round

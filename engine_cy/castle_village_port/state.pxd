"""The bytes of a table, and the elementary operations that the rules are made of.

A card in a row is owner << 4 | value, which is unique because a player has each value once. In a view, values that the
observer does not know are UNKNOWN.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t
from libc.string cimport memmove

from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.words cimport (
    ASK_NOTHING, ASK_PLACE, LOCATIONS, MAX_ROW, MAX_VALUE, NOWHERE, UNKNOWN,
)

cdef enum:
    VALUE = 0x0F
    UNKNOWN_HAND = 1              # a hand that the observer of a view does not know: no card has value 0
    NO_CARD = 0                   # no card in a row, or selected: no card has value 0
    NOT_SHOWN = 0x10              # a selected card that the observer of a view does not know


cdef struct State:
    int32_t gold[5]
    uint16_t hands[5]             # bit v: holds the card of value v
    uint16_t piles[5]             # discarded cards, likewise
    uint16_t due[5]               # cards whose effect is still to come in this walk (a Sailor's: when paid), likewise
    uint16_t ranked[5]            # cards that took a rank at the end of this round, likewise
    uint8_t rows[LOCATIONS][MAX_ROW]      # left to right; then NO_CARD
    uint8_t decks[5][MAX_VALUE]   # bottom to top; then UNKNOWN
    uint8_t n_row[LOCATIONS]
    uint8_t n_deck[5]
    uint8_t selected[5]           # a value, NO_CARD, or NOT_SHOWN
    uint8_t orders[5]             # the location a player must place the selected card into, or NOWHERE
    uint8_t round                 # from 1
    uint8_t turn                  # from 1
    uint8_t first                 # first player
    uint8_t n_done                # players who have selected, or revealed, this turn
    uint8_t revealing             # the cards of this turn are being revealed
    uint8_t walking               # the location whose row is walked at the end of the round, or NOWHERE
    uint8_t from_right            # the row being walked pays from the right
    uint8_t ask                   # the open question, one of ASK_
    uint8_t to_act                # player to answer; the owner of the acting card if chance is; 0 at the end
    uint8_t acting                # the card in a row whose effect asks, else NO_CARD
    uint8_t effect                # value of the card whose effect it uses, else NO_CARD
    uint8_t victim                # the player whose selected card chance replaces, else NOWHERE
    uint8_t padding[11]          # zeros, up to a multiple of 16


cdef inline int owner_of(uint8_t card) noexcept nogil:
    return card >> 4


cdef inline int value_of(uint8_t card) noexcept nogil:
    return card & VALUE


cdef inline uint16_t bit(int value) noexcept nogil:
    return <uint16_t>(1 << value)


cdef inline int locate(const State* state, uint8_t card, int* index) noexcept nogil:
    """Return the location of `card` and write its index in the row; return NOWHERE if it lies in none."""
    cdef int location, i

    for location in range(LOCATIONS):
        for i in range(state.n_row[location]):
            if state.rows[location][i] == card:
                index[0] = i
                return location
    return NOWHERE


cdef inline void put(State* state, int location, int index, uint8_t card) noexcept nogil:
    """Insert `card` into a row."""
    cdef uint8_t* at = state.rows[location] + index
    cdef int n_right = state.n_row[location] - index

    # A memmove of constant size, where it suffices, compiles without a call.
    if n_right <= 16 and index < MAX_ROW - 16:
        memmove(at + 1, at, 16)
    else:
        memmove(at + 1, at, n_right)
    at[0] = card
    state.n_row[location] += 1


cdef inline uint8_t take(State* state, int location, int index) noexcept nogil:
    """Remove a card from a row, and with it the effect that was still due there; return the card."""
    cdef uint8_t* at = state.rows[location] + index
    cdef uint8_t card = at[0]
    cdef int n_right = state.n_row[location] - index - 1

    if n_right < 16 and index < MAX_ROW - 16:
        memmove(at, at + 1, 16)
    else:
        memmove(at, at + 1, n_right)
        at[n_right] = NO_CARD
    state.n_row[location] -= 1
    state.due[owner_of(card)] &= ~bit(value_of(card))
    return card


cdef inline void discard(State* state, int location, int index) noexcept nogil:
    cdef uint8_t card = take(state, location, index)

    state.ranked[owner_of(card)] &= ~bit(value_of(card))
    state.piles[owner_of(card)] |= bit(value_of(card))


cdef inline void places(const State* state, int location, int value, int* lowest, int* highest) noexcept nogil:
    """Write the range of indices at which a card of `value` may stand in a row, among its equals."""
    cdef const uint8_t* row = state.rows[location]
    cdef uint8_t above = 0
    cdef uint8_t equal = 0
    cdef uint8_t here
    cdef int base, i

    # Compare sixteen places at a time, used or not: an unused one holds 0, less than any card's value.
    for base in range(0, state.n_row[location], 16):
        for i in range(16):
            here = row[base + i] & VALUE
            above += <uint8_t>(here > value)
            equal += <uint8_t>(here == value)
    lowest[0] = above
    highest[0] = above + equal


cdef inline void draw(const Rules* rules, State* state, int player, int n) noexcept nogil:
    """Draw `n` cards from the deck."""
    cdef int _i

    for _i in range(n):
        state.n_deck[player] -= 1
        state.hands[player] |= bit(state.decks[player][state.n_deck[player]])
        state.decks[player][state.n_deck[player]] = UNKNOWN


cdef inline int drawn_before(const Rules* rules, int round) noexcept nogil:
    """Return how many cards each player has drawn when `round`, from 1, begins."""
    cdef int drawn = (round - 1) * rules.n_turns + rules.hand_size

    return min(drawn, rules.n_cards)


cdef inline int spare_cards(const Rules* rules, const State* state) noexcept nogil:
    """Return how many cards a player holds between selecting a card and revealing it: public knowledge."""
    return drawn_before(rules, state.round) - (state.round - 1) * rules.n_turns - state.turn


cdef inline int place_in_turn(const Rules* rules, const State* state, int player) noexcept nogil:
    """Return how many players come before this one."""
    return (player + rules.n_players - state.first) % rules.n_players


cdef inline bint has_revealed(const Rules* rules, const State* state, int player) noexcept nogil:
    """Return whether the player's card of this turn lies in a row."""
    return state.walking != NOWHERE or state.ask == ASK_NOTHING or (
        state.revealing and place_in_turn(rules, state, player) < state.n_done + (state.ask != ASK_PLACE))


cdef inline bint has_selected(const Rules* rules, const State* state, int player) noexcept nogil:
    """Return whether the player's card of this turn lies face down before them."""
    return not has_revealed(rules, state, player) and (
        state.revealing or place_in_turn(rules, state, player) < state.n_done)

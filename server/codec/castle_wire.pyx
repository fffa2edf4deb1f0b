# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Views of Castle, Village, Port out of the bytes of a message. What is not written as most write it, leaves anything
out or is wrong is not read here."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from engine_cy.castle_village_port.api cimport CastleVillagePort
from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport (
    NO_CARD, NOT_SHOWN, UNKNOWN_HAND, State, bit, drawn_before, has_revealed, has_selected, owner_of,
    value_of,
)
from engine_cy.castle_village_port.turn cimport clear
from engine_cy.castle_village_port.vocab cimport (
    ASK_NOTHING, ASK_PLACE, ASK_REPLACE, ASK_SELECT, LOCATIONS, MAX_ROW, MAX_VALUE, NOWHERE,
)
from engine_cy.game cimport View
from engine_cy.game_api cimport MAX_PLAYERS
from server.codec.numbers cimport Numbers
from server.codec.wire cimport (
    UNSAID, Field, Part, next_field, part_of, read_list, read_packed, read_seat, read_sides, read_small, read_smalls,
    read_varint,
)

cdef enum:
    GOLD_MAX = 999_999        # of a seat, as in table.py

# The fields of the messages in castle_village_port.proto that are parts, as sets of their numbers.
cdef enum:
    OF_TABLE = 0b111 << 1 | 1 << 9 | 0b11111111 << 12
    LISTS_OF_TABLE = 0b111 << 1 | 0b11 << 14
    OF_WALK = 0b11 << 2
    OF_VALUES = 1 << 1


# What a message says beside what a State holds, or what that follows from.
cdef struct Said:
    uint8_t observer
    uint8_t to_act                # UNSAID: nobody
    uint8_t selected              # the observer's card
    bint remembers                # the gold, which is hidden
    int n_gold
    int n_piles
    # What follows from the rest, and need not be said.
    int n_hands
    uint8_t hands[MAX_PLAYERS]
    int n_decks
    uint8_t decks[MAX_PLAYERS]
    int n_selecting
    uint8_t selecting[MAX_PLAYERS]


def read_view(CastleVillagePort game, bytes raw, Numbers numbers):
    """The view that a message says, None if it is not to be read here."""
    return view_in(game, part_of(raw), numbers)


cdef View view_in(CastleVillagePort game, Part message, Numbers numbers):
    cdef const Rules* rules = <const Rules*>game.rules
    cdef Part table, own
    cdef State state
    cdef Said said

    memset(&said, 0, sizeof(said))
    said.to_act = UNSAID
    clear(rules, &state, UNSAID)
    memset(state.gold, 0, sizeof(state.gold))
    state.round = state.turn = 0
    state.ask = UNSAID
    if not read_sides(&message, &said.observer, &table, &own) or said.observer >= rules.n_players:
        return None
    if not read_table(&table, numbers, &state, &said) or not read_own(&own, &state, &said):
        return None
    if said.remembers != game.frame.hidden_gold or not settle(rules, &state, &said):
        return None
    return game.view_as_said(&state, said.observer)


cdef bint read_table(Part* message, Numbers numbers, State* state, Said* said) noexcept nogil:
    cdef Field field
    cdef uint8_t number
    cdef int found
    cdef int n = 0

    memset(&field, 0, sizeof(field))
    while True:
        found = next_field(message, &field, OF_TABLE, LISTS_OF_TABLE)
        if found <= 0 or n < 0:
            return found == 0 and n >= 0
        if field.number <= LOCATIONS:
            if not read_card_of_row(&field.part, state, field.number - 1):
                return False
        elif field.number == 9:
            if not read_card(&field.part, &state.acting):
                return False
        elif field.number == 12 or field.number == 13:
            if said.n_gold:
                return False
            said.remembers = field.number == 13
            n = said.n_gold = read_gold(&field.part, state.gold)
        elif field.number == 14:
            if not read_order(&field.part, state):
                return False
        elif field.number == 15:
            if said.n_piles == MAX_PLAYERS or not read_pile(&field.part, &state.piles[said.n_piles]):
                return False
            said.n_piles += 1
        elif field.number == 16:
            if not read_walk(&field.part, state):
                return False
        elif field.number == 17:
            n = said.n_hands = read_packed(&field.part, said.hands, MAX_PLAYERS)
        elif field.number == 18:
            n = said.n_decks = read_packed(&field.part, said.decks, MAX_PLAYERS)
        elif field.number == 19:
            n = said.n_selecting = read_packed(&field.part, said.selecting, MAX_PLAYERS)
        elif field.number > 11 or not read_small(field.value, &number):
            return False
        elif field.number == 4:
            state.round = number
        elif field.number == 5:
            state.turn = number
        elif field.number == 6:
            read_seat(&field, &state.first)
        elif field.number == 7:
            state.ask = numbers.asks[number]
        elif field.number == 8:
            read_seat(&field, &said.to_act)
        elif field.number == 10:
            state.effect = number
        elif number:
            state.victim = number - 1


cdef bint read_card(Part* message, uint8_t* card) noexcept nogil:
    """A card as it lies in a row."""
    cdef uint8_t said[2]          # its value, its owner

    if not read_smalls(message, said, 2) or not 1 <= said[0] <= MAX_VALUE or not 1 <= said[1] <= MAX_PLAYERS:
        return False
    card[0] = <uint8_t>((said[1] - 1) << 4 | said[0])
    return True


cdef bint read_card_of_row(Part* message, State* state, int location) noexcept nogil:
    if state.n_row[location] == MAX_ROW or not read_card(message, &state.rows[location][state.n_row[location]]):
        return False
    state.n_row[location] += 1
    return True


cdef int read_gold(Part* part, int32_t* gold) noexcept nogil:
    """Of how many seats; -1: it is not well written."""
    cdef uint64_t value
    cdef int n = 0

    while part.at < part.end:
        if n == MAX_PLAYERS or not read_varint(part, &value) or value > GOLD_MAX:
            return -1
        gold[n] = <int32_t>value
        n += 1
    return n


cdef bint hold(uint16_t* cards, int value) noexcept nogil:
    """Take a card of this value to the others, unless there is one, or it cannot be."""
    if not 1 <= value <= MAX_VALUE or cards[0] & bit(value):
        return False
    cards[0] |= bit(value)
    return True


cdef bint read_values(Part* part, uint16_t* cards) noexcept nogil:
    cdef uint8_t values[MAX_VALUE]
    cdef int n = read_packed(part, values, MAX_VALUE)
    cdef int i

    for i in range(n):
        if not hold(cards, values[i]):
            return False
    return n >= 0


cdef bint read_pile(Part* message, uint16_t* cards) noexcept nogil:
    cdef Part values

    return read_list(message, &values) and read_values(&values, cards)


cdef bint read_order(Part* message, State* state) noexcept nogil:
    cdef uint8_t said[2]          # who, where to

    if not read_smalls(message, said, 2) or not 1 <= said[0] <= MAX_PLAYERS or not 1 <= said[1] <= LOCATIONS:
        return False
    if state.orders[said[0] - 1] != NOWHERE:
        return False
    state.orders[said[0] - 1] = said[1] - 1
    return True


cdef bint read_walk(Part* message, State* state) noexcept nogil:
    cdef Field field
    cdef uint8_t number, card
    cdef uint16_t* cards
    cdef int found

    memset(&field, 0, sizeof(field))
    while True:
        found = next_field(message, &field, OF_WALK, OF_WALK)
        if found <= 0:
            return found == 0 and state.walking < LOCATIONS
        if field.number == 2 or field.number == 3:
            if not read_card(&field.part, &card):
                return False
            cards = &state.due[0] if field.number == 2 else &state.ranked[0]
            if not hold(&cards[owner_of(card)], value_of(card)):
                return False
        elif field.number > 4 or not read_small(field.value, &number):
            return False
        elif field.number == 4:
            state.from_right = number
        elif 1 <= number <= LOCATIONS:
            state.walking = number - 1


cdef bint read_own(Part* message, State* state, Said* said) noexcept nogil:
    cdef Field field
    cdef int found

    memset(&field, 0, sizeof(field))
    while True:
        found = next_field(message, &field, OF_VALUES, 0)
        if found <= 0:
            return found == 0
        if field.number > 2:
            return False
        if not (read_values(&field.part, &state.hands[said.observer]) if field.number == 1
                else read_small(field.value, &said.selected)):
            return False


cdef bint settle(const Rules* rules, State* state, Said* said) noexcept nogil:
    """Fill in what follows from the rest; False: it contradicts what is said."""
    cdef bint acts = state.ask != ASK_SELECT and state.ask != ASK_PLACE and state.ask != ASK_NOTHING

    if (said.n_gold != rules.n_players or (said.n_piles and said.n_piles != rules.n_players)
            or acts != (state.acting != NO_CARD) or state.first >= rules.n_players
            or (said.to_act == UNSAID) != (state.ask == ASK_NOTHING or state.ask == ASK_REPLACE)):
        return False
    if state.ask == ASK_REPLACE:
        # Chance acts for the owner of the acting card.
        said.to_act = owner_of(state.acting)
    state.to_act = 0 if said.to_act == UNSAID else said.to_act
    if acts and not state.effect:
        state.effect = value_of(state.acting)
    state.revealing = state.ask != ASK_SELECT and state.ask != ASK_NOTHING and state.walking == NOWHERE
    if state.ask == ASK_SELECT or state.revealing:
        state.n_done = (state.to_act + rules.n_players - state.first) % rules.n_players
    return settle_cards(rules, state, said)


cdef bint settle_cards(const Rules* rules, State* state, const Said* said) noexcept nogil:
    cdef int drawn = drawn_before(rules, state.round)
    cdef int spare = drawn - (state.round - 1) * rules.n_turns - state.turn + 1     # of who has not selected yet
    cdef int left = rules.n_cards - drawn
    cdef bint selected
    cdef int player
    cdef int n_selecting = 0

    for player in range(rules.n_players):
        selected = has_selected(rules, state, player)
        state.n_deck[player] = <uint8_t>left
        if player == said.observer:
            state.selected[player] = said.selected
        else:
            state.hands[player] = UNKNOWN_HAND
            state.selected[player] = NOT_SHOWN if selected else NO_CARD
        if selected:
            if n_selecting < said.n_selecting and said.selecting[n_selecting] != player + 1:
                return False
            n_selecting += 1
        if (said.n_hands and said.hands[player] != spare - selected - has_revealed(rules, state, player)) or (
                said.n_decks and said.decks[player] != left):
            return False
    return (is_whole(said.n_hands, rules.n_players) and is_whole(said.n_decks, rules.n_players)
            and is_whole(said.n_selecting, n_selecting))


cdef bint is_whole(int n, int length) noexcept nogil:
    """Whether a list that may be left out is as long as it has to be."""
    return n == 0 or n == length

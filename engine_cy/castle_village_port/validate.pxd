from engine_cy.castle_village_port.rules cimport Rules
from engine_cy.castle_village_port.state cimport State
from engine_cy.faults cimport Breaches

# The rules of a table, in the order in which they are checked. faults.py has a sentence for each.
cpdef enum Rule:
    ROUND
    TURN
    FIRST
    TO_ACT
    ASK
    PROGRESS                # only bytes can break this rule and others without a place in a `Table`
    WALKING
    OVER_TOO_EARLY
    TURN_TOO_EARLY
    NOT_OVER
    ASK_IN_PHASE
    SEAT_IN_TURN
    ABSENT_SEAT
    PADDING
    N_ROW
    BEHIND_ROW
    ROW_CARD
    ROW_ORDER
    NO_ACTING_CARD
    NO_EFFECT
    NO_VICTIM
    ACTING
    ACTING_PLACE
    OWNER
    NOT_NOW
    NOT_AT_END
    EFFECT
    NO_COPY
    COPIED
    QUESTION
    WALKED_ROW
    DUE_WITHOUT_WALK
    RANKED_WITHOUT_WALK
    RIGHT_WITHOUT_WALK
    DUE_PLACE
    DUE_EFFECT
    RANKED_PLACE
    RANKS
    FROM_RIGHT
    ORDER
    NO_ORDERS
    ORDERS
    PILE_SIZE
    SELECTED_TOO_EARLY
    SELECTED_TOO_LATE
    NOT_SELECTED
    HIDDEN_SELECTED
    SELECTED_MISSING
    HIDDEN_HAND
    HAND_MISSING
    HAND_SIZE
    HIDDEN_DECK
    DECK_MISSING
    DECK_SIZE
    BEHIND_DECK
    COPIES
    VALUES
    POSSIBLE
    VICTIM
    REVEALED_VICTIM
    GOLD


# Find the faults of `state`, any bytes. `observer` is the one of a view, or -1. If `ended`, the walk at the end of the
# round has yet to start: no game reaches such a state, but a text may describe it. A state without faults is safe to
# play on.
cdef void find_faults(
    const Rules* rules, const State* state, int observer, bint ended, Breaches* breaches) noexcept nogil

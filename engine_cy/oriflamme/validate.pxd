from engine_cy.faults cimport Breaches
from engine_cy.oriflamme.rules cimport Rules
from engine_cy.oriflamme.state cimport State

# The rules of a table, in the order in which they are checked. faults.py has a sentence for each.
cpdef enum Rule:
    FIRST
    TO_ACT
    PHASE
    ROUND
    OVER_TOO_EARLY
    TURN                    # only bytes can break this rule and others without a place in a `Table`
    PLACING_SEAT
    POINTS
    ABSENT_SEAT
    PADDING
    N_SLOTS
    SLOT
    CARD_ID
    CARD_TWICE
    FAMILY
    STACK
    UNKNOWN_IN_POSITION
    KNOWN_TO_OBSERVER
    HIDDEN_CARD
    CARD
    TOKENS
    TOKENS_FACE_UP
    FACE_UP_CARD
    UNUSED_CARD
    PILE_SIZE
    NTH
    HIDDEN_HAND
    HAND_MISSING
    HAND_SIZE
    CARD_BITS
    COPIES
    CURSOR
    OWNER
    REVEAL_FACE_UP
    ACT_FACE_DOWN
    NO_ACTING_CARD
    ACTING
    QUESTION
    NO_TARGET
    PAID_TOKENS
    CHOSEN


# Find the faults of `state`, any bytes. `observer` is the one of a view, or -1. A state without faults is safe to play
# on.
cdef void find_faults(const Rules* rules, const State* state, int observer, Breaches* breaches) noexcept nogil

# The same, without the question to the player to act.
cdef void find_table_faults(const Rules* rules, const State* state, int observer, Breaches* breaches) noexcept nogil

cdef enum:
    ANTE = 1
    ROUNDS = 2              # of betting, at most
    MOVES = 4               # in a round, at most: check, raise, raise, call
    OPTIONS = 8             # actions to choose from, at most

# A card is its index in the variant's cards, from 1.
cdef enum:
    NO_CARD = 0             # not dealt yet
    UNKNOWN_CARD = 15       # a card that the observer of a view does not know

# An action is a move or DEAL | card.
cdef enum:
    NO_MOVE
    FOLD
    CALL                    # also with nothing to call, which is a check
    RAISE
    PASS                    # a fold or a check
    BET                     # a call or a raise
    DEAL = 16

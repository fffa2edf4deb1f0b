"""The vocabulary of tables of cards and rewards. effects.pxd gives each word its meaning, once."""

cpdef enum When:
    """The timing of a card's effect."""
    NEVER
    IMMEDIATE           # when it is revealed
    END                 # at the end of every round that it lies in a row

cpdef enum Deed:
    """The effect of a card, acting from its place in its row."""
    NO_DEED
    LEAVE_IF_PRESENT    # it is discarded if a card named `who` is in its location
    PAY_OTHERS          # every other card there earns its owner `amount`
    MOVE_NEIGHBOUR      # to another location
    ROB_NEIGHBOUR       # up to `amount` gold from a player who owns a neighbour
    COPY_NEIGHBOUR      # the immediate effect of a neighbour that does not copy itself
    SWAP_SELECTED       # another player's selected card for a random one of their hand
    ORDER_LOCATION      # where another player must place the selected card
    PAY_FROM_RIGHT      # the rewards of its location, this round
    GAIN_PER_LOW        # `amount` for each card of value under `below` in its location
    DISCARD_NEIGHBOUR
    FETCH               # any card of another location into this one
    DOUBLE_REWARD       # in location `where`, its reward counts `factor` times
    DISCARD_HIGHEST     # of its location, the leftmost of equals

cpdef enum Reward:
    """The reward of a rank."""
    NUMBER              # `amount` gold, perhaps negative
    PER_CARD            # 1 gold per card in the location
    STEAL_EACH          # 1 gold from each other player
    HALF_VALUE          # half of the ranked card's value, rounded up

cpdef enum Role:
    """The role of a card in what is learned: its deed, at the time that it has in the house's table."""
    PLAIN               # nothing
    KING
    PRINCESS
    GUARD
    THIEF
    ALCHEMIST
    COURTESAN
    STRATEGIST
    TRAITOR
    MERCHANT
    WARRIOR
    BARD
    SAILOR
    HUNTER
    STRANGE             # without weights: a deed at a time that no card of the house has; the last one

cdef enum:
    N_ROLES = STRANGE
    MAX_VALUE = 15
    LOCATIONS = 3
    MAX_RANKS = 8
    MAX_ROW = 80        # five players, fifteen cards each, and room to compare sixteen at once
    NOWHERE = 255       # no location

cpdef enum:
    GOLD_MAX = 999_999  # of a seat, in a caller's input

cpdef enum Ask:
    """The question to the player to act, or to chance. The verb that answers it has the next number."""
    ASK_SELECT          # a card from hand
    ASK_PLACE           # location and place for the selected card
    ASK_MOVE            # a neighbour, or a card of another location; its new place
    ASK_ROB             # a player
    ASK_COPY            # a neighbour
    ASK_SWAP            # a player
    ASK_REPLACE         # chance: the card of the victim's hand that replaces the selected one
    ASK_ORDER           # a player and a location
    ASK_DISCARD         # a neighbour
    ASK_NOTHING         # the game is over; the last one
    ASK_UNDEFINED       # a deed without a meaning in effects.pxd; turn.pyx refuses it

# An action is verb << 24 | a << 16 | b << 8 | c. A card in a row is owner << 4 | value. UNKNOWN stands for a card that
# the observer of a view does not know.
cpdef enum:
    VERB_SELECT = ASK_SELECT + 1    # value
    VERB_PLACE          # location, index in the row afterwards
    VERB_MOVE           # card, location, index
    VERB_ROB            # seat
    VERB_COPY           # card
    VERB_SWAP           # seat
    VERB_REPLACE        # value
    VERB_ORDER          # seat, location
    VERB_DISCARD        # card
    UNKNOWN = 0

"""The words that rows of cards.py are written in. effects.pxd gives each its meaning, once."""

cpdef enum Reach:
    """What a card may point at when it acts."""
    NOTHING             # it asks nothing
    EITHER_END          # the first or the last slot
    NEIGHBOUR           # a slot beside its own
    RIVAL               # an opponent who owns a neighbour
    ANY_SLOT            # also its own
    OTHER_SLOT          # any but its own
    SHOWN_NEIGHBOUR     # a neighbour that lies face up
    OTHER_PAIR          # two slots, neither its own

cpdef enum Deed:
    """What a card then does."""
    NO_DEED
    ELIMINATE               # the slot pointed at: `amount` for it
    ELIMINATE_IF_ALIKE      # both slots pointed at, if their cards have one name: `amount` for each
    STEAL                   # `amount` points from the player pointed at
    GAIN_IF_SOLE_NAME       # `amount` unless another face-up top card has the acting card's own name
    GAIN_IF_SOLE_KIND       # `amount` unless a face-up top card has the name of this ability; the copied one is exempt
    GAIN_WITH_NEIGHBOURS    # `amount`, and 1 for each own card in the slots beside it
    GAIN_UNLESS_CROWDED     # `amount`; with two or more cards in a slot beside it, it is eliminated instead
    COPY                    # act as the card in the slot pointed at
    MOVE                    # carry the card pointed at elsewhere
    MULTIPLY_TOKENS         # its own tokens are worth `amount` each
    FORFEIT_TOKENS          # its own tokens are worth nothing, `amount` instead

cpdef enum Nature:
    """What else is special about a card; these add up."""
    PLAIN = 0
    ONE_SHOT = 1            # discarded after it acted
    AMBUSH = 2              # strikes back at a card that would eliminate it, or turns it up
    UNREVEALABLE = 4        # its owner may not turn it up
    LEAVES = 8              # eliminated, for nothing, after it acted

cdef enum:
    N_KINDS = 10
    MAX_PLAYED = 30         # cards that all families together play in a game
    UNKNOWN_KIND = 15       # a card that the observer of a view does not know
    NO_KIND = 255
    NO_CARD = 255
    NO_SLOT = 255

# What a card is good for: its deed, and for killers whom they reach. Editions and games have them in common.
cdef enum:
    ARCHER
    SOLDIER
    SPY
    HEIR
    LORD
    SHAPESHIFTER
    KILLER              # kills anything anywhere: Assassination, Mercenaries
    DECREE
    CONSPIRACY
    AMBUSHER
    ASSASSIN
    QUEEN
    UNSEEN              # a card that the player to act does not see
    N_ROLES

# What the player to act is asked.
cdef enum:
    ASK_PLACE               # a card from hand, and where
    ASK_REVEAL              # turn up the card at the cursor, or leave it
    ASK_TARGET              # a slot to hit
    ASK_ROB                 # a player to rob
    ASK_COPY                # a slot to copy
    ASK_LIFT                # the Decree's first half: the card to move
    ASK_DROP                # ... its second half: where to
    ASK_PAIR_FIRST          # the Assassin's nearer slot
    ASK_PAIR_SECOND         # ... and the farther one
    ASK_NOTHING             # the game is over

# An action is verb << 16 | first << 8 | second. A place is a gap (gap j lies in front of slot j), ON | slot, or BACK.
cdef enum:
    VERB_PLACE = 1          # kind, place: gap 0, BACK or ON a slot
    VERB_REVEAL
    VERB_KEEP
    VERB_TARGET             # slot
    VERB_ROB                # seat
    VERB_COPY               # slot
    VERB_LIFT               # slot
    VERB_DROP               # place: a gap or ON a slot
    VERB_PAIR_FIRST         # slot
    VERB_PAIR_SECOND        # slot
    ON = 64
    BACK = 63               # behind the last slot, wherever that is; only where there is a slot

"""The words of the rows in cards.py. effects.pxd implements each of them once."""

cpdef enum Reach:
    """The targets that a card may choose from when it acts."""
    NOTHING             # no target
    EITHER_END          # the first or the last slot
    NEIGHBOUR           # a slot beside its own
    RIVAL               # an opponent who owns a neighbour
    ANY_SLOT            # any, its own included
    OTHER_SLOT          # any but its own
    SHOWN_NEIGHBOUR     # a neighbour that lies face up
    OTHER_PAIR          # two slots, neither its own

cpdef enum Deed:
    """The effect of a card on its target, or without one."""
    NO_DEED
    ELIMINATE               # eliminate the target; gain `amount`
    ELIMINATE_IF_ALIKE      # eliminate both targets if their cards have one name; gain `amount` for each
    STEAL                   # take `amount` points from the target, a player
    GAIN_IF_SOLE_NAME       # gain `amount`, unless another face-up top card has the acting card's own name
    GAIN_IF_SOLE_KIND       # gain `amount`, unless a face-up top card has the ability's name; the copied one is exempt
    GAIN_WITH_NEIGHBOURS    # gain `amount`, and 1 for each own card in the slots beside it
    GAIN_UNLESS_CROWDED     # gain `amount`; with two or more cards in a slot beside it, eliminated instead
    COPY                    # act as the target
    MOVE                    # move the target to another place
    MULTIPLY_TOKENS         # gain `amount` for each of its own tokens
    FORFEIT_TOKENS          # gain `amount` instead of its own tokens

cpdef enum Nature:
    """Flags for the other properties of a card."""
    PLAIN = 0
    ONE_SHOT = 1            # discarded after it has acted
    AMBUSH = 2              # retaliates against a card that eliminates it or turns it up
    UNREVEALABLE = 4        # its owner may not turn it up
    LEAVES = 8              # eliminated after it has acted; pays no one

cdef enum:
    MAX_PLAYED = 30         # the most cards that all families play in a game
    NO_KIND = 255
    NO_CARD = 255
    NO_SLOT = 255

cpdef enum:
    UNKNOWN_KIND = 31       # in an action: a card that the observer of a view does not know

cpdef enum Role:
    """The role of a card in what is learned: its deed, and for killers their reach. Both games share the roles."""
    ARCHER
    SOLDIER
    SPY
    HEIR
    LORD
    SHAPESHIFTER
    KILLER              # without a limit on its reach: Assassination, Mercenaries
    DECREE
    CONSPIRACY
    AMBUSHER
    ASSASSIN
    QUEEN
    STRANGE             # a deed without a role of its own: without weights
    UNSEEN              # unknown to the player to act; the last one

cdef enum:
    N_ROLES = UNSEEN + 1

cpdef enum Ask:
    """The question to the player to act. Those with two halves have one number after the other."""
    ASK_PLACE               # choose a card from hand and a place
    ASK_REVEAL              # reveal the card at the cursor or keep it face down
    ASK_TARGET              # choose a slot to hit
    ASK_ROB                 # choose a player to rob
    ASK_COPY                # choose a slot to copy
    ASK_LIFT                # first half of the Decree: choose the card to move
    ASK_DROP                # second half: choose its new place
    ASK_PAIR_FIRST          # first half of the Assassin: choose the slot nearer to the front
    ASK_PAIR_SECOND         # second half: choose the other slot
    ASK_NOTHING             # none: the game is over; the last one
    ASK_UNDEFINED           # a deed without a meaning in effects.pxd; turn.pyx refuses it

# An action is verb << 16 | first << 8 | second. A place is a gap (gap j lies in front of slot j), ON | slot, or BACK.
cpdef enum:
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
    BACK = 63               # behind the last slot; only if the queue is not empty

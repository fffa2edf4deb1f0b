"""The cards of the house table, one row each, in the words of words.pxd; effects.pxd gives each word its meaning.

The rule book lost its icons: entries marked (ours) are not in it.
"""

from typing import NamedTuple

from engine_cy.castle_village_port.words import Deed, When


class Card(NamedTuple):
    """Hold a card's value, unique in a table, its name, timing and deed, and the parameters of the deed."""

    value: int
    name: str
    when: When
    deed: Deed
    amount: int = 0
    who: str = ""
    below: int = 0
    where: str = ""
    factor: int = 0


LOCATIONS = ("castle", "village", "port")

# fmt: off
HOUSE: tuple[Card, ...] = (
    #    value  name        when            and then
    Card(15, "King",       When.END,       Deed.LEAVE_IF_PRESENT, who="Thief"),            # when: (ours)
    Card(14, "Princess",   When.END,       Deed.PAY_OTHERS, amount=1),                     # when: (ours)
    Card(13, "Witch",      When.NEVER,     Deed.NO_DEED),                                  # no text: (ours)
    Card(12, "Guard",      When.IMMEDIATE, Deed.MOVE_NEIGHBOUR),                           # when: (ours)
    Card(11, "Thief",      When.IMMEDIATE, Deed.ROB_NEIGHBOUR, amount=2),                  # when: (ours)
    Card(10, "Alchemist",  When.IMMEDIATE, Deed.COPY_NEIGHBOUR),
    Card(9,  "Courtesan",  When.IMMEDIATE, Deed.SWAP_SELECTED),
    Card(8,  "Strategist", When.IMMEDIATE, Deed.ORDER_LOCATION),
    Card(7,  "Traitor",    When.END,       Deed.PAY_FROM_RIGHT),
    Card(6,  "Merchant",   When.IMMEDIATE, Deed.GAIN_PER_LOW, amount=1, below=6),          # when: (ours)
    Card(5,  "Warrior",    When.IMMEDIATE, Deed.DISCARD_NEIGHBOUR),
    Card(4,  "Bard",       When.IMMEDIATE, Deed.FETCH),
    Card(3,  "",           When.NEVER,     Deed.NO_DEED),                                  # no card: (ours)
    Card(2,  "Sailor",     When.END,       Deed.DOUBLE_REWARD, where="port", factor=2),
    Card(1,  "Hunter",     When.END,       Deed.DISCARD_HIGHEST),                          # when: (ours)
)
# fmt: on

from engine_cy.values import Action, Position

def perft(position: Position, depth: int) -> int:
    """The number of sequences of `depth` whole decisions (and chance outcomes) from `position`, forced ones included.

    A game that ends earlier counts nothing.
    """

def perft_split(position: Position, depth: int) -> dict[Action, int]:
    """The sequences of `depth` decisions behind each first action."""

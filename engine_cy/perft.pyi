from engine_cy.values import Position

def perft(position: Position, depth: int) -> int:
    """The number of sequences of `depth` whole decisions (and chance outcomes) from `position`, forced ones included.

    A game that ends earlier counts nothing.
    """

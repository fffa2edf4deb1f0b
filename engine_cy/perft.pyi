from engine_cy.values import Position

def perft(position: Position, depth: int) -> int:
    """Count the sequences of `depth` whole decisions and chance outcomes from `position`.

    Forced decisions count. Games that end before `depth` add nothing.
    """

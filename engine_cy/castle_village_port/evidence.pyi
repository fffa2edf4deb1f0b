from engine_cy.values import Position

def selections(position: Position, player: int) -> tuple[list[int], list[float], int] | None:
    """Return the candidates for the card that `player` has selected, the preference for each, and the truth.

    None without a selected card, or with a single candidate.
    """

from engine_cy.values import Position

def selections(position: Position, player: int) -> tuple[list[int], list[float], int] | None:
    """What may be thought of the card that `player` has selected: the cards that it may be, how much he would like to
    select each, and which it is. None if he has selected none, or there is nothing to think."""

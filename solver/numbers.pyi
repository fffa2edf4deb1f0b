def log(n: int) -> float:
    """The natural logarithm of n >= 1, as the search sees it."""

def exp(x: float) -> float:
    """e to the x."""

from array import array

def log(n: int) -> float:
    """The natural logarithm of n >= 1, as the search sees it."""

def exp(x: float) -> float:
    """e to the x."""

def sum_differences(ones: array[float], others: array[float], begin: int, end: int) -> tuple[float, float]:
    """The sum of `ones[i] - others[i]` for i from `begin` to `end`, and the sum of their squares, added in order."""

from array import array

def log(n: int) -> float:
    """Return the natural logarithm of n >= 1, with n > 4096 rounded down to its first twelve bits."""

def exp(x: float) -> float:
    """Return e to the power of x."""

def sum_differences(ones: array[float], others: array[float], begin: int, end: int) -> tuple[float, float]:
    """Return the sums of `ones[i] - others[i]` and of its square for i in `begin`..`end` - 1, added in order."""

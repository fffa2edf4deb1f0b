from array import array

def log(n: int) -> float:
    """Return the natural logarithm of n >= 1, with n > 4096 rounded down to its first twelve bits."""

def log_odds(share: float) -> float:
    """Return the natural logarithm of share / (1 - share), for a share between 0 and 1, both excluded."""

def power(base: float, exponent: float) -> float:
    """Return `base`, 0 or more, to the power of `exponent`, more than 0."""

def exp(x: float) -> float:
    """Return e to the power of x."""

def sum_differences(ones: array[float], others: array[float], begin: int, end: int) -> tuple[float, float]:
    """Return the sums of `ones[i] - others[i]` and of its square for i in `begin`..`end` - 1, added in order."""

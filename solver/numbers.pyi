from array import array
from collections.abc import Sequence

def log(n: int) -> float:
    """Return the natural logarithm of n >= 1, with n > 4096 rounded down to its first twelve bits."""

def temper_share(share: float, temperature: float, offset: float) -> float:
    """Return the share whose log-odds are those of `share` times the temperature, plus the offset.

    `share` is between 0 and 1, both excluded.
    """

def divide_rest(raw: Sequence[float], observer: int, own: float, exponent: float) -> tuple[float, ...]:
    """Return shares of which the observer's is `own`; the others divide the rest by their raw shares to a power."""

def shrink_chances(raw: Sequence[float], trust: float, tilt: float) -> tuple[float, ...]:
    """Return chances in proportion to `trust` times the raw ones and an equal part of the rest, tilted.

    The chance of number k is multiplied by e to the power of `tilt` times k.
    """

def exp(x: float) -> float:
    """Return e to the power of x."""

def sum_differences(ones: array[float], others: array[float], begin: int, end: int) -> tuple[float, float]:
    """Return the sums of `ones[i] - others[i]` and of its square for i in `begin`..`end` - 1, added in order."""

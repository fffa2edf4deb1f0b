"""Python's random numbers from the generator of a search."""

from __future__ import annotations

from random import Random

from engine_cy.support.rng import Rng


class WorldRandom(Random):
    """A `random.Random` that draws from `source`: equal seeds give equal draws on every machine."""

    def __init__(self) -> None:
        self.source = Rng()
        super().__init__()

    def seed(self, *args: object, **options: object) -> None:
        """Do nothing: the search seeds `source`."""

    def random(self) -> float:
        return float((self.source.bits() >> 11) * 2.0**-53)

    def getrandbits(self, k: int, /) -> int:
        bits = 0
        for _ in range((k + 63) // 64):
            bits = bits << 64 | self.source.bits()
        return bits >> (-k % 64)

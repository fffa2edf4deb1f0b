class Rng:
    """A seeded random generator; equal seeds give equal draws on every machine."""

    @property
    def seed(self) -> int: ...
    @property
    def stream(self) -> int: ...
    def __init__(self, seed: int = 0, stream: int = 0) -> None: ...
    def bits(self) -> int:
        """Return 64 random bits."""

    def below(self, n: int) -> int:
        """Draw from 0..n-1, exactly uniformly."""

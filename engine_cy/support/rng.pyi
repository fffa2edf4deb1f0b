class Rng:
    """A seeded random generator; equal seeds give equal draws on every machine."""

    @property
    def seed(self) -> int: ...
    @property
    def stream(self) -> int: ...
    def __init__(self, seed: int = 0, stream: int = 0) -> None: ...
    def bits(self) -> int:
        """64 random bits."""

    def below(self, n: int) -> int:
        """A number in 0..n-1, exactly uniform."""

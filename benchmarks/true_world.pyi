from typing import Self, final

from engine_cy import Position, View
from solver.beliefs import WorldSampler

@final
class TrueWorld(WorldSampler):
    """Sample nothing but the true position."""

    def __new__(cls, view: View, position: Position) -> Self: ...

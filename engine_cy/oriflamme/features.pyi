from typing import Final

from engine_cy.learned.weights import Weights

SETS: Final[list[str]]
WEIGHTS: Final[Weights]

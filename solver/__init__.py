"""The search: what to play, given only what one player sees.

```
from engine_cy import new_game
from solver import solve
view = new_game("oriflamme", "en-2019", players=3).deal(seed=7).view("A")
print(solve(view))
```
"""

from solver.analysis import Analysis, Estimate, Move
from solver.compare import Comparison, compare
from solver.config import CONFIGS, Budget, Config, InvalidBudgetError
from solver.solve import solve

__all__ = [
    "CONFIGS",
    "Analysis",
    "Budget",
    "Comparison",
    "Config",
    "Estimate",
    "InvalidBudgetError",
    "Move",
    "compare",
    "solve",
]

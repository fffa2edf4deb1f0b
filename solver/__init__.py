"""The search: what to play, given only what one player sees.

```
from engine_cy import new_game
from solver import solve
view = new_game("oriflamme", "en-2019", players=3).deal(seed=7).view("A")
print(solve(view))
```
"""

from solver.analysis import Analysis, Beliefs, Estimate, Move, Outlook
from solver.compare import Comparison, compare
from solver.config import CONFIGS, LEVELS, Budget, Config, InvalidBudgetError
from solver.information import Information, information
from solver.session import Session
from solver.solve import outlook, solve

__all__ = [
    "CONFIGS",
    "LEVELS",
    "Analysis",
    "Beliefs",
    "Budget",
    "Comparison",
    "Config",
    "Estimate",
    "Information",
    "InvalidBudgetError",
    "Move",
    "Outlook",
    "Session",
    "compare",
    "information",
    "outlook",
    "solve",
]

"""Search for the best play, given only what one player sees.

```
from engine_cy import new_game
from solver import solve
view = new_game("oriflamme", "en-2019", players=3).deal(seed=7).view("A")
print(solve(view))
```
"""

from engine_cy.registry import add_game_family
from solver.answer import Answer, Estimate, Move
from solver.compare import ComparedMove, Comparison
from solver.config import CONFIGS, LEVEL_NAMES, LEVELS, Budget, Config, InvalidQuestionError, read_level
from solver.control import Control
from solver.named_beliefs import Beliefs
from solver.openspiel import openspiel_game
from solver.question import ComparisonQuestion, InformationQuestion, Question, SearchQuestion
from solver.secrecy import Information
from solver.session import Session
from solver.solve import compare, information, solve

__all__ = [
    "CONFIGS",
    "LEVELS",
    "LEVEL_NAMES",
    "Answer",
    "Beliefs",
    "Budget",
    "ComparedMove",
    "Comparison",
    "ComparisonQuestion",
    "Config",
    "Control",
    "Estimate",
    "Information",
    "InformationQuestion",
    "InvalidQuestionError",
    "Move",
    "Question",
    "SearchQuestion",
    "Session",
    "compare",
    "information",
    "read_level",
    "solve",
]

add_game_family("openspiel", openspiel_game)

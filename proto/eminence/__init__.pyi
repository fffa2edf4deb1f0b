from engine_cy import (
    CHANCE as CHANCE,
)
from engine_cy import (
    Action as Action,
)
from engine_cy import (
    EngineError as EngineError,
)
from engine_cy import (
    Game as Game,
)
from engine_cy import (
    GameRules as GameRules,
)
from engine_cy import (
    IllegalActionError as IllegalActionError,
)
from engine_cy import (
    InvalidPositionError as InvalidPositionError,
)
from engine_cy import (
    InvalidRulesetError as InvalidRulesetError,
)
from engine_cy import (
    InvalidViewError as InvalidViewError,
)
from engine_cy import (
    NotationError as NotationError,
)
from engine_cy import (
    Position as Position,
)
from engine_cy import (
    Rng as Rng,
)
from engine_cy import (
    View as View,
)
from engine_cy import (
    game_ids as game_ids,
)
from engine_cy import (
    new_game as new_game,
)
from engine_cy import (
    python_game as python_game,
)
from engine_cy.record import (
    Record as Record,
)
from engine_cy.record import (
    read_record as read_record,
)
from server.client import (
    AsyncClient as AsyncClient,
)
from server.client import (
    Client as Client,
)
from server.client import (
    Refused as Refused,
)
from server.client import (
    text_view as text_view,
)
from server.client.local import (
    LocalClient as LocalClient,
)
from solver import (
    Answer as Answer,
)
from solver import (
    Beliefs as Beliefs,
)
from solver import (
    Budget as Budget,
)
from solver import (
    Comparison as Comparison,
)
from solver import (
    Config as Config,
)
from solver import (
    Information as Information,
)
from solver import (
    InvalidQuestionError as InvalidQuestionError,
)
from solver import (
    SearchQuestion as SearchQuestion,
)
from solver import (
    Session as Session,
)
from solver import (
    compare as compare,
)
from solver import (
    information as information,
)
from solver import (
    read_level as read_level,
)
from solver import (
    solve as solve,
)
from solver.pool.base import (
    answer_many as answer_many,
)
from solver.pool.processes import (
    Processes as Processes,
)
from solver.pool.ray_pool import (
    RayPool as RayPool,
)
from solver.pool.threads import (
    Threads as Threads,
)

__version__: str

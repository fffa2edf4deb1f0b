"""Configure a search: each setting with its unit and the reason for its default, and the named configurations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from engine_cy import Game
from engine_cy.errors import quoted

Nodes = Literal["public", "own", "world"]
# The model of another seat's play: as well as the search, the same with one random decision in four, by the game's
# heuristic policy, or at random.
Model = Literal["me", "noisy", "greedy", "random"]
MODELS: tuple[Model, ...] = ("me", "noisy", "greedy", "random")


class InvalidQuestionError(ValueError):
    """Refuse a question, budget or configuration: name the field, the problem with its value, and the accepted values.

    `reason` is a value of the contract's `ErrorReason`.
    """

    def __init__(
        self, field: str, problem: str, *, reason: str = "OUT_OF_RANGE", value: object = None, accepted: str = ""
    ) -> None:
        super().__init__(f"{field}: {problem}")
        self.field, self.problem, self.reason = field, problem, reason
        self.value, self.accepted = value, accepted

    def __reduce__(self) -> tuple[object, ...]:
        return _refuse, (self.field, self.problem, self.reason, self.value, self.accepted)


def _refuse(field: str, problem: str, reason: str, value: object, accepted: str) -> InvalidQuestionError:
    return InvalidQuestionError(field, problem, reason=reason, value=value, accepted=accepted)


@dataclass(frozen=True, slots=True)
class Config:
    """Hold the settings of a search. `how` is the method; all other fields are settings of the method "search"."""

    name: str
    how: Literal["search", "greedy", "random"] = "search"
    # The key of the other seats' nodes: public information and their own actions ("public"), their private cards too
    # ("own"), or the whole world ("world"). Not splitting by private cards gained 55 Elo.
    nodes: Nodes = "public"
    # Grow no tree below the root's decision: judge every action by playouts alone.
    flat: bool = False
    # Selection formula: UCB1, or PUCT with the game's prior.
    selection: Literal["ucb", "puct"] = "ucb"
    # Exploration constant of that formula, in the unit of payoffs (0 to 1). For UCB1, 0.25 to 0.9 made no difference.
    exploration: float = 0.5
    # PUCT: the value of an untried action is the mean of its node minus this (first-play urgency).
    first_play: float = 0.2
    # Play out at random, or with the game's learned policy.
    playouts: Literal["random", "known"] = "random"
    # Cut playouts at the end of this many rounds, counted from the present one, and evaluate there; 0: never cut.
    horizon: int = 0
    # Iterations after which half of the playouts run to the end of the game despite the horizon: an evaluation's errors
    # do not average out, and long searches must not rest on it. 0: no playout does.
    full_half: int = 0
    # Exponent of the belief weights: 1 takes them as the game gives them, 0 makes all worlds equally likely.
    trust: float = 0.0
    # Number of worlds in all, one after the other; 0: a new one for every iteration.
    worlds: int = 0
    # Upper limit on the iterations of any budget; 0: none.
    iterations: int = 0
    # The weaknesses of a level (mistakes.py): the spread of the errors with which it judges moves, in shares of the
    # win, and whether it remembers what the others did, or guesses their cards from the table alone.
    misjudgement: float = 0.0
    remembers: bool = True

    @property
    def knows(self) -> bool:
        """Whether the configuration uses the game's learned knowledge."""
        return self.how == "greedy" or self.selection == "puct" or self.playouts == "known" or self.horizon > 0

    def settings(self, iterations: int | None, models: tuple[Model, ...] = ()) -> SearchParameters:
        """Return the parameters of a searcher with this many iterations; None if their number is not limited."""
        repeats = 1 if not self.worlds else -(-(iterations or REPEATS) // self.worlds)
        return SearchParameters(
            nodes=self.nodes,
            flat=self.flat,
            puct=self.selection == "puct",
            exploration=self.exploration,
            first_play=self.first_play,
            known_playouts=self.playouts == "known",
            horizon=self.horizon,
            full_half=self.full_half,
            world_repeats=repeats,
            models=models,
        )


class SearchParameters(NamedTuple):
    """Hold the parameters of a searcher."""

    nodes: Nodes
    flat: bool
    puct: bool
    exploration: float
    first_play: float
    known_playouts: bool
    horizon: int
    full_half: int
    world_repeats: int
    models: tuple[Model, ...] = ()


# The iterations over which a limited number of worlds is spread if the budget has no iteration limit.
REPEATS = 16_000

CONFIGS = {
    config.name: config
    for config in (
        Config("random", how="random"),
        Config("greedy", how="greedy"),
        Config("flat", flat=True),
        Config("pimc", nodes="world", worlds=16),
        Config("plain"),
        # The game's knowledge is the prior of the tree, the playout policy, and the evaluation at the end of the next
        # round. DECISIONS.md has the gain over `plain` at equal time.
        Config(
            "default",
            selection="puct",
            exploration=1.0,
            playouts="known",
            horizon=2,
            full_half=200_000,
            trust=1.0,
        ),
    )
}


# The settings that make a level weaker than `default` with as many iterations. They do not change the search.
WEAKNESSES = ("misjudgement", "remembers")


def as_level(level: int, iterations: int, misjudgement: float, remembers: bool) -> Config:
    return replace(
        CONFIGS["default"],
        name=f"level-{level}",
        iterations=iterations,
        misjudgement=misjudgement,
        remembers=remembers,
    )


# Strength levels for opponents at a table, fitted to even steps by `python -m benchmarks levels --fit`; docs/levels.md
# has the steps. Levels have no time limit, so a level is equally strong on every machine.
LEVELS = {
    level: as_level(level, *how)
    for level, how in enumerate(
        (
            (16, 0.45, False),
            (16, 0.21, False),
            (19, 0.137, False),
            (27, 0.107, False),
            (37, 0.082, True),
            (65, 0.057, True),
            (220, 0.029, True),
            (730, 0.013, True),
            (5_500, 0.0, True),
            (50_000, 0.0, True),
        ),
        start=1,
    )
}
CONFIGS |= {config.name: config for config in LEVELS.values()}
# Names of levels, for apps that offer five of them, or three: easy, normal and hard (docs/levels.md).
LEVEL_NAMES = {"beginner": 1, "easy": 3, "normal": 5, "hard": 8, "expert": 10}


def read_level(level: int | str) -> int:
    """Return the number of a level, from its number, as a number or text, or from its name."""
    number = str(LEVEL_NAMES.get(str(level), level))
    if number in map(str, LEVELS):
        return int(number)
    accepted = f"{min(LEVELS)}..{max(LEVELS)}, {', '.join(LEVEL_NAMES)}"
    raise InvalidQuestionError(
        "level", f"{quoted(level)} is not one of {accepted}", value=quoted(level), accepted=accepted
    )


@dataclass(frozen=True, slots=True)
class Budget:
    """Hold the limits of a search; the first one reached ends it. Without any, `DEFAULT_ITERATIONS` applies.

    Only a budget without a time limit is reproducible. Memory never ends a search: with a full tree it continues
    without adding nodes.
    """

    iterations: int | None = None
    time_ms: float | None = None
    # Like `time_ms`, but CPU time of the searching thread: for matches on a shared machine.
    thread_time_ms: float | None = None
    memory_mb: float = 256.0
    # Stop when `is_sure` finds the leading decision best with this probability; ignored for a single decision.
    confidence: float | None = None

    @property
    def reproducible(self) -> bool:
        """Whether the budget has no time limit."""
        return self.time_ms is None and self.thread_time_ms is None


DEFAULT_ITERATIONS = 10_000
ITERATIONS_MAX = 10**12
TIME_MAX_MS = 24 * 3600 * 1000.0
MEMORY_LEAST_MB, MEMORY_MAX_MB = 0.095, 65_536.0


def read_config(config: str | Config) -> Config:
    """Return the configuration of a name, also of a level; return a `Config` unchanged."""
    if isinstance(config, Config):
        return config
    if config in LEVEL_NAMES:
        return LEVELS[LEVEL_NAMES[config]]
    if config not in CONFIGS:
        names = ", ".join([*CONFIGS, *LEVEL_NAMES])
        raise InvalidQuestionError(
            "config", f"{quoted(config)} is not one of {names}", value=quoted(config), accepted=names
        )
    return CONFIGS[config]


def fit_config(config: Config, game: Game) -> Config:
    """Adapt a configuration to a game: `plain` if the game has no learned knowledge.

    In a game without a spectator's view, "own" replaces "public" nodes. Raise InvalidRulesetError if the configuration
    uses knowledge whose weights do not fit the game.
    """
    if config.knows or config.trust:
        game.check_knowledge()
    if config.nodes == "public" and not game.has_spectator:
        config = replace(config, nodes="own")
    if game.has_knowledge or not config.knows:
        return config
    if config.how == "greedy":
        raise InvalidQuestionError(
            "config", f"'greedy' needs knowledge, and {game.id} has none", reason="CONTRADICTION"
        )
    settings = {name: getattr(config, name) for name in ("nodes", "iterations", *WEAKNESSES)}
    return replace(CONFIGS["plain"], name=config.name, **settings)


def check_budget(budget: Budget) -> Budget:
    """Return the budget, with the default limit if it has none; raise InvalidQuestionError if a limit is invalid."""
    limits = {
        "iterations": (1, ITERATIONS_MAX),
        "time_ms": (0.001, TIME_MAX_MS),
        "thread_time_ms": (0.001, TIME_MAX_MS),
        "memory_mb": (MEMORY_LEAST_MB, MEMORY_MAX_MB),
        "confidence": (0.5, 0.999_999),
    }
    for field, (least, most) in limits.items():
        value = getattr(budget, field)
        kinds = (int,) if field == "iterations" else (int, float)
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most
        ):
            accepted = f"{least}..{most}"
            raise InvalidQuestionError(
                f"budget.{field}", f"{value!r} is not in {accepted}", value=value, accepted=accepted
            )
    if budget.time_ms is not None and budget.thread_time_ms is not None:
        problem = "cannot be combined with time_ms"
        raise InvalidQuestionError("budget.thread_time_ms", problem, reason="CONTRADICTION")
    if budget.iterations is None and budget.reproducible:
        return replace(budget, iterations=DEFAULT_ITERATIONS)
    return budget


def fit_budget(budget: Budget, config: Config) -> Budget:
    """Return the budget with its iterations capped at the configuration's."""
    if config.iterations and (budget.iterations is None or budget.iterations > config.iterations):
        return replace(budget, iterations=config.iterations)
    return budget

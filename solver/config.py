"""How to search: each knob, its unit and why it stands as it does; and the configurations that have a name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from engine_cy import Game

Nodes = Literal["public", "own", "world"]
# How another seat is thought to play: as well as I, so but for one random decision in four, by the game's rule of
# thumb, or at random.
Model = Literal["me", "noisy", "greedy", "random"]
MODELS: tuple[Model, ...] = ("me", "noisy", "greedy", "random")


class InvalidQuestionError(ValueError):
    """A question, budget or configuration that is refused: the field, what is wrong with its value, and what is
    accepted. `reason` is a word of the contract's `ErrorReason`."""

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
    """A way to search. `how` says what is done at all; the rest are its knobs."""

    name: str
    how: Literal["search", "greedy", "random"] = "search"
    # Whose nodes are told apart by what: the others' by what everybody saw and their own actions ("public"), by their
    # private cards too ("own"), or every world apart ("world"). Not to split by private cards was worth 55 Elo.
    nodes: Nodes = "public"
    # No tree below the root's decision: every action is judged by playouts alone.
    flat: bool = False
    # How to choose: UCB1, or PUCT with the game's prior.
    selection: Literal["ucb", "puct"] = "ucb"
    # The constant of that formula, in the unit of the payoffs (0 to 1). For UCB1, 0.25 to 0.9 made no difference.
    exploration: float = 0.5
    # PUCT: an action never tried counts as so much less than the mean of its node.
    first_play: float = 0.2
    # Play out at random, or as the game's knowledge would.
    playouts: Literal["random", "known"] = "random"
    # Evaluate instead of playing on when so many rounds have ended, counted from the present one; 0: play to the end.
    horizon: int = 0
    # Iterations by which every second playout goes to the end all the same: an evaluation's errors do not average
    # out, so long thinking must not rest on it. 0: none does.
    full_half: int = 0
    # How far worlds are weighed by what opponents did: the power of the weights; 0: all are alike.
    trust: float = 0.0
    # Worlds in all, one after the other; 0: a new one for every iteration.
    worlds: int = 0
    # No more iterations than so, whatever the budget; 0: as many as it allows.
    iterations: int = 0
    # The move to play is the best (0), or drawn: as often as visits to the power of 1 / temperature.
    temperature: float = 0.0
    # One move in so many is any move at all, each as likely: 0.25 is one in four.
    noise: float = 0.0

    @property
    def knows(self) -> bool:
        """Whether it uses what the game knows of itself."""
        return self.how == "greedy" or self.selection == "puct" or self.playouts == "known" or self.horizon > 0

    def settings(self, iterations: int | None, models: tuple[Model, ...] = ()) -> SearchParameters:
        """What a searcher with so many iterations is told; None: nobody knows how many."""
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
    """What a searcher is told."""

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


# Iterations for which a few worlds are enough, where the budget is time.
REPEATS = 16_000

CONFIGS = {
    config.name: config
    for config in (
        Config("random", how="random"),
        Config("greedy", how="greedy"),
        Config("flat", flat=True),
        Config("pimc", nodes="world", worlds=16),
        Config("plain"),
        # What the game knows of itself guides the tree, plays on, and judges the table at the end of the next round.
        # By how much that is better than `plain` at equal time: DECISIONS.md.
        Config(
            "default",
            selection="puct",
            exploration=1.0,
            playouts="known",
            horizon=2,
            full_half=200_000,
            trust=0.5,
        ),
    )
}


def as_level(level: int, iterations: int, temperature: float, noise: float) -> Config:
    return replace(
        CONFIGS["default"],
        name=f"level-{level}",
        iterations=iterations,
        temperature=temperature,
        noise=noise,
    )


# Strength levels for opponents at a table. On a quick ladder (three players, one against two of the level below, 360
# games each, en-2019) the steps from random play up were 89, 106, 73, 86, 57, 100, 87, 67, 56 and 64 Elo, each give or
# take 35. Time has no part in them, so that a level is as strong on every machine.
LEVELS = {
    level: as_level(level, *how)
    for level, how in enumerate(
        (
            (16, 1.0, 0.80),
            (16, 1.0, 0.60),
            (16, 1.0, 0.45),
            (24, 1.0, 0.30),
            (32, 1.0, 0.20),
            (48, 0.7, 0.10),
            (100, 0.5, 0.05),
            (300, 0.3, 0.0),
            (1_500, 0.0, 0.0),
            (20_000, 0.0, 0.0),
        ),
        start=1,
    )
}
CONFIGS |= {config.name: config for config in LEVELS.values()}


@dataclass(frozen=True, slots=True)
class Budget:
    """When to stop thinking: at the first limit that is reached. Without any, after `DEFAULT_ITERATIONS`.

    Only a budget without a time limit is reproducible. Memory never ends a search: a full tree goes on without
    growing.
    """

    iterations: int | None = None
    time_ms: float | None = None
    # Like `time_ms`, but of what the searching thread computed: for matches on a machine that others use.
    thread_time_ms: float | None = None
    memory_mb: float = 256.0
    # Stop when the best decision is the best with this probability, as `is_sure` judges; not where there is only one.
    confidence: float | None = None

    @property
    def reproducible(self) -> bool:
        """Whether no clock has a say."""
        return self.time_ms is None and self.thread_time_ms is None


DEFAULT_ITERATIONS = 10_000
ITERATIONS_MAX = 10**12
TIME_MAX_MS = 24 * 3600 * 1000.0
MEMORY_LEAST_MB, MEMORY_MAX_MB = 0.095, 65_536.0


def read_config(config: str | Config) -> Config:
    """A configuration by its name, or as it is."""
    if isinstance(config, Config):
        return config
    if config not in CONFIGS:
        names = ", ".join(CONFIGS)
        raise InvalidQuestionError("config", f"{config!r} is none of {names}", value=config, accepted=names)
    return CONFIGS[config]


def fit_config(config: Config, game: Game) -> Config:
    """What a configuration comes to in a game: where the game knows nothing of itself, `plain`; and where it does not
    say what everybody sees, the others' nodes are told apart by what each of them sees."""
    if config.nodes == "public" and not game.has_spectator:
        config = replace(config, nodes="own")
    if game.has_knowledge or not config.knows:
        return config
    if config.how == "greedy":
        raise InvalidQuestionError(
            "config", f"'greedy' needs knowledge, and {game.id} has none", reason="CONTRADICTION"
        )
    kept = {name: getattr(config, name) for name in ("nodes", "iterations", "temperature", "noise")}
    return replace(CONFIGS["plain"], name=config.name, **kept)


def check_budget(budget: Budget) -> Budget:
    """The budget, with what was left out, or why it makes no sense."""
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
        problem = "one clock is enough; time_ms is given too"
        raise InvalidQuestionError("budget.thread_time_ms", problem, reason="CONTRADICTION")
    if budget.iterations is None and budget.reproducible:
        return replace(budget, iterations=DEFAULT_ITERATIONS)
    return budget


def fit_budget(budget: Budget, config: Config) -> Budget:
    """The budget, with no more iterations than the configuration has."""
    if config.iterations and (budget.iterations is None or budget.iterations > config.iterations):
        return replace(budget, iterations=config.iterations)
    return budget

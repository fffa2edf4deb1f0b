"""The conversion of requests into questions: it fills in defaults, and applies the server's caps.

Refusals name fields of the contract.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from google.protobuf.duration_pb2 import Duration

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import Action, Game, Position, View
from engine_cy.errors import listed
from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.codec import records, views
from server.codec.fields import Words, check_length, in_range, path_in, read_optional_seat, read_seat, required
from server.refusals import Refusal, at
from solver.config import CONFIGS, ITERATIONS_MAX, LEVELS, Budget, Config, InvalidQuestionError, Model
from solver.question import (
    COMPARED_MAX,
    LINES_MAX,
    MEGABYTE,
    SHARES_MAX,
    ComparisonQuestion,
    Encoded,
    Question,
    SearchQuestion,
    comparison_iterations_max,
    encode,
)
from solver.review import Judge, Step, count_decisions, decisions, steps

if TYPE_CHECKING:
    from server.settings import Settings

TIME_DEFAULT_MS, TIME_LEAST_MS = 1_000.0, 0.001
MEMORY_LEAST, MEMORY_MOST = 100_000, 2**36
# Number of lines of play in an answer with all moves.
LINES_DEFAULT = 8
# Number of lines in sampled worlds, whose views make an answer large.
SAMPLES_MAX = 8
CANDIDATES_MAX = 1_000
AMONG_MAX = 1_000
ID_MAX = 64
PRIORITY_MAX = 100
INTERVAL_DEFAULT_MS, INTERVAL_LEAST_MS, INTERVAL_MOST_MS = 500.0, 50.0, 60_000.0

MODELS = Words(pb.Model, {"same": "me"})
BELIEFS = frozenset(pb.Belief.values())
# The options that a comparison does not have.
NOT_COMPARED = ("restrict_to", "lines", "information", "sample_variations")

# The fields of a request whose names differ from a question's.
PATHS = {
    "seed": "options.seed",
    "shares": "options.shares",
    "config": "options.level",
    "lines": "options.lines",
    "among": "options.restrict_to",
    "models": "options.models",
    "share_iterations": "budget.share_iterations",
    "history": "view.history",
    "budget.memory_mb": "budget.memory_bytes",
    "budget.time_ms": "budget.time",
}


class Caps(NamedTuple):
    """The caps on budgets, and the memory of a budget without a memory limit."""

    time_ms: float
    iterations: int
    memory_bytes: int
    memory_default: int

    @classmethod
    def of(cls, settings: Settings) -> Caps:
        memory = settings.memory_max_mb * MEGABYTE
        return cls(float(settings.time_max_ms), settings.iterations_max, memory, memory)


@dataclass(frozen=True, slots=True)
class Grant:
    """A request after defaults and caps: its question, and the other inputs of the answer's message."""

    view: View
    question: Question | None  # None: the game is over
    budget: Budget
    share_iterations: tuple[int, ...]
    seed: int
    shares: int
    is_timed: bool  # the request has a time limit; else the budget's time is the server's cap
    candidates: int = 0  # maximum number of moves in the answer; 0: all
    samples: int = 0  # number of moves with a sampled line
    information: bool = False
    encoded: Encoded | None = None


class QuestionArguments(TypedDict):
    """The keyword arguments of a question that depend on the options."""

    config: Config
    seed: int
    shares: int
    models: dict[int | str, Model]


class RequestOptions(NamedTuple):
    """A request's options after defaults."""

    arguments: QuestionArguments
    has_seed: bool
    level: int
    candidates: int
    samples: int
    among: Sequence[Action]
    information: bool

    @property
    def lines(self) -> int:
        return min(self.candidates or LINES_DEFAULT, LINES_MAX)


# --- whole requests ---------------------------------------------------------------------------------------------


def read_search(request: Any, caps: Caps, field: str = "", config: Config | None = None) -> Grant:
    """Read a request of Suggest or Analyze, or a batch item. `config` replaces the default configuration."""
    required(request, "view", field)
    view, history = views.read_view_and_history(request.view, path_in(field, "view"))
    options = read_options(request.options, view.game, view, path_in(field, "options"), config=config)
    check_information(view, options, path_in(field, "options.information"))
    limits = read_budget(request.budget, options, caps, path_in(field, "budget"))
    if view.is_over:
        return _grant_at_end(view, options, limits)
    with paths(field):
        question = SearchQuestion(
            view,
            limits.budget,
            lines=options.lines,
            among=options.among,
            share_iterations=limits.share_iterations,
            history=history,
            **options.arguments,
        )
    return _grant(question, options, limits)


def read_comparison(request: pb.CompareRequest, caps: Caps, config: Config | None = None) -> Grant:
    """Read a request of Compare. `config` replaces the default configuration."""
    required(request, "view", "")
    view, history = views.read_view_and_history(request.view, "view")
    options = read_options(request.options, view.game, view, "options", NOT_COMPARED, config=config)
    check_to_act(view)
    limits = read_budget(request.budget, options, caps, "budget")
    if limits.share_iterations:
        raise Refusal("CONTRADICTION", "budget.share_iterations", "a comparison has `iterations` for each move")
    actions = read_actions(request.actions, view, COMPARED_MAX, "actions")
    budget = limits.budget
    if budget.iterations is not None:
        fit = comparison_iterations_max(budget.memory_mb, max(len(actions), 1), options.arguments["shares"])
        limits = limits._replace(budget=replace(budget, iterations=min(budget.iterations, fit)))
    with paths(""):
        question = ComparisonQuestion(view, actions, limits.budget, history=history, **options.arguments)
    return _grant(question, options, limits)


@dataclass(frozen=True, slots=True)
class ReviewGrant:
    """A request of Review after defaults and caps. Its steps are made one after the other, as they are judged."""

    record: Record
    seat: int | None  # the only seat whose decisions to judge
    steps: Iterator[Step]
    judge: Judge
    seed: int
    shares: int
    is_timed: bool
    options: RequestOptions
    # With details: the number of decisions. Each has the expected results of all seats, beliefs, and candidates.
    decisions: int | None = None

    @property
    def has_details(self) -> bool:
        return self.decisions is not None


def read_review(request: pb.ReviewRequest, caps: Caps, config: Config | None = None) -> ReviewGrant:
    """Read a request of Review. `config` replaces the default configuration.

    The judge makes the questions of a decision later, when it judges the decision.
    """
    record, seat = read_reviewed(request)
    options = read_review_options(request.options, record.game, config)
    if options.samples and not request.details:
        raise Refusal("CONTRADICTION", "options.sample_variations", "a review has candidates only with `details`")
    limits = read_budget(request.budget, options, caps, "budget")
    if limits.share_iterations:
        raise Refusal("CONTRADICTION", "budget.share_iterations", "a review has `iterations` for each decision")
    arguments = options.arguments
    if not options.has_seed:
        # The answer contains the seed, which must not depend on cards that the seat did not see.
        if seat is None or record.observer is not None:
            seen: Record | Position | View = record.bare
        elif record.game.has_history:
            seen = record.bare.seen_from(seat)
        else:
            end = record.end
            assert isinstance(end, Position)
            seen = end.view(seat)
        arguments = {**arguments, "seed": seed_of(str(seen).encode())}
    with paths(""):
        judge = Judge(limits.budget, keeps_beliefs=request.details, lines=options.lines, **arguments)
    judged = steps(record, seat) if judge.searches else decisions(record, seat)
    number = count_decisions(record, seat) if request.details else None
    seed, shares = arguments["seed"], arguments["shares"]
    return ReviewGrant(record, seat, judged, judge, seed, shares, limits.is_timed, options, number)


def read_reviewed(request: pb.ReviewRequest | pb.WriteReportRequest) -> tuple[Record, int | None]:
    """Read the game to review, and the seat whose decisions count; None for every seat that the record allows."""
    required(request, "record", "")
    with records.sealed("record") if request.seat else nullcontext():
        record = records.read(request.record)
    seat = read_optional_seat(request.seat, record.game.n_players, "seat")
    if seat is not None and record.observer not in (None, seat):
        raise Refusal("CONTRADICTION", "seat", "the record is another seat's view of the game, with its decisions only")
    return record, seat


def read_review_options(message: pb.Options, game: Game, config: Config | None = None) -> RequestOptions:
    """Read the options of a review. `config` replaces the default configuration."""
    return read_options(message, game, None, "options", ("restrict_to", "information"), config=config)


def _grant(question: Question, options: RequestOptions, limits: Limits) -> Grant:
    encoded = encode(question)
    if not options.has_seed:
        question = question.with_seed(seed_of(encoded.content))
        encoded = encoded._replace(seed=question.seed.to_bytes(8, "little"))
    return Grant(
        question.view,
        question,
        question.budget,
        limits.share_iterations,
        question.seed,
        question.shares,
        limits.is_timed,
        options.candidates,
        options.samples,
        options.information,
        encoded,
    )


def _grant_at_end(view: View, options: RequestOptions, limits: Limits) -> Grant:
    seed = options.arguments["seed"] if options.has_seed else seed_of(bytes(view))
    shares = options.arguments["shares"]
    return Grant(view, None, limits.budget, limits.share_iterations, seed, shares, limits.is_timed)


def seed_of(encoded: bytes) -> int:
    return int.from_bytes(blake2b(encoded, digest_size=8).digest(), "big")


@contextmanager
def paths(field: str) -> Iterator[None]:
    """Turn a question's errors into refusals of the request's field."""
    try:
        yield
    except InvalidQuestionError as error:
        name, dot, rest = error.field.partition(".")
        head, bracket, index = name.partition("[")
        path = PATHS.get(error.field) or PATHS.get(head, head) + bracket + index + dot + rest
        raise Refusal(error.reason, path_in(field, path), error.problem) from None


# --- their parts ------------------------------------------------------------------------------------------------


class Limits(NamedTuple):
    """A budget after defaults and caps."""

    budget: Budget
    share_iterations: tuple[int, ...]
    is_timed: bool


def read_budget(message: pb.Budget, options: RequestOptions, caps: Caps, field: str = "budget") -> Limits:
    """Read a budget; apply defaults, caps and the level."""
    time_ms = iterations = confidence = None
    if message.HasField("time"):
        time_ms = min(max(_milliseconds(message.time, f"{field}.time"), TIME_LEAST_MS), caps.time_ms)
    if message.HasField("iterations"):
        iterations = min(in_range(message.iterations, 1, ITERATIONS_MAX, f"{field}.iterations"), caps.iterations)
    if message.HasField("confidence"):
        confidence = in_range(message.confidence, 0.5, 0.999_999, f"{field}.confidence")
    memory = caps.memory_default
    if message.HasField("memory_bytes"):
        requested = in_range(message.memory_bytes, MEMORY_LEAST, MEMORY_MOST, f"{field}.memory_bytes")
        memory = min(requested, caps.memory_bytes)
    level_iterations = LEVELS[options.level].iterations if options.level else None
    shares = _share_iterations(message, level_iterations or caps.iterations, field)
    if level_iterations and not shares:
        iterations = min(iterations or level_iterations, level_iterations)
    if shares:
        iterations = max(sum(shares), 1)
    if time_ms is None and iterations is None and confidence is None:
        time_ms = min(TIME_DEFAULT_MS, caps.time_ms)
    budget = Budget(
        iterations=iterations,
        time_ms=caps.time_ms if time_ms is None else time_ms,
        memory_mb=memory / MEGABYTE,
        confidence=confidence,
    )
    return Limits(budget, shares, time_ms is not None)


def _share_iterations(message: pb.Budget, most: int, field: str) -> tuple[int, ...]:
    shares, path = tuple(message.share_iterations), f"{field}.share_iterations"
    if not shares:
        return ()
    check_length(shares, SHARES_MAX, path)
    for name in ("time", "iterations", "confidence"):
        if message.HasField(name):
            raise Refusal("CONTRADICTION", f"{field}.{name}", "cannot be combined with share_iterations")
    for number, iterations in enumerate(shares):
        in_range(iterations, 0, ITERATIONS_MAX, f"{path}[{number}]")
    if sum(shares) > most:
        raise Refusal("OUT_OF_RANGE", path, f"{sum(shares)} in all; at most {most} are granted")
    return shares


def write_budget(budget: Budget, share_iterations: Sequence[int] = ()) -> pb.Budget:
    """Write the message of a granted budget."""
    message = pb.Budget(
        memory_bytes=round(budget.memory_mb * MEGABYTE),
        share_iterations=share_iterations,
        confidence=budget.confidence,
        iterations=None if share_iterations else budget.iterations,
    )
    if budget.time_ms is not None:
        message.time.FromMicroseconds(round(budget.time_ms * 1000))
    return message


def read_options(
    message: pb.Options,
    game: Game,
    view: View | None,
    field: str = "options",
    refused: Sequence[str] = (),
    *,
    config: Config | None = None,
) -> RequestOptions:
    """Read options. Refuse those named in `refused`, which the call does not have. `view` is None for a whole game."""
    for name in refused:
        if name in (descriptor.name for descriptor, _ in message.ListFields()):
            raise Refusal("CONTRADICTION", f"{field}.{name}", "does not belong to this call")
    if message.belief not in BELIEFS:
        raise Refusal("UNKNOWN_VALUE", f"{field}.belief", f"{message.belief} is not a Belief (on, uniform)")
    level = in_range(message.level, 0, max(LEVELS), f"{field}.level")
    config = LEVELS[level] if level else config or CONFIGS["default"]
    arguments: QuestionArguments = {
        "config": replace(config, trust=0.0) if message.belief == pb.BELIEF_UNIFORM else config,
        "seed": message.seed,
        "shares": in_range(message.shares, 0, SHARES_MAX, f"{field}.shares") or 1,
        "models": _read_models(message, game, view.observer if view else None, f"{field}.models"),
    }
    return RequestOptions(
        arguments=arguments,
        has_seed=message.HasField("seed"),
        level=level,
        candidates=in_range(message.lines, 0, CANDIDATES_MAX, f"{field}.lines"),
        samples=in_range(message.sample_variations, 0, SAMPLES_MAX, f"{field}.sample_variations"),
        among=read_actions(message.restrict_to, view, AMONG_MAX, f"{field}.restrict_to") if view else (),
        information=message.information,
    )


def read_actions(messages: Any, view: View, most: int, field: str) -> tuple[Action, ...]:
    """Read legal moves of a view, each at most once, in the order of the messages."""
    check_length(messages, most, field)
    legal = set(view.legal_actions()) if messages else set()
    actions: dict[Action, None] = {}
    for i, message in enumerate(messages):
        action = read_legal_action(message, view, legal, f"{field}[{i}]")
        if action in actions:
            raise Refusal("CONTRADICTION", f"{field}[{i}]", f"'{action}' is named twice")
        actions[action] = None
    return tuple(actions)


def read_legal_action(message: view_pb2.Action, view: View, legal: Container[Action], field: str) -> Action:
    """Read an action; refuse it unless it is one of `legal`, the legal actions of the view."""
    action = views.read_action(view.game, message, field)
    if action not in legal:
        with at(field):
            view.play(action)  # raises an error with the reason
        problem = f"'{action}' is not possible here ({listed(view.legal_actions())})"
        raise Refusal("ILLEGAL_ACTION", field, problem)
    return action


def _read_models(message: pb.Options, game: Game, observer: int | None, field: str) -> dict[int | str, Model]:
    check_length(message.models, game.n_players, field)
    models: dict[int | str, Any] = {}
    for i, entry in enumerate(message.models):
        seat = read_seat(entry.seat, game.n_players, f"{field}[{i}].seat")
        if seat == observer:
            raise Refusal(
                "CONTRADICTION", f"{field}[{i}].seat", "is the observer's own seat; models are for the others"
            )
        if seat in models:
            raise Refusal("CONTRADICTION", f"{field}[{i}].seat", "has a model already")
        model = MODELS.read(entry.model, f"{field}[{i}].model")
        if model == "greedy" and not game.has_knowledge:
            raise Refusal("CONTRADICTION", f"{field}[{i}].model", f"{game.id} has no heuristic policy")
        models[seat] = model
    return models


def check_to_act(view: View) -> None:
    if view.is_over:
        raise Refusal("GAME_OVER", "view", "the game is over")
    if view.to_act != view.observer:
        acting = "chance" if view.to_act is None or view.to_act < 0 else SEATS[view.to_act]
        why = f"{acting} is to act, not {SEATS[view.observer]}, who sees this view"
        raise Refusal("NOT_TO_ACT", "view", why)


def check_information(view: View, options: RequestOptions, field: str) -> None:
    if options.information and not view.game.has_beliefs:
        why = f"{view.game.id} has no belief model for these tables"
        raise Refusal("CONTRADICTION", field, why)
    if options.information and view.to_act != view.observer:
        raise Refusal("CONTRADICTION", field, "only the player to act can reveal a card")


def read_interval(message: Any, field: str = "interval") -> float:
    """Read the interval between two messages of a stream; return milliseconds."""
    if not message.HasField("interval"):
        return INTERVAL_DEFAULT_MS
    milliseconds = _milliseconds(message.interval, field)
    return min(max(milliseconds, INTERVAL_LEAST_MS), INTERVAL_MOST_MS)


def check_id(name: str, in_flight: Container[str]) -> None:
    """Refuse the id of a batch item if it is empty, too long, or that of a pending item."""
    if not 1 <= len(name) <= ID_MAX:
        raise Refusal("OUT_OF_RANGE", "item.id", f"{len(name)} characters are not in 1..{ID_MAX}")
    if name in in_flight:
        raise Refusal("CONTRADICTION", "item.id", "is the id of a pending item")


def read_priority(item: pb.BatchItem) -> int:
    priority: int = in_range(item.priority, -PRIORITY_MAX, PRIORITY_MAX, "item.priority")
    return priority


def _milliseconds(duration: Duration, field: str) -> float:
    seconds = duration.seconds + duration.nanos / 1e9
    well_formed = 0 <= duration.seconds <= 315_576_000_000 and 0 <= duration.nanos < 10**9
    if not well_formed or seconds <= 0 or not math.isfinite(seconds):
        raise Refusal("OUT_OF_RANGE", field, "is not more than 0 s, with nanos in 0..999999999")
    return seconds * 1000

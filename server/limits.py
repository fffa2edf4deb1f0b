"""How much to think and how: budgets and options as they are granted, with defaults filled in and caps kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

from google.protobuf.duration_pb2 import Duration

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action, Game, View
from engine_cy.errors import listed
from engine_cy.history import History
from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.codec import views
from server.codec.words import Words, check_length, read_seat
from server.refusals import Refusal, at
from server.settings import Settings
from solver.config import CONFIGS, LEVELS, Budget, Config, Model

TIME_DEFAULT_MS = 1_000.0
ITERATIONS_MAX = 10**12
MEMORY_LEAST, MEMORY_MOST = 100_000, 2**36
SHARES_MAX = 256
LINES_MAX = 1_000
AMONG_MAX = 256
INTERVAL_DEFAULT_MS, INTERVAL_LEAST_MS, INTERVAL_MOST_MS = 500.0, 50.0, 60_000.0
MEGABYTE = 2**20

MODELS = Words(pb.Model, {"same": "me"})


class Caps(NamedTuple):
    """What a server grants at most."""

    time_ms: float
    iterations: int
    memory_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> Caps:
        return cls(float(settings.time_max_ms), settings.iterations_max, settings.memory_max_mb * MEGABYTE)


@dataclass(frozen=True, slots=True)
class Granted:
    """A budget after defaults and caps."""

    time_ms: float
    iterations: int | None
    memory_bytes: int
    confidence: float | None
    share_iterations: tuple[int, ...]
    # Whether somebody asked for a limit of time, rather than the cap being one.
    is_timed: bool

    @property
    def for_solver(self) -> Budget:
        iterations = max(sum(self.share_iterations), 1) if self.share_iterations else self.iterations
        return Budget(
            iterations=iterations or ITERATIONS_MAX,
            memory_mb=self.memory_bytes / MEGABYTE,
            confidence=self.confidence,
        )

    @property
    def message(self) -> pb.Budget:
        message = pb.Budget(
            memory_bytes=self.memory_bytes, share_iterations=self.share_iterations, confidence=self.confidence
        )
        message.time.FromMicroseconds(round(self.time_ms * 1000))
        if self.iterations is not None:
            message.iterations = self.iterations
        return message


@dataclass(frozen=True, slots=True)
class Chosen:
    """Options after defaults."""

    seed: int | None
    shares: int
    level: int
    lines: int
    among: tuple[Action, ...]
    models: tuple[tuple[int, Model], ...]
    uniform: bool
    information: bool
    # By its name in `CONFIGS`, where there is no level. Who calls over the network cannot choose it.
    base: str = "default"

    @property
    def config(self) -> Config:
        config = LEVELS[self.level] if self.level else CONFIGS[self.base]
        return replace(config, trust=0.0) if self.uniform else config


# What an absent message stands for.
NO_OPTIONS = Chosen(None, 1, 0, 0, (), (), uniform=False, information=False)


def read_budget(message: pb.Budget, options: Chosen, caps: Caps, field: str = "budget") -> Granted:
    """What is granted of what was asked for."""
    time_ms = iterations = confidence = None
    if message.HasField("time"):
        time_ms = min(_milliseconds(message.time, f"{field}.time"), caps.time_ms)
    if message.HasField("iterations"):
        iterations = min(in_range(message.iterations, 1, ITERATIONS_MAX, f"{field}.iterations"), caps.iterations)
    if message.HasField("confidence"):
        confidence = in_range(message.confidence, 0.5, 0.999_999, f"{field}.confidence")
    memory = caps.memory_bytes
    if message.HasField("memory_bytes"):
        memory = min(in_range(message.memory_bytes, MEMORY_LEAST, MEMORY_MOST, f"{field}.memory_bytes"), memory)
    level_iterations = LEVELS[options.level].iterations if options.level else None
    shares = _share_iterations(message, options, level_iterations or caps.iterations, field)
    if level_iterations and not shares:
        iterations = min(iterations or level_iterations, level_iterations)
    limits = (time_ms, iterations, confidence)
    if all(limit is None for limit in limits) and not shares:
        time_ms = min(TIME_DEFAULT_MS, caps.time_ms)
    return Granted(
        caps.time_ms if time_ms is None else time_ms, iterations, memory, confidence, shares, time_ms is not None
    )


def _share_iterations(message: pb.Budget, options: Chosen, most: int, field: str) -> tuple[int, ...]:
    said, path = tuple(message.share_iterations), f"{field}.share_iterations"
    if not said:
        return ()
    check_length(said, SHARES_MAX, path)
    for name in ("time", "iterations", "confidence"):
        if message.HasField(name):
            raise Refusal("CONTRADICTION", f"{field}.{name}", "stands beside share_iterations, which say it all")
    if len(said) != options.shares:
        raise Refusal("CONTRADICTION", path, f"{len(said)} entries, but options.shares are {options.shares}")
    for number, iterations in enumerate(said):
        in_range(iterations, 0, ITERATIONS_MAX, f"{path}[{number}]")
    if sum(said) > most:
        raise Refusal("OUT_OF_RANGE", path, f"{sum(said)} in all; at most {most} are granted")
    return said


def read_options(
    message: pb.Options, game: Game, view: View | None, field: str = "options", refused: Sequence[str] = ()
) -> Chosen:
    """What was chosen; `refused` are options that this call does not know. A whole game has no one view."""
    for name in refused:
        if name in (descriptor.name for descriptor, _ in message.ListFields()):
            raise Refusal("CONTRADICTION", f"{field}.{name}", "does not belong to this call")
    if message.belief not in pb.Belief.values():
        raise Refusal("UNKNOWN_VALUE", f"{field}.belief", f"{message.belief} is not a Belief (on, uniform)")
    return Chosen(
        seed=message.seed if message.HasField("seed") else None,
        shares=in_range(message.shares, 0, SHARES_MAX, f"{field}.shares") or 1,
        level=in_range(message.level, 0, max(LEVELS), f"{field}.level"),
        lines=in_range(message.lines, 0, LINES_MAX, f"{field}.lines"),
        among=read_actions(message.restrict_to, view, AMONG_MAX, f"{field}.restrict_to") if view else (),
        models=_read_models(message, game, view.observer if view else None, f"{field}.models"),
        uniform=message.belief == pb.BELIEF_UNIFORM,
        information=message.information,
    )


def read_actions(messages: Any, view: View, most: int, field: str) -> tuple[Action, ...]:
    """Legal moves of a view, in the order of all of them, each once."""
    check_length(messages, most, field)
    legal = {str(action): number for number, action in enumerate(view.legal_actions())}
    chosen: dict[str, Action] = {}
    for i, message in enumerate(messages):
        action = views.read_action(view.game, message, f"{field}[{i}]")
        text = str(action)
        if text not in legal:
            with at(f"{field}[{i}]"):
                view.play(action)  # says why not
            raise Refusal("ILLEGAL_ACTION", f"{field}[{i}]", f"'{text}' is not possible here ({listed(legal)})")
        if text in chosen:
            raise Refusal("CONTRADICTION", f"{field}[{i}]", f"'{text}' is named twice")
        chosen[text] = action
    return tuple(chosen.values())


def _read_models(message: pb.Options, game: Game, observer: int | None, field: str) -> tuple[tuple[int, Model], ...]:
    check_length(message.models, game.n_players, field)
    models: dict[int, Any] = {}
    for i, said in enumerate(message.models):
        seat = read_seat(said.seat, game.n_players, f"{field}[{i}].seat")
        if seat == observer:
            raise Refusal("CONTRADICTION", f"{field}[{i}].seat", "is the observer's own, for whom the search plays")
        if seat in models:
            raise Refusal("CONTRADICTION", f"{field}[{i}].seat", "has a model already")
        model = MODELS.read(said.model, f"{field}[{i}].model")
        if model == "greedy" and not game.has_knowledge:
            raise Refusal("CONTRADICTION", f"{field}[{i}].model", f"{game.id} has no rule of thumb")
        models[seat] = model
    return tuple(sorted(models.items()))


def check_to_act(view: View) -> None:
    if view.is_over:
        raise Refusal("GAME_OVER", "view", "nothing can be played any more")
    if view.to_act != view.observer:
        acting = "chance" if view.to_act is None or view.to_act < 0 else SEATS[view.to_act]
        why = f"{acting} is to act, not {SEATS[view.observer]}, who sees this view"
        raise Refusal("NOT_TO_ACT", "view", why)


def check_information(view: View, options: Chosen, field: str) -> None:
    if options.information and not view.game.has_suspicions:
        why = f"{view.game.id} does not say with these tables what players may think of hidden cards"
        raise Refusal("CONTRADICTION", field, why)
    if options.information and view.to_act != view.observer:
        raise Refusal("CONTRADICTION", field, "only who is to act can reveal a card")


def read_interval(message: Any, field: str = "interval") -> float:
    """Milliseconds between two messages of a stream."""
    if not message.HasField("interval"):
        return INTERVAL_DEFAULT_MS
    milliseconds = _milliseconds(message.interval, field)
    return min(max(milliseconds, INTERVAL_LEAST_MS), INTERVAL_MOST_MS)


def canonical(view: View, history: Record | None, options: Chosen) -> bytes:
    """What is asked, whatever its words: equal questions have equal bytes. Not how long to think, nor the seed."""
    told = bytes(History.of(history)) if history is not None else b""
    among = [str(action) for action in options.among]
    rest: tuple[object, ...] = (
        options.shares,
        options.level,
        options.lines,
        options.models,
        options.uniform,
        options.information,
    )
    rest += () if options.base == "default" else (options.base,)
    head = repr((repr(view.game), view.observer, among, *rest)).encode()
    # A game's states are of one length, so it is clear where which part ends.
    return head + bytes(view) + told


def derived_seed(question: bytes) -> int:
    return int.from_bytes(blake2b(question, digest_size=8).digest(), "big")


def in_range(value: Any, least: Any, most: Any, field: str) -> Any:
    # Not `value < least or ...`: that lets NaN pass.
    if not least <= value <= most:
        raise Refusal("OUT_OF_RANGE", field, f"{value} is not in {least}..{most}")
    return value


def _milliseconds(duration: Duration, field: str) -> float:
    seconds = duration.seconds + duration.nanos / 1e9
    well_formed = 0 <= duration.seconds <= 315_576_000_000 and 0 <= duration.nanos < 10**9
    if not well_formed or seconds <= 0 or not math.isfinite(seconds):
        raise Refusal("OUT_OF_RANGE", field, "is not more than 0 s, with nanos in 0..999999999")
    return seconds * 1000

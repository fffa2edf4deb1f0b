"""Define the questions to the search: three shapes with one base, checked by their constructors.

A question holds one player's view and never a true state. Every pool computes it in *parts*, one tree each. Equal
questions have equal answers in every pool.
"""

from __future__ import annotations

import copy
import json
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self, TypedDict, Unpack

from engine_cy import Action, Game, View
from engine_cy.action_log import History
from engine_cy.errors import listed
from engine_cy.record import Record
from engine_cy.values import read_seat
from solver.beliefs import Belief, SecretCard, WorldSampler, own_spots
from solver.config import (
    ITERATIONS_MAX,
    MODELS,
    Budget,
    Config,
    InvalidQuestionError,
    Model,
    check_budget,
    fit_budget,
    fit_config,
    read_config,
)
from solver.named_beliefs import Beliefs, name_beliefs
from solver.search import SMALLEST_TREE_BYTES, bytes_beside_tree

SHARES_MAX = 256
LINES_MAX = 100
COMPARED_MAX = 16
MEGABYTE = 2**20
# Worlds in a burst. In lockstep, all arms of a comparison finish a burst before any continues; shares take turns by
# bursts.
BURST = 256
PAYOFF_BYTES = 8
PAYOFFS_BYTES_MAX = 2**27  # of all parts of a question
# The memory that searchers may use besides their trees before it counts against the memory budget.
SLACK_BYTES = 16 * MEGABYTE


class QuestionOptions(TypedDict, total=False):
    """Hold the keyword arguments of every question."""

    config: str | Config
    seed: int
    shares: int
    models: Mapping[int | str, Model] | None
    history: History | Record | None


class Part(NamedTuple):
    """Hold the parameters of one tree of a question.

    `stream` is the number of its random stream. `only` is a decision that the tree takes without a choice; `among` are
    the decisions to consider.
    """

    stream: int
    worlds: WorldSampler | None
    only: tuple[int, ...] = ()
    among: tuple[tuple[int, ...], ...] = ()


class Question(ABC):
    """A view, the history before it, and the options of the search.

    `history` is the log of the actions before `view`, or a record of them that ends at `view`, as its observer saw
    them. `models` are the models of other seats, by seat number or letter: "me" (as well as the search), "noisy",
    "greedy" or "random". `shares` is the number of trees. Questions are immutable.
    """

    shape: str  # "search", "comparison" or "information"
    keeps_payoffs = False  # whether parts keep the observer's payoff in each world

    def __init__(
        self,
        view: View,
        budget: Budget | None = None,
        *,
        config: str | Config = "default",
        seed: int = 0,
        shares: int = 1,
        models: Mapping[int | str, Model] | None = None,
        history: History | Record | None = None,
    ) -> None:
        self.view = view
        self.config = fit_config(read_config(config), view.game)
        self.budget = fit_budget(check_budget(budget or Budget(iterations=self.config.iterations or None)), self.config)
        self.seed = in_range("seed", seed, 0, 2**64 - 1)
        self.shares = in_range("shares", shares, 1, SHARES_MAX)
        self.models = read_models(models or {}, view)
        self.history = read_history(history, view)
        if view.is_over:
            raise InvalidQuestionError("view", "the game is over", reason="GAME_OVER")

    # --- its parts ---

    @property
    @abstractmethod
    def n_parts(self) -> int:
        """The number of trees."""

    @abstractmethod
    def part(self, number: int) -> Part: ...

    @abstractmethod
    def iterations_of(self, number: int) -> int:
        """Return the iterations of a part; without a limit, `ITERATIONS_MAX`."""

    @property
    def n_trees(self) -> int:
        """The number of parts with iterations: the others have no trees."""
        return self.n_parts

    @property
    def bytes_of_part(self) -> int:
        """The memory limit of a part, for its tree and the payoffs that it keeps."""
        return bytes_of_each(self.budget.memory_mb, self.n_trees, self.n_tallies)

    @property
    def payoffs_max(self) -> int:
        """The number of payoffs that fit into half of a part's memory."""
        return payoffs_that_fit(self.bytes_of_part, self.n_trees)

    @property
    def n_tallies(self) -> int:
        """The number of tallies of a part: one per decision, or a single one if the observer is not to act."""
        return max(len(self.decisions), 1)

    def always_runs(self, number: int) -> bool:
        """Return whether a part searches at least one turn even without time, because the answer needs it."""
        return True

    @property
    def in_lockstep(self) -> bool:
        """Whether parts run in lockstep, so one thread has to compute all of them."""
        return False

    def prepare(self) -> None:
        """Build the tables that all parts share. Call it once, before the parts start."""
        if self.belief is not None:
            self.belief.prepare()

    @cached_property
    def decisions(self) -> tuple[Action, ...]:
        """The legal decisions of the observer; none if another seat is to act."""
        return tuple(self.view.legal_actions())

    @cached_property
    def belief(self) -> Belief | None:
        """The posterior over hidden cards, computed once; None if the game has no model of them."""
        if not self.view.game.has_beliefs:
            return None
        return Belief(self.view, self.history if self.config.remembers else None, self.config.trust)

    @cached_property
    def beliefs(self) -> Beliefs | None:
        """The belief by the names of cards and places; None if the game has no model of hidden cards."""
        return name_beliefs(self.belief) if self.belief else None

    @property
    def worlds(self) -> WorldSampler | None:
        """The sampler of worlds; None if all worlds that fit the view are equally likely."""
        return self.belief if self.config.trust else None

    # --- as data ---

    def options(self) -> dict[str, Any]:
        """Return the options, other than the configuration, that the answer depends on, as JSON values."""
        return {"shares": self.shares, "models": self.models}

    def limits(self) -> dict[str, Any]:
        """Return the limits that the answer depends on: all but time limits."""
        budget = self.budget
        return {"iterations": budget.iterations, "memory_mb": float(budget.memory_mb), "confidence": budget.confidence}

    def with_belief_of(self, other: Question) -> Self:
        """Return a copy that shares the belief of a question with the same view, history and configuration."""
        question = copy.copy(self)
        question.belief = other.belief
        return question

    def with_seed(self, seed: int) -> Self:
        """Return a copy with another seed."""
        question = copy.copy(self)
        question.seed = in_range("seed", seed, 0, 2**64 - 1)
        return question

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.view, self.seed))

    def _values(self) -> tuple[object, ...]:
        return self.view, self.history, self.config, self.options(), self.budget, self.limits(), self.seed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.view}>"


class SearchQuestion(Question):
    """Ask for the observer's best move and every seat's expectation.

    The answer has a line of likely continuation for each of the `lines` most visited moves. `among` restricts the
    search to these moves. `share_iterations` are the iterations of each share, if not split evenly: the values of an
    earlier answer reproduce a search that a time limit ended.
    """

    shape = "search"

    def __init__(
        self,
        view: View,
        budget: Budget | None = None,
        *,
        lines: int = 1,
        among: Sequence[Action | str] = (),
        share_iterations: Sequence[int] = (),
        **options: Unpack[QuestionOptions],
    ) -> None:
        super().__init__(view, budget, **options)
        self.lines = in_range("lines", lines, 0, LINES_MAX)
        self.among = read_among(among, view)
        self.share_iterations = tuple(share_iterations)
        if self.share_iterations:
            if len(self.share_iterations) != self.shares:
                problem = f"{len(self.share_iterations)} entries for {self.shares} shares"
                raise InvalidQuestionError("share_iterations", problem, reason="CONTRADICTION")
            for number, iterations in enumerate(self.share_iterations):
                in_range(f"share_iterations[{number}]", iterations, 0, ITERATIONS_MAX)
        if not self.decides and self.config.how != "search":
            problem = f"{self.config.name!r} does not search; an expectation needs a search"
            raise InvalidQuestionError("config", problem)
        check_room(self)

    @property
    def decides(self) -> bool:
        """Whether the observer is to act."""
        return bool(self.decisions)

    @cached_property
    def decisions(self) -> tuple[Action, ...]:
        """The decisions to consider, in the order of the legal ones."""
        return self.among or tuple(self.view.legal_actions())

    @property
    def confidence(self) -> float | None:
        """The confidence that may end the search; None for a single decision.

        Stopping early on a move that only hidden cards force would leak them through timing.
        """
        return None if len(self.decisions) == 1 else self.budget.confidence

    @property
    def n_parts(self) -> int:
        return self.shares

    def always_runs(self, number: int) -> bool:
        return number == 0

    def part(self, number: int) -> Part:
        return Part(number, self.worlds, among=tuple([action.code for action in self.among]))

    def iterations_of(self, number: int) -> int:
        if self.share_iterations:
            return self.share_iterations[number]
        total = self.budget.iterations
        return ITERATIONS_MAX if total is None else total // self.shares + (number < total % self.shares)

    def options(self) -> dict[str, Any]:
        return super().options() | {"lines": self.lines, "among": [action.code for action in self.among]}

    def limits(self) -> dict[str, Any]:
        return super().limits() | {"share_iterations": self.share_iterations}


class ComparisonQuestion(Question):
    """Ask which of several moves is better.

    Each move is an arm, searched in the same worlds as the others. The budget's iterations are for each move.
    """

    shape = "comparison"
    keeps_payoffs = True

    def __init__(
        self,
        view: View,
        actions: Sequence[Action | str],
        budget: Budget | None = None,
        **options: Unpack[QuestionOptions],
    ) -> None:
        super().__init__(view, budget, **options)
        check_to_act(view)
        check_searches(self.config, "a comparison")
        if not 2 <= len(actions) <= COMPARED_MAX:
            problem = f"{len(actions)} moves; 2 to {COMPARED_MAX} can be compared"
            raise InvalidQuestionError("actions", problem)
        self.actions = read_actions(actions, view, "actions")
        check_room(self)
        check_payoffs(self, self.shares)

    @property
    def n_parts(self) -> int:
        return len(self.actions) * self.shares

    def always_runs(self, number: int) -> bool:
        return number < len(self.actions)

    def part(self, number: int) -> Part:
        """Return an arm of a share: parts are ordered by share, then by arm."""
        share, arm = divmod(number, len(self.actions))
        code = self.actions[arm].code
        return Part(share, self.worlds, only=code, among=(code,))

    def iterations_of(self, number: int) -> int:
        """Return the iterations of a part: shares take turns, a burst each."""
        total = self.budget.iterations
        if total is None:
            return self.payoffs_max
        bursts, rest = divmod(total, BURST)
        share = number // len(self.actions)
        share_bursts = bursts // self.shares + (share < bursts % self.shares)
        return share_bursts * BURST + (rest if share == bursts % self.shares else 0)

    @property
    def n_tallies(self) -> int:
        return 1

    @property
    def n_trees(self) -> int:
        total = self.budget.iterations
        return len(self.actions) * (self.shares if total is None else min(self.shares, -(-total // BURST)))

    @property
    def in_lockstep(self) -> bool:
        return self.budget.confidence is not None

    def options(self) -> dict[str, Any]:
        return super().options() | {"actions": [action.code for action in self.actions]}


class InformationQuestion(Question):
    """Ask for the value of keeping each of the observer's face-down cards secret.

    The budget's iterations are for each card. Each card has two arms in the same worlds: in one, the other players may
    take the card for another, by their posterior; in the other, they know it. The first half of the iterations grows
    the trees of both; only the second half is compared.
    """

    shape = "information"
    keeps_payoffs = True

    def __init__(self, view: View, budget: Budget | None = None, **options: Unpack[QuestionOptions]) -> None:
        super().__init__(view, budget, **options)
        check_searches(self.config, "information")
        if not view.game.has_beliefs:
            problem = f"{view.game.id} has no model of hidden cards"
            raise InvalidQuestionError("view", problem, reason="CONTRADICTION")
        if self.budget.iterations is None:
            raise InvalidQuestionError("budget.iterations", "is required; information accepts no other limit")
        self.spots = own_spots(view)
        check_room(self)
        check_payoffs(self, 1)

    @property
    def n_parts(self) -> int:
        return 2 * len(self.spots)

    def part(self, number: int) -> Part:
        """Return the arm in which a card is secret (even numbers) or known (odd numbers)."""
        return Part(0, self.belief if number % 2 else self.secret(number // 2))

    def secret(self, number: int) -> SecretCard:
        """Return the sampler of worlds in which others do not know a card. Each search needs its own."""
        assert self.belief is not None
        return SecretCard(self.belief, self.spots[number][0], self.seed)

    def iterations_of(self, number: int) -> int:
        assert self.budget.iterations is not None
        return self.budget.iterations


# --- bytes ------------------------------------------------------------------------------------------------------


class Encoded(NamedTuple):
    """Hold a question as bytes, in three parts: the question itself, the seed, and all limits but time limits."""

    content: bytes
    seed: bytes
    limits: bytes


def encode(question: Question) -> Encoded:
    """Serialize a question, without derived values; equal bytes imply equal answers.

    Games from outside this package, such as OpenSpiel's, cannot be serialized.
    """
    view, history = question.view, question.history
    own = {
        "shape": question.shape,
        "observer": view.observer,
        "history": None if history is None else history.actions,
        **question.options(),
    }
    return Encoded(
        pack([_common_head(view.game, question.config), _ENCODER.encode(own).encode(), bytes(view)]),
        question.seed.to_bytes(8, "little"),
        _ENCODER.encode(question.limits()).encode(),
    )


@lru_cache(256)
def _common_head(game: Game, config: Config) -> bytes:
    """Return the game and configuration as JSON, which most questions have in common."""
    return _ENCODER.encode({"game": game.spec, "config": {**asdict(config), **_fractions(config)}}).encode()


def _fractions(config: Config) -> dict[str, float]:
    """Return as floats the float settings that hold integers, so equal values have equal JSON."""
    values = {field.name: getattr(config, field.name) for field in fields(config) if field.type == "float"}
    return {name: float(value) for name, value in values.items() if type(value) is int}


def pack(blobs: Sequence[bytes]) -> bytes:
    """Concatenate several byte strings, each after its length."""
    return b"".join(piece for blob in blobs for piece in (_LENGTH.pack(len(blob)), blob))


_LENGTH = struct.Struct("<I")
# Created once: `json.dumps` with separators creates an encoder in each call.
_ENCODER = json.JSONEncoder(separators=(",", ":"))


# --- checks -----------------------------------------------------------------------------------------------------


def in_range(field: str, value: int, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise InvalidQuestionError(
            field, f"{value!r} is not in {least}..{most}", value=value, accepted=f"{least}..{most}"
        )
    return value


def check_to_act(view: View) -> None:
    if view.to_act != view.observer:
        problem = f"it is {_whose(view)} turn, not the observer's ({view.game.seats[view.observer]})"
        raise InvalidQuestionError("view", problem, reason="NOT_TO_ACT")


def _whose(view: View) -> str:
    return "chance's" if view.to_act is None or view.to_act < 0 else f"{view.game.seats[view.to_act]}'s"


def check_searches(config: Config, purpose: str) -> None:
    if config.how != "search":
        raise InvalidQuestionError(
            "config", f"{config.name!r} does not search; {purpose} needs a search", value=config.name
        )


def check_room(question: Question) -> None:
    """Refuse a question whose trees, at their smallest size, do not fit into the memory limit."""
    trees, room = question.n_trees, question.budget.memory_mb * MEGABYTE + SLACK_BYTES
    each = SMALLEST_TREE_BYTES + bytes_beside_tree(question.n_tallies)
    if trees * each > room:
        fit = int(room // (each * max(trees // question.shares, 1)))
        needed = int(trees * each - SLACK_BYTES) // MEGABYTE + 1
        problem = f"{trees} trees need a memory budget of {needed} MB; {fit} shares fit"
        raise InvalidQuestionError("shares", problem, value=question.shares, accepted=f"1..{fit}")


def information_iterations_max(question: SearchQuestion, cards: int) -> int:
    """Return the most iterations per card of an information question that fit into a search's memory limit."""
    trees = 2 * cards
    return payoffs_that_fit(bytes_of_each(question.budget.memory_mb, trees, max(len(question.decisions), 1)), trees)


def check_payoffs(question: Question, shares: int) -> None:
    """Refuse a question whose payoffs do not fit into the memory limit."""
    most = question.payoffs_max * shares
    if question.budget.iterations is not None and question.budget.iterations > most:
        problem = f"{question.budget.iterations} are too many for the memory budget; {most} fit"
        raise InvalidQuestionError(
            "budget.iterations", problem, value=question.budget.iterations, accepted=f"1..{most}"
        )


def comparison_iterations_max(memory_mb: float, moves: int, shares: int) -> int:
    """Return the most iterations of a comparison that fit into its memory limit."""
    trees = moves * shares
    return payoffs_that_fit(bytes_of_each(memory_mb, trees, 1), trees) * shares


def bytes_of_each(memory_mb: float, trees: int, tallies: int) -> int:
    """Return the memory limit of each tree in bytes, given the number of tallies of a searcher."""
    beside = trees * bytes_beside_tree(tallies)
    return int((memory_mb * MEGABYTE - max(beside - SLACK_BYTES, 0)) / max(trees, 1))


def payoffs_that_fit(bytes_of_part: int, trees: int) -> int:
    """Return the number of payoffs that each tree may keep.

    They fit into half of its memory, and those of all trees into one message between processes.
    """
    return max(min(bytes_of_part // 2, PAYOFFS_BYTES_MAX // max(trees, 1)) // PAYOFF_BYTES, BURST)


def read_models(models: Mapping[int | str, Model], view: View) -> tuple[Model, ...]:
    """Return the model of every seat; seats without an entry play as well as the search."""
    result: list[Model] = ["me"] * view.game.n_players
    for seat, model in models.items():
        number, field = read_seat(seat, view.game.n_players, "models"), f"models[{seat}]"
        if model not in MODELS:
            raise InvalidQuestionError(
                field, f"{model!r} is not one of {listed(MODELS)}", reason="UNKNOWN_VALUE", accepted=listed(MODELS)
            )
        if number == view.observer:
            raise InvalidQuestionError(field, "this is the observer's own seat", reason="CONTRADICTION")
        if model == "greedy":
            if not view.game.has_knowledge:
                problem = f"'greedy' needs a heuristic policy, and {view.game.id} has none"
                raise InvalidQuestionError(field, problem, reason="CONTRADICTION")
            view.game.check_knowledge()
        result[number] = model
    return tuple(result)


def read_history(history: History | Record | None, view: View) -> History | None:
    """Return the log of the actions before `view`; replay a record, once."""
    if isinstance(history, Record):
        # Drop information of a complete record that the observer did not see.
        log = History.of(history if history.observer is not None else history.seen_from(view.observer))
        if log.end != view:
            problem = f"the record ends at '{log.end}', not at '{view}'"
            raise InvalidQuestionError("history", problem, reason="INVALID_RECORD")
        return log
    if history is not None and history.game != view.game:
        problem = f"it belongs to {history.game!r}, but the view to {view.game!r}"
        raise InvalidQuestionError("history", problem, reason="CONTRADICTION")
    return None if history is None else history.copy()  # questions are immutable


def read_among(among: Sequence[Action | str], view: View) -> tuple[Action, ...]:
    """Return the moves to consider, in the order of the legal ones."""
    chosen = set(read_actions(among, view, "among"))
    return tuple([action for action in view.legal_actions() if action in chosen]) if chosen else ()


def read_actions(actions: Sequence[Action | str], view: View, field: str) -> tuple[Action, ...]:
    """Check that actions are legal and distinct; return them in their order."""
    if not actions:
        return ()
    # Compare as text only if needed: formatting hundreds of actions takes milliseconds.
    by_text = any(isinstance(action, str) for action in actions)
    legal = {str(action) if by_text else action: action for action in view.legal_actions()}
    chosen: dict[Action, None] = {}
    for number, argument in enumerate(actions):
        action = legal.get(str(argument) if by_text else argument)
        if action is None:
            accepted = listed(legal)
            problem = f"{str(argument)!r} is not one of {accepted}"
            raise InvalidQuestionError(f"{field}[{number}]", problem, reason="ILLEGAL_ACTION", accepted=accepted)
        if action in chosen:
            problem = f"{str(argument)!r} is named twice"
            raise InvalidQuestionError(f"{field}[{number}]", problem, reason="CONTRADICTION")
        chosen[action] = None
    return tuple(chosen)

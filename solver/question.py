"""Questions to the search: three shapes over one base. Their constructors check them.

A question holds one player's view and never a true state. Every pool computes it in *parts*, one tree each, and equal
questions have equal answers wherever their parts are computed.
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
from solver.named_beliefs import Beliefs, believe
from solver.search import SMALLEST_TREE_BYTES, bytes_beside_tree

SHARES_MAX = 256
LINES_MAX = 100
COMPARED_MAX = 16
MEGABYTE = 2**20
# Worlds that all arms of a comparison go through before any goes further, where they meet; shares take turns with them.
BURST = 256
PAYOFF_BYTES = 8
PAYOFFS_BYTES_MAX = 2**27  # of all parts of a question
# The memory that searchers may take beside their trees before it counts as part of the memory budget.
SLACK_BYTES = 16 * MEGABYTE


class QuestionOptions(TypedDict, total=False):
    """The keywords of every question."""

    config: str | Config
    seed: int
    shares: int
    models: Mapping[int | str, Model] | None
    history: History | Record | None


class Part(NamedTuple):
    """One tree of a question: its stream of random numbers and its worlds; `only`, a decision taken without a choice;
    `among`, the decisions to consider."""

    stream: int
    worlds: WorldSampler | None
    only: tuple[int, ...] = ()
    among: tuple[tuple[int, ...], ...] = ()


class Question(ABC):
    """A view, what was done before it, and how to think about it.

    `history` is the log of the actions before `view`, or a record of them that ends at `view`, as its observer saw
    them. `models` says how other seats play, by seat number or letter: "me" (as well as the search), "noisy", "greedy"
    or "random". `shares` is the number of trees. Questions never change.
    """

    shape: str  # of the three
    keeps_payoffs = False  # whether parts keep what each world paid the observer

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
        """The iterations of a part; without a limit, `ITERATIONS_MAX`."""

    @property
    def n_trees(self) -> int:
        """The number of parts that have iterations: the others have no trees."""
        return self.n_parts

    @property
    def bytes_of_part(self) -> int:
        """The memory limit of a part: of its tree, and of the payoffs that it keeps."""
        return bytes_of_each(self.budget.memory_mb, self.n_trees, self.n_tallies)

    @property
    def payoffs_max(self) -> int:
        """How many payoffs fit into half of a part's memory."""
        return payoffs_that_fit(self.bytes_of_part, self.n_trees)

    @property
    def n_tallies(self) -> int:
        """The number of tallies of a part: one for each decision, or one for whatever another seat decides."""
        return max(len(self.decisions), 1)

    def is_owed(self, number: int) -> bool:
        """Whether a part searches a slice however little time there is, as there would be no answer without it."""
        return True

    @property
    def meets(self) -> bool:
        """Whether parts have to wait for each other on their way, so that one thread computes all of them."""
        return False

    def get_ready(self) -> None:
        """Build what all parts share. To be called before they begin, once."""
        if self.belief is not None:
            self.belief.get_ready()

    @cached_property
    def decisions(self) -> tuple[Action, ...]:
        """The legal decisions of the observer; none if another seat is to act."""
        return tuple(self.view.legal_actions())

    @cached_property
    def belief(self) -> Belief | None:
        """The posterior over hidden cards, built once; None if the game has no model of them."""
        if not self.view.game.has_suspicions:
            return None
        return Belief(self.view, self.history, self.config.trust)

    @cached_property
    def beliefs(self) -> Beliefs | None:
        """The belief by the names of cards and places; None if the game has no model of hidden cards."""
        return believe(self.belief) if self.belief else None

    @property
    def worlds(self) -> WorldSampler | None:
        """The worlds of the search; None: all that fit the view are equally likely."""
        return self.belief if self.config.trust else None

    # --- as data ---

    def options(self) -> dict[str, Any]:
        """The options that the answer depends on beside the configuration, as JSON has them."""
        return {"shares": self.shares, "models": self.models}

    def limits(self) -> dict[str, Any]:
        """The limits that the answer depends on: all but clocks."""
        budget = self.budget
        return {"iterations": budget.iterations, "memory_mb": float(budget.memory_mb), "confidence": budget.confidence}

    def with_belief_of(self, other: Question) -> Self:
        """Return the same question with the belief that was built for another one about the same view, history and
        configuration."""
        mine = copy.copy(self)
        mine.belief = other.belief
        return mine

    def with_seed(self, seed: int) -> Self:
        """Return the same question with another seed."""
        other = copy.copy(self)
        other.seed = in_range("seed", seed, 0, 2**64 - 1)
        return other

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((self.view, self.seed))

    def _values(self) -> tuple[object, ...]:
        return self.view, self.history, self.config, self.options(), self.budget, self.limits(), self.seed

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.view}>"


class SearchQuestion(Question):
    """Ask what the observer should play, and what every seat may expect.

    For the `lines` most tried moves the answer says how play is likely to go on. With `among`, only these moves are
    considered. `share_iterations` are the iterations of each share, if not split evenly: they reproduce a search that a
    clock ended.
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
        **thinking: Unpack[QuestionOptions],
    ) -> None:
        super().__init__(view, budget, **thinking)
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
            raise InvalidQuestionError("config", f"{self.config.name!r} does not search, so it expects nothing")
        check_room(self)

    @property
    def decides(self) -> bool:
        """Whether the observer is to act."""
        return bool(self.decisions)

    @cached_property
    def decisions(self) -> tuple[Action, ...]:
        """The decisions that are considered, in the order of all legal ones."""
        return self.among or tuple(self.view.legal_actions())

    @property
    def confidence(self) -> float | None:
        """The confidence that may end the search. None for a single decision: what hidden cards alone force would
        take less time than what is not, and others would see it."""
        return None if len(self.decisions) == 1 else self.budget.confidence

    @property
    def n_parts(self) -> int:
        return self.shares

    def is_owed(self, number: int) -> bool:
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

    Each move is an arm, searched on in the same worlds as the others. The budget's iterations are for each move.
    """

    shape = "comparison"
    keeps_payoffs = True

    def __init__(
        self,
        view: View,
        actions: Sequence[Action | str],
        budget: Budget | None = None,
        **thinking: Unpack[QuestionOptions],
    ) -> None:
        super().__init__(view, budget, **thinking)
        check_to_act(view)
        check_searches(self.config, "compares")
        if not 2 <= len(actions) <= COMPARED_MAX:
            problem = f"{len(actions)} moves; 2 to {COMPARED_MAX} can be compared"
            raise InvalidQuestionError("actions", problem)
        self.actions = read_actions(actions, view, "actions")
        check_room(self)
        check_payoffs(self, self.shares)

    @property
    def n_parts(self) -> int:
        return len(self.actions) * self.shares

    def is_owed(self, number: int) -> bool:
        return number < len(self.actions)

    def part(self, number: int) -> Part:
        """All arms of a share come before the next share."""
        share, arm = divmod(number, len(self.actions))
        code = self.actions[arm].code
        return Part(share, self.worlds, only=code, among=(code,))

    def iterations_of(self, number: int) -> int:
        """Shares take turns, a burst each."""
        total = self.budget.iterations
        if total is None:
            return self.payoffs_max
        bursts, rest = divmod(total, BURST)
        share = number // len(self.actions)
        mine = bursts // self.shares + (share < bursts % self.shares)
        return mine * BURST + (rest if share == bursts % self.shares else 0)

    @property
    def n_tallies(self) -> int:
        return 1

    @property
    def n_trees(self) -> int:
        total = self.budget.iterations
        return len(self.actions) * (self.shares if total is None else min(self.shares, -(-total // BURST)))

    @property
    def meets(self) -> bool:
        return self.budget.confidence is not None

    def options(self) -> dict[str, Any]:
        return super().options() | {"actions": [action.code for action in self.actions]}


class InformationQuestion(Question):
    """Ask what the observer's face-down cards are worth as secrets. The budget's iterations are for each card.

    Each card has two arms in the same worlds: one in which the other players may take the card for another, as often as
    they do, and one in which they know it. The first half of the iterations is for both to learn, the second half is
    compared.
    """

    shape = "information"
    keeps_payoffs = True

    def __init__(self, view: View, budget: Budget | None = None, **thinking: Unpack[QuestionOptions]) -> None:
        super().__init__(view, budget, **thinking)
        check_searches(self.config, "measures")
        if not view.game.has_suspicions:
            problem = f"{view.game.id} says nothing of what players may think of hidden cards"
            raise InvalidQuestionError("view", problem, reason="CONTRADICTION")
        if self.budget.iterations is None:
            raise InvalidQuestionError("budget.iterations", "is required: information takes no other limit")
        self.spots = own_spots(view)
        check_room(self)
        check_payoffs(self, 1)

    @property
    def n_parts(self) -> int:
        return 2 * len(self.spots)

    def part(self, number: int) -> Part:
        """Even numbers are secrets, odd ones known cards."""
        return Part(0, self.belief if number % 2 else self.secret(number // 2))

    def secret(self, number: int) -> SecretCard:
        """The worlds in which others do not know a card. Each search needs its own."""
        assert self.belief is not None
        return SecretCard(self.belief, self.spots[number][0], self.seed)

    def iterations_of(self, number: int) -> int:
        assert self.budget.iterations is not None
        return self.budget.iterations


# --- bytes ------------------------------------------------------------------------------------------------------


class Encoded(NamedTuple):
    """A question as bytes: what is `asked`, the seed, and the limits without clocks."""

    asked: bytes
    seed: bytes
    limits: bytes


def encode(question: Question) -> Encoded:
    """Write a question. Equal parts mean equal answers; nothing derived is in them. Games of others, such as
    OpenSpiel's, cannot be written."""
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
    """The part that most questions have in common."""
    return _ENCODER.encode({"game": game.spec, "config": {**asdict(config), **_fractions(config)}}).encode()


def _fractions(config: Config) -> dict[str, float]:
    """The knobs that are no whole numbers, written alike if they were given as such."""
    values = {field.name: getattr(config, field.name) for field in fields(config) if field.type == "float"}
    return {name: float(value) for name, value in values.items() if type(value) is int}


def pack(blobs: Sequence[bytes]) -> bytes:
    """Several pieces as one, each after its length."""
    return b"".join(piece for blob in blobs for piece in (_LENGTH.pack(len(blob)), blob))


_LENGTH = struct.Struct("<I")
# Made once: `json.dumps` makes one at each call that says how.
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


def check_searches(config: Config, verb: str) -> None:
    if config.how != "search":
        raise InvalidQuestionError(
            "config", f"{config.name!r} does not search, so it {verb} nothing", value=config.name
        )


def check_room(question: Question) -> None:
    """Refuse more trees than fit into the memory limit, however small they are."""
    trees, room = question.n_trees, question.budget.memory_mb * MEGABYTE + SLACK_BYTES
    each = SMALLEST_TREE_BYTES + bytes_beside_tree(question.n_tallies)
    if trees * each > room:
        fit = int(room // (each * max(trees // question.shares, 1)))
        needed = int(trees * each - SLACK_BYTES) // MEGABYTE + 1
        problem = f"{trees} trees need a memory budget of {needed} MB; {fit} shares fit"
        raise InvalidQuestionError("shares", problem, value=question.shares, accepted=f"1..{fit}")


def information_iterations_max(question: SearchQuestion, cards: int) -> int:
    """Return the most iterations for each card that fit into the memory of the search."""
    trees = 2 * cards
    return payoffs_that_fit(bytes_of_each(question.budget.memory_mb, trees, max(len(question.decisions), 1)), trees)


def check_payoffs(question: Question, shares: int) -> None:
    """Refuse more iterations than have room for their payoffs."""
    most = question.payoffs_max * shares
    if question.budget.iterations is not None and question.budget.iterations > most:
        problem = f"{question.budget.iterations} are too many for the memory budget; {most} fit"
        raise InvalidQuestionError(
            "budget.iterations", problem, value=question.budget.iterations, accepted=f"1..{most}"
        )


def comparison_iterations_max(memory_mb: float, moves: int, shares: int) -> int:
    """The most iterations of a comparison that fit into its memory."""
    trees = moves * shares
    return payoffs_that_fit(bytes_of_each(memory_mb, trees, 1), trees) * shares


def bytes_of_each(memory_mb: float, trees: int, tallies: int) -> int:
    """Return the bytes that each tree may have, given the tallies of a searcher."""
    beside = trees * bytes_beside_tree(tallies)
    return int((memory_mb * MEGABYTE - max(beside - SLACK_BYTES, 0)) / max(trees, 1))


def payoffs_that_fit(bytes_of_part: int, trees: int) -> int:
    """How many payoffs each of some trees may keep: in half of its memory, and all together no more than a message
    between processes holds."""
    return max(min(bytes_of_part // 2, PAYOFFS_BYTES_MAX // max(trees, 1)) // PAYOFF_BYTES, BURST)


def read_models(models: Mapping[int | str, Model], view: View) -> tuple[Model, ...]:
    """Return the model of every seat; seats that are not named play as well as the search."""
    found: list[Model] = ["me"] * view.game.n_players
    for seat, model in models.items():
        number, field = read_seat(seat, view.game.n_players, "models"), f"models[{seat}]"
        if model not in MODELS:
            raise InvalidQuestionError(
                field, f"{model!r} is none of {listed(MODELS)}", reason="UNKNOWN_VALUE", accepted=listed(MODELS)
            )
        if number == view.observer:
            raise InvalidQuestionError(field, "this is the observer's own seat", reason="CONTRADICTION")
        if model == "greedy" and not view.game.has_knowledge:
            problem = f"'greedy' needs a rule of thumb, and {view.game.id} has none"
            raise InvalidQuestionError(field, problem, reason="CONTRADICTION")
        found[number] = model
    return tuple(found)


def read_history(history: History | Record | None, view: View) -> History | None:
    """The log of what was done before `view`; a record is replayed here, once."""
    if isinstance(history, Record):
        # Of a record with nothing hidden, the rest is dropped here.
        log = History.of(history if history.observer is not None else history.seen_from(view.observer))
        if log.end != view:
            problem = f"the record ends at '{log.end}', not at '{view}'"
            raise InvalidQuestionError("history", problem, reason="INVALID_RECORD")
        return log
    if history is not None and history.game != view.game:
        problem = f"it is one of {history.game!r}, and the view one of {view.game!r}"
        raise InvalidQuestionError("history", problem, reason="CONTRADICTION")
    return None if history is None else history.copy()  # questions never change


def read_among(among: Sequence[Action | str], view: View) -> tuple[Action, ...]:
    """The moves to consider, in the order of all legal ones."""
    wanted = set(read_actions(among, view, "among"))
    return tuple([action for action in view.legal_actions() if action in wanted]) if wanted else ()


def read_actions(actions: Sequence[Action | str], view: View, field: str) -> tuple[Action, ...]:
    """Legal moves of a view, in the order in which they are named, each once."""
    if not actions:
        return ()
    # Writing hundreds of actions as text takes milliseconds.
    by_text = any(isinstance(action, str) for action in actions)
    legal = {str(action) if by_text else action: action for action in view.legal_actions()}
    chosen: dict[Action, None] = {}
    for number, named in enumerate(actions):
        action = legal.get(str(named) if by_text else named)
        if action is None:
            accepted = listed(legal)
            problem = f"{str(named)!r} is none of {accepted}"
            raise InvalidQuestionError(f"{field}[{number}]", problem, reason="ILLEGAL_ACTION", accepted=accepted)
        if action in chosen:
            raise InvalidQuestionError(f"{field}[{number}]", f"{str(named)!r} is named twice", reason="CONTRADICTION")
        chosen[action] = None
    return tuple(chosen)

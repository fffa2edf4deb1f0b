"""What commands are asked: options that several of them have, and how they become questions.

Options are read as the server reads its requests (`server/messages/requests.py`), so that a question means the same in
this process and at a server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any

import click

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game, Position, View
from engine_cy.action_log import History
from engine_cy.record import Record
from engine_cy.seats import SEATS
from server.cli.command import files
from server.cli.exit_codes import Failure
from server.cli.inputs import GameChoice, Thing, read_one
from server.codec.fields import write_seat
from server.codec.games import GAME_IDS
from server.codec.views import write_view
from server.messages.requests import (
    MEMORY_LEAST,
    MODELS,
)
from solver.config import CONFIGS, LEVELS, MEMORY_MAX_MB, TIME_MAX_MS, Config
from solver.question import MEGABYTE

TIME_LEAST_MS = 0.001

# --- which game ------------------------------------------------------------------------------------------------


def game_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--game, --ruleset and --players, handed on as `choice`."""

    @click.option(
        "--game",
        "game_id",
        default="oriflamme",
        type=click.Choice(GAME_IDS),
        show_default=True,
        help="Which game; JSON and records say that themselves.",
    )
    @click.option(
        "--ruleset",
        default="",
        metavar="NAME [SWITCH=VALUE ...]",
        help="An edition, and switches that differ from it, such as 'en-2019 decree_onto_stack=no'. "
        "Default: the game's first edition.",
        shell_complete=lambda ctx, parameter, incomplete: [
            name for name in _editions(ctx.params.get("game_id") or "oriflamme") if name.startswith(incomplete)
        ],
    )
    @click.option("--players", default=3, show_default=True, help="How many play.")
    @wraps(command)
    def with_choice(*args: Any, game_id: str, ruleset: str, players: int, **options: Any) -> Any:
        return command(*args, choice=GameChoice(game_id, ruleset, players), **options)

    return with_choice


def _editions(game_id: str) -> list[str]:
    from engine_cy.castle_village_port import editions as castle
    from engine_cy.oriflamme.editions import editions_of

    return list(castle.EDITIONS) if game_id == "castle_village_port" else editions_of(game_id)


# --- which view ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Seen:
    """What one player sees, and what he saw on the way there, if that is told."""

    view: View
    history: History | None = None

    @property
    def game(self) -> Game:
        return self.view.game

    @property
    def message(self) -> Any:
        """The view of the contract, with its history."""
        return write_view(self.view, None if self.history is None else self.history.record)


def seen_by(thing: Thing, seat: str | None = None, at: int | None = None) -> Seen:
    """What a seat sees of a position, a view or a record.

    `at` counts the actions of a record that have been done; left out, all. `seat` is, if left out, who saw it, or who
    is to act where nothing is hidden. What is hidden from the seat ends here: it reaches no search.
    """
    number = None if seat is None else seat_number(seat, thing.game)
    if isinstance(thing, Record):
        return _seen_in_record(thing, number, at)
    if at is not None:
        raise Failure(f"at: {at} is of a record, and this is a single table")
    if isinstance(thing, View):
        _check_observer(thing, number)
        return Seen(thing)
    return Seen(thing.view(_whose(thing) if number is None else number))


def _seen_in_record(record: Record, seat: int | None, at: int | None) -> Seen:
    n = len(record.actions)
    if at is not None:
        if not 0 <= at <= n:
            raise Failure(f"at: {at} is not in 0..{n}, the actions of this record")
        record = replace(record, actions=record.actions[:at], result=None)
    if record.observer is None:
        if seat is None:
            end = record.end
            assert isinstance(end, Position)
            seat = _whose(end)
        record = record.seen_from(seat)
    history = History.of(record)
    view = history.end
    assert isinstance(view, View)
    _check_observer(view, seat)
    return Seen(view, history if record.actions else None)


def _check_observer(view: View, seat: int | None) -> None:
    if seat is not None and seat != view.observer:
        raise Failure(f"seat: this is what {SEATS[view.observer]} saw; what {SEATS[seat]} sees cannot be told from it")


def _whose(position: Position) -> int:
    if position.to_act is None or position.to_act < 0:
        why = "the game is over" if position.is_over else "chance is to act"
        raise Failure(f"seat: {why}, so whose view it is has to be said ({', '.join(position.game.seats)})")
    return position.to_act


def seat_number(letter: str, game: Game) -> int:
    if len(letter) != 1 or letter.upper() not in game.seats:
        raise Failure(f"seat: {letter!r} is not at this table ({', '.join(game.seats)})")
    return game.seats.index(letter.upper())


def read_seen(
    argument: str, choice: GameChoice, seat: str | None = None, at: int | None = None, history: str | None = None
) -> Seen:
    """What a seat sees of what an argument is, names or pipes in; `history` is a file with the record up to here."""
    found = seen_by(read_one(argument, choice), seat, at)
    if history is None:
        return found
    told = seen_by(read_one(history, choice), SEATS[found.view.observer])
    if told.view != found.view:
        raise Failure(f"history: {history} leads to another table: {told.view}")
    return replace(found, history=told.history)


def position_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The argument POSITION and how it is meant, handed on as `seen`."""

    @click.argument("position", metavar="POSITION|FILE|-", shell_complete=files)
    @game_options
    @click.option("--seat", metavar="LETTER", help="Who asks, where nothing is hidden. Default: who is to act.")
    @click.option("--at", type=int, metavar="N", help="In a record: after its first N actions. Default: at its end.")
    @click.option(
        "--history",
        metavar="FILE",
        shell_complete=files,
        help="The record that leads to the position: it sharpens beliefs.",
    )
    @wraps(command)
    def with_seen(
        *args: Any,
        position: str,
        choice: GameChoice,
        seat: str | None,
        at: int | None,
        history: str | None,
        **options: Any,
    ) -> Any:
        return command(*args, seen=read_seen(position, choice, seat, at, history), **options)

    return with_seen


# --- how much to think, and how --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How much to think and how, as it was typed."""

    time_ms: float | None = None
    iterations: int | None = None
    confidence: float | None = None
    memory_mb: float | None = None
    level: int | None = None
    seed: int | None = None
    shares: int = 1
    models: tuple[str, ...] = ()
    uniform: bool = False
    config: str | None = None

    def budget(self) -> pb.Budget:
        """As the contract has it."""
        message = pb.Budget(iterations=self.iterations, confidence=self.confidence)
        if self.time_ms is not None:
            _check_range(self.time_ms, TIME_LEAST_MS, TIME_MAX_MS, "time-ms")
            message.time.FromMicroseconds(round(self.time_ms * 1000))
        if self.memory_mb is not None:
            _check_range(self.memory_mb, MEMORY_LEAST / MEGABYTE, MEMORY_MAX_MB, "memory-mb")
            message.memory_bytes = round(self.memory_mb * MEGABYTE)
        return message

    def options(
        self,
        game: Game,
        *,
        observer: int | None = None,
        lines: int = 0,
        among: Sequence[str] = (),
        information: bool = False,
    ) -> pb.Options:
        """As the contract has it; without the model of the observer, if it is named: the search plays for it."""
        message = pb.Options(
            seed=self.seed, shares=self.shares, level=self.level or 0, lines=lines, information=information
        )
        message.restrict_to.extend(action_message(text) for text in among)
        for text in self.models:
            letter, equals, model = text.partition("=")
            if not equals or model not in MODELS.words.values():
                raise Failure(f"model: {text!r} is not like B=greedy ({', '.join(MODELS.words.values())})")
            seat = seat_number(letter, game)
            if seat != observer:
                message.models.add(seat=write_seat(seat), model=MODELS.write(model))
        if self.uniform:
            message.belief = pb.BELIEF_UNIFORM
        return message

    def chosen_config(self) -> Config:
        """The configuration that searches."""
        chosen = LEVELS[self.level] if self.level else CONFIGS[self.config or "default"]
        return replace(chosen, trust=0.0) if self.uniform else chosen


def _check_range(value: float, least: float, most: float, name: str) -> None:
    # Not `value < least or ...`: that lets NaN pass.
    if not least <= value <= most:
        raise Failure(f"{name}: {value:g} is not in {least:.4g}..{most:.10g}")


def thinking_options(
    command: Callable[..., Any], default: str = "Default: 1000, unless another limit is given."
) -> Callable[..., Any]:
    """Budget, seed, strength and models, handed on as `thinking`."""

    @click.option("--time-ms", type=float, help=f"Think for so long. {default}")
    @click.option("--iterations", type=int, help="Think for so many iterations: the same answer on every machine.")
    @click.option(
        "--confidence",
        type=float,
        metavar="0.5..0.999999",
        help="Stop when the best move is so sure; until then, unless limited, it goes on.",
    )
    @click.option("--memory-mb", type=float, help="Room for the search trees. Default: 256.")
    @click.option("--level", type=click.IntRange(1, 10), help="A strength from 1 to 10, with its own iterations.")
    @click.option("--seed", type=click.IntRange(0, 2**64 - 1), help="Of all chance. Default: from the question.")
    @click.option(
        "--shares", type=click.IntRange(1, 256), default=1, show_default=True, help="Searches, a thread each."
    )
    @click.option("--model", "models", multiple=True, metavar="SEAT=HOW", help=f"How a seat plays: {_models()}.")
    @click.option("--uniform", is_flag=True, help="Believe all hidden cards alike, whatever was done.")
    @click.option("--config", type=click.Choice(_configs()), help="How to search; in this process only.")
    @wraps(command)
    def with_thinking(*args: Any, **options: Any) -> Any:
        said = {field.name: options.pop(field.name) for field in fields(SearchOptions)}
        thinking = SearchOptions(**said)
        if thinking.config is not None and thinking.level is not None:
            raise Failure("--level and --config cannot be combined")
        return command(*args, thinking=thinking, **options)

    return with_thinking


def _models() -> str:
    return ", ".join(MODELS.words.values())


def _configs() -> list[str]:
    return [name for name in CONFIGS if not name.startswith("level-")]


def action_message(text: str) -> Any:
    from eminence.v1 import view_pb2

    return view_pb2.Action(text=text)

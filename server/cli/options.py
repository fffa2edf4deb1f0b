"""Options that several commands share, and the questions made of them.

They become the messages of the contract, which this process and a server read alike (`server/messages/requests.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any

import click

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game, Position, View, editions_of, game_ids
from engine_cy.action_log import History
from engine_cy.record import Record
from engine_cy.registry import is_game_id
from engine_cy.seats import SEATS
from server.cli.command import files
from server.cli.exit_codes import Failure
from server.cli.inputs import DEFAULT_GAME, GameChoice, Input, read_one
from server.codec.fields import write_seat
from server.codec.views import write_view
from server.languages import LANGUAGES, UnknownLanguageError, check_language, language_of
from server.messages.requests import (
    MEMORY_LEAST,
    MODELS,
)
from solver.config import (
    CONFIGS,
    LEVEL_NAMES,
    LEVELS,
    MEMORY_MAX_MB,
    TIME_MAX_MS,
    Config,
    read_level,
)
from solver.question import MEGABYTE

TIME_LEAST_MS = 0.001
# The area of the catalogues of the command line.
WORDS = "server.cli"


def _read_level(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    return None if value is None else read_level(value)


def _level_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in LEVEL_NAMES if name.startswith(incomplete)]


def level_option(help: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add --level, a number or a name, which the command gets as a number."""
    accepted = f"{min(LEVELS)} to {max(LEVELS)}, or {', '.join(LEVEL_NAMES)}"
    return click.option(
        "--level",
        type=str,
        metavar="LEVEL",
        callback=_read_level,
        shell_complete=_level_names,
        help=f"{help}: {accepted}.",
        **options,
    )


# --- which language ---------------------------------------------------------------------------------------------


def _read_language(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str:
    try:
        return language_of(os.environ) if value is None else check_language(value)
    except UnknownLanguageError as error:
        raise Failure(f"lang: {error}") from None


language_option = click.option(
    "--lang",
    "language",
    metavar="|".join(LANGUAGES),
    callback=_read_language,
    shell_complete=lambda ctx, parameter, incomplete: [name for name in LANGUAGES if name.startswith(incomplete)],
    help="Language of moves, cards and prompts; errors, --help and JSON are in English. Default: that of LC_MESSAGES "
    "or LANG, else en.",
)


# --- which game ------------------------------------------------------------------------------------------------


class GameId(click.Choice[str]):
    """The id of a game. The ids of families, such as `openspiel:leduc_poker`, cannot be listed."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return value if is_game_id(value) else super().convert(value, param, ctx)


players_option = click.option(
    "--players", type=int, help="Number of players. Default: 3, or the game's own if it is not for 3."
)


def game_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --game, --ruleset and --players, which the command gets as `choice`."""

    @click.option(
        "--game",
        "game_id",
        default=DEFAULT_GAME,
        type=GameId(game_ids()),
        show_default=True,
        help="Game; JSON and records name theirs.",
    )
    @click.option(
        "--ruleset",
        default="",
        metavar="NAME [SWITCH=VALUE ...]",
        help="Edition, and switches that differ from it, such as 'en-2019 decree_onto_stack=no'. "
        "Default: the game's first edition.",
        shell_complete=lambda ctx, parameter, incomplete: [
            name for name in editions_of(ctx.params.get("game_id") or DEFAULT_GAME) if name.startswith(incomplete)
        ],
    )
    @players_option
    @wraps(command)
    def with_choice(*args: Any, game_id: str, ruleset: str, players: int | None, **options: Any) -> Any:
        return command(*args, choice=GameChoice(game_id, ruleset, players), **options)

    return with_choice


# --- which view ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Observation:
    """The view of one player, and what they saw before it, if that is known."""

    view: View
    history: History | None = None

    @property
    def game(self) -> Game:
        return self.view.game

    @property
    def message(self) -> Any:
        """The view with its history, as a message."""
        return write_view(self.view, None if self.history is None else self.history.record)


def observe(item: Input, seat: str | None = None, at: int | None = None) -> Observation:
    """Return what a seat sees of a position, a view or a record.

    Of a record, use the table after `at` actions, by default after all. The default of `seat` is the observer of a
    view or record, else the seat to act. The result holds nothing that is hidden from the seat, so a search cannot
    read it.
    """
    number = None if seat is None else seat_number(seat, item.game)
    if isinstance(item, Record):
        return _observe_record(item, number, at)
    if at is not None:
        raise Failure(f"at: {at} needs a record; this is a single table")
    if isinstance(item, View):
        _check_observer(item, number)
        return Observation(item)
    return Observation(item.view(_seat_to_act(item) if number is None else number))


def table_of(item: Input, seat: str | None = None, at: int | None = None) -> Position | View:
    """Return the table of an item: as a seat sees it, else with everything that the item holds."""
    if seat is not None:
        return observe(item, seat, at).view
    if isinstance(item, Record):
        return record_until(item, at).end
    if at is not None:
        raise Failure(f"at: {at} needs a record; this is a single table")
    return item


def record_until(record: Record, at: int | None) -> Record:
    """Return a record after `at` actions; unchanged for None."""
    if at is None:
        return record
    if not 0 <= at <= len(record.actions):
        raise Failure(f"at: {at} is not in 0..{len(record.actions)}, the number of actions of this record")
    return record.until(at)


def _observe_record(record: Record, seat: int | None, at: int | None) -> Observation:
    record = record_until(record, at)
    if record.observer is None:
        if seat is None:
            end = record.end
            assert isinstance(end, Position)
            seat = _seat_to_act(end)
        if not record.game.has_history:
            end = record.end
            assert isinstance(end, Position)
            return Observation(end.view(seat))
        record = record.seen_from(seat)
    history = History.of(record)
    view = history.end
    assert isinstance(view, View)
    _check_observer(view, seat)
    return Observation(view, history if record.actions else None)


def _check_observer(view: View, seat: int | None) -> None:
    if seat is not None and seat != view.observer:
        raise Failure(
            f"seat: this is the view of {SEATS[view.observer]}; the view of {SEATS[seat]} cannot be derived from it"
        )


def _seat_to_act(position: Position) -> int:
    if position.to_act is None or position.to_act < 0:
        reason = "the game is over" if position.is_over else "chance is to act"
        raise Failure(f"seat: --seat is required, because {reason} ({', '.join(position.game.seats)})")
    return position.to_act


def seat_number(letter: str, game: Game) -> int:
    if len(letter) != 1 or letter.upper() not in game.seats:
        raise Failure(f"seat: {letter!r} is not at this table ({', '.join(game.seats)})")
    return game.seats.index(letter.upper())


def read_observation(
    argument: str, choice: GameChoice, seat: str | None = None, at: int | None = None, history: str | None = None
) -> Observation:
    """Return what a seat sees of the position in an argument (text, a file or `-`).

    `history` names a file with the record that leads to it.
    """
    observation = observe(read_one(argument, choice), seat, at)
    if history is None:
        return observation
    end = observe(read_one(history, choice), SEATS[observation.view.observer])
    if end.view != observation.view:
        raise Failure(f"history: {history} leads to another table: {end.view}")
    return replace(observation, history=end.history)


def position_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument POSITION and the options that select a view of it, which the command gets as `observation`."""

    @click.argument("position", metavar="POSITION|FILE|-", shell_complete=files)
    @game_options
    @click.option("--seat", metavar="LETTER", help="Seat to advise, if nothing is hidden. Default: the seat to act.")
    @click.option("--at", type=int, metavar="N", help="Of a record: the table after N actions. Default: its end.")
    @click.option(
        "--history",
        metavar="FILE",
        shell_complete=files,
        help="The record that leads to the position; sharpens the beliefs.",
    )
    @wraps(command)
    def with_observation(
        *args: Any,
        position: str,
        choice: GameChoice,
        seat: str | None,
        at: int | None,
        history: str | None,
        **options: Any,
    ) -> Any:
        return command(*args, observation=read_observation(position, choice, seat, at, history), **options)

    return with_observation


# --- budget and options of a search --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchFlags:
    """Budget and options of a search, as typed."""

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
        """Return the budget as a message."""
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
        """Return the options as a message, without a model of the observer, whose moves the search chooses."""
        message = pb.Options(
            seed=self.seed, shares=self.shares, level=self.level or 0, lines=lines, information=information
        )
        message.restrict_to.extend(action_message(text) for text in among)
        for text in self.models:
            letter, equals, model = text.partition("=")
            if not equals or model not in MODELS.words.values():
                raise Failure(f"model: {text!r} is not SEAT=HOW, such as B=greedy; HOW: {_models()}")
            seat = seat_number(letter, game)
            if seat != observer:
                message.models.add(seat=write_seat(seat), model=MODELS.write(model))
        if self.uniform:
            message.belief = pb.BELIEF_UNIFORM
        return message

    def chosen_config(self) -> Config:
        """Return the configuration of the search."""
        chosen = LEVELS[self.level] if self.level else CONFIGS[self.config or "default"]
        return replace(chosen, trust=0.0) if self.uniform else chosen


def _check_range(value: float, least: float, most: float, name: str) -> None:
    # Not `value < least or ...`, which accepts NaN.
    if not least <= value <= most:
        raise Failure(f"{name}: {value:g} is not in {least:.4g}..{most:.10g}")


def search_flags(
    command: Callable[..., Any], default: str = "Default: 1000, unless another limit is given."
) -> Callable[..., Any]:
    """Add the options of a search, which the command gets as `flags`."""

    @click.option("--time-ms", type=float, help=f"Time limit. {default}")
    @click.option("--iterations", type=int, help="Limit of iterations: the same answer on every machine.")
    @click.option(
        "--confidence",
        type=float,
        metavar="0.5..0.999999",
        help="Stop once the best move is this certain; no other limit unless given.",
    )
    @click.option("--memory-mb", type=float, help="Memory of the search trees. Default: 256.")
    @level_option("Strength, which sets the iterations")
    @click.option(
        "--seed",
        type=click.IntRange(0, 2**64 - 1),
        help="Seed of every random choice. Default: derived from the position.",
    )
    @click.option(
        "--shares",
        type=click.IntRange(1, 256),
        default=1,
        show_default=True,
        help="Parallel searches, one thread each.",
    )
    @click.option("--model", "models", multiple=True, metavar="SEAT=HOW", help=f"How a seat plays: {_models()}.")
    @click.option("--uniform", is_flag=True, help="Take all hidden cards as equally likely.")
    @click.option("--config", type=click.Choice(_configs()), help="Search configuration; not with --server.")
    @wraps(command)
    def with_thinking(*args: Any, **options: Any) -> Any:
        flags = SearchFlags(**{field.name: options.pop(field.name) for field in fields(SearchFlags)})
        if flags.config is not None and flags.level is not None:
            raise Failure("--level and --config cannot be combined")
        return command(*args, flags=flags, **options)

    return with_thinking


def _models() -> str:
    return ", ".join(MODELS.words.values())


def _configs() -> list[str]:
    return [name for name in CONFIGS if not name.startswith("level-")]


def action_message(text: str) -> Any:
    from eminence.v1 import view_pb2

    return view_pb2.Action(text=text)

"""eminence play: a game in the terminal against the engine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import click
from click.core import ParameterSource
from google.protobuf import json_format
from rich.columns import Columns
from rich.console import Console
from rich.text import Text

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action, EngineError
from engine_cy.seats import SEATS
from server.cli import formatting
from server.cli.command import command, files, json_option
from server.cli.connection import Connection, ServerFailure, greet, server_options
from server.cli.inputs import GameChoice
from server.cli.opponents import Engine
from server.cli.options import game_options
from server.cli.pages.board import draw
from server.cli.pages.win_chart import TERMINAL_COLORS
from server.cli.table_game import PERSON, Playing, read_game, write_game
from server.codec.views import write_view
from solver.named_beliefs import Beliefs, beliefs_of

LEVEL = 5
KINDS_SHOWN = 5
# Of many moves, so many are listed without being asked for.
MOVES_SHOWN = 24
HELP = """\
  3                 play the move of that number
  place Spy back    play this move
  moves             list all moves
  hint              what the engine would do, seeing what you see
  beliefs           what the others' hidden cards may be
  undo              take your last choice back
  table             show the table again
  text              the table as you see it, for other commands
  save FILE         save the game, with all its cards, hidden ones too
  quit              leave"""
HELP_SERVER = """\
  again             ask a server again that did not answer
  alone             go on without the server"""
STUCK = "The game waits. again asks once more, alone goes on without the server, save FILE keeps the game."


@command(
    "eminence play",
    "eminence play --ruleset fr-2019 --players 4 --level 8",
    "eminence play --seats level-9,me,level-3 --save game.txt",
    "eminence play --game castle_village_port --seed 7",
    "printf '1\\nhint\\nquit\\n' | eminence play --seed 7",
)
@game_options
@click.option("--seats", metavar="WHO,WHO,...", help="Who sits where: me, and configurations for the others.")
@click.option(
    "--level", type=click.IntRange(1, 10), default=LEVEL, show_default=True, help="How strong the others are."
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Of the deal and all else. Default: drawn.")
@click.option("--save", metavar="FILE", type=click.Path(path_type=Path), help="Keep the game here, move by move.")
@click.option(
    "--load", metavar="FILE", shell_complete=files, help="Go on with a saved game, or any record of a whole one."
)
@server_options
@json_option
def play(
    choice: GameChoice,
    seats: str | None,
    level: int,
    seed: int | None,
    save: Path | None,
    load: str | None,
    connection: Connection,
    as_json: bool,
) -> None:
    """Play a game against the engine.

    You see what your seat sees, and so does each of the others: nobody peeks. At the prompt, ? lists what you can say.
    A saved game is a record: `eminence review` judges it. With --server, a server plays the others and gives the
    hints; where it fails, the game waits.
    """
    who = None if seats is None else [name.strip() for name in seats.split(",")]
    with closing(Engine(connection)) as engine:
        greet(engine.client(), choice.game())  # a server that does not answer is said at once
        if load is not None:
            playing = read_game(load, who, seed, engine)
        else:
            playing = _new_game(choice, who, level, _drawn_seed() if seed is None else seed, engine)
        path = save or (None if load in (None, "-") else Path(str(load)))
        Room(playing, JsonTeller() if as_json else TextTeller(formatting.console()), path).run()


def _new_game(choice: GameChoice, who: list[str] | None, level: int, seed: int, engine: Engine) -> Playing:
    if who is None:
        who = [PERSON, *[f"level-{level}"] * (choice.players - 1)]
    elif click.get_current_context().get_parameter_source("players") is ParameterSource.DEFAULT:
        choice = replace(choice, players=len(who))
    start = choice.game().deal(seed, first=seed % choice.players)
    return Playing(start, who, seed, engine=engine)


def _drawn_seed() -> int:
    import secrets

    return secrets.randbelow(2**31)


class Teller(Protocol):
    """How the person is told."""

    def seen(self, playing: Playing, letter: str, action: str) -> None:
        """Somebody acted; the action as the person saw it."""

    def asked(self, playing: Playing, most: int | None) -> None:
        """The person is to choose; of the moves, at most so many are listed."""

    def hint(self, moves: Sequence[pb.Candidate]) -> None: ...

    def beliefs(self, found: Beliefs | None) -> None: ...

    def over(self, playing: Playing, path: Path | None) -> None: ...

    def failed(self, why: str) -> None:
        """A server did not answer; where one of the others is to act, the game waits."""

    def say(self, text: str) -> None:
        """Anything else."""

    def ask(self) -> str:
        """What the person says; EOFError if he says no more."""


class Room:
    """Where a person plays: asks, and does what is said."""

    def __init__(self, playing: Playing, teller: Teller, path: Path | None) -> None:
        self._playing, self._teller, self._path = playing, teller, path
        self._stuck: ServerFailure | None = None  # over which one of the others does not act
        self._commands: dict[str, Callable[[], None]] = {
            "moves": lambda: self._ask(None),
            "table": self._ask,
            "hint": self._hint,
            "beliefs": self._beliefs,
            "undo": self._undo,
            "text": lambda: teller.say(str(playing.view)),
            "save": self._save_again,
            "?": self._help,
            "help": self._help,
        }
        if playing.engine.connection.address:
            self._commands |= {"again": self._again, "alone": self._alone}

    def run(self) -> None:
        playing, teller = self._playing, self._teller
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401  (it gives the prompt its arrow keys)
        teller.say(f"You are {SEATS[playing.me]}. ? lists what you can say.")
        self._go_on()
        while not playing.position.is_over:
            try:
                said = teller.ask().strip()
            except EOFError:
                if self._stuck:
                    raise self._stuck from None
                return
            if said in ("quit", "exit"):
                return
            self._answer(said)
        teller.over(playing, self._path)

    def _answer(self, said: str) -> None:
        if not said:
            return
        elif said in self._commands:
            self._commands[said]()
        elif said.startswith("save "):
            self._save(Path(said.removeprefix("save ").strip()))
        elif self._stuck:
            self._teller.failed(STUCK)
        elif action := self._read_move(said):
            self._seen([self._playing.play(action)])
            self._go_on()

    def _go_on(self) -> None:
        """Until the person has a choice, the game is over, or a server fails."""
        self._stuck = None
        try:
            self._seen(self._playing.go_on())
        except ServerFailure as failure:
            self._stuck = failure
        if self._path:
            self._keep(self._path)
        if self._stuck:
            self._teller.failed(f"{self._stuck}\n{STUCK}")
        elif not self._playing.position.is_over:
            self._ask()

    def _ask(self, most: int | None = MOVES_SHOWN) -> None:
        if self._stuck:
            self._teller.failed(STUCK)
        else:
            self._teller.asked(self._playing, most)

    def _help(self) -> None:
        self._teller.say(f"{HELP}\n{HELP_SERVER}" if "alone" in self._commands else HELP)

    def _again(self) -> None:
        if self._stuck:
            self._go_on()
        else:
            self._ask()

    def _alone(self) -> None:
        self._playing.engine = Engine()
        self._teller.say("From here on, this machine plays the others.")
        self._again()

    def _seen(self, actions: Iterable[str]) -> None:
        for told in actions:
            letter, _, action = told.partition(" ")
            self._teller.seen(self._playing, letter, action)

    def _read_move(self, said: str) -> Action | None:
        """The move that was said, by its number or its text; if it is none, the person is told why."""
        legal = self._playing.view.legal_actions()
        if said.isdecimal():
            if 1 <= int(said) <= len(legal):
                return legal[int(said) - 1]
            self._teller.say(f"{said} is not in 1..{len(legal)}.")
            return None
        try:
            wanted = str(self._playing.view.game.action(said))
        except EngineError as error:
            self._teller.say(f"{error}\n? lists what you can say.")
            return None
        found = next((action for action in legal if str(action) == wanted), None)
        if found is None:
            self._teller.say(f"{said!r} is not possible now; moves lists what is.")
        return found

    def _hint(self) -> None:
        if self._stuck:
            self._teller.failed(STUCK)
            return
        try:
            self._teller.hint(self._playing.engine.hint(self._playing.observation))
        except ServerFailure as failure:
            self._teller.failed(f"{failure}\nalone goes on without the server.")

    def _beliefs(self) -> None:
        from solver.config import CONFIGS, fit_config

        view, history = self._playing.observation.view, self._playing.observation.history
        config = fit_config(CONFIGS["default"], view.game)
        self._teller.beliefs(beliefs_of(view, history, config))

    def _undo(self) -> None:
        if self._playing.take_back():
            self._stuck = None
            self._ask()
        else:
            self._teller.say("There is nothing of yours to take back.")

    def _save_again(self) -> None:
        if self._path is None:
            self._teller.say("Where to? save FILE")
        else:
            self._save(self._path)

    def _save(self, path: Path) -> None:
        if self._keep(path):
            self._path = path
            self._teller.say(f"Saved: {path}")

    def _keep(self, path: Path) -> bool:
        """Write the game, whole or not at all; a game goes on if that fails."""
        new = path.with_name(f"{path.name}.new")
        try:
            new.write_text(write_game(self._playing), "utf-8")
            os.replace(new, path)
        except OSError as error:
            self._teller.say(f"{path}: {error.strerror}; the game is not saved.")
            return False
        return True


class TextTeller:
    """For people."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def seen(self, playing: Playing, letter: str, action: str) -> None:
        line = Text("  ")
        line.append(letter, style=f"bold {TERMINAL_COLORS[SEATS.index(letter)]}" if letter in SEATS else "dim")
        line.append(f" {action}")
        self._console.print(line, soft_wrap=True)

    def asked(self, playing: Playing, most: int | None) -> None:
        self._console.print()
        self._console.print(draw(playing.view, playing.seats), end="")
        legal = playing.view.legal_actions()
        shown = [f"{number:>3} {action}" for number, action in enumerate(legal[:most], 1)]
        self._console.print(Columns(shown, column_first=True, padding=(0, 2)))
        if len(shown) < len(legal):
            self.say(f"    and {len(legal) - len(shown)} more: moves")

    def hint(self, moves: Sequence[pb.Candidate]) -> None:
        table = formatting.table("move", "win %", "points", "then", right="points")
        for move in moves:
            if move.HasField("win"):
                points = formatting.points(move.points) if move.HasField("points") else ""
                table.add_row(
                    move.action.text, formatting.win(move.win), points, formatting.line(move.principal_variation[1:3])
                )
        self._console.print(table)

    def beliefs(self, found: Beliefs | None) -> None:
        table = formatting.table("whose", "where", "what it may be")
        for belief in found.seats if found else ():
            for card in belief.cards:
                slot = card.place.get("slot")
                table.add_row(
                    SEATS[belief.seat],
                    "selected" if slot is None else f"slot {slot}",
                    formatting.likeliest(card.kinds.items(), KINDS_SHOWN),
                )
            table.add_row(SEATS[belief.seat], "hand", formatting.likeliest(belief.hand.items(), KINDS_SHOWN))
        self._console.print(table)

    def over(self, playing: Playing, path: Path | None) -> None:
        position = playing.position
        best = max(position.payoffs)
        winners = [SEATS[seat] for seat, paid in enumerate(position.payoffs) if paid == best]
        self._console.print()
        self._console.print(draw(position, playing.seats), end="")
        self.say(f"The game is over: {' and '.join(winners)} {'wins' if len(winners) == 1 else 'share the win'}.")
        if path:
            self.say(f"eminence review {path} --seat {SEATS[playing.me]}")

    def failed(self, why: str) -> None:
        self.say(why)

    def say(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def ask(self) -> str:
        try:
            return self._console.input("> ")
        except (EOFError, KeyboardInterrupt):
            self._console.print()  # the prompt's line is over
            raise


class JsonTeller:
    """For programs: a JSON object a line. What is said to it is the same."""

    def seen(self, playing: Playing, letter: str, action: str) -> None:
        self._tell(event="seen", by=letter, action=action)

    def asked(self, playing: Playing, most: int | None) -> None:
        view = playing.view
        moves = [str(action) for action in view.legal_actions()]
        self._tell(event="asked", view=json_format.MessageToDict(write_view(view)), text=str(view), moves=moves)

    def hint(self, moves: Sequence[pb.Candidate]) -> None:
        self._tell(event="hint", candidates=[json_format.MessageToDict(move) for move in moves])

    def beliefs(self, found: Beliefs | None) -> None:
        told = [
            {
                "seat": SEATS[belief.seat],
                "cards": [{"place": card.place, "kinds": card.kinds} for card in belief.cards],
                "hand": belief.hand,
            }
            for belief in (found.seats if found else ())
        ]
        self._tell(event="beliefs", seats=told)

    def over(self, playing: Playing, path: Path | None) -> None:
        position = playing.position
        self._tell(event="over", points=list(position.scores), shares=list(position.payoffs))

    def failed(self, why: str) -> None:
        self._tell(event="failed", text=why)

    def say(self, text: str) -> None:
        self._tell(event="said", text=text)

    def ask(self) -> str:
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    @staticmethod
    def _tell(**told: Any) -> None:
        click.echo(json.dumps(told, ensure_ascii=False))

"""eminence play: play a game against the engine in the terminal."""

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
from server.cli.opponents import MoveChooser
from server.cli.options import game_options
from server.cli.pages.board import draw
from server.cli.pages.win_chart import TERMINAL_COLORS
from server.cli.table_game import PERSON, TableGame, read_game, write_game
from server.codec.views import write_view
from server.games import adapter_of
from solver.named_beliefs import Beliefs, beliefs_of

LEVEL = 5
KINDS_SHOWN = 5
# Limit of the moves listed unless the person types `moves`.
MOVES_SHOWN = 24
HELP = """\
  3                 play the move of that number
  place Spy back    play this move
  moves             list all moves
  hint              the moves that the engine suggests, given what you see
  beliefs           the likely hidden cards of the others
  undo              take your last choice back
  table             show the table again
  text              the table as you see it, as text for other commands
  save FILE         save the game, with all cards, hidden ones too
  comment TEXT      save this comment on the last action with the game
  quit              leave"""
HELP_SERVER = """\
  again             ask the server again after a failure
  alone             go on without the server"""
WAITS = "The game waits. again asks once more, alone continues without the server, save FILE keeps the game."


@command(
    "eminence play",
    "eminence play --ruleset fr-2019 --players 4 --level 8",
    "eminence play --seats level-9,me,level-3 --save game.txt",
    "eminence play --game castle_village_port --seed 7",
    "printf '1\\nhint\\nquit\\n' | eminence play --seed 7",
)
@game_options
@click.option("--seats", metavar="PLAYER,...", help="Player of each seat: me once, else a configuration.")
@click.option(
    "--level", type=click.IntRange(1, 10), default=LEVEL, show_default=True, help="Strength of the other players."
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of every random choice. Default: random.")
@click.option("--save", metavar="FILE", type=click.Path(path_type=Path), help="Save the game here after every move.")
@click.option("--load", metavar="FILE", shell_complete=files, help="Continue a saved game, or any complete record.")
@click.option("--name", metavar="NAME", default="", help="Save the game with your name and the date.")
@click.option("--event", metavar="TEXT", default="", help="Save the game with this event and the date.")
@server_options
@json_option
def play(
    choice: GameChoice,
    seats: str | None,
    level: int,
    seed: int | None,
    save: Path | None,
    load: str | None,
    name: str,
    event: str,
    connection: Connection,
    as_json: bool,
) -> None:
    """Play a game against the engine.

    Each player, you included, sees only the cards that their seat sees. At the prompt, ? lists the commands. A saved
    game is a record, which `eminence review` reads. With --server, a server plays the others and gives the hints; if it
    fails, the game waits.
    """
    players = None if seats is None else [name.strip() for name in seats.split(",")]
    with closing(MoveChooser(connection)) as chooser:
        greet(chooser.client(), choice.game())  # fails at once if the server does not answer
        if load is not None:
            game = read_game(load, players, seed, chooser)
        else:
            game = _new_game(choice, players, level, _random_seed() if seed is None else seed, chooser)
        if name or event:
            game.name(name, event)
        path = save or (None if load in (None, "-") else Path(str(load)))
        GameSession(game, JsonDisplay() if as_json else TextDisplay(formatting.console()), path).run()


def _new_game(choice: GameChoice, seats: list[str] | None, level: int, seed: int, chooser: MoveChooser) -> TableGame:
    if seats is None:
        seats = [PERSON, *[f"level-{level}"] * (choice.players - 1)]
    elif click.get_current_context().get_parameter_source("players") is ParameterSource.DEFAULT:
        choice = replace(choice, players=len(seats))
    start = choice.game().deal(seed, first=seed % choice.players)
    return TableGame(start, seats, seed, chooser=chooser)


def _random_seed() -> int:
    import secrets

    return secrets.randbelow(2**31)


class Display(Protocol):
    """Interface of a session to the person, or to the program that plays."""

    def show_action(self, game: TableGame, letter: str, action: str) -> None:
        """Show the action of a seat as the person saw it."""

    def show_choice(self, game: TableGame, most: int | None) -> None:
        """Show the table and the person's moves, at most `most` of them."""

    def show_hint(self, moves: Sequence[pb.Candidate]) -> None: ...

    def show_beliefs(self, game: TableGame, beliefs: Beliefs | None) -> None: ...

    def show_result(self, game: TableGame, path: Path | None) -> None: ...

    def show_failure(self, why: str) -> None:
        """Show why a server failed."""

    def show_text(self, text: str) -> None:
        """Show any other text."""

    def read_line(self) -> str:
        """Read a line of the person; raise EOFError at the end of the input."""


class GameSession:
    """A session at the prompt: runs the commands and moves of the person."""

    def __init__(self, game: TableGame, display: Display, path: Path | None) -> None:
        self._game, self._display, self._path = game, display, path
        self._failure: ServerFailure | None = None  # the failure of a server on a move of another player
        self._commands: dict[str, Callable[[], None]] = {
            "moves": lambda: self._show_choice(None),
            "table": self._show_choice,
            "hint": self._hint,
            "beliefs": self._beliefs,
            "undo": self._undo,
            "text": lambda: display.show_text(str(game.view)),
            "save": self._save_again,
            "?": self._help,
            "help": self._help,
        }
        if game.chooser.connection.address:
            self._commands |= {"again": self._retry, "alone": self._leave_server}

    def run(self) -> None:
        game, display = self._game, self._display
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401  (makes the arrow keys work at the prompt)
        display.show_text(f"You are {SEATS[game.me]}. ? lists the commands.")
        self._advance()
        while not game.position.is_over:
            try:
                line = display.read_line().strip()
            except EOFError:
                if self._failure:
                    raise self._failure from None
                return
            if line in ("quit", "exit"):
                return
            self._run_command(line)
        display.show_result(game, self._path)

    def _run_command(self, line: str) -> None:
        if not line:
            return
        elif line in self._commands:
            self._commands[line]()
        elif line.startswith("save "):
            self._save(Path(line.removeprefix("save ").strip()))
        elif line.startswith("comment "):
            self._comment(line.removeprefix("comment "))
        elif self._failure:
            self._display.show_failure(WAITS)
        elif action := self._read_move(line):
            self._show_actions([self._game.play(action)])
            self._advance()

    def _advance(self) -> None:
        """Play on until the person has a choice, the game is over, or a server fails."""
        self._failure = None
        try:
            self._show_actions(self._game.advance())
        except ServerFailure as failure:
            self._failure = failure
        if self._path:
            self._keep(self._path)
        if self._failure:
            self._display.show_failure(f"{self._failure}\n{WAITS}")
        elif not self._game.position.is_over:
            self._show_choice()

    def _show_choice(self, most: int | None = MOVES_SHOWN) -> None:
        if self._failure:
            self._display.show_failure(WAITS)
        else:
            self._display.show_choice(self._game, most)

    def _help(self) -> None:
        self._display.show_text(f"{HELP}\n{HELP_SERVER}" if "alone" in self._commands else HELP)

    def _retry(self) -> None:
        if self._failure:
            self._advance()
        else:
            self._show_choice()

    def _leave_server(self) -> None:
        self._game.chooser = MoveChooser()
        self._display.show_text("From here on, this machine plays the others.")
        self._retry()

    def _show_actions(self, actions: Iterable[str]) -> None:
        for text in actions:
            letter, _, action = text.partition(" ")
            self._display.show_action(self._game, letter, action)

    def _read_move(self, line: str) -> Action | None:
        """Return the move of a number or text; show why if it is not one."""
        legal = self._game.view.legal_actions()
        if line.isdecimal():
            if 1 <= int(line) <= len(legal):
                return legal[int(line) - 1]
            self._display.show_text(f"{line} is not in 1..{len(legal)}.")
            return None
        try:
            text = str(self._game.view.game.action(line))
        except EngineError as error:
            self._display.show_text(f"{error}\n? lists the commands.")
            return None
        move = next((action for action in legal if str(action) == text), None)
        if move is None:
            self._display.show_text(f"{line!r} is not possible now; moves lists the possible ones.")
        return move

    def _hint(self) -> None:
        if self._failure:
            self._display.show_failure(WAITS)
            return
        try:
            self._display.show_hint(self._game.chooser.hint(self._game.observation))
        except ServerFailure as failure:
            self._display.show_failure(f"{failure}\nalone continues without the server.")

    def _beliefs(self) -> None:
        from solver.config import CONFIGS, fit_config

        view, history = self._game.observation.view, self._game.observation.history
        config = fit_config(CONFIGS["default"], view.game)
        self._display.show_beliefs(self._game, beliefs_of(view, history, config))

    def _undo(self) -> None:
        if self._game.take_back():
            self._failure = None
            self._show_choice()
        else:
            self._display.show_text("You have made no choice that can be taken back.")

    def _save_again(self) -> None:
        if self._path is None:
            self._display.show_text("A file is required: save FILE")
        else:
            self._save(self._path)

    def _save(self, path: Path) -> None:
        if self._keep(path):
            self._path = path
            self._display.show_text(f"Saved: {path}")

    def _comment(self, text: str) -> None:
        try:
            self._game.comment(text)
        except EngineError as error:
            self._display.show_text(str(error))
            return
        if self._path:
            self._keep(self._path)

    def _keep(self, path: Path) -> bool:
        """Save the game atomically; return whether that succeeded."""
        new = path.with_name(f"{path.name}.new")
        try:
            new.write_text(write_game(self._game), "utf-8")
            os.replace(new, path)
        except OSError as error:
            self._display.show_text(f"{path}: {error.strerror}; the game is not saved.")
            return False
        return True


class TextDisplay:
    """Display for people."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def show_action(self, game: TableGame, letter: str, action: str) -> None:
        line = Text("  ")
        line.append(letter, style=f"bold {TERMINAL_COLORS[SEATS.index(letter)]}" if letter in SEATS else "dim")
        line.append(f" {action}")
        self._console.print(line, soft_wrap=True)

    def show_choice(self, game: TableGame, most: int | None) -> None:
        self._console.print()
        self._console.print(draw(game.view, game.seats), end="")
        legal = game.view.legal_actions()
        shown = [f"{number:>3} {action}" for number, action in enumerate(legal[:most], 1)]
        self._console.print(Columns(shown, column_first=True, padding=(0, 2)))
        if len(shown) < len(legal):
            self.show_text(f"    and {len(legal) - len(shown)} more: moves")

    def show_hint(self, moves: Sequence[pb.Candidate]) -> None:
        table = formatting.table("move", "win %", "points", "then", right="points")
        for move in moves:
            if move.HasField("win"):
                points = formatting.points(move.points) if move.HasField("points") else ""
                table.add_row(
                    move.action.text, formatting.win(move.win), points, formatting.line(move.principal_variation[1:3])
                )
        self._console.print(table)

    def show_beliefs(self, game: TableGame, beliefs: Beliefs | None) -> None:
        adapter = adapter_of(game.view.game.id)
        table = formatting.table("seat", "where", "may be")
        for belief in beliefs.seats if beliefs else ():
            for card in belief.cards:
                kinds = formatting.likeliest(card.kinds.items(), KINDS_SHOWN)
                table.add_row(SEATS[belief.seat], adapter.place_of(card.place), kinds)
            table.add_row(SEATS[belief.seat], "hand", formatting.likeliest(belief.hand.items(), KINDS_SHOWN))
        self._console.print(table)

    def show_result(self, game: TableGame, path: Path | None) -> None:
        position = game.position
        best = max(position.payoffs)
        winners = [SEATS[seat] for seat, paid in enumerate(position.payoffs) if paid == best]
        self._console.print()
        self._console.print(draw(position, game.seats), end="")
        self.show_text(f"The game is over: {' and '.join(winners)} {'wins' if len(winners) == 1 else 'share the win'}.")
        if path:
            self.show_text(f"eminence review {path}")

    def show_failure(self, why: str) -> None:
        self.show_text(why)

    def show_text(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def read_line(self) -> str:
        try:
            return self._console.input("> ")
        except (EOFError, KeyboardInterrupt):
            self._console.print()  # ends the line of the prompt
            raise


class JsonDisplay:
    """Display for programs: a JSON object per line. Input is the same as for people."""

    def show_action(self, game: TableGame, letter: str, action: str) -> None:
        self._write(event="seen", by=letter, action=action)

    def show_choice(self, game: TableGame, most: int | None) -> None:
        view = game.view
        moves = [str(action) for action in view.legal_actions()]
        self._write(event="question", view=json_format.MessageToDict(write_view(view)), text=str(view), moves=moves)

    def show_hint(self, moves: Sequence[pb.Candidate]) -> None:
        self._write(event="hint", candidates=[json_format.MessageToDict(move) for move in moves])

    def show_beliefs(self, game: TableGame, beliefs: Beliefs | None) -> None:
        seats = [
            {
                "seat": SEATS[belief.seat],
                "cards": [{"place": card.place, "kinds": card.kinds} for card in belief.cards],
                "hand": belief.hand,
            }
            for belief in (beliefs.seats if beliefs else ())
        ]
        self._write(event="beliefs", seats=seats)

    def show_result(self, game: TableGame, path: Path | None) -> None:
        position = game.position
        self._write(event="over", points=list(position.scores), shares=list(position.payoffs))

    def show_failure(self, why: str) -> None:
        self._write(event="failed", text=why)

    def show_text(self, text: str) -> None:
        self._write(event="message", text=text)

    def read_line(self) -> str:
        sys.stdout.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line

    @staticmethod
    def _write(**fields: Any) -> None:
        click.echo(json.dumps(fields, ensure_ascii=False))

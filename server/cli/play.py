"""eminence play: a game in the terminal against the engine."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click
from rich.columns import Columns
from rich.console import Console

from engine_cy import Action, EngineError, new_game
from engine_cy.seats import SEATS
from server.cli.board import draw
from server.cli.playing import PERSON, Playing, read_game, write_game
from solver.config import Budget
from solver.solve import solve

EXAMPLES = """\b
Examples:
  eminence play
  eminence play --ruleset fr-2019 --players 4 --level 8
  eminence play --seats level-9,me,level-3
  eminence play --game castle_village_port --save game.txt
  eminence play --load game.txt

Saved games are records: eminence review game.txt
"""
HELP = """\
  3              play the move of this number
  place Spy back play this move
  moves          list all moves
  hint           what the engine would do, seeing what you see
  undo           take your last choice back
  table          show the table again
  text           the table as you see it, for other commands
  save FILE      save the game (the file holds all cards, hidden ones too)
  quit           leave"""
MOVES_SHOWN = 24
HINTS = 5
HINT_ITERATIONS = 50_000


@click.command(epilog=EXAMPLES)
@click.option("--game", default="oriflamme", show_default=True)
@click.option("--ruleset", help="The game's first one, if not given.")
@click.option("--players", type=int, help="Needed if --seats does not say how many; 3 if neither does.")
@click.option("--seats", help="Who sits where: me once, else configurations, as in me,level-3,level-8.")
@click.option("--level", type=click.IntRange(1, 10), default=5, show_default=True, help="Of the others.")
@click.option("--seed", type=int, help="Of the deal and all else; drawn if not given.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Keep the game in this file.")
@click.option("--load", type=click.Path(path_type=Path, dir_okay=False, exists=True), help="Go on with a saved game.")
def play(
    game: str,
    ruleset: str | None,
    players: int | None,
    seats: str | None,
    level: int,
    seed: int | None,
    save: Path | None,
    load: Path | None,
) -> None:
    """Play a game against the engine.

    You see what your seat sees, and so does each of the others. At the prompt, ? lists what you can say.
    """
    who = seats.split(",") if seats else None
    if load:
        playing = read_game(load.read_text("utf-8"), who, seed)
    else:
        n_players = players or (len(who) if who else 3)
        who = who or [PERSON, *[f"level-{level}"] * (n_players - 1)]
        drawn = _draw_seed() if seed is None else seed
        start = new_game(game, ruleset, n_players).deal(drawn, first=drawn % n_players)
        playing = Playing(start, who, drawn)
    Room(playing, Console(highlight=False), save or load).run()


def _draw_seed() -> int:
    import secrets

    return secrets.randbelow(2**31)


class Room:
    """Where a person plays: shows, asks, does."""

    def __init__(self, playing: Playing, console: Console, path: Path | None) -> None:
        self._playing, self._console, self._path = playing, console, path
        self._commands = {
            "moves": self._list_moves,
            "hint": self._hint,
            "undo": self._undo,
            "table": self._show,
            "text": lambda: self._say(str(self._playing.view)),
            "?": lambda: self._say(HELP),
            "help": lambda: self._say(HELP),
        }

    def run(self) -> None:
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401  (arrow keys at the prompt)
        self._say(f"You are {SEATS[self._playing.me]}. ? lists what you can say.")
        self._tell(self._playing.go_on())
        self._show()
        while not self._playing.position.is_over:
            try:
                said = self._console.input("> ").strip()
            except EOFError:
                break
            if said in ("quit", "q", "exit"):
                break
            self._answer(said)
        self._keep()
        if self._playing.position.is_over:
            self._result()

    def _answer(self, said: str) -> None:
        word, _, rest = said.partition(" ")
        if not said:
            return
        elif said in self._commands:
            self._commands[said]()
        elif word == "save":
            self._save(Path(rest) if rest else self._path)
        else:
            action = self._read_action(said)
            if action is not None:
                self._tell([self._playing.play(action)])
                self._tell(self._playing.go_on())
                self._keep()
                if not self._playing.position.is_over:
                    self._show()

    def _read_action(self, said: str) -> Action | None:
        legal = self._legal()
        if said.isdecimal():
            if 1 <= int(said) <= len(legal):
                return legal[int(said) - 1]
            self._say(f"{said} is not in 1..{len(legal)}")
            return None
        try:
            wanted = str(self._playing.view.game.action(said))
        except EngineError as error:
            self._say(f"{error}\n? lists what you can say, and moves what you can play.")
            return None
        for action in legal:
            if str(action) == wanted:
                return action
        self._say(f"{said} is not possible now; moves lists what is.")
        return None

    def _legal(self) -> list[Action]:
        return self._playing.view.legal_actions()

    # --- what is shown ---

    def _show(self) -> None:
        self._console.print()
        self._console.print(draw(self._playing.view, self._playing.seats), end="")
        self._moves(MOVES_SHOWN)

    def _list_moves(self) -> None:
        self._moves(None)

    def _moves(self, most: int | None) -> None:
        legal = self._legal()
        shown = [f"{number:>3} {action}" for number, action in enumerate(legal[:most], 1)]
        self._console.print(Columns(shown, column_first=True, padding=(0, 2)))
        if len(shown) < len(legal):
            self._say(f"    and {len(legal) - len(shown)} more: moves")

    def _tell(self, seen: Iterable[str]) -> None:
        """What happened, a line for each seat's actions in a row."""
        for action in seen:
            self._say(f"  {action}")

    def _hint(self) -> None:
        playing = self._playing
        found = solve(playing.view, Budget(iterations=HINT_ITERATIONS), history=playing.history)
        for move in found.moves[:HINTS]:
            if move.win is not None:
                win = f"win {100 * move.win.mean:4.1f} % ± {100 * move.win.error:.1f}"
                points = f"  points {move.points.mean:.1f}" if move.points else ""
                self._say(f"  {move.action!s:<28} {win}{points}")

    def _result(self) -> None:
        position = self._playing.position
        best = max(position.payoffs)
        winners = [SEATS[seat] for seat, paid in enumerate(position.payoffs) if paid == best]
        self._console.print()
        self._console.print(draw(self._playing.view, self._playing.seats), end="")
        self._say(f"The game is over: {' and '.join(winners)} {'wins' if len(winners) == 1 else 'share the win'}.")
        if self._path:
            self._say(f"eminence review {self._path} --seat {SEATS[self._playing.me]}")

    # --- what is done ---

    def _undo(self) -> None:
        if self._playing.take_back():
            self._show()
        else:
            self._say("There is nothing of yours to take back.")

    def _save(self, path: Path | None) -> None:
        if path is None:
            self._say("Where to? save FILE")
            return
        path.write_text(write_game(self._playing), "utf-8")
        self._path = path
        self._say(f"Saved: {path}")

    def _keep(self) -> None:
        if self._path:
            self._path.write_text(write_game(self._playing), "utf-8")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)

"""eminence play: play a game against the engine in the terminal, or watch one of the engine's own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import click
from google.protobuf import json_format
from rich.columns import Columns
from rich.console import Console
from rich.table import Table
from rich.text import Text

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action, EngineError, Position, View
from engine_cy.errors import quoted
from engine_cy.seats import SEATS
from server.cli import formatting
from server.cli.command import command, files, json_option
from server.cli.connection import Connection, ServerFailure, greet, server_options
from server.cli.exit_codes import Failure
from server.cli.inputs import GameChoice
from server.cli.opponents import MoveChooser
from server.cli.options import WORDS, Observation, game_options, language_option, level_option
from server.cli.pages.board import draw
from server.cli.pages.win_chart import TERMINAL_COLORS
from server.cli.table_game import PERSON, SeenMove, TableGame, read_game
from server.codec.views import write_view
from server.games import adapter_of
from server.games.continuation import told
from server.games.narration import Reader
from server.languages import Words, words_of
from solver.named_beliefs import Beliefs, beliefs_of

LEVEL = 5
KINDS_SHOWN = 5
# Limits of the moves listed unless the person types `moves`: in all, and with their notation beside them.
MOVES_SHOWN = 24
NOTATIONS_SHOWN = 8
# Seconds of each move with --watch, unless --think-at-least sets others.
WATCH_SECONDS = 1.0
THINK_MAX = 60.0
DIGITS_MAX = 9
PROMPT = "> "
# The value of --table that opens a new one, and the variable that may hold a key.
NEW_TABLE = "new"
TABLE = "EMINENCE_TABLE"


@command(
    "eminence play",
    "eminence play --ruleset fr-2019 --players 4 --level 8",
    "eminence play --seats level-9,me,level-3 --save game.txt",
    "eminence play --game castle_village_port --seed 7 --lang de",
    "eminence play --seats easy,normal,hard --save game.txt",
    "eminence play --watch --level hard --think-at-least 0",
    "printf '1\\nhint\\nquit\\n' | eminence play --seed 7",
)
@game_options
@click.option(
    "--seats", metavar="PLAYER,...", help="Player of each seat: me, once at most, else a level or a configuration."
)
@level_option("Strength of the other players", default=LEVEL, show_default=True)
@click.option("--watch", is_flag=True, help="Watch the engine play all seats, with all cards shown.")
@click.option(
    "--think-at-least",
    type=click.FloatRange(0, THINK_MAX),
    metavar="SECONDS",
    help=f"Least time of each move of the other players. Default: 0; with --watch {WATCH_SECONDS:g}.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Seed of every random choice. Default: random.")
@click.option("--save", metavar="FILE", type=click.Path(path_type=Path), help="Save the game here after every move.")
@click.option("--load", metavar="FILE", shell_complete=files, help="Continue a saved game, or any complete record.")
@click.option(
    "--table",
    metavar="KEY",
    envvar=TABLE,
    help="Sit at a table of the --server, by the key of a seat or a link; `new` opens one. Safer in the variable "
    f"{TABLE}.",
)
@click.option("--name", metavar="NAME", default="", help="Save the game with your name and the date.")
@click.option("--event", metavar="TEXT", default="", help="Save the game with this event and the date.")
@language_option
@server_options
@json_option
def play(
    choice: GameChoice,
    seats: str | None,
    level: int,
    watch: bool,
    think_at_least: float | None,
    seed: int | None,
    save: Path | None,
    load: str | None,
    table: str | None,
    name: str,
    event: str,
    language: str,
    connection: Connection,
    as_json: bool,
) -> None:
    """Play a game against the engine, or let it play all seats.

    Each player, you included, sees only the cards that their seat sees. At the prompt, ? lists the commands. A saved
    game is a record, which `eminence review` reads. With --server, a server plays the others and gives the hints; if it
    fails, the game waits. With --table, the server holds the game, and other people may sit at it: they are `person`
    among the --seats of a new table. Without `me` among the --seats, the engine plays the game to its end; --watch
    shows the table after each move.
    """
    players = None if seats is None else [name.strip() for name in seats.split(",")]
    if watch and players and PERSON in players:
        raise Failure(f"watch: cannot be combined with {PERSON!r} in --seats")
    if think_at_least is None:
        think_at_least = WATCH_SECONDS if watch else 0.0
    display = JsonDisplay(language) if as_json else TextDisplay(formatting.console(), language)
    words = words_of(WORDS, language)
    with closing(MoveChooser(connection, think_at_least)) as chooser:
        if table is not None:
            for flag, value in {"load": load, "watch": watch or None, "event": event or None}.items():
                if value is not None:
                    raise Failure(f"--{flag} cannot be combined with --table")
            _sit(choice, table, players, level, name, seed, chooser, display, save, words)
            return
        greet(chooser.client(), choice.game())  # fails at once if the server does not answer
        if load is not None:
            game = read_game(load, players, seed, chooser)
            if watch and game.me is not None:
                raise Failure(f"watch: {load} has a seat of {PERSON!r}; --seats names others to play on")
        else:
            first = f"level-{level}" if watch else PERSON
            seats_of = players or [first, *[f"level-{level}"] * (choice.game().n_players - 1)]
            game = _new_game(choice, seats_of, players is not None, _random_seed() if seed is None else seed, chooser)
        if name or event:
            game.name(name, event)
        path = save or (None if load in (None, "-") else Path(str(load)))
        if game.me is None:
            watch_game(game, display, path, words, shows_tables=watch)
        else:
            GameSession(game, display, path, words).run()


def _sit(
    choice: GameChoice,
    table: str,
    players: list[str] | None,
    level: int,
    name: str,
    seed: int | None,
    chooser: MoveChooser,
    display: Display,
    path: Path | None,
    words: Words,
) -> None:
    """Play at a table of a server, a new one or that of a key."""
    connection = chooser.connection
    if not connection.address:
        raise Failure("--table needs --server")
    from server.cli.server_table import ServerTable, invitations, key_in, open_table

    if table == NEW_TABLE:
        if players is not None and choice.players is None:
            choice = replace(choice, players=len(players))
        game = choice.game()
        seats = players or [PERSON, *[f"level-{level}"] * (game.n_players - 1)]
        keys = open_table(connection, game, seats, name, seed)
        for line in invitations(keys, connection.address):
            display.show_text(line)
        key = keys[seats.index(PERSON)]
    elif players is not None:
        raise Failure(f"--seats cannot be combined with --table, unless it is {NEW_TABLE!r}")
    else:
        key = key_in(table)
    with closing(ServerTable(connection, key, chooser)) as seat:
        GameSession(seat, display, path, words).run()


def _new_game(choice: GameChoice, seats: list[str], are_named: bool, seed: int, chooser: MoveChooser) -> TableGame:
    if are_named and choice.players is None:
        choice = replace(choice, players=len(seats))
    game = choice.game()
    return TableGame(game.deal(seed, first=seed % game.n_players), seats, seed, chooser=chooser)


def _random_seed() -> int:
    import secrets

    return secrets.randbelow(2**31)


class AnyGame(Protocol):
    """A game that a session plays: of this process, or at a table of a server."""

    chooser: MoveChooser

    @property
    def start(self) -> View | Position:
        """A table of the game."""

    @property
    def me(self) -> int | None: ...
    @property
    def names(self) -> Sequence[str]: ...
    @property
    def seats(self) -> Sequence[str]: ...
    @property
    def view(self) -> View | Position: ...
    @property
    def position(self) -> View | Position:
        """The table with nothing hidden, after the end."""

    @property
    def observation(self) -> Observation: ...
    @property
    def text(self) -> str:
        """The game as a file holds it."""

    def play(self, action: Action) -> SeenMove | None: ...
    def advance(self) -> Iterator[SeenMove]: ...
    def take_back(self) -> bool: ...
    def comment(self, text: str) -> None: ...


class Display(Protocol):
    """Interface of a session to the person, or to the program that plays."""

    def show_move(self, game: AnyGame, move: SeenMove) -> None:
        """Show an action as the person saw it."""

    def show_table(self, game: AnyGame) -> None:
        """Show the table to a person who watches."""

    def show_choice(self, game: AnyGame, most: int | None) -> None:
        """Show the table and the person's moves, at most `most` of them."""

    def show_cards(self, game: AnyGame) -> None:
        """Show what each card does."""

    def show_hint(self, game: AnyGame, moves: Sequence[pb.Candidate]) -> None: ...

    def show_beliefs(self, game: AnyGame, beliefs: Beliefs | None) -> None: ...

    def show_result(self, game: AnyGame, path: Path | None) -> None: ...

    def show_failure(self, why: str) -> None:
        """Show why a server failed."""

    def show_text(self, text: str) -> None:
        """Show any other text."""

    def read_line(self) -> str:
        """Read a line of the person; raise EOFError at the end of the input."""


def watch_game(game: TableGame, display: Display, path: Path | None, words: Words, *, shows_tables: bool) -> None:
    """Let the engine play all seats to the end; keep the game in a file after each move."""
    display.show_text(words.say("play.bots", seats=", ".join(map(" ".join, zip(game.names, game.seats, strict=True)))))
    if shows_tables:
        display.show_table(game)
    for move in game.advance():
        display.show_move(game, move)
        if path and not keep(game, path, display, words):
            path = None  # one message is enough
        if shows_tables and not game.position.is_over:
            display.show_table(game)
    display.show_result(game, path)


def keep(game: AnyGame, path: Path, display: Display, words: Words) -> bool:
    """Save a game atomically; return whether that succeeded."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_text(game.text, "utf-8")
        os.replace(new, path)
    except OSError as error:
        display.show_text(words.say("play.not_saved", path=path, why=error.strerror))
        return False
    return True


class GameSession:
    """A session at the prompt: runs the commands and moves of the person."""

    def __init__(self, game: AnyGame, display: Display, path: Path | None, words: Words) -> None:
        self._game, self._display, self._path = game, display, path
        self._say = words.say
        self._words = words
        self._failure: ServerFailure | None = None  # the failure of a server on a move of another player
        self._commands: dict[str, Callable[[], None]] = {
            "moves": lambda: self._show_choice(None),
            "table": self._show_choice,
            "cards": lambda: display.show_cards(game),
            "c": lambda: display.show_cards(game),
            "hint": self._hint,
            "beliefs": self._beliefs,
            "undo": self._undo,
            "text": lambda: display.show_text(str(game.view)),
            "save": self._save_again,
            "?": self._help,
            "help": self._help,
        }
        if game.chooser.connection.address:
            self._commands |= {"again": self._retry}
        if isinstance(game, TableGame) and game.chooser.connection.address:
            self._commands |= {"alone": self._leave_server}

    def run(self) -> None:
        game, display = self._game, self._display
        if sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401  (makes the arrow keys work at the prompt)
        assert game.me is not None
        display.show_text(self._say("play.you", seat=SEATS[game.me]))
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
            self._display.show_failure(self._say("play.waits"))
        elif action := self._read_move(line):
            if (move := self._game.play(action)) is not None:
                self._display.show_move(self._game, move)
            self._advance()

    def _advance(self) -> None:
        """Play on until the person has a choice, the game is over, or a server fails."""
        self._failure = None
        try:
            for move in self._game.advance():
                self._display.show_move(self._game, move)
        except ServerFailure as failure:
            self._failure = failure
        if self._path:
            keep(self._game, self._path, self._display, self._words)
        if self._failure:
            self._display.show_failure(f"{self._failure}\n{self._say('play.waits')}")
        elif not self._game.position.is_over:
            self._show_choice()

    def _show_choice(self, most: int | None = MOVES_SHOWN) -> None:
        if self._failure:
            self._display.show_failure(self._say("play.waits"))
        else:
            self._display.show_choice(self._game, most)

    def _help(self) -> None:
        self._display.show_text(self._say("play.help"))
        if "alone" in self._commands:
            self._display.show_text(self._say("play.help_server"))

    def _retry(self) -> None:
        if self._failure:
            self._advance()
        else:
            self._show_choice()

    def _leave_server(self) -> None:
        self._game.chooser = MoveChooser(think_at_least=self._game.chooser.think_at_least)
        self._display.show_text(self._say("play.alone"))
        self._retry()

    def _read_move(self, line: str) -> Action | None:
        """Return the move of a number or text; show why if it is not one."""
        legal = self._game.view.legal_actions()
        if line.isdecimal():
            # Python refuses to read thousands of digits.
            if len(line) <= DIGITS_MAX and 1 <= int(line) <= len(legal):
                return legal[int(line) - 1]
            number = line if len(line) <= DIGITS_MAX else quoted(line)
            self._display.show_text(self._say("play.range", number=number, most=len(legal)))
            return None
        try:
            text = str(self._game.view.game.action(line))
        except EngineError as error:
            self._display.show_text(f"{error}\n{self._say('play.commands')}")
            return None
        move = next((action for action in legal if str(action) == text), None)
        if move is None:
            self._display.show_text(self._say("play.impossible", move=quoted(line)))
        return move

    def _hint(self) -> None:
        if self._failure:
            self._display.show_failure(self._say("play.waits"))
            return
        try:
            self._display.show_hint(self._game, self._game.chooser.hint(self._game.observation))
        except ServerFailure as failure:
            self._display.show_failure(f"{failure}\n{self._say('play.can_leave')}")

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
            self._display.show_text(self._say("play.no_undo"))

    def _save_again(self) -> None:
        if self._path is None:
            self._display.show_text(self._say("play.no_file"))
        else:
            self._save(self._path)

    def _save(self, path: Path) -> None:
        if keep(self._game, path, self._display, self._words):
            self._path = path
            self._display.show_text(self._say("play.saved", path=path))

    def _comment(self, text: str) -> None:
        try:
            self._game.comment(text)
        except EngineError as error:
            self._display.show_text(str(error))
            return
        if self._path:
            keep(self._game, self._path, self._display, self._words)


class TextDisplay:
    """Display for people."""

    def __init__(self, console: Console, language: str) -> None:
        self._console, self._language = console, language
        self._words = words_of(WORDS, language)

    def _reader(self, game: AnyGame) -> Reader:
        return Reader(self._language, game.me, game.names)

    def show_move(self, game: AnyGame, move: SeenMove) -> None:
        words = adapter_of(game.start.game.id).narrate(*move, self._reader(game))
        color = TERMINAL_COLORS[SEATS.index(move.letter)] if move.letter in SEATS else ""
        # A game without words has the notation, with its seat, as its sentence.
        notation = words if words == f"{move.letter} {move.seen}" else move.seen
        self._print_wrapped("  ", formatting.move(words, notation, color))

    def show_table(self, game: AnyGame) -> None:
        self._console.print()
        self._console.print(draw(game.view, game.seats, self._language), end="")

    def show_choice(self, game: AnyGame, most: int | None) -> None:
        view, adapter, reader = game.view, adapter_of(game.start.game.id), self._reader(game)
        self.show_table(game)
        legal = view.legal_actions()
        shown = [(str(action), adapter.choice(view, str(action), reader)) for action in legal[:most]]
        if prompt := adapter.prompt(view, reader):
            self._console.print(Text(prompt, "bold"))
        if most is None or len(shown) <= NOTATIONS_SHOWN:
            width = max(len(words) for _, words in shown)
            for number, (notation, words) in enumerate(shown, 1):
                line = formatting.move(f"{words:<{width}}" if words != notation else words, notation)
                self._print_wrapped(f"{number:>3} ", line)
        else:
            moves = [f"{number:>3} {words}" for number, (_, words) in enumerate(shown, 1)]
            self._console.print(Columns(moves, column_first=True, padding=(0, 2)))
        if len(shown) < len(legal):
            self.show_text(f"    {self._words.say('play.more', n=len(legal) - len(shown))}")

    def _print_table(self, table: Table) -> None:
        self._console.print(table, width=self._console.width - len(PROMPT))

    def _print_wrapped(self, head: str, line: Text) -> None:
        """Print a line after a head; its continuations are indented. In a pipe, a prompt may stand before it."""
        for part in line.wrap(self._console, self._console.width - len(head) - len(PROMPT)):
            part.rstrip()
            self._console.print(Text(head).append_text(part))
            head = " " * len(head)

    def show_cards(self, game: AnyGame) -> None:
        adapter = adapter_of(game.start.game.id)
        table = formatting.table(self._words.say("card"), self._words.say("does"))
        for card in adapter.describe_cards(game.start.game, self._language):
            table.add_row(adapter.card_title(card, self._language), adapter.card_text(card, self._language))
        if table.row_count:
            self._print_table(table)
        else:
            self.show_text(self._words.say("play.no_cards"))

    def show_hint(self, game: AnyGame, moves: Sequence[pb.Candidate]) -> None:
        say, adapter, reader = self._words.say, adapter_of(game.start.game.id), self._reader(game)
        heads = [say(key) for key in ("move", "win", "points", "then")]
        table = formatting.table(*heads, right=heads[1:3], moves=heads[0])
        for move in moves:
            if move.HasField("win"):
                notation = move.action.text
                table.add_row(
                    formatting.move(adapter.choice(game.view, notation, reader), notation),
                    formatting.win(move.win),
                    formatting.points(move.points) if move.HasField("points") else "",
                    formatting.line(move.principal_variation[1:3]),
                )
        self._print_table(table)
        line = told(adapter, game.observation.view, moves[0].principal_variation[:4], reader)[1:] if moves else []
        if line:
            before, _, after = say("suggest.then", line="\0").partition("\0")
            self._console.print(Text.assemble(before, formatting.told_line(line), after))

    def show_beliefs(self, game: AnyGame, beliefs: Beliefs | None) -> None:
        say, adapter = self._words.say, adapter_of(game.view.game.id)
        names = adapter.kind_names(game.view.game, self._language)

        def likeliest(kinds: Mapping[str, float]) -> str:
            named = [(names.get(kind, kind), chance) for kind, chance in kinds.items()]
            return formatting.likeliest(named, KINDS_SHOWN, self._words)

        table = formatting.table(say("seat"), say("where"), say("may_be"))
        for belief in beliefs.seats if beliefs else ():
            for card in belief.cards:
                place = adapter.place_of(card.place, self._language)
                table.add_row(SEATS[belief.seat], place, likeliest(card.kinds))
            table.add_row(SEATS[belief.seat], say("hand"), likeliest(belief.hand))
        self._print_table(table)

    def show_result(self, game: AnyGame, path: Path | None) -> None:
        position = game.position
        best = max(position.payoffs)
        winners = [seat for seat, paid in enumerate(position.payoffs) if paid == best]
        self._console.print()
        self._console.print(draw(position, game.seats, self._language), end="")
        key = "play.wins.you" if winners == [game.me] else "play.wins" if len(winners) == 1 else "play.share"
        names = self._words.say("play.and").join(game.names[seat] for seat in winners)
        self.show_text(self._words.say(key, winners=names))
        if path:
            self.show_text(f"eminence review {path}")

    def show_failure(self, why: str) -> None:
        self.show_text(why)

    def show_text(self, text: str) -> None:
        self._console.print(text, soft_wrap=True)

    def read_line(self) -> str:
        try:
            return self._console.input(PROMPT)
        except (EOFError, KeyboardInterrupt):
            self._console.print()  # ends the line of the prompt
            raise


class JsonDisplay:
    """Display for programs: a JSON object per line. Input is the same as for people."""

    def __init__(self, language: str) -> None:
        self._language = language

    def _reader(self, game: AnyGame) -> Reader:
        return Reader(self._language, game.me, game.names)

    def show_move(self, game: AnyGame, move: SeenMove) -> None:
        words = adapter_of(game.start.game.id).narrate(*move, self._reader(game))
        self._write(event="seen", by=move.letter, action=move.seen, words=words)

    def show_table(self, game: AnyGame) -> None:
        self._write(event="table", text=str(game.view))

    def show_choice(self, game: AnyGame, most: int | None) -> None:
        view, adapter, reader = game.view, adapter_of(game.start.game.id), self._reader(game)
        assert isinstance(view, View)
        moves = [str(action) for action in view.legal_actions()]
        self._write(
            event="question",
            view=json_format.MessageToDict(write_view(view)),
            text=str(view),
            moves=moves,
            words=[adapter.choice(view, move, reader) for move in moves],
            prompt=adapter.prompt(view, reader),
        )

    def show_cards(self, game: AnyGame) -> None:
        cards = adapter_of(game.start.game.id).describe_cards(game.start.game, self._language)
        self._write(event="cards", cards=list(cards))

    def show_hint(self, game: AnyGame, moves: Sequence[pb.Candidate]) -> None:
        self._write(event="hint", candidates=[json_format.MessageToDict(move) for move in moves])

    def show_beliefs(self, game: AnyGame, beliefs: Beliefs | None) -> None:
        seats = [
            {
                "seat": SEATS[belief.seat],
                "cards": [{"place": card.place, "kinds": card.kinds} for card in belief.cards],
                "hand": belief.hand,
            }
            for belief in (beliefs.seats if beliefs else ())
        ]
        self._write(event="beliefs", seats=seats)

    def show_result(self, game: AnyGame, path: Path | None) -> None:
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

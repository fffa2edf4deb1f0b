from collections.abc import Iterator, Mapping
from typing import Any, final

from engine_cy.support.rng import Rng

def read_seat(seat: int | str, n_players: int, field: str = "player") -> int:
    """A seat's number from the number or its letter."""

class Game:
    """A ruleset and a number of players. Made by `new_game`; one object serves all threads."""

    @property
    def id(self) -> str: ...
    @property
    def n_players(self) -> int: ...
    @property
    def ruleset(self) -> Any:
        """The ruleset, a value of the game's own type."""

    @property
    def spec(self) -> tuple[str, str | Mapping[str, bool | int | str] | None, int]:
        """What `new_game` makes this game from."""

    @property
    def has_knowledge(self) -> bool:
        """Whether the game knows more about itself than its rules: priors, playouts, evaluation."""

    @property
    def can_be_followed(self) -> bool:
        """Whether the game says what each seat sees of an action."""

    @property
    def has_suspicions(self) -> bool:
        """Whether the game knows what speaks for hidden cards being what they are."""

    @property
    def has_spectator(self) -> bool:
        """Whether the game can say what everybody sees; games of others may not."""

    def check(self) -> int:
        """Raise what went wrong on this thread where nothing could be raised; only games of others have such faults."""

    @property
    def state_size(self) -> int:
        """Bytes of a position."""

    @property
    def seats(self) -> str:
        """The letters of the seats."""

    def name_of(self, kind: int) -> str:
        """The card that `kind`, a number of the game's own, stands for."""

    def deal(self, seed: int | Rng = 0, first: int | str = 0) -> Position:
        """A table at the start of a game, dealt at random from `seed` (a number or an Rng)."""

    def start(self, deal: Any, first: int | str = 0) -> Position:
        """The start of a game dealt as `deal` says, in the game's own terms.

        Oriflamme: a list a seat of the cards that it set aside.
        """

    def position(self, text: str) -> Position:
        """The position that `text` stands for."""

    def view(self, text: str) -> View:
        """The view that `text` stands for; it names its observer."""

    def from_table(self, table: Any) -> Position | View:
        """The position, or the view if it has an observer, that a table or a draft of one describes."""

    def action(self, text: str) -> Action:
        """The action that `text` stands for."""

    def action_from_steps(self, steps: tuple[int, ...]) -> Action:
        """The action that an `Action.code` stands for."""

    def position_from_bytes(self, state: bytes) -> Position:
        """A position from what `bytes(position)` gave; bytes that are no table of this game are refused."""

    def view_from_bytes(self, state: bytes, observer: int) -> View:
        """A view from what `bytes(view)` gave."""

    def read_deal(self, lines: list[str], first: int, observer: int | None) -> Position | View:
        """The start that a record's header describes: a position, or a view if there is an observer."""

    def write_deal(self, start: Position | View) -> list[str] | None:
        """The header lines that describe `start`, or None if it is no start."""

    def __hash__(self) -> int: ...

@final
class Action:
    """One whole decision, such as `place Spy front` or `move 2 to 5`."""

    @property
    def game(self) -> Game: ...
    @property
    def code(self) -> tuple[int, ...]:
        """The action as numbers, one a step."""

    @property
    def fields(self) -> dict[str, Any]:
        """The parts of the action, `type` first."""

    @property
    def type(self) -> str: ...
    def __hash__(self) -> int: ...

class GameState:
    """What positions and views share: a game, and the bytes of a state."""

    @property
    def game(self) -> Game: ...
    @property
    def to_act(self) -> int | None:
        """The seat whose turn it is, CHANCE (-1), or None when the game is over."""

    @property
    def is_over(self) -> bool: ...
    @property
    def scores(self) -> tuple[int, ...]:
        """The points of each seat."""

    @property
    def payoffs(self) -> tuple[float, ...]:
        """What each seat is paid, once the game is over; where one wins, the shares of the win."""

    @property
    def table(self) -> Any:
        """All there is to see in words, as a value of the game's own type."""

    def __bytes__(self) -> bytes: ...
    def __hash__(self) -> int: ...

@final
class Position(GameState):
    """A table with nothing hidden."""

    def legal_actions(self) -> list[Action]:
        """Everything the player to act may do, whole decisions, each once; empty when the game is over."""

    def play(self, action: Action | str) -> Position:
        """The position after `action` (an Action or its text); an illegal one is refused with what was legal."""

    def clone(self) -> Position:
        """Another object with the same bytes. Positions never change, so only measurements need it."""

    def play_out(self, seed: int | Rng = 0) -> Position:
        """The end of a game that goes on from here with uniformly random decisions."""

    def seen(self, action: Action | str, player: int | str) -> str:
        """The text of `action`, about to be played here, as `player` will see it; for `View.play` and records."""

    def seen_action(self, action: Action | str, player: int | str) -> Action:
        """Return `action`, about to be played here, as `player` sees it, without the cards that it shows."""

    def view(self, player: int | str) -> View:
        """What `player` sees."""

    @property
    def fault(self) -> str | None:
        """The first invariant that this table breaks; None as long as the engine is right."""

@final
class View(GameState):
    """What one player, the observer, sees of a table; the rest is blotted out."""

    @property
    def observer(self) -> int: ...
    @property
    def fault(self) -> str | None:
        """The first invariant that this table breaks; None as long as the engine is right."""

    @property
    def key(self) -> int:
        """A 64-bit number, equal for views that look the same to their observer."""

    def legal_actions(self) -> list[Action]:
        """What the observer may do; empty unless it is the observer's turn."""

    @property
    def forced_action(self) -> Action | None:
        """The one decision that the observer can take, if all others see that there is no other; else None. An answer
        to another forced one, given sooner than to a choice, would tell them what they do not see."""

    def play(self, action: Action | str) -> View:
        """The view after an action that the observer saw: an Action, or text.

        Text names the cards that the action shows him, as in `reveal = Heir`; a card placed by another is `?`.
        """

    def place_of(self, spot: int) -> dict[str, int | str]:
        """Where a face-down card lies, as a dict in the game's own terms; `spot` is its number in a belief."""

    def count_worlds(self) -> int:
        """How many positions fit this view."""

    def worlds(self) -> Iterator[Position]:
        """All positions that fit this view, one after the other. See `count_worlds` before asking for many."""

    def sample_world(self, seed: int | Rng = 0) -> Position:
        """Sample a position that fits this view, as often as deals lead to it; `seed` is a number or an Rng."""

from collections.abc import Iterator, Mapping
from typing import Any, final

from engine_cy.learned.weights import Weights
from engine_cy.pictures import Picture, Theme
from engine_cy.support.rng import Rng
from engine_cy.tables import Fault

def read_seat(seat: int | str, n_players: int, field: str = "player") -> int:
    """Return the number of a seat from its number or its letter."""

def check_interface(version: int, api_size: int, knowledge_size: int) -> None:
    """Refuse the import of a game that was built with other headers: its methods must not run."""

class Game:
    """A game under one ruleset, for a number of players. Made by `new_game`; one object serves all threads."""

    @staticmethod
    def editions_of(game: str) -> list[str]:
        """Return the editions of the game with this id, the default one first."""

    @property
    def id(self) -> str: ...
    @property
    def n_players(self) -> int: ...
    @property
    def ruleset(self) -> Any:
        """The ruleset, a value of the game's own type."""

    @property
    def spec(self) -> tuple[str, str | Mapping[str, bool | int | str] | None, int]:
        """The arguments of `new_game` for this game."""

    @property
    def interface_fault(self) -> str | None:
        """The reason why no search can use the game, which was built with other headers; None for a sound game."""

    @property
    def has_knowledge(self) -> bool:
        """Whether the game has learned knowledge: a prior, a playout policy and an evaluation."""

    @property
    def weights(self) -> tuple[Weights, ...]:
        """The weights of the learned knowledge."""

    def check_knowledge(self) -> None:
        """Raise InvalidRulesetError if weights of the learned knowledge do not fit the rules of the game."""

    @property
    def has_history(self) -> bool:
        """Whether the game can be followed from one seat, because it defines what each seat sees of an action."""

    @property
    def has_beliefs(self) -> bool:
        """Whether the game has a belief model, which weighs the possible hidden cards."""

    @property
    def has_spectator(self) -> bool:
        """Whether the game has the view of a spectator, which games by other authors may lack."""

    def check(self) -> int:
        """Raise the pending error of this thread: the C functions of a game by another author cannot raise theirs."""

    @property
    def state_size(self) -> int:
        """Bytes of a position."""

    @property
    def seats(self) -> str:
        """The letters of the seats."""

    def name_of(self, kind: int) -> str:
        """Return the name of the card with the game's number `kind`."""

    @property
    def has_fixed_first(self) -> bool:
        """Whether the game itself chooses the first player: a deal then has `first` 0."""

    def deal(self, seed: int | Rng = 0, first: int | str = 0) -> Position:
        """Deal the start of a game at random, by `seed`: a number or an Rng."""

    def start(self, deal: Any, first: int | str = 0) -> Position:
        """Return the start of a game with a given deal, in the game's own terms.

        Oriflamme: for each seat, a list of the cards that it has set aside.
        """

    def position(self, text: str) -> Position:
        """Read a position from its text."""

    def view(self, text: str) -> View:
        """Read a view from its text, which names the observer."""

    def complete(self, parts: Any) -> Any:
        """Return a `Table` with the fields that were omitted, each in the simplest way that fits the others."""

    def faults(self, parts: Any) -> list[Fault]:
        """Return all faults of a table in words, which may omit fields: none if a game can be played on from it."""

    def from_parts(self, parts: Any) -> Position | View:
        """Make the position, or the view if there is an observer, of a `Table`, which may omit fields."""

    def action(self, text: str) -> Action:
        """Read an action from its text."""

    def action_from_fields(self, fields: dict[str, Any]) -> Action:
        """Make an action of its parts, as `Action.fields` has them. They must be valid."""

    def action_from_steps(self, steps: tuple[int, ...]) -> Action:
        """Return the action with the `code` that is `steps`."""

    def position_from_bytes(self, state: bytes) -> Position:
        """Restore a position from its bytes. Raises InvalidPositionError if they are not a table of this game."""

    def view_from_bytes(self, state: bytes, observer: int) -> View:
        """Restore a view from its bytes. Raises InvalidViewError if they are not a view of this game."""

    def read_deal(self, lines: list[str], first: int, observer: int | None) -> Position | View:
        """Read the start in a record's header: a position, or a view if there is an observer."""

    def write_deal(self, start: Position | View) -> list[str] | None:
        """Return the lines of a record's header that describe `start`, or None if it is not the start of a game."""

    def picture(self, at: GameState) -> Picture:
        """Return the picture of a position or view; a game without one of its own shows its text."""

    def __hash__(self) -> int: ...

@final
class Action:
    """One whole decision, such as `place Spy front` or `move 2 to 5`."""

    @property
    def game(self) -> Game: ...
    @property
    def code(self) -> tuple[int, ...]:
        """The action as numbers, one per step."""

    @property
    def fields(self) -> dict[str, Any]:
        """The parts of the action, `type` first."""

    @property
    def type(self) -> str: ...
    def __hash__(self) -> int: ...

class GameState:
    """Base class of positions and views: a game, and the bytes of a state."""

    @property
    def game(self) -> Game: ...
    @property
    def to_act(self) -> int | None:
        """The seat to act, CHANCE (-1), or None when the game is over."""

    @property
    def is_over(self) -> bool: ...
    @property
    def scores(self) -> tuple[int, ...]:
        """The points of each seat."""

    @property
    def round(self) -> int:
        """The current round, from 1; always 1 in a game without rounds."""

    @property
    def payoffs(self) -> tuple[float, ...]:
        """The payoff of each seat, once the game is over; in a game with a winner, the shares of the win."""

    @property
    def parts(self) -> Any:
        """The table in words, with the secrets that its observer knows, as classes of the game's own module."""

    @property
    def table(self) -> Any:
        """The public part of the table in words."""

    def to_svg(self, theme: Theme = "auto", lang: str = "en") -> str:
        """Draw the table, with the cards that the position or view holds.

        `theme`: "auto", "light" or "dark"; `lang`: "en", "fr" or "de". Games of `eminence.new_game` have
        the words of all three, those of the engine alone English ones.
        """

    def _repr_svg_(self) -> str: ...
    def __bytes__(self) -> bytes: ...
    def __hash__(self) -> int: ...

@final
class Position(GameState):
    """A table with nothing hidden."""

    def legal_actions(self) -> list[Action]:
        """Return the legal decisions of the player to act, each once; none when the game is over."""

    def play(self, action: Action | str) -> Position:
        """Return the position after `action`, an Action or its text.

        Raises IllegalActionError, which lists the legal actions.
        """

    def clone(self) -> Position:
        """Return a new object with the same bytes. Only measurements need it, as positions are immutable."""

    def play_out(self, seed: int | Rng = 0) -> Position:
        """Play to the end by uniformly random decisions; return the last position."""

    def seen(self, action: Action | str, player: int | str) -> str:
        """Return the text of `action`, legal here, as `player` will see it: for `View.play` and records."""

    def seen_action(self, action: Action | str, player: int | str) -> Action:
        """Return `action`, legal here, as `player` will see it, without the cards that it shows."""

    def view(self, player: int | str) -> View:
        """Return the view of `player`."""

    @property
    def fault(self) -> str | None:
        """The first invariant that the table violates. A value other than None is a bug in the engine."""

@final
class View(GameState):
    """A table as one player, the observer, sees it; all other facts are masked."""

    @property
    def observer(self) -> int: ...
    @property
    def fault(self) -> str | None:
        """The first invariant that the table violates. A value other than None is a bug in the engine."""

    @property
    def key(self) -> int:
        """A 64-bit hash, equal for views that look the same to their observer."""

    def legal_actions(self) -> list[Action]:
        """Return the legal decisions of the observer; none if another player is to act."""

    @property
    def forced_action(self) -> Action | None:
        """The only legal decision, if the other players see that it is the only one; else None.

        A faster answer to a secretly forced decision would reveal hidden cards through its timing.
        """

    def play(self, action: Action | str) -> View:
        """Return the view after an action that the observer saw, an Action or text.

        Text names the cards that the action shows to the observer, as in `reveal = Heir`. A card that another player
        places is `?`.
        """

    def place_of(self, spot: int) -> dict[str, int | str]:
        """Return the place of a face-down card, as a dict in the game's own terms; `spot` is its number in a belief."""

    def count_worlds(self) -> int:
        """Return the number of positions that fit the view."""

    def worlds(self) -> Iterator[Position]:
        """Yield all positions that fit the view. There may be billions: see `count_worlds`."""

    def sample_world(self, seed: int | Rng = 0) -> Position:
        """Sample a position that fits the view, weighted by the deals that lead to it. `seed`: a number or Rng."""

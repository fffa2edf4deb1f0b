"""The adapter of a game: its messages, names, descriptions and drawings, beyond its text notation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from google.protobuf.message import Message

from eminence.v1 import rules_pb2, solver_pb2
from engine_cy import Action, Game, Position, View
from engine_cy.record import write_ruleset
from engine_cy.seats import SEATS
from server.refusals import Refusal
from solver.named_beliefs import HiddenCard, SeatBelief
from solver.secrecy import Information

# The argument of `new_game`.
Ruleset: TypeAlias = str | Mapping[str, Any] | None


class Names(NamedTuple):
    """The names of a game or a card in English, French and German."""

    en: str
    fr: str
    de: str

    def message(self) -> rules_pb2.Names:
        return rules_pb2.Names(en=self.en, fr=self.fr, de=self.de)


class Span(NamedTuple):
    """A piece of a drawing on a terminal: text in a `rich` style, and in the colour of a seat, if it has one."""

    text: str
    style: str = ""
    seat: int | None = None


class DrawnCard(NamedTuple):
    """A card to draw in a report; `face` is "up", "known" (face down, known to the observer) or "back"."""

    letter: str
    name: str
    face: str
    value: int = 0
    tokens: int = 0
    is_acting: bool = False


class Picture(NamedTuple):
    """A table to draw in a report: slots of a queue, each from its top card down, rows of locations, or a text.

    `hand` is that of the observer; `owned` holds the points or gold of each seat.
    """

    slots: list[list[DrawnCard]] | None = None
    rows: Sequence[tuple[str, list[DrawnCard]]] = ()
    text: str = ""
    hand: list[str] | None = None
    owned: Sequence[tuple[str, int]] = ()
    unit: str = "points"
    selected: Sequence[tuple[str, str]] = ()


class Table(NamedTuple):
    """A table of `eminence rules`; `right` names the columns that are aligned to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()
    heading: str = ""


class GameAdapter:
    """A game without messages of its own: its positions, views and actions are text, and answers carry text.

    A game with messages has a subclass, which `server.games` finds. Readers may refuse a message and name its field;
    writers cannot fail. `game` is a game of the adapter, `Any` so that a subclass can name its class.
    """

    # The name of its tables, actions and deals in the contract's oneofs, which is that of its .proto file.
    member: ClassVar[str] = ""
    # The content of its .proto file, for docs/contract.md.
    about: ClassVar[str] = ""
    # The field of `SeenAction` for the cards that an action shows.
    shown_field: ClassVar[str] = ""
    # The keys of a card in the JSON of `eminence rules`, beyond `game`, `names` and `then`.
    card_keys: ClassVar[tuple[str, ...]] = ()

    def __init__(self, game_id: str, names: Names | None = None) -> None:
        self.game_id = game_id
        title = game_id.replace("_", " ").capitalize()
        self.names = names or Names(title, title, title)

    # --- rulesets ---

    def read_changes(self, message: Any, field: str) -> dict[str, Any]:
        """Read the changes to an edition, the member of the oneof that has the game's id."""
        raise NotImplementedError

    def write_changes(self, message: Any, changes: Mapping[str, Any]) -> None:
        """Write the changes to an edition into the member of the oneof that has the game's id."""
        raise NotImplementedError

    def changes_field(self, path: str) -> str:
        """Return the field for a path of the engine, both within the changes."""
        return path

    def spelled_out(self, edition: str) -> Ruleset:
        """Return an edition with all its switches."""
        return edition

    def edition(self, game: Any) -> str:
        """Return the name of a game's edition."""
        return write_ruleset(game)

    # --- messages: the readers need a `member`; a writer returns None if text replaces the message ---

    def read_view(self, game: Any, message: Any, field: str, known: Any) -> View:
        """Read a view. `known` is the table at the end of its history, or None."""
        raise NotImplementedError

    def write_view(self, view: View) -> Message | None:
        return None

    def read_position(self, game: Any, message: Any, field: str) -> Position:
        raise NotImplementedError

    def write_position(self, position: Position, message: Any) -> bool:
        """Write a position with nothing hidden into its member of the oneof; False: text is written instead."""
        return False

    def read_deal(self, game: Any, message: Any, field: str) -> Position:
        raise NotImplementedError

    def write_deal(self, start: Position) -> Message | None:
        """Write the deal of the game that starts at `start`."""
        return None

    def read_action(self, game: Any, message: Any, field: str) -> Action:
        raise NotImplementedError

    def write_action(self, action: Action) -> Message | None:
        return None

    def read_shown(self, game: Any, cards: Sequence[int], field: str) -> list[str]:
        """Read the names of the cards in `shown_field`."""
        raise NotImplementedError

    def tidy_shown(self, game: Any, names: Sequence[str], field: str) -> list[str]:
        """Return the names of shown cards in the engine's spelling."""
        return list(names)

    def write_shown(self, game: Any, names: Sequence[str]) -> Sequence[int] | None:
        """Return the values of shown cards for `shown_field`; None if the contract lacks one."""
        return None

    def write_belief(self, message: solver_pb2.SeatBelief, belief: SeatBelief, game: Any) -> None:
        """Write the marginals of a seat's hidden cards."""
        for name, probability in belief.hand.items():
            message.hand.add(name=name, probability=probability)
        for card in belief.cards:
            spot = message.face_down.add()
            for name, probability in card.kinds.items():
                spot.cards.add(name=name, probability=probability)

    def write_information(self, message: solver_pb2.CardInformation, card: Information, game: Any) -> None:
        """Write an own card and its place."""
        message.name = card.card

    # --- the rules as messages ---

    def cards(self, game: Any) -> Iterator[rules_pb2.CardInfo]:
        """Yield the cards of a game."""
        yield from ()

    def switches(self) -> Iterator[rules_pb2.SwitchInfo]:
        """Yield the switches in which editions differ."""
        yield from ()

    # --- words and pictures for the terminal and reports ---

    def card_name(self, card: solver_pb2.CardProbability, game: Any) -> str:
        """Return the English name of a card in an answer."""
        return card.name

    def card_notation(self, card: solver_pb2.CardProbability, game: Any) -> str:
        """Return the name of a card in an answer as text notation has it."""
        return card.name

    def own_card(self, card: solver_pb2.CardInformation) -> tuple[str, str]:
        """Return the English name of an own card in an answer, and its place."""
        return card.name, ""

    def kind_names(self, game: Any) -> dict[str, str]:
        """Map the names of cards in beliefs to English names."""
        return {}

    def place_of(self, card: HiddenCard) -> str:
        """Return the place of another player's face-down card."""
        return " ".join(f"{name} {value}" for name, value in card.place.items())

    def round_of(self, table: View | Position) -> int:
        """Return the round of a table, from 1."""
        return 1

    def draw_heading(self, view: View | Position) -> str:
        """Return the beginning of the line above a drawing, such as the round."""
        return ""

    def draw(self, view: View | Position) -> Iterator[Span]:
        """Draw a table with the cards that are known in `view`, for a terminal of 80 columns."""
        yield Span(f"{view}\n")

    def owned(self, view: View | Position) -> Sequence[int]:
        """Return the points or gold of each seat."""
        return view.scores

    def picture(self, view: View) -> Picture:
        """Return the table to draw in a report, as its observer sees it."""
        return Picture(text=str(view), owned=owned_by_letter(self.owned(view)))

    # --- the rules in words: dictionaries are the JSON of `eminence rules` ---

    def describe_switches(self) -> list[dict[str, Any]]:
        """Return the switches, with their values in each edition."""
        return []

    def describe_cards(self, game: Any) -> Iterator[dict[str, Any]]:
        """Yield the rows of the game's table of cards."""
        yield from ()

    def describe_game(self, game: Any) -> dict[str, Any]:
        """Return the numbers and tables of a game, and the values of its switches."""
        return {"numbers": {}}

    def tables(self, description: Mapping[str, Any]) -> Iterator[Table]:
        """Yield the tables of a described game: its cards first."""
        yield from ()

    def card_title(self, card: Mapping[str, Any]) -> str:
        """Return the name of a described card, as its heading has it."""
        return str(card["names"]["en"])

    def card_lines(self, card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the labels and texts of a described card, after its names."""
        yield "and then", card["then"]


def other_game(game: Game, path: str) -> Refusal:
    """Return the refusal of a message that belongs to another game."""
    return Refusal("CONTRADICTION", path, f"is for another game than {game.id}")


def as_text(value: object) -> str:
    """Return the text of a switch's value."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def drawn_hands(view: View | Position, name_of: Callable[[Any], str]) -> Iterator[Span]:
    """Draw the known hands of a table with `hands`, a line for each."""
    for seat, hand in enumerate(view.table.hands):
        if hand is not None:
            whose = f"Your hand ({SEATS[seat]})" if isinstance(view, View) else f"Hand of {SEATS[seat]}"
            yield Span(f"{whose}: {', '.join(map(name_of, hand)) or 'empty'}\n")


def owned_by_letter(numbers: Sequence[int]) -> list[tuple[str, int]]:
    return [(SEATS[seat], number) for seat, number in enumerate(numbers)]

"""The adapter of a game: its messages, names, descriptions and drawings, beyond its text notation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from google.protobuf.message import Message

from eminence.v1 import rules_pb2, view_pb2
from engine_cy import Action, Game, Position, View
from engine_cy.record import write_ruleset
from engine_cy.seats import CHANCE_SEAT, SEATS
from server.codec.fields import ACTION_TEXT_MAX, check_text
from server.games.narration import ANYONE, COMMON, Effects, Reader, changed
from server.languages import DEFAULT, LANGUAGES, words_of
from server.refusals import Refusal, missing

# The member of oneofs for messages of a game that the contract does not name.
TYPED = "typed"
# The argument of `new_game`.
Ruleset: TypeAlias = str | Mapping[str, Any] | None


class Names(NamedTuple):
    """The names of a game or a card in English, French and German."""

    en: str
    fr: str
    de: str

    @classmethod
    def of(cls, write: Callable[[str], str]) -> Names:
        """Return the texts that a function writes, given each language."""
        return cls(*map(write, LANGUAGES))

    def in_language(self, language: str) -> str:
        return self[LANGUAGES.index(language)]

    def message(self) -> rules_pb2.Names:
        return rules_pb2.Names(en=self.en, fr=self.fr, de=self.de)


class StyledText(NamedTuple):
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

    `hand` and the cards set `aside` are those of the observer; `owned` holds the points or gold of each seat, `piles`
    the discarded cards of each seat that has some.
    """

    slots: list[list[DrawnCard]] | None = None
    rows: Sequence[tuple[str, list[DrawnCard]]] = ()
    text: str = ""
    hand: list[str] | None = None
    owned: Sequence[tuple[str, int]] = ()
    selected: Sequence[tuple[str, str]] = ()
    piles: Sequence[tuple[str, list[str]]] = ()
    aside: Sequence[str] = ()


class Draft(NamedTuple):
    """A view that may be impossible: all its faults as refusals, the view without faults, and the filled-in message."""

    problems: Sequence[Refusal]
    view: View | None
    message: Message | None


class RulesTable(NamedTuple):
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

    # The name of its tables, actions and deals in the contract's oneofs, which is that of its .proto file. Empty: they
    # are text, or a game outside the contract has messages of its own, which oneofs hold as `typed`.
    member: ClassVar[str] = ""
    # The content of its .proto file, for docs/contract.md.
    about: ClassVar[str] = ""
    # The unit of `owned`: "points" or "gold".
    unit: ClassVar[str] = "points"
    # The keys of a card in the JSON of `eminence rules`, beyond `game`, `names` and `then`.
    card_keys: ClassVar[tuple[str, ...]] = ()

    def __init__(self, game_id: str, names: Names | None = None) -> None:
        self.game_id = game_id
        title = game_id.replace("_", " ").capitalize()
        self.names = names or Names(title, title, title)

    # --- rulesets ---

    @property
    def changes_member(self) -> str:
        """The member of the oneof for changes to an edition."""
        return self.game_id if self.member else TYPED

    def read_changes(self, message: Any, field: str) -> dict[str, Any]:
        """Read the changes to an edition."""
        raise NotImplementedError

    def write_changes(self, changes: Mapping[str, Any]) -> Message:
        """Write the changes to an edition."""
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

    # --- messages: `server.games.message_adapter` has those of games with messages ---

    # The plans of the game's messages, and that of the changes to its editions; None where there are no messages.
    plans: ClassVar[Any] = None
    changes: Any = None

    def read_view(self, game: Any, message: Any, field: str, known: View | None) -> View:
        """Read a view. `known` is the view at the end of its history, or None."""
        raise NotImplementedError

    def write_view(self, view: View) -> Message | None:
        """Write a view; return None if text replaces the message, here as in the other writers."""
        return None

    def read_position(self, game: Any, message: Any, field: str) -> Position:
        raise NotImplementedError

    def write_position(self, position: Position) -> Message | None:
        return None

    def read_deal(self, game: Any, message: Any, field: str) -> Position:
        raise NotImplementedError

    def write_deal(self, start: Position) -> Message | None:
        """Write the deal of the game that starts at `start`."""
        return None

    def read_action(self, game: Any, message: Any, field: str) -> Action:
        raise NotImplementedError

    def write_action(self, action: Action, message: view_pb2.Action) -> None:
        """Write an action into an empty message: its text, and the game's own message if there is one."""
        message.text = str(action)

    # --- cards and their places in messages ---

    def read_card(self, game: Any, message: view_pb2.Card, field: str) -> str:
        """Return the name of a card in the engine's spelling."""
        member = message.WhichOneof("card")
        if member not in (None, self.member):
            raise Refusal("CONTRADICTION", f"{field}.{member}", f"is a card of another game than {self.game_id}")
        if not message.name:
            raise missing(field, "a name is required")
        return self.spell_card(game, check_text(message.name, ACTION_TEXT_MAX, f"{field}.name"), f"{field}.name")

    def spell_card(self, game: Any, name: str, field: str) -> str:
        """Return the name of a card in the engine's spelling; refuse a card that the game does not have."""
        return name

    def write_card(self, game: Any, name: str) -> view_pb2.Card:
        """Write a card. The message may be cached and shared, so do not change it."""
        return view_pb2.Card(name=name)

    def write_spot(self, place: Mapping[str, int | str]) -> view_pb2.Spot:
        """Write the place of a hidden card."""
        return view_pb2.Spot(text=self.place_of(place))

    # --- the rules as messages ---

    def cards(self, game: Any) -> Iterator[rules_pb2.CardInfo]:
        """Yield the cards of a game."""
        yield from ()

    def switches(self) -> Iterator[rules_pb2.SwitchInfo]:
        """Yield the switches in which editions differ."""
        yield from ()

    def edition_names(self, edition: str) -> Names:
        """Return the names of an edition; by default its id."""
        return Names(edition, edition, edition)

    def locations(self, game: Any) -> Iterator[rules_pb2.LocationInfo]:
        """Yield the locations into which cards are placed; none in a game whose table has one row."""
        yield from ()

    # --- drafts ---

    def read_draft(self, game: Any, message: Any, field: str, *, fills_in: bool) -> Draft:
        """Read a view's message that may be incomplete or impossible."""
        raise NotImplementedError

    # --- words and pictures for the terminal and reports ---

    def choice(self, before: View | Position, action: str, reader: Reader = ANYONE) -> str:
        """Return a move that the seat to act may choose, as a request; by default its notation."""
        return action

    def narrate(self, before: View | Position, seen: str, after: View | Position, reader: Reader = ANYONE) -> str:
        """Return an action and what followed as a sentence; by default its seat and its notation.

        `seen` is the action as the observer of the tables saw it (`Position.seen`). The sentence holds nothing that
        the two tables hide.
        """
        seat = before.to_act
        return f"{CHANCE_SEAT if seat is None or seat < 0 else reader.names[seat]} {seen}"

    def effects(self, before: View | Position, seen: str, after: View | Position) -> Effects:
        """Return what an action did, as the observer of the tables saw it; by default the changes of `owned`."""
        return Effects(changed(self.owned(before), self.owned(after)))

    def prompt(self, view: View | Position, reader: Reader = ANYONE) -> str:
        """Return the question to the reader, who is to act; empty for a game without words."""
        return ""

    def kind_names(self, game: Any, language: str = DEFAULT) -> dict[str, str]:
        """Map the names of cards in beliefs to their names in a language."""
        return {}

    def place_of(self, place: Mapping[str, int | str], language: str = DEFAULT) -> str:
        """Return the place of a hidden card in words."""
        return " ".join(f"{name} {value}" for name, value in place.items())

    def place_in(self, spot: view_pb2.Spot, language: str = DEFAULT) -> str:
        """Return the place that `write_spot` wrote, in words."""
        return spot.text

    def round_of(self, table: View | Position) -> int:
        """Return the round of a table, from 1."""
        return 1

    def is_choice_simultaneous(self, table: View | Position) -> bool:
        """Return whether the seat to act chooses at the same time as others, and no seat sees the others' choices."""
        return False

    def draw_heading(self, view: View | Position, language: str = DEFAULT) -> str:
        """Return the beginning of the line above a drawing, such as the round."""
        return ""

    def draw(self, view: View | Position, language: str = DEFAULT) -> Iterator[StyledText]:
        """Draw a table with the cards that are known in `view`, for a terminal of 80 columns."""
        yield StyledText(f"{view}\n")

    def owned(self, view: View | Position) -> Sequence[int]:
        """Return the points or gold of each seat."""
        return view.scores

    def picture(self, view: View, language: str = DEFAULT) -> Picture:
        """Return the table to draw in a report, as its observer sees it."""
        return Picture(text=str(view), owned=owned_by_letter(self.owned(view)))

    def picture_names(self, game: Any, language: str) -> dict[str, str]:
        """Map the English names of the game, its cards and places in the engine's pictures to those in a language."""
        return {}

    # --- the rules in words: dictionaries are the JSON of `eminence rules` ---

    def describe_switches(self, language: str = DEFAULT) -> list[dict[str, Any]]:
        """Return the switches, with their meanings in a language and their values in each edition."""
        return []

    def describe_cards(self, game: Any, language: str = DEFAULT) -> Iterator[dict[str, Any]]:
        """Yield the rows of the game's table of cards, with their effects in a language."""
        yield from ()

    def describe_game(self, game: Any, language: str = DEFAULT) -> dict[str, Any]:
        """Return the numbers and tables of a game, and the values of its switches."""
        return {"numbers": {}}

    def number_name(self, key: str, language: str = DEFAULT) -> str:
        """Return the name of a number of `describe_game`."""
        return key.replace("_", " ")

    def tables(self, description: Mapping[str, Any], language: str = DEFAULT) -> Iterator[RulesTable]:
        """Yield the tables of a described game: its cards first."""
        yield from ()

    def card_title(self, card: Mapping[str, Any], language: str = DEFAULT) -> str:
        """Return the name of a described card, as its heading has it."""
        return str(card["names"][language])

    def card_lines(self, card: Mapping[str, Any], language: str = DEFAULT) -> Iterator[tuple[str, str]]:
        """Yield the labels and texts of a described card, after its names."""
        yield words_of(COMMON, language).say("and_then"), card["effect"]

    def card_text(self, card: Mapping[str, Any], language: str = DEFAULT) -> str:
        """Return what a described card does, for a player."""
        return str(card["effect"])


def names_from(area: str, key: str) -> Names | None:
    """Return the message of a key in each language; None if the catalogues lack it."""
    is_known = key in words_of(area, DEFAULT).messages
    return Names.of(lambda language: words_of(area, language).say(key)) if is_known else None


def readers_of(game: Game, names: Sequence[str]) -> list[Reader]:
    """Return a reader in each language. A player without a name has the letter of the seat."""
    called = [name or SEATS[seat] for seat, name in enumerate(names or [""] * game.n_players)]
    return [Reader(language, None, called) for language in LANGUAGES]


def in_words(tell: Callable[[Reader], str], readers: Sequence[Reader]) -> rules_pb2.Names:
    """Return what a function tells readers in each language."""
    return Names(*map(tell, readers)).message()


def switch_info(area: str, name: str, values: Iterable[str]) -> rules_pb2.SwitchInfo:
    """Return the description of a switch, in the words of an area."""
    names, meanings = names_from(area, f"switch.{name}"), names_from(area, f"switch.{name}.meaning")
    assert names is not None
    assert meanings is not None
    return rules_pb2.SwitchInfo(
        name=name, meaning=meanings.en, values=values, names=names.message(), meanings=meanings.message()
    )


def as_text(value: object) -> str:
    """Return the text of a switch's value, in the notation of rulesets."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def other_names(names: Mapping[str, str], language: str) -> tuple[str, str]:
    """Return the other languages than the reader's, as a heading, and a card's names in them."""
    others = [other for other in LANGUAGES if other != language]
    return " / ".join(others), " / ".join(names[other] for other in others) if any(names.values()) else ""


def drawn_hands(view: View | Position, name_of: Callable[[Any], str], language: str) -> Iterator[StyledText]:
    """Draw the known hands of a table, a line for each."""
    for seat in range(view.game.n_players):
        own = view.parts.secrets_of(seat)
        if own is not None:
            yield drawn_cards(view, "hand", seat, map(name_of, own.hand), language)


def drawn_cards(view: View | Position, key: str, seat: int, names: Iterable[str], language: str) -> StyledText:
    """Draw a line of cards that a seat has; the observer of a view is addressed."""
    words = words_of(COMMON, language)
    cards = ", ".join(names) or words.say("empty")
    return StyledText(words.say(f"{key}.you" if isinstance(view, View) else key, who=SEATS[seat], cards=cards) + "\n")


def drawn_piles(piles: Sequence[Sequence[Any]], name_of: Callable[[Any], str], language: str) -> Iterator[StyledText]:
    """Draw the discarded cards of each seat on one line; nothing before the first one."""
    if not any(piles):
        return
    yield StyledText(words_of(COMMON, language).say("piles"), "dim")
    for seat, pile in enumerate(piles):
        yield StyledText("  ")
        yield StyledText(SEATS[seat], "bold", seat)
        yield StyledText(f" {', '.join(map(name_of, pile)) or '-'}")
    yield StyledText("\n")


def piles_by_letter(piles: Sequence[Sequence[Any]], name_of: Callable[[Any], str]) -> list[tuple[str, list[str]]]:
    return [(SEATS[seat], list(map(name_of, pile))) for seat, pile in enumerate(piles) if pile]


def owned_by_letter(numbers: Sequence[int]) -> list[tuple[str, int]]:
    return [(SEATS[seat], number) for seat, number in enumerate(numbers)]

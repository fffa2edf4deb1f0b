"""Moves, cards and prompts in words: complete in each language, true to the view, and nothing more than it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

import pytest
from expansions import EXPANSIONS

from eminence.v1 import view_pb2
from engine_cy import Game, Position, View, editions_of, game_ids, new_game
from engine_cy.oriflamme.editions import EDITIONS
from engine_cy.pictures import SIGNS
from engine_cy.seats import SEATS
from engine_cy.support.rng import Rng
from server.codec.fields import write_seat
from server.games import adapter_of, continuation, picture_words
from server.games.adapter import GameAdapter
from server.games.narration import COMMON, Reader
from server.languages import LANGUAGES, UnknownLanguageError, Words, check_language, language_of, words_of
from server.messages.answers import write_step
from server.report.review import Parts
from solver import Budget, solve

ROOT = Path(__file__).parents[2]
# Folders with catalogues, as modules.
AREAS = sorted(
    str(path.parent.relative_to(ROOT)).replace("/", ".").removesuffix(".words")
    for path in ROOT.glob("server/**/words/en.py")
)
GAME_AREAS = [area for area in AREAS if area.startswith(COMMON)]
# Rulesets that together ask every question and have every card.
TABLES = [
    ("oriflamme", "en-2019", 3),
    ("oriflamme", "de-2019", 4),
    ("oriflamme", "revised", 5),
    ("oriflamme_prototype", None, 3),
    ("oriflamme_prototype", None, 2),
    ("castle_village_port", None, 3),
    ("castle_village_port", None, 5),
    ("kuhn_poker", None, 2),
    ("leduc_poker", None, 2),
]
OWN_CARDS = {
    "cards": [
        {"value": 9, "name": "Pickpocket", "when": "immediate", "effect": "rob_neighbour", "amount": 1},
        *({"value": value, "name": "", "when": "never", "effect": "none"} for value in range(1, 9)),
    ],
    "rewards": {"port": []},
    "rounds": 2,
    "hand_size": 4,
}


class Move(NamedTuple):
    """A move as a seat saw it, and the tables of that seat before and after it; of all seats, if nothing is hidden."""

    before: View | Position
    seen: str
    after: View | Position
    seat: int | None


def moves(game_id: str, ruleset: Any, players: int, seed: int) -> Iterator[Move]:
    """Play a game at random; yield each move as each seat and the referee saw it."""
    rng = Rng(seed, 1)
    position = new_game(game_id, ruleset, players).deal(seed, first=seed % players)
    while not position.is_over:
        options = position.legal_actions()
        action = options[rng.below(len(options))]
        after = position.play(action)
        yield Move(position, str(action), after, None)
        for seat in range(players):
            seen = position.seen(action, seat) if position.game.has_history else "?"
            yield Move(position.view(seat), seen, after.view(seat), seat)
        position = after


# --- catalogues ---------------------------------------------------------------------------------------------------


def catalogue(area: str, language: str) -> tuple[dict[str, str], dict[str, tuple[str, str, str]]]:
    module = import_module(f"{area}.words.{language}")
    return module.MESSAGES, getattr(module, "NOUNS", {})


def placeholders(message: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message) if name}


@pytest.mark.parametrize("area", AREAS)
def test_the_languages_of_an_area_have_the_same_keys_and_placeholders(area):
    english, nouns = catalogue(area, "en")
    for language in LANGUAGES:
        messages, names = catalogue(area, language)
        assert list(messages) == list(english), language
        assert {key: placeholders(text) for key, text in messages.items()} == {
            key: placeholders(text) for key, text in english.items()
        }, language
        assert list(names) == list(nouns), language
        assert {gender for _, gender, _ in names.values()} <= ({"", "n", "p"} if language == "en" else set("mfnp"))
        assert [key for key in messages if not messages[key]] == [key for key in english if not english[key]]


@pytest.fixture
def used(monkeypatch):
    """Return the keys and nouns of each area that are used from now on."""
    used: dict[str, set[str]] = defaultdict(set)
    make = Words.__init__

    class Watched(dict[str, Any]):
        def __init__(self, area: str, words: Mapping[str, Any]) -> None:
            super().__init__(words)
            self._used = used[area]

        def __getitem__(self, key: str) -> Any:
            self._used.add(key)
            return super().__getitem__(key)

        def get(self, key: str, default: Any = None) -> Any:
            self._used.add(key)
            return super().get(key, default)

    def make_watched(self: Any, area: str, language: str) -> None:
        make(self, area, language)
        self.messages, self.nouns = Watched(area, self.messages), Watched(area, self.nouns)

    words_of.cache_clear()
    monkeypatch.setattr(Words, "__init__", make_watched)
    yield used
    words_of.cache_clear()


def tell_everything(game_id: str, ruleset: Any, players: int, seeds: range) -> None:
    """Tell the cards, and the moves of some games in one language after the other."""
    adapter, game = adapter_of(game_id), new_game(game_id, ruleset, players)
    assert all(switch.names.fr and switch.meanings.de for switch in adapter.switches())
    for language in LANGUAGES:
        assert picture_words(game, language)
        for card in adapter.describe_cards(game, language):
            assert adapter.card_title(card, language)
            assert all(label and text for label, text in adapter.card_lines(card, language))
            assert adapter.card_text(card, language)
        tell_rules(game, language)
    for seed in seeds:
        for number, (before, seen, after, seat) in enumerate(moves(game_id, ruleset, players, seed)):
            language = LANGUAGES[number % 3]
            for you in {seat, None}:
                reader = Reader(language, you)
                assert "{" not in adapter.narrate(before, seen, after, reader)
                if before.to_act == seat:
                    assert adapter.prompt(before, reader)
                    assert all(adapter.choice(before, str(action), reader) for action in before.legal_actions())
            if number % 5 == 0:
                adapter.draw_heading(before, language)
                assert all(span.text for span in adapter.draw(before, language))
                if isinstance(before, View):
                    adapter.picture(before, language)


def tell_rules(game: Game, language: str) -> None:
    """Describe the rules of a game."""
    adapter = adapter_of(game.id)
    description = {"cards": list(adapter.describe_cards(game, language)), **adapter.describe_game(game, language)}
    for table in adapter.tables(description, language):
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert all(table.columns)
    assert all(adapter.number_name(key, language) for key in description["numbers"])
    assert all(switch["meaning"] for switch in adapter.describe_switches(language))
    assert all(switch.meanings.fr for switch in adapter.switches())
    assert all(adapter.edition_names(edition).de for edition in editions_of(game.id))
    assert all(getattr(location.meaning, language) for location in adapter.locations(game))


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_a_whole_game_is_told(table):
    game_id, ruleset, players = table
    tell_everything(game_id, ruleset, players, range(1))


@pytest.mark.slow
def test_every_word_of_the_games_is_used(used, monkeypatch):
    monkeypatch.setitem(EDITIONS, "sixteen", EXPANSIONS["sixteen"])
    tables: list[tuple[str, Any, int]] = [("oriflamme", "sixteen", 3), ("castle_village_port", OWN_CARDS, 3)]
    for game_id, ruleset, players in [*TABLES, *tables]:
        tell_everything(game_id, ruleset, players, range(8))
    for under in (0, 1):
        assert adapter_of("oriflamme").place_of({"slot": 2, "under": under})
    for game_id in game_ids():
        assert all(adapter_of(game_id).edition_names(edition).fr for edition in editions_of(game_id))
    for area in GAME_AREAS:
        messages, nouns = catalogue(area, "en")
        assert {*messages, *nouns} <= used[area], area


# The files that use the words of an area, beside the games.
USERS = {
    "server.cli": ("server/cli/**/*.py",),
    "server.report": ("server/report/**/*.*", "server/cli/commands/review.py"),
}
# The last word of these keys follows from a value.
KEYS_OF_VALUES = {
    "grade.": SIGNS,
    "part.": (*Parts._fields, "rest"),
    "way.": (*Parts._fields, "rest", "expected"),
    "unit.": ("points", "gold"),
    "review.": ("no", "win", "lost"),
}


@pytest.mark.parametrize("area", USERS)
def test_every_word_of_commands_and_reports_is_used(area):
    paths = [path for pattern in USERS[area] for path in ROOT.glob(pattern) if path.suffix in (".py", ".html")]
    text = "".join(path.read_text("utf-8") for path in paths if path.parent.name != "words")
    messages, _ = catalogue(area, "en")
    of_values = {f"{prefix}{value}" for prefix, values in KEYS_OF_VALUES.items() for value in values}
    assert {key for key in messages if f'"{key}"' not in text and f"'{key}'" not in text} <= of_values


# --- sentences ----------------------------------------------------------------------------------------------------


def told(position: Position, action: str, seat: int | None, language: str) -> str:
    """Tell a move to a seat, or without a reader's seat to all."""
    after = position.play(action)
    adapter = adapter_of(position.game.id)
    if seat is None:
        return adapter.narrate(position, action, after, Reader(language))
    seen = position.seen(action, seat)
    return adapter.narrate(position.view(seat), seen, after.view(seat), Reader(language, seat))


ARCHER = "A:Soldier(1) B:Heir >C:Archer* | round 4 | points 1 1 1"
AMBUSH = ">A:Soldier*/A:Spy B:Ambush(3) | round 4 | points 1 1 1"
OWN_HEIR = ">A:Spy A:Heir* C:Conspiracy | round 4 | points 1 1 1"
HEIR = ">A:Spy B:Heir* C:Lord* C:Conspiracy | round 4 | points 1 1 1"


@pytest.mark.parametrize(
    ("table", "action", "seat", "language", "sentence"),
    [
        (ARCHER, "target 0", 0, "en", "C's Archer takes your Soldier, +1"),
        (ARCHER, "target 0", 1, "en", "C's Archer takes A's Soldier, +1"),
        (ARCHER, "target 0", 2, "en", "Your Archer takes A's Soldier, +1"),
        (ARCHER, "target 2", None, "en", "C's Archer takes itself, +1"),
        (ARCHER, "target 0", 0, "fr", "L’Archer de C élimine votre Soldat, +1"),
        (ARCHER, "target 0", 1, "fr", "L’Archer de C élimine le Soldat d’A, +1"),
        (ARCHER, "target 0", 0, "de", "Die Bogenschützin von C entfernt deinen Soldaten, +1"),
        (ARCHER, "target 0", 1, "de", "Die Bogenschützin von C entfernt den Soldaten von A, +1"),
        (AMBUSH, "target 1", 1, "en", "A's Soldier takes your Ambush, +1; you +4 (Ambush); to the pile: A's Soldier"),
        (
            AMBUSH,
            "target 1",
            0,
            "de",
            "Dein Soldat entfernt den Hinterhalt von B, +1; B +4 (Hinterhalt); abgelegt: dein Soldat",
        ),
        (HEIR, "keep", 1, "en", "A leaves the card (slot 0) face down (tokens: 1); you +2 (Heir); C +2 (Lord)"),
        (OWN_HEIR, "keep", 0, "en", "You leave the Spy face down (tokens: 1); you +2 (Heir)"),
        (HEIR, "keep", 0, "fr", "Vous laissez l’Espion face cachée (jetons : 1) ; B +2 (Héritier) ; C +2 (Seigneur)"),
    ],
)  # fmt: skip
def test_a_move_is_told_as_its_reader_sees_it(table, action, seat, language, sentence):
    assert told(new_game("oriflamme", "en-2019", 3).position(table), action, seat, language) == sentence


def test_a_copied_ability_and_a_robbed_reader_are_told():
    table = new_game("oriflamme", "en-2019", 3).position("B:Spy* >A:Shapeshifter* C:Lord* | round 4 | points 1 1 1")
    table = table.play("copy 0")
    assert told(table, "rob B", 1, "en") == "A's Shapeshifter (as Spy) takes 1 point from you; C +1 (Lord)"
    assert told(table, "rob B", 1, "fr") == "Le Changeforme d’A (copie : Espion) vous vole 1 point ; C +1 (Seigneur)"
    assert told(table, "rob C", 1, "de") == "Die Formwandlerin von A (als Spionin) nimmt C 1 Punkt; C +1 (Gebieter)"


@pytest.mark.parametrize(("game_id", "players"), [("oriflamme", 3), ("castle_village_port", 3)])
def test_a_hidden_card_is_told_as_a_card(game_id, players):
    start = new_game(game_id, None, players).deal(1)
    for action in start.legal_actions():
        assert told(start, str(action), 1, "en") == told(start, str(start.legal_actions()[0]), 1, "en")


def test_names_of_seats_replace_their_letters():
    table = new_game("oriflamme", "en-2019", 3).position(ARCHER)
    reader = Reader("fr", 1, ("Émile", "Bo", "Anna"))
    seen = table.seen("target 0", 1)
    sentence = adapter_of("oriflamme").narrate(table.view(1), seen, table.play("target 0").view(1), reader)
    assert sentence == "L’Archer d’Anna élimine le Soldat d’Émile, +1"


def test_a_game_without_words_is_told_in_its_notation():
    adapter = GameAdapter("x")
    start = new_game("kuhn_poker").deal(1)
    assert adapter.narrate(start, "deal K", start.play("deal K")) == "* deal K"
    assert (adapter.choice(start, "deal K"), adapter.prompt(start)) == ("deal K", "")


# --- the choice of a language -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "fr_FR.UTF-8"}, "fr"),
        ({"LANG": "fr_FR.UTF-8", "LC_MESSAGES": "de"}, "de"),
        ({"LANG": "fr", "LC_MESSAGES": "de_AT", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "DE-ch", "LC_ALL": ""}, "de"),
        ({"LANG": "tlh_QO"}, "en"),
    ],
)
def test_the_environment_sets_the_language(environment, language):
    assert language_of(environment) == language


def test_an_unknown_language_is_refused_in_one_sentence():
    with pytest.raises(UnknownLanguageError, match=r"^'xx' is not one of en, fr, de$"):
        check_language("xx")
    with pytest.raises(UnknownLanguageError) as refused:
        check_language("x" * 10_000)
    assert len(str(refused.value)) < 100


# --- lines of play ------------------------------------------------------------------------------------------------


def line_in_words(view: View, *steps: str, language: str = "en") -> list[str]:
    """Tell the steps of a line, each such as `B place ? front`."""
    line = []
    for step in steps:
        letter, _, notation = step.partition(" ")
        line.append(view_pb2.SeenAction(seat=write_seat(SEATS.index(letter)), action=view_pb2.Action(text=notation)))
    told = continuation.told(adapter_of(view.game.id), view, line, Reader(language, view.observer))
    assert [f"{step.letter} {step.notation}" for step in told] == list(steps)
    return [step.words for step in told]


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", ["Leave the Soldier face down", "Reveal the card (slot 1)", "Take your Soldier"]),
        ("fr", ["Laisser le Soldat face cachée", "Révéler la carte (place 1)", "Éliminer votre Soldat"]),
        ("de", ["Den Soldaten verdeckt lassen", "Die Karte (Platz 1) aufdecken", "Deinen Soldaten entfernen"]),
    ],
)
def test_a_line_is_told_as_its_observer_may_see_it(language, words):
    view = new_game("oriflamme", "en-2019", 3).view(">A:Soldier B:? C:? | round 2 | points 1 1 1 | seen by A")
    assert line_in_words(view, "A keep", "B reveal", "B target 0", language=language) == words


def test_a_line_names_no_card_that_its_observer_has_not_seen():
    """B's card may be an Archer or an Assassination, so the target of its own slot has no name; nor has C's card."""
    table = ">B:? A:Heir C:? | round 2 | points 1 1 1 | piles Lord Lord Lord | seen by A"
    view = new_game("oriflamme", "en-2019", 3).view(table)
    words = line_in_words(view, "B reveal", "B target 0")
    assert words == ["Reveal the card (slot 0)", "target 0"]
    words = line_in_words(view, "B reveal", "B target 2", "A reveal")
    assert words == ["Reveal the card (slot 0)", "Take C's card (slot 2)", "Reveal the Heir"]


def test_an_impossible_line_keeps_its_notation():
    view = new_game("oriflamme", "en-2019", 3).view(">A:Soldier B:? C:? | round 2 | points 1 1 1 | seen by A")
    assert line_in_words(view, "A keep", "C keep", "B keep") == ["Leave the Soldier face down", "keep", "keep"]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_the_lines_of_searches_are_told(table):
    game_id, ruleset, players = table
    adapter, n_steps, n_told = adapter_of(game_id), 0, 0
    for number, (before, _, _, seat) in enumerate(moves(game_id, ruleset, players, 2)):
        if seat is None or seat != before.to_act or number % 7:
            continue
        assert isinstance(before, View)
        best = solve(before, Budget(iterations=400), seed=1).moves[0]
        line = [write_step(before.game, step) for step in best.line]
        told = continuation.told(adapter, before, line, Reader("en", seat))
        n_steps += len(told)
        n_told += sum(step.words != step.notation for step in told)
        if told:
            assert told[0].words == adapter.choice(before, str(best.action), Reader("en", seat))
    assert n_told >= 0.8 * n_steps

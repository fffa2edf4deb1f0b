"""The cards, switches and numbers of Oriflamme and its prototype in words, from the tables of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eminence.v1 import rules_pb2 as pb
from engine_cy.oriflamme import editions
from engine_cy.oriflamme.actions import ACTIONS
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED, Card
from engine_cy.oriflamme.words import Deed, Nature, Reach
from server.games.adapter import Names, RulesTable, as_text, other_names, switch_info
from server.games.narration import COMMON, check_catalogues
from server.games.oriflamme.narration import AREA, NO_CARDS
from server.languages import DEFAULT, LANGUAGES, Words, words_of

# Keys of --json, and the engine's names for the same numbers.
NUMBERS = {
    "rounds": "n_rounds",
    "cards_in_hand": "hand_size",
    "cards_set_aside": "aside",
    "copies_of_each_card": "copies",
    "points_at_the_start": "start_points",
}


def names_of(card: Card) -> Names:
    """Return the names of a card of Oriflamme; for a card that an edition adds, its one name in each language."""
    nouns = [words_of(AREA, language).nouns.get(card.id) for language in LANGUAGES]
    return Names(*(noun.name if noun else card.name for noun in nouns))


check_catalogues(
    AREA,
    words={
        "reach": Reach,
        "deed": Deed,
        "nature": [nature for nature in Nature if nature],
        "ask": ACTIONS.questions,
        "number": NUMBERS,
        "switch": [name for switches in editions.SWITCHES.values() for name in switches],
    },
    choices=ACTIONS.verbs,
    nouns=[*(card.id for card in (*PUBLISHED, *PROTOTYPE)), *NO_CARDS],
)


def switches(game_id: str) -> Iterator[pb.SwitchInfo]:
    for name, values in editions.SWITCHES[game_id].items():
        yield switch_info(AREA, name, map(as_text, values))


def effects_of(game: Oriflamme) -> tuple[list[Names], list[Names]]:
    """Return what each card does in each language: as a sentence, and its effect alone."""
    described = list(zip(*(describe_cards(game, language) for language in LANGUAGES), strict=True))
    meanings = [Names(*map(_meaning, card, LANGUAGES)) for card in described]
    return meanings, [Names(*(words["effect"] for words in card)) for card in described]


def _meaning(card: Mapping[str, Any], language: str) -> str:
    return f"{words_of(COMMON, language).begin(card_text(card, language))}."


def describe_switches(game_id: str, language: str = DEFAULT) -> list[dict[str, Any]]:
    """Return the switches of a game, with their values in each edition."""
    words = words_of(AREA, language)
    return [
        {
            "name": name,
            "meaning": words.say(f"switch.{name}.meaning"),
            "values": list(values),
            "editions": {
                edition: editions.EDITIONS[edition].switches[name] for edition in editions.editions_of(game_id)
            },
        }
        for name, values in editions.SWITCHES[game_id].items()
    ]


def describe_game(game: Oriflamme, language: str = DEFAULT) -> dict[str, Any]:
    """Return the numbers of a game, and its switches with their values."""
    numbers = editions.table_numbers(game.ruleset, game.n_players)
    return {
        "numbers": {name: numbers[key] for name, key in NUMBERS.items()},
        "switches": [
            {**switch, "value": game.ruleset.switches[switch["name"]]}
            for switch in describe_switches(game.id, language)
        ],
    }


def describe_cards(game: Oriflamme, language: str = DEFAULT) -> Iterator[dict[str, Any]]:
    words = words_of(AREA, language)
    return (_describe_card(game, card, words) for card in game.cards)


def _describe_card(game: Oriflamme, card: Card, words: Words) -> dict[str, Any]:
    numbers = editions.table_numbers(game.ruleset, game.n_players)
    natures = [words.say(f"nature.{nature.name}", **numbers) for nature in Nature if nature and card.nature & nature]
    reach = words.say(f"reach.{Reach(card.reach).name}")
    deed = words.say(f"deed.{Deed(card.deed).name}", amount=card.amount)
    word = card.id.rpartition("_")[2]
    return {
        "game": game.id,
        "card": card.id,
        "text_name": card.name,
        "names": names_of(card)._asdict(),
        "points_at": reach,
        "effect": deed,
        "amount": card.amount,
        "traits": natures,
        "switches": {name: value for name, value in game.ruleset.switches.items() if word in name.split("_")},
    }


def number_name(key: str, language: str = DEFAULT) -> str:
    return words_of(AREA, language).say(f"number.{key}")


def tables(description: Mapping[str, Any], language: str = DEFAULT) -> Iterator[RulesTable]:
    rows, others = [], ""
    for card in description["cards"]:
        names = card["names"]
        others, foreign = other_names(names, language)
        traits = "".join(f"; {text}" for text in card["traits"])
        rows.append((names[language], foreign, card["points_at"], card["effect"] + traits))
    say = words_of(COMMON, language).say
    yield RulesTable((say("card"), others, say("points_at"), say("and_then")), rows)


def card_lines(card: Mapping[str, Any], language: str = DEFAULT) -> Iterator[tuple[str, str]]:
    words = words_of(COMMON, language)
    if card["points_at"]:
        yield words.say("points_at"), card["points_at"]
    yield words.say("and_then"), card["effect"]
    for text in card["traits"]:
        yield words.say("traits"), text
    for name, value in card["switches"].items():
        yield words.say("switch"), f"{name} {as_text(value)}"


def card_text(card: Mapping[str, Any], language: str = DEFAULT) -> str:
    points_at = words_of(COMMON, language).say("points_at")
    first = [f"{points_at} {card['points_at']}"] if card["points_at"] else []
    return "; ".join([*first, card["effect"], *card["traits"]])

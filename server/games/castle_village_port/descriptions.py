"""The cards, numbers and rewards of Castle, Village, Port in words, from the tables of the engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from eminence.v1 import rules_pb2 as pb
from engine_cy import Game
from engine_cy.castle_village_port import editions
from engine_cy.castle_village_port.actions import ACTIONS
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.castle_village_port.cards import HOUSE, LOCATIONS, Card
from engine_cy.castle_village_port.words import Deed, Reward, When
from server.games.adapter import Names, RulesTable, other_names, switch_info
from server.games.castle_village_port.narration import AREA, NO_CARDS, title_of
from server.games.narration import COMMON, check_catalogues
from server.languages import DEFAULT, LANGUAGES, Words, words_of

# Chance, not a player, answers this question, with the verb of the same name.
_OF_CHANCE = {"replace"}
check_catalogues(
    AREA,
    words={
        "when": When,
        "deed": Deed,
        "reward": Reward,
        "ask": set(ACTIONS.questions) - _OF_CHANCE,
        "switch": [*editions.NUMBERS, "hidden_gold"],
    },
    choices=set(ACTIONS.verbs) - _OF_CHANCE,
    nouns=[*(card.name for card in HOUSE if card.name), *NO_CARDS],
)


def names_of(card: Card) -> Names:
    """Return the names of a card; for a caller's own card, its one name in each language."""
    return Names(*(title_of(words_of(AREA, language), card) for language in LANGUAGES))


def value_names(game: Game, language: str = DEFAULT) -> dict[int, str]:
    """Return the names of the cards by their values."""
    assert isinstance(game, CastleVillagePort)
    words = words_of(AREA, language)
    return {card.value: title_of(words, card) for card in game.ruleset.cards}


def switches() -> Iterator[pb.SwitchInfo]:
    for name, (least, most) in editions.NUMBERS.items():
        yield switch_info(AREA, name, map(str, range(least, most + 1)))
    yield switch_info(AREA, "hidden_gold", ("no", "yes"))


class CardWords(NamedTuple):
    """The words for a card: the sentence about it, and the parts of that."""

    meaning: Names
    when: Names
    effect: Names


def card_words(game: CastleVillagePort) -> Iterator[CardWords]:
    """Yield what each card does, in each language."""
    for described in zip(*(describe_cards(game, language) for language in LANGUAGES), strict=True):
        parts = (Names(*(card[key] for card in described)) for key in ("when", "effect"))
        yield CardWords(Names(*map(_meaning, described, LANGUAGES)), *parts)


def _meaning(card: Mapping[str, Any], language: str) -> str:
    return f"{words_of(AREA, language).begin(card_text(card, language))}."


def locations(game: CastleVillagePort) -> Iterator[pb.LocationInfo]:
    """Yield the locations in the order in which they pay."""
    rewards = {language: describe_game(game, language)["rewards"] for language in LANGUAGES}
    for location in LOCATIONS:
        of_ranks = [rewards[language][location] for language in LANGUAGES]
        yield pb.LocationInfo(
            name=location,
            names=Names.of(partial(_location_name, location)).message(),
            meaning=Names(*map(_location_meaning, of_ranks, LANGUAGES)).message(),
            rewards=[Names(*rank).message() for rank in zip(*of_ranks, strict=True)],
        )


def _location_name(location: str, language: str) -> str:
    words = words_of(AREA, language)
    return words.begin(words.say(f"row.{location}"))


def _location_meaning(rewards: Sequence[str], language: str) -> str:
    words = words_of(AREA, language)
    return words.say("location.pays", rewards="; ".join(rewards)) if rewards else words.say("location.pays_nothing")


def describe_game(game: CastleVillagePort, language: str = DEFAULT) -> dict[str, Any]:
    """Return the numbers of a game, and the rewards of each rank of a location."""
    ruleset, words = game.ruleset, words_of(AREA, language)
    numbers = editions.table_numbers(ruleset, game.n_players)
    return {
        "numbers": {
            "hand_size": ruleset.hand_size,
            "rounds": ruleset.rounds,
            "turns_per_round": numbers.n_turns,
            "starting_gold": ruleset.starting_gold,
            "hidden_gold": ruleset.hidden_gold,
        },
        "rewards": {
            location: [words.say(f"reward.{Reward(entry.kind).name}", amount=entry.amount) for entry in entries]
            for location, entries in zip(LOCATIONS, numbers.rewards, strict=True)
        },
    }


def describe_cards(game: CastleVillagePort, language: str = DEFAULT) -> Iterator[dict[str, Any]]:
    words = words_of(AREA, language)
    return (_describe_card(game, card, words) for card in game.ruleset.cards)


def _describe_card(game: CastleVillagePort, card: Card, words: Words) -> dict[str, Any]:
    values = card._asdict()
    if card.who in words.nouns:
        values["who"] = words.nouns[card.who].name
    if card.where:
        values["where"] = words.say(f"row.{card.where}")
    deed = words.say(f"deed.{Deed(card.deed).name}", **values)
    return {
        "game": game.id,
        "value": card.value,
        "names": names_of(card)._asdict(),
        "when": words.say(f"when.{When(card.when).name}"),
        "effect": deed,
    }


def number_name(key: str, language: str = DEFAULT) -> str:
    """Return the name of a number, which is that of the switch that sets it."""
    return words_of(AREA, language).say(f"switch.{key}")


def tables(description: Mapping[str, Any], language: str = DEFAULT) -> Iterator[RulesTable]:
    words, common = words_of(AREA, language), words_of(COMMON, language)
    rows, others = [], ""
    for card in description["cards"]:
        others, foreign = other_names(card["names"], language)
        rows.append((str(card["value"]), card["names"][language], foreign, card["when"], card["effect"]))
    value = words.say("value")
    columns = (value, common.say("card"), others, common.say("acts"), common.say("and_then"))
    yield RulesTable(columns, rows, right=(value,))
    rewards = description["rewards"]
    most = max(map(len, rewards.values()))
    yield RulesTable(
        (words.say("location"), *(f"{rank}." for rank in range(1, 1 + most))),
        # The last columns of a location that rewards fewer ranks than another stay empty.
        [
            (words.say(f"row.{location}"), *entries, *[""] * (most - len(entries)))
            for location, entries in rewards.items()
        ],
        heading=words.say("rewards"),
    )


def card_lines(card: Mapping[str, Any], language: str = DEFAULT) -> Iterator[tuple[str, str]]:
    words = words_of(COMMON, language)
    yield words.say("acts"), card["when"]
    yield words.say("and_then"), card["effect"]


def card_text(card: Mapping[str, Any], language: str = DEFAULT) -> str:
    words = words_of(AREA, language)
    if card["when"] == words.say("when.NEVER"):
        return str(card["effect"])
    return words.say("timed", **card)

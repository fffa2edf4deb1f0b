"""castle_village_port: rulesets that callers send, positions and views as text, and their errors."""

from __future__ import annotations

import json
import random
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import pytest
from castle_strategies import rulesets
from hypothesis import given, settings
from hypothesis import strategies as st
from mutations import damaged_text
from reference import GAMES, move_text, reference_games
from tables import mostly_slow

from engine_cy import new_game
from engine_cy.castle_village_port.actions import ACTIONS
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.castle_village_port.cards import HOUSE, LOCATIONS
from engine_cy.castle_village_port.editions import FIELDS, RewardEntry, read_ruleset, table_numbers
from engine_cy.castle_village_port.notation import explain_illegal, read_deal, read_parts, write_deal, write_parts
from engine_cy.castle_village_port.table import (
    EFFECT_ASKS,
    Deal,
    Parts,
    RowCard,
    Secrets,
    SeenTable,
    Table,
    TableShape,
    Walk,
    WholeTable,
    complete,
    dealt,
)
from engine_cy.castle_village_port.words import Deed, Reward, When
from engine_cy.errors import (
    EngineError,
    HiddenCardError,
    InvalidPositionError,
    InvalidRulesetError,
    InvalidViewError,
    NotationError,
)
from engine_cy.seats import CHANCE
from engine_cy.tables import OMITTED

FILES = sorted(GAMES.glob("castle_village_port*.jsonl.gz"))
FILE_IDS = [file.name.split(".")[0] for file in FILES]
PAGE = (Path(__file__).parent.parent.parent / "docs" / "rules" / "castle_village_port.md").read_text()


PartsT = TypeVar("PartsT", WholeTable, SeenTable, Parts)
GAME_OF: dict[TableShape, CastleVillagePort] = {}


def table_shape(ruleset: Any = None, n_players: int = 3) -> TableShape:
    game = new_game("castle_village_port", ruleset, n_players)
    assert isinstance(game, CastleVillagePort)
    GAME_OF[game.shape] = game
    return game.shape


def check(parts: Parts, shape: TableShape) -> None:
    """Raise the first fault of a table."""
    GAME_OF[shape].from_parts(parts)


HOUSE_SHAPE = table_shape()
HIDDEN: Any = {"hidden_gold": True}


def read(text: str, shape: TableShape = HOUSE_SHAPE) -> Parts:
    """Read a table from its text, complete and check it."""
    parts = complete(read_parts(text, shape), shape)
    check(parts, shape)
    return parts


def whole(text: str) -> WholeTable:
    """Read a position of the house."""
    parts = read(text)
    assert isinstance(parts, WholeTable)
    return parts


def view_of(parts: Parts, observer: int, shape: TableShape = HOUSE_SHAPE) -> SeenTable:
    """Return the view of a seat, written independently of the engine's."""
    assert isinstance(parts, WholeTable)
    gold = parts.table.gold
    table = replace(parts.table, gold=None, remembered_gold=gold) if shape.hidden_gold else parts.table
    return SeenTable(observer, table, parts.secrets[observer])


def changed(parts: PartsT, **fields: Any) -> PartsT:
    """Return a table with other values in its public part."""
    return replace(parts, table=replace(parts.table, **fields))


# --- tables of the reference games -------------------------------------------------------------------------------


def drafts(reference: dict[str, Any]) -> Iterator[list[WholeTable]]:
    """Yield candidates for the table after each step of a reference game.

    The reference does not name the card that asks at the end of a round, so several are possible there.
    """
    steps = reference["steps"]
    placed = None
    for number, (step, following) in enumerate(pairwise([*steps, None])):
        move, then = step["move"], step["then"]
        if move["type"] == "place_in":
            before = steps[number - 1]["then"]["selected"][step["by"]]
            placed = RowCard(before, step["by"])
        yield list(
            _drafts_after(move, then, following and following["move"], placed, read_ruleset(reference["ruleset"]))
        )


def _drafts_after(move: Any, then: Any, following: Any, placed: RowCard | None, ruleset: Any) -> Iterator[WholeTable]:
    ask = "over"
    if following is not None:
        ask = {"place_in": "place", "replacement": "replace"}.get(following["type"], following["type"])
    castle, village, port = (tuple(RowCard(*card) for card in then["rows"][location]) for location in LOCATIONS)
    table = Table(
        castle=castle,
        village=village,
        port=port,
        round=then["round"],
        turn=then["turn"],
        first=then["first"],
        ask=ask,
        to_act=then["to_act"],
        gold=tuple(then["gold"]),
        selected=tuple(seat for seat, card in enumerate(then["selected"]) if card),
        piles=tuple(map(tuple, then["piles"])),
        victim=move["player"] if ask == "replace" else None,
    )
    secrets = tuple(Secrets(tuple(hand), card or 0) for hand, card in zip(then["hands"], then["selected"], strict=True))
    draft = WholeTable(table, secrets)
    copied = move["card"]["value"] if move["type"] == "copy" and ask in EFFECT_ASKS else None
    if then["phase"] == "round_end":
        for location, row in zip(LOCATIONS, table.rows, strict=True):
            for card in row:
                yield changed(draft, acting=card, walk=Walk(location))
                if copied is not None:
                    yield changed(draft, acting=card, effect=copied, walk=Walk(location))
    elif ask in EFFECT_ASKS:
        copier = next((card for card in ruleset.cards if placed and card.value == placed.value), None)
        if ask == "replace" and copier and copier.deed == Deed.COPY_NEIGHBOUR:
            copied = next(card.value for card in ruleset.cards if card.deed == Deed.SWAP_SELECTED)
        yield changed(draft, acting=placed, effect=copied)
    else:
        yield draft


@pytest.mark.parametrize("file", mostly_slow(FILES, FILE_IDS, ["castle_village_port-house-3p"]))
def test_every_table_of_the_reference_games_is_accepted_and_read_back_from_its_text(file: Path) -> None:
    n_tables = 0
    for reference in reference_games(file):
        shape = table_shape(reference["ruleset"], reference["players"])
        for number, candidates in enumerate(drafts(reference)):
            accepted = []
            for draft in candidates:
                parts = complete(draft, shape)
                try:
                    check(parts, shape)
                except InvalidPositionError:
                    assert draft.table.phase == "round_end", draft
                    continue
                accepted.append(parts)
            assert accepted
            n_tables += 1
            parts = accepted[number % len(accepted)]
            assert read(write_parts(parts, shape), shape) == parts
            view = view_of(parts, number % shape.n_players, shape)
            assert read(write_parts(view, shape), shape) == view
    assert n_tables > 1000


def test_the_reference_games_have_a_table_for_each_question() -> None:
    asks = {
        draft.table.ask for file in FILES for game in reference_games(file) for one in drafts(game) for draft in one
    }
    assert asks == {"over", "select", "place", *EFFECT_ASKS}


@pytest.mark.parametrize("file", FILES, ids=FILE_IDS)
def test_every_move_of_the_reference_games_is_read_back_from_its_text(file: Path) -> None:
    for reference in reference_games(file):
        for step in reference["steps"]:
            assert ACTIONS.read(move_text(step["move"]), HOUSE_SHAPE) == fields_of(step["move"])
            assert ACTIONS.write(fields_of(step["move"]), HOUSE_SHAPE) == move_text(step["move"])


def fields_of(move: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a move of a reference game, which has other names for two of them."""
    fields = {**move, "type": {"place_in": "place", "replacement": "replace"}.get(move["type"], move["type"])}
    if isinstance(move.get("card"), dict):
        fields["card"] = {"value": move["card"]["value"], "owner": move["card"]["player"]}
    return fields


@pytest.mark.parametrize("file", FILES, ids=FILE_IDS)
def test_every_deal_of_the_reference_games_is_read_back_from_a_record_s_lines(file: Path) -> None:
    for reference in reference_games(file):
        shape = table_shape(reference["ruleset"], reference["players"])
        first, decks = reference["first_player"], reference["deal"]["decks"]
        lines = [f"deck {seat} {','.join(map(str, deck))}" for seat, deck in zip(shape.families, decks, strict=True)]
        start = complete(read_deal(lines, first, None, shape), shape)
        check(start, shape)
        assert start == complete(dealt(Deal(first, tuple(map(tuple, decks))), shape), shape)
        deal_lines = write_deal(start, shape)
        assert deal_lines is not None
        assert complete(read_deal(deal_lines, first, None, shape), shape) == start
        for player in range(shape.n_players):
            view = view_of(start, player, shape)
            check(view, shape)
            view_lines = write_deal(view, shape)
            assert view_lines is not None
            assert [line.split()[:2] for line in view_lines] == [["hand", shape.families[player]]]
            assert complete(read_deal(view_lines, first, player, shape), shape) == view


# --- rulesets ----------------------------------------------------------------------------------------------------


def test_every_ruleset_of_the_reference_games_is_returned_unchanged() -> None:
    for reference in reference_games(GAMES / "castle_village_port-tables.jsonl.gz"):
        ruleset = read_ruleset(reference["ruleset"])
        assert read_ruleset(ruleset.overrides()) == ruleset
        assert [card.value for card in ruleset.cards] == list(range(15, 0, -1))
        numbers = table_numbers(ruleset, reference["players"])
        assert numbers.n_turns == (4 if reference["players"] == 3 else 3)


def nothing_known(shape: TableShape) -> WholeTable:
    """Return a position without any field."""
    return WholeTable(Table(), (Secrets(OMITTED, OMITTED),) * shape.n_players)


@given(rulesets())
@settings(max_examples=200, deadline=None)
def test_a_ruleset_is_returned_unchanged_and_suits_every_number_of_players(raw_ruleset: dict[str, Any]) -> None:
    ruleset = read_ruleset(raw_ruleset)
    assert read_ruleset(ruleset.overrides()) == ruleset
    assert read_ruleset(json.loads(json.dumps(ruleset.overrides()))) == ruleset
    for n_players in (3, 4, 5):
        shape = table_shape(raw_ruleset, n_players)
        start = complete(nothing_known(shape), shape)
        check(start, shape)
        assert read(write_parts(start, shape), shape) == start


def test_the_house_is_the_default_ruleset() -> None:
    house = read_ruleset("house")
    assert read_ruleset() == read_ruleset({}) == read_ruleset({"edition": "house"}) == house
    assert house.cards == HOUSE
    assert house.overrides() == {}


def test_cards_may_be_sent_in_any_order() -> None:
    cards: Any = read_ruleset({"cards": [{**PLAIN, "value": value} for value in range(1, 13)]}).overrides()["cards"]
    assert read_ruleset({"cards": cards[::-1]}) == read_ruleset({"cards": cards})
    assert [card["value"] for card in cards] == list(range(12, 0, -1))


def test_omitted_fields_are_those_of_the_house() -> None:
    ruleset = read_ruleset({"rewards": {"port": [2, "per_card"], "castle": {"5": []}}, "starting_gold": 7})
    house = read_ruleset()
    assert ruleset.rewards["port"]["3-4"] == (RewardEntry(Reward.NUMBER, 2), RewardEntry(Reward.PER_CARD))
    assert ruleset.rewards["port"]["5"] == ruleset.rewards["port"]["3-4"]
    assert ruleset.rewards["castle"] == {"3-4": house.rewards["castle"]["3-4"], "5": ()}
    assert ruleset.rewards["village"] == house.rewards["village"]
    assert ruleset.overrides() == {
        "starting_gold": 7,
        "rewards": {
            "castle": {"3-4": [4, 3, 1], "5": []},
            "port": {"3-4": [2, "per_card"], "5": [2, "per_card"]},
        },
    }
    thief: Any = {"value": 9, "name": "Thief", "when": "end", "effect": "rob_neighbour"}
    assert read_ruleset({"cards": [thief], "rounds": 1, "turns_per_round": 1}).cards[0].amount == 2


def test_the_house_has_more_turns_for_three_players() -> None:
    assert [table_numbers(read_ruleset(), n).n_turns for n in (3, 4, 5)] == [4, 3, 3]
    assert [table_numbers(read_ruleset({"turns_per_round": 5}), n).n_turns for n in (3, 4, 5)] == [5, 5, 5]
    nine = [{**PLAIN, "value": value} for value in range(1, 10)]
    assert table_numbers(read_ruleset({"cards": nine}), 4).n_turns == 3


def test_the_example_on_the_rules_page_is_accepted() -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, flags=re.DOTALL)
    raw_ruleset = json.loads(example)
    ruleset = read_ruleset(raw_ruleset)
    assert read_ruleset(ruleset.overrides()) == ruleset
    assert [table_numbers(ruleset, n).n_turns for n in (3, 4, 5)] == [2, 2, 2]


def test_the_rules_page_names_every_field_and_effect_of_a_ruleset() -> None:
    section = PAGE[PAGE.index("## Tables a caller may send") :]
    rows = [card for card in read_ruleset().cards if card.name]
    assert all(card.name in PAGE for card in rows)
    for word in FIELDS:
        assert f"`{word}`" in section
    for line in EFFECT_WORDS:
        assert f"`{line}`" in section


EFFECT_WORDS = [
    "none",
    "leave_if_present",
    "pay_others",
    "move_neighbour",
    "rob_neighbour",
    "copy_neighbour",
    "swap_selected",
    "order_location",
    "pay_from_right",
    "gain_per_low",
    "discard_neighbour",
    "fetch",
    "double_reward",
    "discard_highest",
    "per_card",
    "steal_each",
    "half_value",
]

PLAIN = {"value": 4, "name": "Miller", "when": "immediate", "effect": "none"}


def table_with(*cards: dict[str, Any], **others: Any) -> dict[str, Any]:
    """Return a ruleset of twelve plain cards with values 4 to 15; `cards` replace the first of them."""
    plain = [{**PLAIN, "value": 4 + n, "name": f"Miller {n}"} for n in range(12)]
    return {"cards": [{**plain[n], **card} for n, card in enumerate(cards)] + plain[len(cards) :], **others}


def card_without(*fields: str) -> dict[str, Any]:
    return {"cards": [{key: value for key, value in PLAIN.items() if key not in fields}]}


RULESETS: dict[str, tuple[Any, str]] = {
    "an unknown edition": ("grand", "ruleset.edition: 'grand' is not an edition of castle_village_port (house)"),
    "an edition that is no name": ({"edition": 3}, "ruleset.edition: 3 is not an edition"),
    "a ruleset of another type": (2019, "ruleset: 2019 is neither an edition's name nor a mapping that overrides one"),
    "a list as ruleset": (["house"], "ruleset: ['house'] is neither"),
    "an unknown field": ({"dragons": True}, "ruleset.dragons: castle_village_port has no such field (edition, cards,"),
    "cards that are no list": ({"cards": "King"}, "ruleset.cards: 'King' is not a list of cards"),
    "no card": ({"cards": []}, "ruleset.cards: [] has no card; accepted are 1 to 15 cards"),
    "a card that is no card": ({"cards": [15]}, "ruleset.cards[0]: 15 is not a card, which has value, name, when,"),
    "a card without a value": (
        card_without("value"),
        "ruleset.cards[0].value: missing; a card has value, name, when, effect",
    ),
    "a card without an effect": (card_without("effect"), "ruleset.cards[0].effect: missing"),
    "a card without a name": (card_without("name"), "ruleset.cards[0].name: missing"),
    "a card that does not say when": (card_without("when"), "ruleset.cards[0].when: missing"),
    "a value too high": (table_with({}, {}, {}, {"value": 17}), "ruleset.cards[3].value: 17 is not in 1..15"),
    "value zero": (table_with({"value": 0}), "ruleset.cards[0].value: 0 is not in 1..15"),
    "a value that is no number": (table_with({"value": "4"}), "cards[0].value: '4' is not a whole number in 1..15"),
    "a value that is a boolean": (table_with({"value": True}), "cards[0].value: True is not a whole number in 1..15"),
    "a value with a fraction": (table_with({"value": 4.0}), "cards[0].value: 4.0 is not a whole number"),
    "a value twice": (table_with({}, {"value": 4}), "ruleset.cards[1].value: cards[0] has the value 4 already"),
    "sixteen cards": (
        {"cards": [{**PLAIN, "value": 1 + n % 15} for n in range(16)]},
        "ruleset.cards[15].value: cards[0] has the value 1 already",
    ),
    "a name that is no text": (table_with({"name": None}), "cards[0].name: None is not a text of at most 40"),
    "a name too long": (table_with({"name": "x" * 41}), "is not a text of at most 40 characters"),
    "an unknown time": (
        table_with({"when": "later"}),
        "ruleset.cards[0].when: 'later' is not one of immediate, end, never",
    ),
    "an unknown effect": (
        table_with({"effect": "win"}),
        "cards[0].effect: 'win' is not one of none, leave_if_present,",
    ),
    "an effect that is no word": (table_with({"effect": ["none"]}), "cards[0].effect: ['none'] is not one of"),
    "an unknown parameter": (
        table_with({"colour": "red"}),
        "ruleset.cards[0].colour: 'red' is set, but none has no such parameter (nothing)",
    ),
    "a parameter of another effect": (
        table_with({"effect": "pay_others", "below": 6}),
        "ruleset.cards[0].below: 6 is set, but pay_others has no such parameter (amount)",
    ),
    "an amount too high": (
        table_with({}, {}, {}, {"effect": "rob_neighbour", "amount": 10}),
        "ruleset.cards[3].amount: 10 is not in 0..9",
    ),
    "a negative amount": (
        table_with({"effect": "pay_others", "amount": -1}),
        "ruleset.cards[0].amount: -1 is not in 0..9",
    ),
    "an amount that is a boolean": (
        table_with({"effect": "pay_others", "amount": True}),
        "ruleset.cards[0].amount: True is not a whole number in 0..9",
    ),
    "a limit too high": (
        table_with({"effect": "gain_per_low", "below": 17}),
        "ruleset.cards[0].below: 17 is not in 1..16",
    ),
    "a factor of zero": (
        table_with({"effect": "double_reward", "when": "end", "factor": 0}),
        "ruleset.cards[0].factor: 0 is not in 1..4",
    ),
    "a location that does not exist": (
        table_with({"effect": "double_reward", "when": "end", "where": "tavern"}),
        "ruleset.cards[0].where: 'tavern' is not one of castle, village, port",
    ),
    "a king without a card that drives it out": (
        table_with({"effect": "leave_if_present"}),
        "ruleset.cards[0].who: missing; leave_if_present needs it",
    ),
    "a king driven out by a card that is not there": (
        table_with({"effect": "leave_if_present", "who": "Thief"}, {"name": "Queen"}),
        "ruleset.cards[0].who: 'Thief' is not the name of a card of the table, so no card could drive this",
    ),
    "a king driven out by a card without a name": (
        table_with({"effect": "leave_if_present", "who": ""}, {"name": ""}),
        "ruleset.cards[0].who: '' is not a name",
    ),
    "a traitor at once": (
        table_with({"effect": "pay_from_right"}),
        "ruleset.cards[0].when: 'immediate' is not possible for pay_from_right (end, never)",
    ),
    "a sailor at once": (
        table_with({"effect": "double_reward"}),
        "ruleset.cards[0].when: 'immediate' is not possible for double_reward (end, never)",
    ),
    "a courtesan at the end": (
        table_with({"effect": "swap_selected", "when": "end"}),
        "ruleset.cards[0].when: 'end' is not possible for swap_selected (immediate, never)",
    ),
    "a strategist at the end": (
        table_with({"effect": "order_location", "when": "end"}),
        "ruleset.cards[0].when: 'end' is not possible for order_location (immediate, never)",
    ),
    "rewards that are no table": (
        {"rewards": [4, 3, 1]},
        "ruleset.rewards: [4, 3, 1] is not a mapping from locations to lists (castle,",
    ),
    "rewards of an unknown location": (
        {"rewards": {"tavern": [1]}},
        "ruleset.rewards.tavern: 'tavern' is not a location (castle, village, port)",
    ),
    "rewards for six": (
        {"rewards": {"port": {"6": [1]}}},
        "ruleset.rewards.port.6: '6' is not a number of players (3-4, 5)",
    ),
    "rewards that are no list": ({"rewards": {"port": 4}}, "ruleset.rewards.port: 4 is not a list of rewards"),
    "nine rewards": ({"rewards": {"port": [1] * 9}}, "ruleset.rewards.port: 9 rewards; at most 8 are possible"),
    "an unknown reward": (
        {"rewards": {"port": {"5": [1, "all"]}}},
        "ruleset.rewards.port.5[1]: 'all' is neither a number in -99..99 nor one of per_card, steal_each, half_value",
    ),
    "a reward too high": ({"rewards": {"port": [100]}}, "ruleset.rewards.port[0]: 100 is neither a number in -99..99"),
    "a reward that is a boolean": ({"rewards": {"port": [True]}}, "ruleset.rewards.port[0]: True is neither a number"),
    "a hand size of zero": ({"hand_size": 0}, "ruleset.hand_size: 0 is not in 1..15"),
    "rounds that are text": ({"rounds": "3"}, "ruleset.rounds: '3' is not a whole number in 1..15"),
    "sixteen turns": ({"turns_per_round": 16}, "ruleset.turns_per_round: 16 is not in 1..15"),
    "turns by players": ({"turns_per_round": {3: 4}}, "ruleset.turns_per_round: {3: 4} is not a whole number"),
    "negative gold": ({"starting_gold": -1}, "ruleset.starting_gold: -1 is not in 0..99"),
    "a number instead of a boolean": ({"hidden_gold": 1}, "ruleset.hidden_gold: 1 is not one of False, True"),
    "more turns than cards in hand": (
        {"turns_per_round": 4, "hand_size": 3},
        "ruleset.turns_per_round: 4 is more than hand_size 3, and nothing is drawn within a round",
    ),
    "more turns than cards": (
        {"turns_per_round": 5, "rounds": 4},
        "ruleset.rounds: 4 of 5 turns need 20 cards each, but the table has 15 (at most 3)",
    ),
    "one card for three turns": (
        {"cards": [PLAIN]},
        "ruleset.rounds: 3 of 3 turns need 9 cards each, but the table has 1 (not even one is possible)",
    ),
}


@pytest.mark.parametrize("name", RULESETS)
def test_impossible_rulesets_are_refused(name: str) -> None:
    raw_ruleset, message = RULESETS[name]
    with pytest.raises(InvalidRulesetError) as refusal:
        read_ruleset(raw_ruleset)
    assert message in str(refusal.value)


@pytest.mark.parametrize("n_players", [2, 6, 3.0, "3", True, None])
def test_impossible_numbers_of_players_are_refused(n_players: Any) -> None:
    with pytest.raises(InvalidRulesetError) as refusal:
        table_numbers(read_ruleset(), n_players)
    assert str(refusal.value) == f"players: {n_players!r} is not possible in house (3, 4, 5)"


def test_a_table_with_cards_for_four_players_is_refused_for_three() -> None:
    ruleset = read_ruleset({"cards": [{**PLAIN, "value": value} for value in range(1, 11)]})
    assert table_numbers(ruleset, 5).n_turns == 3
    with pytest.raises(
        InvalidRulesetError, match="3 of 4 turns with 3 players need 12 cards each, but the table has 10"
    ):
        table_numbers(ruleset, 3)


@pytest.mark.parametrize("effect", EFFECT_WORDS[1:14])
def test_a_card_that_never_acts_may_have_any_effect(effect: str) -> None:
    card = {"effect": effect, "when": "never", **({"who": "Miller 1"} if effect == "leave_if_present" else {})}
    ruleset = read_ruleset(table_with(card))
    assert ruleset.cards[-1].when == When.NEVER
    assert read_ruleset(ruleset.overrides()) == ruleset


# --- positions and views -----------------------------------------------------------------------------------------

# Whole tables to damage. A has placed a Guard beside B's Princess, and B was ordered into the port.
WHOLE = (
    "castle 14B 12A | village - | port 9C | round 1 | turn 2 | first C | ask A move by 12A | gold 3 4 5"
    " | selected - 6 - | orders - port - | hands 15,14,13,11 15,12,11,10 15,14,13,12"
    " | decks 9,8,7,6,5,4,3,2,1 9,8,7,5,4,3,2,1,13 10,8,7,6,5,4,3,2,1 | piles 10 - 11"
)
VIEW = (
    "castle 14B 12A | village - | port 9C | round 1 | turn 2 | first C | ask A move by 12A | gold 3 4 5"
    " | selected - ? - | orders - port - | hands 15,14,13,11 ? ? | piles 10 - 11 | seen by A"
)
SELECTING = (
    "castle - | village - | port - | round 1 | turn 1 | first A | ask B select | gold 3 3 3 | selected 15 - -"
    " | hands 14,13,12,11,10 15,14,13,12,11,10 15,14,13,12,11,10"
    " | decks 9,8,7,6,5,4,3,2,1 9,8,7,6,5,4,3,2,1 9,8,7,6,5,4,3,2,1 | piles - - -"
)
REPLACING = "castle 9A 5B | village - | port 5C | round 1 | turn 2 | first A | ask * replace C by 9A"
# At the end of a round a Bard fetches, a Warrior discards, and an Alchemist copies; there is a Traitor.
LATE: Any = table_with(
    {"effect": "fetch", "when": "end"},
    {"effect": "discard_neighbour", "when": "end"},
    {"effect": "pay_from_right", "when": "end"},
    {"effect": "copy_neighbour", "when": "end"},
    rewards={"castle": [1], "village": [], "port": [1]},
    turns_per_round=2,
)
LATE_SHAPE = table_shape(LATE)
LATE_WALK = "castle 9A | village 9B 5A 4B 4C | ask A discard by 5A | walk village due 4B,4C ranked 9A right"
HIDDEN_VIEW = "gold 3 ? ? | remembered_gold 3 5 2 | seen by A"


def damaged(old: str, new: str, whole: str = WHOLE) -> str:
    assert old in whole
    return whole.replace(old, new, 1)


POSITIONS: dict[str, tuple[str, str]] = {
    "a card twice in the rows": (
        damaged("port 9C", "port 14B 9C"),
        "piles[B]: 0 cards and 2 in the rows are not the 1",
    ),
    "a card in row and hand": (
        damaged("hands 15,14,13,11", "hands 15,14,13,12"),
        "table: 2 copies of A's 12",
    ),
    "a card in hand and deck": (
        damaged("hands 15,14,13,11", "hands 15,14,13,9"),
        "table: 2 copies of A's 9",
    ),
    "a card in row and pile": (damaged("piles 10", "piles 12"), "table: 2 copies of A's 12; each player has one"),
    "a selected card in hand": (damaged("selected - 6", "selected - 15"), "table: 2 copies of B's 15"),
    "a card of no table": (
        damaged("port 9C", "port 16C"),
        "table.port[0].value: 16 is not a card of this table (15,",
    ),
    "card zero in a hand": (damaged("15,14,13,11", "15,14,13,0"), "secrets[A].hand[3]: 0 is not a card of this table"),
    "a row that is not sorted": (
        damaged("14B 12A", "12A 14B"),
        "castle[1]: '14B' stands to the right of 12A; a row has its highest value on the left",
    ),
    "a family that is not at the table": (damaged("14B", "14D"), "castle[0].owner: 'D' is not at this table (A, B, C)"),
    "an unknown card in a hand": (damaged("hands 15,14,13,11", "hands ?"), "hands[A]: '?' must be known"),
    "an unknown deck": (damaged("decks 9,8,7,6,5,4,3,2,1", "decks ?"), "decks[A]: '?' must be known"),
    "an unknown selected card": (damaged("selected - 6", "selected - ?"), "selected[B]: '?' must be known"),
    "unknown gold": (damaged("gold 3 4 5", "gold 3 ? 5"), "gold[B]: '?' must be known"),
    "remembered gold": (
        f"{WHOLE} | remembered_gold 3 4 5",
        "table.remembered_gold: (3, 4, 5) is accepted only",
    ),
    "negative gold": (damaged("gold 3", "gold -3"), "gold[A]: -3 is not in 0..999999"),
    "gold for two": (damaged("gold 3 4 5", "gold 3 4"), "gold: 2 entries, not one for each of 3 players"),
    "four piles": (damaged("piles 10", "piles - 10"), "piles: 4 entries, not one for each of 3 players"),
    "round zero": (damaged("round 1", "round 0"), "round: 0 is not in 1..3"),
    "a fourth round": (damaged("round 1", "round 4"), "round: 4 is not in 1..3"),
    "a fifth turn": (damaged("turn 2", "turn 5"), "turn: 5 is not in 1..4"),
    "a turn with too few cards": (
        damaged("turn 2", "turn 3"),
        "piles[A]: 1 cards and 1 in the rows are not the 3 that A",
    ),
    "a pile too large": (
        damaged("piles 10 - 11", "piles 10 7 11"),
        "piles[B]: 1 cards and 1 in the rows are not the 1",
    ),
    "a hand too small": (damaged("15,14,13,11", "15,14,13"), "secrets[A].hand: 3 cards; A has 4 there"),
    "a deck too large": (damaged("9,8,7,6,5,4,3,2,1 ", "11,9,8,7,6,5,4,3,2,1 "), "decks[A]: 10 cards; A has 9 there"),
    "the game over too soon": ("round 2 | ask over", "round: 2 is too early: the game is over after round 3"),
    "the game over within a round": ("round 3 | turn 2 | ask over", "turn: 2 is too early: a round ends after turn 4"),
    "a seat's turn in a question of chance": (damaged("* replace", "A replace", REPLACING), "ask: 'A replace C by 9A'"),
    "a seat that selects twice": (
        damaged("selected 15 - -", "selected 15 9 -", SELECTING),
        "B has not selected a card",
    ),
    "a seat that was skipped": (
        damaged("selected 15 - -", "selected - - -", SELECTING),
        "secrets[A].selected: 0 is not possible: A has selected a card by now",
    ),
    "a card that was revealed, still selected": (
        damaged("selected -", "selected 2"),
        "A has no selected card any more",
    ),
    "a card that asks from nowhere": (damaged("by 12A", "by 11A"), "acting: '11A' lies in no row"),
    "the wrong owner asked": (damaged("ask A", "ask B"), "to_act: 'B' does not own 12A, the card that asks"),
    "a card whose time it is not": (
        damaged("A move by 12A", "B move by 14B"),
        "acting: '14B' has no effect when it is",
    ),
    "a question that the card does not ask": (
        damaged("A move", "A rob"),
        "position.table.ask: 'rob' is not the question of the effect",
    ),
    "a card that copies none": (
        damaged("by 12A", "by 12A as 9"),
        "effect: 9 is not that of 12A, which does not copy (12)",
    ),
    "a copied card that is no neighbour": (
        "castle 12B 10A | port 5C | ask A discard by 10A as 5",
        "effect: 5 is not one that 10A may have copied (12)",
    ),
    "a copied card without an immediate effect": (
        "castle 15B 10A | ask A move by 10A as 15",
        "effect: 15 is not one that 10A may have copied (nothing)",
    ),
    "a card without a neighbour": (
        damaged("castle 14B 12A | village -", "castle 14B | village 12A"),
        "ask: 'move' is not possible for 12A, which needs a neighbour",
    ),
    "a thief without an opponent to rob": (
        "castle 11A 5A | ask A rob by 11A",
        "ask: 'rob' is not possible for 11A, which needs an opponent's card as neighbour",
    ),
    "an alchemist without an effect to copy": (
        "castle 15B 10A 3B | ask A copy by 10A",
        "which needs a neighbour with an immediate effect that is not to copy",
    ),
    "nothing to fetch": ("castle 15B 4A | ask A fetch by 4A", "ask: 'A fetch by 4A' is not like"),
    "nothing in the other rows": ("castle 15B 4A | ask A move by 4A", "which needs a card in another location"),
    "a strategist without a player to order": (
        "castle 8C | first A | ask C order by 8C",
        "for 8C, which needs a player who has not revealed yet",
    ),
    "a victim who has revealed": (
        damaged("first A", "first C", REPLACING),
        "victim: 'C' has revealed already",
    ),
    "a victim at the end": ("castle 9C | ask * replace A by 9C", "a player who has not revealed yet and holds another"),
    "an order for one who has revealed": (
        damaged("- port -", "port - -"),
        "orders[A]: 'port' is not possible: A has no card to reveal",
    ),
    "an order before any player has revealed": (
        "ask A place | orders - village -",
        "orders[B]: 'village' is one of 1 orders; at most 0 are possible, one a player who has revealed",
    ),
    "an order into a tavern": (
        damaged("- port -", "- tavern -"),
        "orders: 'tavern' is not a location (castle, village",
    ),
    "a walk before the end": (f"{WHOLE} | walk castle", "turn: 2 is too early: a round ends after turn 4"),
    "cards due before the end": (
        f"{SELECTING} | walk castle due 7A",
        "table.walk: 'castle' is not possible with the question select",
    ),
    "an unknown field": (damaged("gold", "silver"), "field: 'silver' is not one of castle, village, port, round,"),
    "a field twice": (f"{WHOLE} | round 1", "field: 'round' occurs twice"),
    "an empty text": ("", "field: '' is not one of castle"),
    "a card that cannot be read": (damaged("14B", "B14"), "castle[0]: 'B14' is not a card in a row, such as 12B"),
    "a round that is no number": (damaged("round 1", "round one"), "round: 'one' is not a number"),
    "an unknown question": (
        damaged("A move by 12A", "A dance"),
        "ask: 'A dance' is not like 'A select', 'A place'",
    ),
    "a question without its card": (damaged("A move by 12A", "A move"), "ask: 'A move' is not like"),
    "a walk without a location": (f"{WHOLE} | walk", "walk: '' is not like 'village due 7A,1C ranked 15A,12B right'"),
    "a first player who is not there": (damaged("first C", "first D"), "first: 'D' is not at this table (A, B, C)"),
}

LATE_POSITIONS: dict[str, tuple[str, str]] = {
    "a card in another row than the one walked": (
        damaged("walk village", "walk castle", LATE_WALK),
        "is not in the row",
    ),
    "no walk": ("village 9B 5A 4B | ask A discard by 5A", "acting: '5A' has no effect when it is revealed"),
    "a due card to the left": (
        damaged("due 4B,4C", "due 9B", LATE_WALK),
        "due: '9B' is not to the right of 5A in village",
    ),
    "a due card in another row": (damaged("due 4B,4C", "due 9A", LATE_WALK), "due: '9A' is not to the right of 5A"),
    "a due card that the table does not have": (
        damaged("due 4B,4C", "due 3B", LATE_WALK),
        "due: '3B' is not a card of this table (15, 14,",
    ),
    "a due card named twice": (damaged("due 4B,4C", "due 4B,4B", LATE_WALK), "due: '4B' is named twice"),
    "a ranked card that is gone": (damaged("ranked 9A", "ranked 8A", LATE_WALK), "ranked: '8A' lies in no row"),
    "more ranked cards than ranks": (
        damaged("ranked 9A", "ranked 9A,9B", LATE_WALK),
        "ranked: '9A,9B' are more than the 1 ranks paid before village",
    ),
    "ranked cards before anything was paid": (
        "castle 9B 5A | ask A discard by 5A | walk castle ranked 9B",
        "ranked: '9B' are more than the 0 ranks paid before castle",
    ),
    "orders that no card gives": (
        "castle 9A | ask B place | orders - - port",
        "no card of this table orders a location",
    ),
    "a selection at the end": (
        f"{LATE_WALK} | selected - 8 -",
        "secrets[B].selected: 8 is not possible: B has no selected card any more",
    ),
    "a walk before the last turn": (f"{LATE_WALK} | turn 1", "turn: 1 is too early: a round ends after turn 2"),
}

VIEWS: dict[str, tuple[Any, str, str]] = {
    "a view that shows another's hand": (
        None,
        damaged("hands 15,14,13,11 ?", "hands 15,14,13,11 15,12,11,10", VIEW),
        "view.hands[B]: '15,12,11,10' is hidden from this observer",
    ),
    "a view that hides the own hand": (None, damaged("15,14,13,11", "?", VIEW), "view.hands[A]: '?' must be known"),
    "a view that shows another's selected card": (
        None,
        damaged("selected - ?", "selected - 6", VIEW),
        "view.selected[B]: '6' is hidden from this observer",
    ),
    "a view that hides that another player has selected": (
        None,
        damaged("selected - ?", "selected - -", VIEW),
        "view.table.selected: '-' is not possible: B has selected a card by now",
    ),
    "a view that shows the own deck": (
        None,
        VIEW + " | decks 9,8,7,6,5,4,3,2,1 ? ?",
        "view.decks[A]: '9,8,7,6,5,4,3,2,1' is hidden from this observer",
    ),
    "a view from a seat that is not there": (
        None,
        damaged("by A", "by E", VIEW[-9:]),
        "seen by: 'E' is not at this table",
    ),
    "a view without the seat of its observer": (None, damaged("by A", "of A", VIEW), "seen: 'of A' is not like 'by A'"),
    "a view without gold": (None, damaged("gold 3 4 5", "gold 3 ? 5", VIEW), "view.gold[B]: '?' must be known"),
    "a view that shows all gold, with a memory of it": (
        None,
        f"{VIEW} | remembered_gold 3 4 5",
        "view.table.remembered_gold: (3, 4, 5) is accepted only in a view under hidden_gold",
    ),
    "hidden gold without remembered gold": (
        HIDDEN,
        "gold 3 ? ? | seen by A",
        "view.table.remembered_gold: None is required under hidden_gold: every gain was public. Without it, send the",
    ),
    "hidden gold without remembered gold at the start": (
        HIDDEN,
        "seen by A",
        "view.table.remembered_gold: None is required",
    ),
    "hidden gold that is shown": (
        HIDDEN,
        damaged("gold 3 ?", "gold 3 5", HIDDEN_VIEW),
        "view.gold[B]: '5' is hidden from its observer; remembered_gold holds the gold that they remember",
    ),
    "an own gold that is hidden": (
        HIDDEN,
        damaged("gold 3", "gold ?", HIDDEN_VIEW),
        "view.gold[A]: '?' is seen by its observer",
    ),
    "remembered gold that contradicts the own gold": (
        HIDDEN,
        damaged("gold 3", "gold 4", HIDDEN_VIEW),
        "view.gold[A]: '4' is seen by its observer, but remembered_gold is 3",
    ),
    "remembered gold of two players": (
        HIDDEN,
        damaged("3 5 2", "3 5", HIDDEN_VIEW),
        "view.table.remembered_gold: 2 entries, not one for each of 3 players",
    ),
    "negative gold remembered": (
        HIDDEN,
        damaged("5 2", "-5 2", HIDDEN_VIEW),
        "view.table.remembered_gold[B]: -5 is not in 0..999999",
    ),
    "a walk that a view has yet to see": (
        None,
        "ask walk | seen by A",
        "view.table.ask: 'walk' is accepted in a position",
    ),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_impossible_positions_are_refused(name: str) -> None:
    text, message = POSITIONS[name]
    with pytest.raises((InvalidPositionError, NotationError)) as refusal:
        read(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize("name", LATE_POSITIONS)
def test_impossible_walks_are_refused(name: str) -> None:
    text, message = LATE_POSITIONS[name]
    with pytest.raises(InvalidPositionError) as refusal:
        read(text, LATE_SHAPE)
    assert message in str(refusal.value)


@pytest.mark.parametrize("name", VIEWS)
def test_impossible_views_are_refused(name: str) -> None:
    ruleset, text, message = VIEWS[name]
    with pytest.raises((InvalidViewError, NotationError)) as refusal:
        read(text, table_shape(ruleset))
    assert message in str(refusal.value)


def test_gold_has_one_limit_in_words_and_in_bytes() -> None:
    game = new_game("castle_village_port", "house", 3)
    most = game.position(damaged("gold 3", "gold 999999"))
    assert game.position_from_bytes(bytes(most)) == most
    more = (1_000_000).to_bytes(4, sys.byteorder) + bytes(most)[4:]  # the first field is A's gold
    with pytest.raises(InvalidPositionError, match=r"table\.gold\[A\]: 1000000 is not in 0..999999"):
        game.position_from_bytes(more)
    with pytest.raises(InvalidPositionError, match=r"table\.gold\[A\]: 1000000 is not in 0..999999"):
        check(changed(read(WHOLE), gold=(1_000_000, 4, 5)), HOUSE_SHAPE)


def test_the_catalogue_has_at_least_120_rule_breaks() -> None:
    assert len(RULESETS) + len(POSITIONS) + len(LATE_POSITIONS) + len(VIEWS) >= 120


def test_the_undamaged_examples_are_accepted() -> None:
    for text in (WHOLE, SELECTING, VIEW):
        assert write_parts(read(text), HOUSE_SHAPE) == text
    assert view_of(read(WHOLE), 0) == read(VIEW)
    assert read(REPLACING).table.to_act == CHANCE
    walk = read(LATE_WALK, LATE_SHAPE)
    assert read(write_parts(walk, LATE_SHAPE), LATE_SHAPE) == walk
    assert "walk village due 4B,4C ranked 9A right" in write_parts(walk, LATE_SHAPE)
    hidden_shape = table_shape(HIDDEN)
    hidden = read(HIDDEN_VIEW, hidden_shape)
    assert (hidden.table.gold, hidden.table.remembered_gold) == (None, (3, 5, 2))
    assert "gold 3 ? ? | remembered_gold 3 5 2" in write_parts(hidden, hidden_shape)
    assert read(write_parts(hidden, hidden_shape), hidden_shape) == hidden


CROWD = (RowCard(15, 1),) * 46
FIELDS_OF_WHOLE: list[tuple[dict[str, Any], str]] = [
    ({"ask": "dance"}, "ask: 'dance' is not one of select, place, over, walk, move, rob,"),
    ({"ask": "select"}, "acting: '12A' is set, but no card's effect asks"),
    ({"ask": "over"}, "to_act: 'A' is set, but there is no question"),
    ({"ask": "replace"}, "to_act: 'A' cannot replace; chance, '*', replaces"),
    ({"to_act": None}, "to_act: None is not a seat to answer move (A, B, C)"),
    ({"to_act": CHANCE}, "to_act: '*' cannot move; chance, '*', replaces"),
    ({"to_act": 7}, "to_act: 7 is not at this table"),
    ({"first": 7}, "first: 7 is not at this table (A, B, C)"),
    ({"acting": None}, "acting: None is not a card whose effect asks"),
    ({"acting": RowCard(12, 9)}, "acting: '129' is not at this table"),
    ({"acting": RowCard(17, 0)}, "acting: '17A' is not a card of this table (15, 14,"),
    ({"effect": 16}, "effect: 16 is not a card of this table"),
    ({"round": 256}, "round: 256 is not in 1..3"),
    ({"victim": 1}, "victim: 'B' does not fit ask: replace has a victim"),
    ({"castle": (RowCard(14, 1), RowCard(12, 9))}, "castle[1].owner: 9 is not at this table (A, B, C)"),
    ({"castle": CROWD}, "castle: 46 cards are more than the 45 of all players"),
    ({"walk": Walk("tavern")}, "walk.location: 'tavern' is not a location (castle, village, port)"),
    ({"walk": Walk("castle", due=(RowCard(14, 9),))}, "walk.due: '149' is not at this table (A, B, C)"),
    ({"walk": Walk("castle", ranked=(RowCard(14, 1),) * 2)}, "walk.ranked: '14B' is named twice"),
    ({"orders": ("tavern", None, None)}, "orders[A]: 'tavern' is not a location (castle, village, port)"),
    ({"gold": (3, 4)}, "gold: 2 entries, not one for each of 3 players"),
    ({"orders": (None,) * 4}, "orders: 4 entries, not one for each of 3 players"),
    ({"piles": ((10, 10), (), (11,))}, "piles[A]: 2 copies of 10; each player has one"),
    ({"piles": ((16,), (), (11,))}, "piles[A][0]: 16 is not a card of this table (15, 14,"),
    ({"hand_sizes": (4, 4)}, "hand_sizes: 2 entries, not one for each of 3 players"),
    ({"hand_sizes": (4, 4, 5)}, "hand_sizes: '4, 4, 5' contradicts the other fields: 4, 4, 4"),
    ({"deck_sizes": (9, 8, 9)}, "deck_sizes: '9, 8, 9' contradicts the other fields: 9, 9, 9"),
    ({"selected": ()}, "selected: 'nothing' contradicts the other fields: B"),
    ({"selected": (1, 2)}, "selected: 'B, C' contradicts the other fields: B"),
    ({"selected": (1, 7)}, "selected: 'B, 7' contradicts the other fields: B"),
]


@pytest.mark.parametrize(("fields", "message"), FIELDS_OF_WHOLE, ids=[message for _, message in FIELDS_OF_WHOLE])
def test_the_fields_of_a_table_are_checked(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidPositionError) as refusal:
        check(changed(read(WHOLE), **fields), HOUSE_SHAPE)
    assert f"position.table.{message}" in str(refusal.value)


def test_the_secrets_of_a_position_are_checked() -> None:
    position = whole(WHOLE)
    a, b, c = position.secrets
    for changed_parts, message in (
        (replace(position, secrets=(a, b)), "secrets: 2 entries, not one for each of 3 players"),
        (replace(position, decks=position.decks[:2]), "decks: 2 entries, not one for each of 3 players"),
        (replace(position, secrets=(replace(a, hand=(15, 15, 13, 11)), b, c)), "secrets[A].hand: 2 copies of 15; each"),
        (replace(position, secrets=(a, replace(b, selected=16), c)), "secrets[B].selected: 16 is not a card of this"),
        (replace(position, decks=((*position.decks[0][:8], 0), *position.decks[1:])), "decks[A][8]: 0 is not a card"),
    ):
        with pytest.raises(InvalidPositionError) as refusal:
            check(changed_parts, HOUSE_SHAPE)
        assert f"position.{message}" in str(refusal.value)


def test_the_own_secrets_of_a_view_are_checked() -> None:
    view = read(VIEW)
    assert isinstance(view, SeenTable)
    for changed_parts, message in (
        (replace(view, observer=3), "observer: 'D' is not at this table (A, B, C)"),
        (replace(view, own=Secrets((15, 14, 13))), "own.hand: 3 cards; A has 4 there"),
        (replace(view, own=Secrets(view.own.hand, 9)), "own.selected: 9 is not possible: A has no selected card any"),
        (changed(view, selected=(0, 1)), "table.selected: 'A, B' contradicts the other fields: B"),
        (changed(view, selected=(1, 2)), "table.selected[1]: 'C' is not possible: C has no selected card any more"),
    ):
        with pytest.raises(InvalidViewError) as refusal:
            check(changed_parts, HOUSE_SHAPE)
        assert f"view.{message}" in str(refusal.value)
    with pytest.raises(HiddenCardError, match=r"view\.table\.gold: \(3, 5, 2\) is hidden in this game"):
        check(changed(read(HIDDEN_VIEW, table_shape(HIDDEN)), gold=(3, 5, 2)), table_shape(HIDDEN))


def test_the_fields_of_a_walk_are_checked() -> None:
    with pytest.raises(InvalidPositionError, match=r"table\.acting: '5A' has no effect when it is revealed"):
        check(changed(read(LATE_WALK, LATE_SHAPE), walk=None), LATE_SHAPE)
    without_traitor: Any = table_with({"effect": "fetch", "when": "end"}, turns_per_round=2)
    text = "castle 9A | port 5B 4C | ask C move by 4C | walk port"
    message = r"table\.walk\.from_right: True is not possible: no card of this table pays from the right"
    with pytest.raises(InvalidPositionError, match=message):
        read(f"{text} right", table_shape(without_traitor))
    assert read(text, table_shape(without_traitor)).table.walk == Walk("port")


# --- completion --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("castle -", "round 1 | turn 1 | first A | ask A select | gold 3 3 3 | selected - - -"),
        ("first B", "first B | ask B select"),
        ("selected 4 - -", "ask B select | gold 3 3 3 | selected 4 - -"),
        ("selected 4 5 6", "ask A place | gold 3 3 3 | selected 4 5 6"),
        ("castle 5A | selected - 5 6", "round 1 | turn 1 | first A | ask B place"),
        ("ask C place", "selected - - 15 | hands 15,14,13,12,11 15,14,13,12,11 14,13,12,11,10"),
        ("castle 12A 7A 4B", "round 1 | turn 3 | first A | ask A select"),
        ("castle 12A 7A 4B | ask A move by 12A", "round 1 | turn 2 | first A | ask A move by 12A"),
        ("piles 1,2,3,4,5 1,2,3,4,5 1,2,3,4,5", "round 2 | turn 2 | first A | ask A select"),
        ("hands 6,5,4 6,5,4 6,5,4", "round 1 | turn 4 | first A | ask A select"),
        ("ask over", "round 3 | turn 4 | first A | ask over"),
        ("castle 4A 7A", None),
    ],
)
def test_omitted_fields_are_completed(text: str, part: str | None) -> None:
    if part is None:
        with pytest.raises(InvalidPositionError):
            read(text)
        return
    parts = read(text)
    assert part in write_parts(parts, HOUSE_SHAPE)
    assert read(write_parts(parts, HOUSE_SHAPE)) == parts


def test_fields_and_lists_may_stand_in_any_order() -> None:
    shuffled = " | ".join(reversed(WHOLE.split(" | "))).replace("15,14,13,11", "11,13,15,14")
    assert read(shuffled) == read(WHOLE)
    walk = damaged("due 4B,4C ranked 9A right", "right ranked 9A due 4C,4B", LATE_WALK)
    assert read(walk, LATE_SHAPE) == read(LATE_WALK, LATE_SHAPE)


# --- deals -------------------------------------------------------------------------------------------------------

DECK = "6,3,8,2,7,10,5,12,4,11,14,1,13,15,9"


@pytest.mark.parametrize(
    ("lines", "observer", "message"),
    [
        ([], None, "deck A: the cards that A drew are required"),
        ([f"deck A {DECK}"] * 2, None, "is not like 'deck A 6,3,8,2,7,10', once for each seat"),
        ([f"deck D {DECK}"], None, "is not like 'deck A 6,3,8,2,7,10'"),
        ([f"stack A {DECK}"], None, "is not like 'deck A"),
        (["deck A 6,x"], None, "deck A: 'x' is not a number"),
        ([f"deck {seat} 6,3,8" for seat in "ABC"], None, "decks[A]: 6, 3, 8 is not each card of the table once (15,"),
        ([f"deck {seat} {DECK},9" for seat in "ABC"], None, "decks[A]: 6, 3, 8,"),
        ([f"deck A {DECK}"], 0, "is not like 'hand A 6,3,8,2,7,10'"),
        (["hand A 6,3,8,2,7,10", "hand B 6,3,8,2,7,10"], 0, "hand B: the cards that B drew are hidden"),
        ([], 1, "hand B: the cards that B drew are required"),
        (["hand A 6,3,8"], 0, "view.own.hand: 3 cards; A has 6 there"),
        (["hand A 6,3,8,2,7,7"], 0, "view.own.hand: 2 copies of 7; each player has one"),
    ],
)
def test_wrong_deals_are_refused(lines: list[str], observer: int | None, message: str) -> None:
    with pytest.raises(EngineError) as refusal:
        check(complete(read_deal(lines, 0, observer, HOUSE_SHAPE), HOUSE_SHAPE), HOUSE_SHAPE)
    assert message in str(refusal.value)


def test_decks_for_two_are_refused() -> None:
    with pytest.raises(InvalidPositionError, match="decks: 2 lists, not one for each of 3 players"):
        dealt(Deal(0, (tuple(range(15, 0, -1)),) * 2), HOUSE_SHAPE)


@pytest.mark.parametrize("text", [WHOLE, SELECTING, VIEW, "ask over", "gold 4 3 3", "ask walk"])
def test_a_table_after_the_start_has_no_deal(text: str) -> None:
    assert write_deal(read(text), HOUSE_SHAPE) is None


def test_a_start_with_hidden_gold_has_a_deal() -> None:
    shape = table_shape(HIDDEN)
    view = view_of(complete(nothing_known(shape), shape), 1, shape)
    assert write_deal(view, shape) == ["hand B 15,14,13,12,11,10"]
    assert complete(read_deal(["hand B 15,14,13,12,11,10"], 0, 1, shape), shape) == view


# --- actions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("select 9", {"type": "select", "card": 9}),
        ("select ?", {"type": "select", "card": "?"}),
        ("place village 0", {"type": "place", "location": "village", "index": 0}),
        ("move 12B to port 2", {"type": "move", "card": {"value": 12, "owner": 1}, "to": "port", "index": 2}),
        ("rob B", {"type": "rob", "player": 1}),
        ("copy 12B", {"type": "copy", "card": {"value": 12, "owner": 1}}),
        ("swap B", {"type": "swap", "player": 1}),
        ("replace 2", {"type": "replace", "card": 2}),
        ("replace ?", {"type": "replace", "card": "?"}),
        ("order B village", {"type": "order", "player": 1, "location": "village"}),
        ("discard 4B", {"type": "discard", "card": {"value": 4, "owner": 1}}),
    ],
)
def test_actions_are_read_and_written_back(text: str, fields: dict[str, Any]) -> None:
    assert ACTIONS.read(text, HOUSE_SHAPE) == fields
    assert ACTIONS.write(fields, HOUSE_SHAPE) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "action: '' is not one of select VALUE, place LOCATION INDEX, move CARD to LOCATION INDEX,"),
        ("dance", "action: 'dance' is not one of"),
        ("select", "action: 'select' is not one of"),
        ("select 16", "action: '16' in 'select 16' is not a card's value (1 to 15)"),
        ("select King", "action: 'King' in 'select King' is not a card's value"),
        ("replace 0", "action: '0' in 'replace 0' is not a card's value"),
        ("place tavern 0", "action: 'tavern' in 'place tavern 0' is not a location (castle, village, port)"),
        ("place port x", "action: 'x' in 'place port x' is not a place in a row (0 to 74)"),
        ("place port 75", "is not a place in a row"),
        ("place ² 0", "is not a location"),
        ("place port ²", "is not a place in a row"),
        ("move 12 to port 0", "action: '12' in 'move 12 to port 0' is not a card in a row, such as 12B"),
        ("copy 12F", "action: '12F' in 'copy 12F' is not a card in a row"),
        ("discard ?", "action: '?' in 'discard ?' is not a card in a row"),
        ("rob Z", "action: 'Z' in 'rob Z' is not a seat (A, B, C, D, E)"),
        ("order B", "action: 'order B' is not one of"),
    ],
)
def test_text_that_is_no_action_is_refused(text: str, message: str) -> None:
    with pytest.raises(NotationError) as refusal:
        ACTIONS.read(text, HOUSE_SHAPE)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "action", "legal", "message"),
    [
        (SELECTING, "place port 0", [], "B must select a card from hand"),
        (SELECTING, "select 9", [], "B holds no 9"),
        (REPLACING, "replace 5", [], "C holds no 5"),
        (REPLACING, "select 5", [], "chance must choose the card that replaces the selected one"),
        ("castle 12A | ask B place | orders - port -", "place castle 0", [], "B was ordered to place in the port"),
        (
            "castle 15A 15C | first C | ask B place | selected - 4 -",
            "place castle 0",
            [],
            "rows are sorted by value, the highest on the left: in the castle a 4 stands at 2",
        ),
        (
            "castle 15A | first A | ask B place | selected - 15 14",
            "place castle 2",
            [],
            "in the castle a 15 stands at 0 to 1",
        ),
        (WHOLE, "move 9C to port 0", [], "12A moves a neighbour, and 9C is not one"),
        (WHOLE, "move 14B to castle 0", [], "a neighbour is moved to another location than the castle"),
        (WHOLE, "move 14B to port 1", [], "in the port a 14 stands at 0"),
        (
            "castle 4A | port 9B | ask A move by 4A",
            "move 9B to village 0",
            [],
            "4A fetches a card into its own location",
        ),
        ("castle 4A | port 9B | ask A move by 4A", "move 4A to castle 0", [], "4A does not lie in another location"),
        ("castle 4A | port 9B | ask A move by 4A", "move 9B to castle 1", [], "in the castle a 9 stands at 0"),
        (
            "castle 11A 9B | ask A rob by 11A",
            "rob C",
            ["rob B"],
            "of the opponents, only B owns a neighbour of 11A",
        ),
        ("castle 12B 11A 9B | ask A rob by 11A", "swap B", [], "A must choose a player to rob"),
        (
            "castle 9A | ask A swap by 9A",
            "swap A",
            ["swap B", "swap C"],
            "of the others, only B or C has not revealed yet",
        ),
        (
            "castle 12B 10A 3C | ask A copy by 10A",
            "copy 3C",
            ["copy 12B"],
            "only an immediate effect that does not itself copy can be copied",
        ),
        ("castle 12B 10A 3C | ask A copy by 10A", "copy 4C", ["copy 12B"], "10A has only 12B and 3C beside it"),
        ("castle 5A 3C | ask A discard by 5A", "discard 5A", ["discard 3C"], "5A has only 3C beside it"),
    ],
)
def test_an_illegal_action_is_refused_with_the_rule(text: str, action: str, legal: list[str], message: str) -> None:
    fields, *legal_fields = (ACTIONS.read(one, HOUSE_SHAPE) for one in (action, *legal))
    assert message in explain_illegal(read(text), fields, legal_fields, HOUSE_SHAPE)


# --- damage ------------------------------------------------------------------------------------------------------

ALPHABET = "ABCDE0123456789|-,?* castlevillageportroundturnfirstaskgoldselectedordershandsdeckspileswalkdueranked²٣\t\0"
TEXTS = [WHOLE, VIEW, SELECTING, REPLACING, HIDDEN_VIEW, "select 9", "move 12B to port 2", f"deck A {DECK}", LATE_WALK]


@given(st.sampled_from(TEXTS), st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_no_damaged_text_raises_anything_but_an_engine_error(text: str, seed: int) -> None:
    draw = random.Random(seed)
    for shape in (HOUSE_SHAPE, LATE_SHAPE, table_shape(HIDDEN)):
        for _ in range(5):
            changed_text = damaged_text(text, draw, ALPHABET)
            for reader in (_reread_table, _reread_action, _reread_deal):
                with suppress(EngineError):
                    reader(changed_text, shape)


def _reread_table(text: str, shape: TableShape) -> None:
    parts = read(text, shape)
    assert read(write_parts(parts, shape), shape) == parts


def _reread_action(text: str, shape: TableShape) -> None:
    fields = ACTIONS.read(text, shape)
    assert ACTIONS.read(ACTIONS.write(fields, shape), shape) == fields


def _reread_deal(text: str, shape: TableShape) -> None:
    check(complete(read_deal([text], 0, 0, shape), shape), shape)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(0, 9) | st.sampled_from([*EFFECT_WORDS, *FIELDS, "5"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=3),
    max_leaves=5,
)


@given(rulesets(), JSON, st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_no_damaged_ruleset_raises_anything_but_an_engine_error(
    raw_ruleset: dict[str, Any], junk: Any, seed: int
) -> None:
    raw_ruleset = json.loads(json.dumps(raw_ruleset))
    draw = random.Random(seed)
    node: Any = raw_ruleset
    while keys := list(node) if isinstance(node, dict) else list(range(len(node))):
        key = draw.choice(keys)
        if not isinstance(node[key], (dict, list)) or draw.random() < 0.2:
            node[key] = junk
            break
        node = node[key]
    try:
        ruleset = read_ruleset(raw_ruleset)
    except InvalidRulesetError:
        return
    assert read_ruleset(ruleset.overrides()) == ruleset

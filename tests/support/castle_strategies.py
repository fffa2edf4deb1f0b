"""Hypothesis strategies: rulesets that callers may send for castle_village_port."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.editions import EFFECTS, RANGES, REWARDS, WHEN

NAMES = ("King", "Thief", "Bard", "", "Miller", "Ünal O'Neil", "a card with a long name")
Ruleset = dict[str, Any]


@st.composite
def card_lists(draw: st.DrawFn) -> list[Ruleset]:
    """Draw 3 to 15 cards in any order, each with any effect at any time that the effect allows."""
    values = draw(st.lists(st.integers(1, 15), min_size=3, max_size=15, unique=True))
    names = [draw(st.sampled_from(NAMES)) for _ in values]
    return [draw(_cards(value, name, names)) for value, name in zip(values, names, strict=True)]


@st.composite
def _cards(draw: st.DrawFn, value: int, name: str, names: list[str]) -> Ruleset:
    callable_names = [other for other in names if other]
    word = draw(st.sampled_from([word for word in EFFECTS if word != "leave_if_present" or callable_names]))
    effect = EFFECTS[word]
    when = draw(st.sampled_from([when for when in WHEN if effect.only in (None, when) or when == "never"]))
    card: Ruleset = {"value": value, "name": name, "when": when, "effect": word}
    for parameter, usual in effect.parameters.items():
        if usual is None or draw(st.booleans()):
            card[parameter] = draw(
                st.sampled_from(callable_names if parameter == "who" else LOCATIONS)
                if parameter not in RANGES
                else st.integers(*RANGES[parameter])
            )
    return card


def reward_lists() -> st.SearchStrategy[list[int | str]]:
    # Small numbers are drawn more often; -99 and 99 are the limits.
    numbers = st.integers(-3, 6) | st.integers(-99, 99)
    return st.lists(st.one_of(st.sampled_from(list(REWARDS)), numbers), max_size=8)


def reward_tables() -> st.SearchStrategy[Ruleset]:
    """Draw rewards of some locations, either by number of players or one list for all."""
    by_group: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional={"3-4": reward_lists(), "5": reward_lists()})
    return st.fixed_dictionaries({}, optional=dict.fromkeys(LOCATIONS, by_group | reward_lists()))


@st.composite
def _numbers(draw: st.DrawFn, n_cards: int, turns: bool) -> Ruleset:
    """Draw numbers that suit `n_cards` cards; without `turns`, the turns are those of the house."""
    ruleset: Ruleset = {}
    n_turns = draw(st.integers(1, min(n_cards, 5))) if turns else 4
    if turns:
        ruleset["turns_per_round"] = n_turns
    if turns or draw(st.booleans()):
        ruleset["rounds"] = draw(st.integers(1, min(n_cards // n_turns, 15)))
    if n_turns > 6 or draw(st.booleans()):
        ruleset["hand_size"] = draw(st.integers(n_turns, 15))
    if draw(st.booleans()):
        ruleset["starting_gold"] = draw(st.integers(0, 9) | st.integers(0, 99))
    if draw(st.booleans()):
        ruleset["hidden_gold"] = draw(st.booleans())
    return ruleset


@st.composite
def house_tables(draw: st.DrawFn) -> Ruleset:
    """Draw other rewards and numbers for the house's cards."""
    ruleset = draw(_numbers(15, turns=draw(st.booleans())))
    if draw(st.booleans()):
        ruleset["rewards"] = draw(reward_tables())
    return ruleset


@st.composite
def own_tables(draw: st.DrawFn) -> Ruleset:
    """Draw a caller's own cards, perhaps rewards, and numbers that suit them."""
    cards = draw(card_lists())
    ruleset: Ruleset = {"cards": cards, **draw(_numbers(len(cards), turns=True))}
    if draw(st.booleans()):
        ruleset["rewards"] = draw(reward_tables())
    if draw(st.booleans()):
        ruleset["edition"] = "house"
    return ruleset


def rulesets() -> st.SearchStrategy[Ruleset]:
    """Draw any ruleset that can be played by 3, 4 and 5 players."""
    return st.one_of(house_tables(), own_tables())

"""Hypothesis strategies: tables that callers may send for castle_village_port."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from engine_cy.castle_village_port.cards import LOCATIONS
from engine_cy.castle_village_port.editions import EFFECTS, RANGES, REWARDS, WHEN, read_ruleset

NAMES = ("King", "Thief", "Bard", "", "Miller", "Ünal O'Neil", "a card with a long name")
Given = dict[str, Any]


@st.composite
def card_lists(draw: st.DrawFn, least: int = 3) -> list[Given]:
    """3 to 15 cards in any order, of any effect at any time that is possible for it."""
    values = draw(st.lists(st.integers(1, 15), min_size=least, max_size=15, unique=True))
    names = [draw(st.sampled_from(NAMES)) for _ in values]
    return [draw(_cards(value, name, names)) for value, name in zip(values, names, strict=True)]


@st.composite
def _cards(draw: st.DrawFn, value: int, name: str, names: list[str]) -> Given:
    callable_names = [other for other in names if other]
    word = draw(st.sampled_from([word for word in EFFECTS if word != "leave_if_present" or callable_names]))
    effect = EFFECTS[word]
    when = draw(st.sampled_from([when for when in WHEN if effect.only in (None, when) or when == "never"]))
    card: Given = {"value": value, "name": name, "when": when, "effect": word}
    for parameter, usual in effect.parameters.items():
        if usual is None or draw(st.booleans()):
            card[parameter] = draw(
                st.sampled_from(callable_names if parameter == "who" else LOCATIONS)
                if parameter not in RANGES
                else st.integers(*RANGES[parameter])
            )
    return card


def reward_lists() -> st.SearchStrategy[list[int | str]]:
    # Small numbers are met again and again; -99 and 99 are the limits.
    numbers = st.integers(-3, 6) | st.integers(-99, 99)
    return st.lists(st.one_of(st.sampled_from(list(REWARDS)), numbers), max_size=8)


def reward_tables() -> st.SearchStrategy[Given]:
    """Rewards of some locations, for all numbers of players alike or not."""
    by_group: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional={"3-4": reward_lists(), "5": reward_lists()})
    return st.fixed_dictionaries({}, optional=dict.fromkeys(LOCATIONS, by_group | reward_lists()))


@st.composite
def _numbers(draw: st.DrawFn, n_cards: int, turns: bool) -> Given:
    """Numbers that a table of so many cards can be played with; without `turns`, those of the house."""
    given: Given = {}
    n_turns = draw(st.integers(1, min(n_cards, 5))) if turns else 4
    if turns:
        given["turns_per_round"] = n_turns
    if turns or draw(st.booleans()):
        given["rounds"] = draw(st.integers(1, min(n_cards // n_turns, 15)))
    if n_turns > 6 or draw(st.booleans()):
        given["hand_size"] = draw(st.integers(n_turns, 15))
    if draw(st.booleans()):
        given["starting_gold"] = draw(st.integers(0, 9) | st.integers(0, 99))
    if draw(st.booleans()):
        given["hidden_gold"] = draw(st.booleans())
    return given


@st.composite
def house_tables(draw: st.DrawFn) -> Given:
    """The house's cards, with other rewards and numbers."""
    given = draw(_numbers(15, turns=draw(st.booleans())))
    if draw(st.booleans()):
        given["rewards"] = draw(reward_tables())
    return given


@st.composite
def sent_tables(draw: st.DrawFn) -> Given:
    """Cards of the caller's own, perhaps rewards too, and numbers that they can be played with."""
    cards = draw(card_lists())
    given: Given = {"cards": cards, **draw(_numbers(len(cards), turns=True))}
    if draw(st.booleans()):
        given["rewards"] = draw(reward_tables())
    if draw(st.booleans()):
        given["edition"] = "house"
    return given


def rulesets() -> st.SearchStrategy[Given]:
    """Everything that a caller may send and can play with 3, 4 and 5 players."""
    return st.one_of(house_tables(), sent_tables())


def rulesets_turned() -> st.SearchStrategy[Given]:
    """The same as the engine gives them back."""
    return rulesets().map(lambda given: read_ruleset(given).turned())

"""Editions as data: their cards and the values of their switches. No rules code depends on an edition's name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from engine_cy.errors import InvalidRulesetError, listed
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED, Card

Value = bool | int | str


class Edition(NamedTuple):
    """An edition: its switches, and the numbers that all editions of its game share."""

    game: str
    cards: tuple[Card, ...]
    players: tuple[int, ...]
    switches: Mapping[str, Value]
    fixed: Mapping[str, int]


class Ruleset(NamedTuple):
    """An edition, perhaps with changed switches: the rules of a game, except for the number of players."""

    edition: str
    game: str
    cards: tuple[Card, ...]
    players: tuple[int, ...]
    switches: Mapping[str, Value]
    fixed: Mapping[str, int]

    def overrides(self) -> dict[str, Value]:
        """Return the switches whose values differ from the edition's."""
        defaults = EDITIONS[self.edition].switches
        return {name: value for name, value in self.switches.items() if value != defaults[name]}


# The most kinds of cards, and cards of a kind, of a player, that a player plays and that all players play.
KINDS_MAX, COPIES_MAX, CARDS_MAX, PLAYED_MAX, ALL_PLAYED_MAX = 16, 4, 32, 12, 30

YES_OR_NO: tuple[Value, ...] = (False, True)
TO_NINE: tuple[Value, ...] = tuple(range(10))

# The switches of each game: the rules in which its editions differ, and which a caller may change, with their values.
# Their meanings are in server/games/oriflamme/words, in each language.
SWITCHES: dict[str, dict[str, tuple[Value, ...]]] = {
    "oriflamme": {
        "tokens_before_ability": YES_OR_NO,
        "ambush_discards_attacker": YES_OR_NO,
        "ambush_discards_own_attacker": YES_OR_NO,
        "ambush_own_gain": TO_NINE,
        "lord_counts_covered": YES_OR_NO,
        "decree_onto_stack": YES_OR_NO,
        "uncovered_resolves": ("any", "one-shot"),
    },
    "oriflamme_prototype": {
        "two_player_rounds": (6, 7),
        "cards_per_turn": (1, 2),
        "ambush_gain": TO_NINE,
    },
}

# The numbers that differ between the two games but are not switches, for 3 or more players.
_PUBLISHED = {
    "copies": 1,
    "aside": 3,
    "start_points": 1,
    "n_rounds": 6,
    "cards_per_turn": 1,
    "tokens_on_keep": 1,
    "pays_for_own": 1,
    "ambush_gain": 4,
    "cards_break_ties": 1,
    "eye": 0,
    "must_hit_opponents": 0,
}
_PROTOTYPE = {
    "copies": 1,
    "aside": 3,
    "start_points": 1,
    "n_rounds": 7,
    "tokens_before_ability": 1,
    "ambush_discards_attacker": 0,
    "ambush_discards_own_attacker": 0,
    "ambush_own_gain": 0,
    "lord_counts_covered": 0,
    "decree_onto_stack": 0,
    "uncovered_resolves_any": 1,
    "tokens_on_keep": 0,
    "pays_for_own": 0,
    "cards_break_ties": 0,
    "eye": 1,
    "must_hit_opponents": 1,
}

_EN: dict[str, Value] = {
    "tokens_before_ability": True,
    "ambush_discards_attacker": True,
    "ambush_discards_own_attacker": True,
    "ambush_own_gain": 1,
    "lord_counts_covered": True,
    "decree_onto_stack": True,
    "uncovered_resolves": "any",
}
_DE: dict[str, Value] = {
    "tokens_before_ability": False,
    "ambush_discards_attacker": False,
    "ambush_discards_own_attacker": False,
    "ambush_own_gain": 1,
    "lord_counts_covered": False,
    "decree_onto_stack": True,
    "uncovered_resolves": "one-shot",
}
_REVISED: dict[str, Value] = {
    "tokens_before_ability": True,
    "ambush_discards_attacker": True,
    "ambush_discards_own_attacker": False,
    "ambush_own_gain": 0,
    "lord_counts_covered": False,
    "decree_onto_stack": False,
    "uncovered_resolves": "any",
}

EDITIONS: dict[str, Edition] = {
    # fr-2019 and en-2019 have the same rules. Both names exist so that clients can name the box that they own.
    "en-2019": Edition("oriflamme", PUBLISHED, (3, 4, 5), _EN, _PUBLISHED),
    "fr-2019": Edition("oriflamme", PUBLISHED, (3, 4, 5), _EN, _PUBLISHED),
    "de-2019": Edition("oriflamme", PUBLISHED, (3, 4, 5), _DE, _PUBLISHED),
    "revised": Edition("oriflamme", PUBLISHED, (3, 4, 5), _REVISED, _PUBLISHED),
    "prototype": Edition(
        "oriflamme_prototype",
        PROTOTYPE,
        (2, 3, 4),
        {"two_player_rounds": 7, "cards_per_turn": 1, "ambush_gain": 3},
        _PROTOTYPE,
    ),
}


def editions_of(game: str) -> list[str]:
    """Return the names of a game's editions; the first is the default."""
    return [name for name, edition in EDITIONS.items() if edition.game == game]


def read_ruleset(game: str, ruleset: str | Mapping[str, Value] | None = None) -> Ruleset:
    """Read a ruleset: the name of an edition, or an optional `edition` and switches that replace its own."""
    switches: dict[str, Value] = {"edition": ruleset} if isinstance(ruleset, str) else dict(ruleset or {})
    name = switches.pop("edition", editions_of(game)[0])
    if name not in editions_of(game):
        raise InvalidRulesetError(
            f"ruleset.edition: {name!r} is not an edition of {game} ({listed(editions_of(game))})"
        )
    edition = EDITIONS[str(name)]
    for switch, value in switches.items():
        _check_switch(game, switch, value)
    return Ruleset(str(name), game, edition.cards, edition.players, {**edition.switches, **switches}, edition.fixed)


def _check_switch(game: str, switch: str, value: Value) -> None:
    switches = SWITCHES[game]
    if switch not in switches:
        elsewhere = [other for other in SWITCHES if switch in SWITCHES[other]]
        hint = f"; it is a switch of {listed(elsewhere)}" if elsewhere else ""
        raise InvalidRulesetError(f"ruleset.{switch}: {game} has no such switch ({listed(switches)}){hint}")
    values = switches[switch]
    # In Python, True == 1: compare types, too, as True is not a number of rounds.
    if not any(type(value) is type(possible) and value == possible for possible in values):
        raise InvalidRulesetError(f"ruleset.{switch}: {value!r} is not one of {listed(map(repr, values))}")


def table_numbers(ruleset: Ruleset, n_players: int) -> dict[str, int]:
    """Return the fields of `Rules` in rules.pxd, for a ruleset and `n_players`."""
    if type(n_players) is not int or n_players not in ruleset.players:
        raise InvalidRulesetError(
            f"players: {n_players!r} is not possible in {ruleset.edition} ({listed(ruleset.players)})"
        )
    switches = dict(ruleset.switches)
    numbers = dict(ruleset.fixed)
    two_player_rounds = switches.pop("two_player_rounds", None)
    if n_players == 2:
        # Each player plays two families as one.
        numbers.update(copies=2, aside=8, n_rounds=int(two_player_rounds or 7))
    if switches.get("cards_per_turn") == 2 and (n_players != 2 or two_player_rounds != 6):
        raise InvalidRulesetError(
            f"ruleset.cards_per_turn: 2 needs two_player_rounds 6 and 2 players, "
            f"not two_player_rounds {two_player_rounds} and {n_players} players"
        )
    if "uncovered_resolves" in switches:
        numbers["uncovered_resolves_any"] = switches.pop("uncovered_resolves") == "any"
    numbers.update({name: int(value) for name, value in switches.items()})
    numbers["n_players"] = n_players
    numbers["hand_size"] = sum(card.copies for card in ruleset.cards) * numbers["copies"] - numbers["aside"]
    numbers["cards_each"] = numbers["n_rounds"] * numbers["cards_per_turn"]
    _check_sizes(ruleset, numbers)
    return numbers


def _check_sizes(ruleset: Ruleset, numbers: Mapping[str, int]) -> None:
    """Refuse an edition whose cards have no room in the state (state.pxd, worlds.pxd, families.pxd)."""
    families, cards_each = numbers["copies"], numbers["cards_each"]
    limits = [
        ("kinds of cards", len(ruleset.cards), 1, KINDS_MAX),
        *((f"cards {card.name} of a player", card.copies * families, 1, COPIES_MAX) for card in ruleset.cards),
        ("cards of a player", numbers["hand_size"] + numbers["aside"], 1, CARDS_MAX),
        ("cards that a player plays", cards_each, 1, min(PLAYED_MAX, numbers["hand_size"])),
        ("cards that all players play", cards_each * numbers["n_players"], 1, ALL_PLAYED_MAX),
    ]
    for what, number, least, most in limits:
        if not least <= number <= most:
            raise InvalidRulesetError(
                f"ruleset.edition: {ruleset.edition} has {number} {what} with {numbers['n_players']} players, "
                f"not {least} to {most}"
            )
    if numbers["hand_size"] % families:
        raise InvalidRulesetError(
            f"ruleset.edition: {ruleset.edition} sets aside {numbers['aside']} cards of two families"
        )

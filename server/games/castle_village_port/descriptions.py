"""The cards, numbers and rewards of Castle, Village, Port in words, from the tables of the engine.

The game was printed in French only: its English and German names are ours, as are the titles of cards without a printed
name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eminence.v1 import rules_pb2 as pb
from engine_cy import Game
from engine_cy.castle_village_port import editions
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.castle_village_port.cards import LOCATIONS, Card
from engine_cy.castle_village_port.words import Deed, Reward, When
from server.games.adapter import Names, RulesTable

# By the names of the house's cards in engine_cy/castle_village_port/cards.py. The card of value 3 has no name.
CARD_NAMES = {
    "King": Names("King", "Roi", "König"),
    "Princess": Names("Princess", "Princesse", "Prinzessin"),
    "Witch": Names("Witch", "Sorcière", "Hexe"),
    "Guard": Names("Guard", "Garde", "Wache"),
    "Thief": Names("Thief", "Voleuse", "Diebin"),
    "Alchemist": Names("Alchemist", "Alchimiste", "Alchemist"),
    "Courtesan": Names("Courtesan", "Courtisane", "Kurtisane"),
    "Strategist": Names("Strategist", "Stratège", "Stratege"),
    "Traitor": Names("Traitor", "Traître", "Verräter"),
    "Merchant": Names("Merchant", "Marchand", "Händler"),
    "Warrior": Names("Warrior", "Guerrière", "Kriegerin"),
    "Bard": Names("Bard", "Barde", "Barde"),
    "Sailor": Names("Sailor", "Matelot", "Matrose"),
    "Hunter": Names("Hunter", "Chasseur", "Jäger"),
}
WHEN = {
    When.NEVER: "never",
    When.IMMEDIATE: "when it is revealed",
    When.END: "at the end of each round",
}
DEEDS = {
    Deed.NO_DEED: "does nothing",
    Deed.LEAVE_IF_PRESENT: "is discarded if a {who} is in its location",
    Deed.PAY_OTHERS: "pays the owner of every other card there {amount}",
    Deed.MOVE_NEIGHBOUR: "moves a neighbour to another location",
    Deed.ROB_NEIGHBOUR: "takes up to {amount} gold from a player who owns a neighbour",
    Deed.COPY_NEIGHBOUR: "copies the immediate effect of a neighbour",
    Deed.SWAP_SELECTED: "swaps another player's selected card for a random one of their hand",
    Deed.ORDER_LOCATION: "chooses where another player must place the selected card",
    Deed.PAY_FROM_RIGHT: "has its location's rewards paid from the right, this round",
    Deed.GAIN_PER_LOW: "gains {amount} for each card under {below} in its location",
    Deed.DISCARD_NEIGHBOUR: "discards a neighbour",
    Deed.FETCH: "fetches any card of another location into its own",
    Deed.DOUBLE_REWARD: "in the {where}, gets its reward {factor} times",
    Deed.DISCARD_HIGHEST: "discards the highest card of its location",
}
REWARDS = {
    Reward.NUMBER: "{amount:+d}",
    Reward.PER_CARD: "1 per card there",
    Reward.STEAL_EACH: "1 from each other player",
    Reward.HALF_VALUE: "half its value, rounded up",
}
MEANINGS = {
    "hand_size": "cards that each player draws up to",
    "rounds": "rounds of a game",
    "turns_per_round": "turns in a round, for any number of players",
    "starting_gold": "gold of each player at the start",
}


def names_of(card: Card) -> Names:
    """Return the names of a card; for a caller's own card, its one name in each language."""
    return CARD_NAMES.get(card.name, Names(card.name, card.name, card.name))


def value_names(game: Game) -> dict[int, str]:
    """Return the English names of the cards by their values."""
    assert isinstance(game, CastleVillagePort)
    return {card.value: names_of(card).en for card in game.ruleset.cards}


def switches() -> Iterator[pb.SwitchInfo]:
    for name, (least, most) in editions.NUMBERS.items():
        yield pb.SwitchInfo(name=name, meaning=MEANINGS[name], values=map(str, range(least, most + 1)))
    yield pb.SwitchInfo(name="hidden_gold", meaning="gold is hidden from the others", values=("no", "yes"))


def describe_game(game: CastleVillagePort) -> dict[str, Any]:
    """Return the numbers of a game, and the rewards of each rank of a location."""
    ruleset = game.ruleset
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
            location: [REWARDS[Reward(entry.kind)].format(amount=entry.amount) for entry in entries]
            for location, entries in zip(LOCATIONS, numbers.rewards, strict=True)
        },
    }


def describe_cards(game: CastleVillagePort) -> Iterator[dict[str, Any]]:
    return (_describe_card(game, card) for card in game.ruleset.cards)


def _describe_card(game: CastleVillagePort, card: Card) -> dict[str, Any]:
    deed = DEEDS[Deed(card.deed)].format(**card._asdict())
    return {
        "game": game.id,
        "value": card.value,
        "names": names_of(card)._asdict(),
        "when": WHEN[When(card.when)],
        "effect": deed,
    }


def tables(description: Mapping[str, Any]) -> Iterator[RulesTable]:
    rows = []
    for card in description["cards"]:
        names = card["names"]
        foreign = f"{names['fr']} / {names['de']}" if names["en"] else ""
        rows.append((str(card["value"]), names["en"], foreign, card["when"], card["effect"]))
    yield RulesTable(("value", "card", "fr / de", "when", "and then"), rows, right=("value",))
    rewards = description["rewards"]
    ranks = range(1, 1 + max(map(len, rewards.values())))
    yield RulesTable(
        ("location", *(f"{rank}." for rank in ranks)),
        [(location, *entries) for location, entries in rewards.items()],
        heading="Gold for the ranks of a location",
    )


def card_lines(card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "acts", card["when"]
    yield "and then", card["effect"]

"""The cards, switches and numbers of Oriflamme and its prototype in words, from the tables of the engine.

The names of Oriflamme's cards are those of the printed rules. Its prototype was printed in French only: its English and
German names are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from eminence.v1 import rules_pb2 as pb
from engine_cy.oriflamme import editions
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.cards import Card
from engine_cy.oriflamme.words import Deed, Nature, Reach
from server.games.adapter import Names, RulesTable, as_text

# By the ids of engine_cy/oriflamme/cards.py.
CARD_NAMES = {
    "archer": Names("Archer", "Archer", "Bogenschützin"),
    "soldier": Names("Soldier", "Soldat", "Soldat"),
    "spy": Names("Spy", "Espion", "Spionin"),
    "heir": Names("Heir", "Héritier", "Nachfahre"),
    "lord": Names("Lord", "Seigneur", "Gebieter"),
    "shapeshifter": Names("Shapeshifter", "Changeforme", "Formwandlerin"),
    "assassination": Names("Assassination", "Assassinat", "Attentat"),
    "royal_decree": Names("Royal Decree", "Décret royal", "Dekret"),
    "conspiracy": Names("Conspiracy", "Complot", "Komplott"),
    "ambush": Names("Ambush", "Embuscade", "Hinterhalt"),
    "assassin": Names("Assassin", "Assassin", "Attentäter"),
    "mercenaries": Names("Mercenaries", "Mercenaires", "Söldner"),
    "queen": Names("Queen", "Reine", "Königin"),
}


def names_of(card: Card) -> Names:
    """Return the names of a card of Oriflamme; for a card that an edition adds, its one name in each language."""
    return CARD_NAMES.get(card.id, Names(card.name, card.name, card.name))


REACHES = {
    Reach.NOTHING: "",
    Reach.EITHER_END: "the first or the last slot",
    Reach.NEIGHBOUR: "a slot beside its own",
    Reach.RIVAL: "an opponent who owns a neighbour",
    Reach.ANY_SLOT: "any slot, also its own",
    Reach.OTHER_SLOT: "any slot but its own",
    Reach.SHOWN_NEIGHBOUR: "a neighbour that lies face up",
    Reach.OTHER_PAIR: "two slots, neither of them its own",
}
DEEDS = {
    Deed.NO_DEED: "does nothing",
    Deed.ELIMINATE: "eliminates what it points at and gains {amount}",
    Deed.ELIMINATE_IF_ALIKE: "eliminates both if they have one name, and gains {amount} for each",
    Deed.STEAL: "takes {amount} from the player pointed at",
    Deed.GAIN_IF_SOLE_NAME: "gains {amount} unless another face-up top card has its name",
    Deed.GAIN_IF_SOLE_KIND: "gains {amount} unless a face-up top card has the name of this ability, but a copied one",
    Deed.GAIN_WITH_NEIGHBOURS: "gains {amount}, and 1 for each own card in the slots beside it",
    Deed.GAIN_UNLESS_CROWDED: "gains {amount}; with two or more cards in a slot beside it, it is eliminated instead",
    Deed.COPY: "acts as the card pointed at",
    Deed.MOVE: "carries the card pointed at elsewhere",
    Deed.MULTIPLY_TOKENS: "has its own tokens pay {amount} each",
    Deed.FORFEIT_TOKENS: "gains {amount} instead of its tokens",
}
NATURES = {
    Nature.ONE_SHOT: "discarded after it acted",
    Nature.AMBUSH: "gains its owner {ambush_gain} when an opponent's card hits it",
    Nature.UNREVEALABLE: "cannot be revealed by its owner",
    Nature.LEAVES: "eliminated, for nothing, after it acted",
}
# Keys of --json, and the engine's names for the same numbers.
NUMBERS = {
    "rounds": "n_rounds",
    "cards_in_hand": "hand_size",
    "cards_set_aside": "aside",
    "copies_of_each_card": "copies",
    "points_at_the_start": "start_points",
}


def switches(game_id: str) -> Iterator[pb.SwitchInfo]:
    for name, switch in editions.SWITCHES[game_id].items():
        yield pb.SwitchInfo(name=name, meaning=switch.meaning, values=map(as_text, switch.values))


def describe_switches(game_id: str) -> list[dict[str, Any]]:
    """Return the switches of a game, with their values in each edition."""
    return [
        {
            "name": name,
            "meaning": switch.meaning,
            "values": list(switch.values),
            "editions": {
                edition: editions.EDITIONS[edition].switches[name] for edition in editions.editions_of(game_id)
            },
        }
        for name, switch in editions.SWITCHES[game_id].items()
    ]


def describe_game(game: Oriflamme) -> dict[str, Any]:
    """Return the numbers of a game, and its switches with their values."""
    numbers = editions.table_numbers(game.ruleset, game.n_players)
    return {
        "numbers": {name: numbers[key] for name, key in NUMBERS.items()},
        "switches": [
            {**switch, "value": game.ruleset.switches[switch["name"]]} for switch in describe_switches(game.id)
        ],
    }


def describe_cards(game: Oriflamme) -> Iterator[dict[str, Any]]:
    return (_describe_card(game, card) for card in game.cards)


def _describe_card(game: Oriflamme, card: Card) -> dict[str, Any]:
    numbers = editions.table_numbers(game.ruleset, game.n_players)
    natures = [text.format_map(numbers) for nature, text in NATURES.items() if card.nature & nature]
    reach = REACHES[Reach(card.reach)]
    deed = DEEDS[Deed(card.deed)].format(amount=card.amount)
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


def tables(description: Mapping[str, Any]) -> Iterator[RulesTable]:
    rows = []
    for card in description["cards"]:
        names = card["names"]
        traits = "".join(f"; {text}" for text in card["traits"])
        rows.append((names["en"], f"{names['fr']} / {names['de']}", card["points_at"], card["effect"] + traits))
    yield RulesTable(("card", "fr / de", "points at", "and then"), rows)


def card_lines(card: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if card["points_at"]:
        yield "points at", card["points_at"]
    yield "and then", card["effect"]
    for text in card["traits"]:
        yield "traits", text
    for name, value in card["switches"].items():
        yield "switch", f"{name} {as_text(value)}"

"""The names of games and cards in English, French and German.

Oriflamme's names are those of the printed rules. Its prototype and Castle, Village, Port were printed in French only:
their English and German names are ours, as are the titles of cards without a printed name.
"""

from __future__ import annotations

from typing import NamedTuple

from engine_cy.oriflamme.cards import Card


class Names(NamedTuple):
    en: str
    fr: str
    de: str


GAMES = {
    "oriflamme": Names("Oriflamme", "Oriflamme", "Oriflamme"),
    "oriflamme_prototype": Names("Oriflamme (prototype)", "Oriflamme (prototype)", "Oriflamme (Prototyp)"),
    "castle_village_port": Names("Castle, Village, Port", "Château, Village, Port", "Schloss, Dorf, Hafen"),
}

# By the ids of engine_cy/oriflamme/cards.py.
ORIFLAMME = {
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
    return ORIFLAMME.get(card.id, Names(card.name, card.name, card.name))


# By the names of the house's cards in engine_cy/castle_village_port/cards.py. The card of value 3 has no name.
CASTLE_VILLAGE_PORT = {
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


def castle_name(name: str) -> str:
    """Return the English name of a card of Castle, Village, Port; for a caller's own card, its name as it is."""
    return CASTLE_VILLAGE_PORT[name].en if name in CASTLE_VILLAGE_PORT else name

"""Messages that the games share, in English."""

from engine_cy.picture_words import TEXTS

MESSAGES = {
    "and": "; ",
    "gain": "{sentence}, {amount}",
    "gain.of": "{who} {amount}",
    "gain.by": "{who} {amount} ({cards})",
    "discarded": "to the pile: {cards}",
    "draws": "{who} draws: {cards}",
    "draws.you": "you draw: {cards}",
    "round": "Round {round}, first {first}",
    "turn": "Round {round}, turn {turn}, first {first}",
    "hand": "Hand of {who}: {cards}",
    "hand.you": "Your hand ({who}): {cards}",
    "empty": "empty",
    "piles": "Piles",
    "aside": "Set aside by {who}: {cards}",
    "aside.you": "Set aside: {cards}",
    "acts": "acts",
    "and_then": "and then",
    "points_at": "points at",
    "traits": "traits",
    "card": "card",
    "switch": "switch",
    **{f"picture.{key}": text for key, text in TEXTS.items()},
}

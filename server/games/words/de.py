"""Messages that the games share, in German."""

MESSAGES = {
    "and": "; ",
    "gain": "{sentence}, {amount}",
    "gain.of": "{who} {amount}",
    "gain.by": "{who} {amount} ({cards})",
    "discarded": "abgelegt: {cards}",
    "draws": "{who} zieht: {cards}",
    "draws.you": "du ziehst: {cards}",
    "round": "Runde {round}, Startspieler {first}",
    "turn": "Runde {round}, Zug {turn}, Startspieler {first}",
    "hand": "Hand von {who}: {cards}",
    "hand.you": "Deine Hand ({who}): {cards}",
    "empty": "leer",
    "piles": "Ablagen",
    "aside": "Beiseitegelegt von {who}: {cards}",
    "aside.you": "Beiseitegelegt: {cards}",
    "acts": "wirkt",
    "and_then": "danach",
    "points_at": "zielt auf",
    "traits": "Besonderheiten",
}

"""Messages that the games share, in French."""

MESSAGES = {
    "and": " ; ",
    "gain": "{sentence}, {amount}",
    "gain.of": "{who} {amount}",
    "gain.by": "{who} {amount} ({cards})",
    "discarded": "à la défausse : {cards}",
    "draws": "{who} pioche : {cards}",
    "draws.you": "vous piochez : {cards}",
    "round": "Tour {round}, premier joueur {first}",
    "turn": "Manche {round}, tour {turn}, premier joueur {first}",
    "hand": "Main de {who} : {cards}",
    "hand.you": "Votre main ({who}) : {cards}",
    "empty": "vide",
    "piles": "Défausses",
    "aside": "Écartées par {who} : {cards}",
    "aside.you": "Écartées : {cards}",
    "acts": "agit",
    "and_then": "ensuite",
    "points_at": "désigne",
    "traits": "particularités",
}

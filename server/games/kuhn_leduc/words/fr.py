"""The words of Kuhn and Leduc poker in French."""

from server.languages import Noun

NOUNS = {"J": Noun("Valet", "m"), "Q": Noun("Dame", "f"), "K": Noun("Roi", "m")}

MESSAGES = {
    "a_card": "une carte",
    "deal": "{who} reçoit {card}",
    "deal.you": "Vous recevez {card}",
    "deal.both": "Face visible : {card}",
    "fold": "{who} se couche",
    "fold.you": "Vous vous couchez",
    "fold.choice": "Se coucher",
    "check": "{who} passe",
    "check.you": "Vous passez",
    "check.choice": "Passer",
    "call": "{who} suit (mise : {chips})",
    "call.you": "Vous suivez (mise : {chips})",
    "call.choice": "Suivre",
    "bet": "{who} mise (mise : {chips})",
    "bet.you": "Vous misez (mise : {chips})",
    "bet.choice": "Miser",
    "raise": "{who} relance (mise : {chips})",
    "raise.you": "Vous relancez (mise : {chips})",
    "raise.choice": "Relancer",
    "ask": "Que faites-vous ?",
}

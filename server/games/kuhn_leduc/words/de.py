"""The words of Kuhn and Leduc poker in German."""

from server.languages import Noun

NOUNS = {"J": Noun("Bube", "m", "Buben"), "Q": Noun("Dame", "f"), "K": Noun("König", "m")}

MESSAGES = {
    "a_card": "eine Karte",
    "deal": "{who} bekommt {card:acc}",
    "deal.you": "Du bekommst {card:acc}",
    "deal.both": "{card} wird offen ausgeteilt",
    "fold": "{who} steigt aus",
    "fold.you": "Du steigst aus",
    "fold.choice": "Aussteigen",
    "check": "{who} schiebt",
    "check.you": "Du schiebst",
    "check.choice": "Schieben",
    "call": "{who} geht mit (Einsatz: {chips})",
    "call.you": "Du gehst mit (Einsatz: {chips})",
    "call.choice": "Mitgehen",
    "bet": "{who} setzt (Einsatz: {chips})",
    "bet.you": "Du setzt (Einsatz: {chips})",
    "bet.choice": "Setzen",
    "raise": "{who} erhöht (Einsatz: {chips})",
    "raise.you": "Du erhöhst (Einsatz: {chips})",
    "raise.choice": "Erhöhen",
    "ask": "Was machst du?",
}

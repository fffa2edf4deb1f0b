"""The words of Kuhn and Leduc poker in English."""

from server.languages import Noun

# By the letter of the rank.
NOUNS = {"J": Noun("Jack"), "Q": Noun("Queen"), "K": Noun("King")}

MESSAGES = {
    "a_card": "a card",
    "deal": "{who} is dealt {card}",
    "deal.you": "You are dealt {card}",
    "deal.both": "{card} is dealt face up",
    "fold": "{who} folds",
    "fold.you": "You fold",
    "fold.choice": "Fold",
    "check": "{who} checks",
    "check.you": "You check",
    "check.choice": "Check",
    "call": "{who} calls ({chips} in)",
    "call.you": "You call ({chips} in)",
    "call.choice": "Call",
    "bet": "{who} bets ({chips} in)",
    "bet.you": "You bet ({chips} in)",
    "bet.choice": "Bet",
    "raise": "{who} raises ({chips} in)",
    "raise.you": "You raise ({chips} in)",
    "raise.choice": "Raise",
    "ask": "What do you do?",
}

"""The moves of Kuhn and Leduc poker in words.

These games do not define what a seat sees of an action, so a move is read from the tables before and after it.
"""

from __future__ import annotations

from engine_cy import CHANCE, Position, View
from engine_cy.kuhn_leduc.table import Parts
from server.games.narration import Narrator, Reader
from server.languages import Phrase, Words

AREA = "server.games.kuhn_leduc"


def choice(before: View | Position, action: str, reader: Reader) -> str:
    """Return a move that the seat to act may choose."""
    narrator = Narrator(AREA, reader)
    word, _, card = action.partition(" ")
    if word == "deal":
        return _deal(narrator, before.parts, card)
    return narrator.say(f"{_move(before.table.stakes, before.table.to_act, word)}.choice")


def narrate(before: View | Position, after: View | Position, reader: Reader) -> str:
    """Return a move and what it won."""
    narrator = Narrator(AREA, reader)
    table, parts = before.table, after.parts
    if table.to_act == CHANCE:
        dealt = [card for card, then in zip(parts.cards, before.parts.cards, strict=True) if then is None]
        sentence = _deal(narrator, before.parts, dealt[0] if dealt else parts.table.public_card)
    else:
        word = next(now[len(then)] for then, now in zip(table.moves, parts.table.moves, strict=True) if now != then)
        chips = parts.table.stakes[table.to_act]
        key = _move(table.stakes, table.to_act, word)
        sentence = narrator.say_of(key, table.to_act, **({} if key in ("fold", "check") else {"chips": chips}))
    won = {seat: chips for seat, chips in enumerate(after.scores) if after.is_over and chips > 0}
    return narrator.told(sentence, None, won)


def prompt(reader: Reader) -> str:
    return Narrator(AREA, reader).say("ask")


def _move(stakes: tuple[int, int], seat: int, word: str) -> str:
    """Return the key of a move; `pass` and `call` have two meanings."""
    owes = stakes[seat] < stakes[1 - seat]
    return {
        "pass": "fold" if owes else "check",
        "call": "call" if owes else "check",
        "bet": "call" if owes else "bet",
        "raise": "raise" if owes else "bet",
    }.get(word, word)


def _deal(narrator: Narrator, parts: Parts, card: str) -> str:
    phrase = _card(narrator.words, card)
    if None in parts.cards:
        return narrator.say_of("deal", parts.cards.index(None), card=phrase)
    return narrator.say("deal.both", card=phrase)


def _card(words: Words, name: str) -> Phrase:
    """Return a card: the name of its rank, and the letter of its suit, if it has one."""
    if name == "?":
        hidden = words.say("a_card")
        return Phrase(hidden, hidden)
    noun = words.nouns[name[0]]
    return words.the(noun.noted(f"({name[1:]})") if name[1:] else noun)

"""The adapter of Kuhn and Leduc poker, which have words, but no messages: text replaces these."""

from __future__ import annotations

from engine_cy import Position, View
from server.games.adapter import GameAdapter
from server.games.kuhn_leduc.narration import choice, narrate, prompt
from server.games.narration import ANYONE, Reader


class PokerAdapter(GameAdapter):
    def choice(self, before: View | Position, action: str, reader: Reader = ANYONE) -> str:
        return choice(before, action, reader)

    def narrate(self, before: View | Position, seen: str, after: View | Position, reader: Reader = ANYONE) -> str:
        return narrate(before, after, reader)

    def prompt(self, view: View | Position, reader: Reader = ANYONE) -> str:
        return prompt(reader)


ADAPTERS = (PokerAdapter("kuhn_poker"), PokerAdapter("leduc_poker"))

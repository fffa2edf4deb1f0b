"""Liar's Dice for two to five players, in Python.

Each player rolls some dice in secret. In turn, they raise the bid on the dice of all players together, as in `bid 3x5`,
at least three fives, or call the last bidder a liar; then all dice are shown. The highest face is wild: it counts as
every face. The winner of the call gets 1, the loser -1, the others 0. A ruleset such as `5x6` is the number of dice of
each player and of their sides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from engine_cy import CHANCE, GameRules

UNKNOWN = 0


class Table(NamedTuple):
    """A state: the dice of each player, as far as they are rolled, and the bids of the game.

    Bids are numbered from the lowest, 1x1. In a view, UNKNOWN is a die that the player does not see.
    """

    dice: tuple[tuple[int, ...], ...]
    bids: tuple[int, ...]
    first: int
    called: bool = False


class LiarsDice(GameRules[Table]):
    players = range(2, 6)
    rulesets = ("1x6", "2x6", "5x6", "1x4", "2x3")
    payoff_range = (-1.0, 1.0)

    def __init__(self, ruleset: str, players: int) -> None:
        super().__init__(ruleset, players)
        self.n_dice, self.sides = map(int, ruleset.split("x"))
        amounts, faces = range(1, self.n_dice * players + 1), range(1, self.sides + 1)
        self.rolls = [f"roll {face}" for face in faces]
        self.bids = [f"bid {amount}x{face}" for amount in amounts for face in faces]
        self.actions = [*self.rolls, *self.bids, "liar"]

    def start(self, first: int) -> Table:
        return Table(((),) * self.n_players, (), first)

    def to_act(self, state: Table) -> int | None:
        if len(state.dice[-1]) < self.n_dice:
            return CHANCE
        elif state.called:
            return None
        return (state.first + len(state.bids)) % self.n_players

    def legal_actions(self, state: Table) -> list[str]:
        if len(state.dice[-1]) < self.n_dice:
            return self.rolls
        elif not state.bids:
            return self.bids
        return [*self.bids[state.bids[-1] + 1 :], "liar"]

    def apply(self, state: Table, action: str) -> Table:
        if action == "liar":
            return state._replace(called=True)
        elif action.startswith("bid"):
            return state._replace(bids=(*state.bids, self.bids.index(action)))
        dice = list(state.dice)
        player = next(player for player in range(self.n_players) if len(dice[player]) < self.n_dice)
        dice[player] = (*dice[player], int(action.removeprefix("roll ")))
        return state._replace(dice=tuple(dice))

    def payoffs(self, state: Table) -> list[float]:
        amount, face = divmod(state.bids[-1], self.sides)
        count = sum(die in (face + 1, self.sides) for hand in state.dice for die in hand)
        caller = (state.first + len(state.bids)) % self.n_players
        bidder = (caller - 1) % self.n_players
        payoffs = [0.0] * self.n_players
        winner, loser = (bidder, caller) if count > amount else (caller, bidder)
        payoffs[winner], payoffs[loser] = 1.0, -1.0
        return payoffs

    def observe(self, state: Table, player: int | None) -> Table:
        if state.called:
            return state
        dice = (hand if seat == player else (UNKNOWN,) * len(hand) for seat, hand in enumerate(state.dice))
        return state._replace(dice=tuple(dice))

    def sample_world(self, view: Table, player: int, rng: Random) -> Table:
        roll = range(1, self.sides + 1)
        return view._replace(dice=tuple(tuple(die or rng.choice(roll) for die in hand) for hand in view.dice))

    def worlds(self, view: Table, player: int) -> Iterator[Table]:
        faces = range(1, self.sides + 1)
        hands = [itertools.product(*([die] if die else faces for die in hand)) for hand in view.dice]
        return (view._replace(dice=dice) for dice in itertools.product(*hands))

    def write(self, state: Table) -> str:
        """Write the dice, the bids and the first player, as in `3 ? 1x4 liar, first A`."""
        dice = ["".join(str(die or "?") for die in hand) or "-" for hand in state.dice]
        bids = [self.bids[bid].removeprefix("bid ") for bid in state.bids]
        return " ".join([*dice, *bids, *["liar"] * state.called]) + f", first {'ABCDE'[state.first]}"

    def read(self, text: str) -> Table:
        course, _, first = text.partition(", first ")
        words = course.split()
        dice, bids = words[: self.n_players], words[self.n_players :]
        called = bids[-1:] == ["liar"]
        table = Table(
            tuple(tuple(UNKNOWN if die == "?" else int(die) for die in hand.strip("-")) for hand in dice),
            tuple(self.bids.index(f"bid {bid}") for bid in bids[: len(bids) - called]),
            "ABCDE".index(first),
            called,
        )
        self.check(table)
        return table

    def check(self, table: Table) -> None:
        """Check that a game leads to a table."""
        rolled = [len(hand) for hand in table.dice]
        faces = {die for hand in table.dice for die in hand}
        if len(rolled) != self.n_players or max(rolled) > self.n_dice or rolled != sorted(rolled, reverse=True):
            raise ValueError(f"{self.n_players} players have {self.n_dice} dice each, rolled in turn")
        if sum(0 < n < self.n_dice for n in rolled) > 1 or not faces <= set(range(self.sides + 1)):
            raise ValueError(f"players roll one after the other, and dice have {self.sides} sides")
        if list(table.bids) != sorted(set(table.bids)) or (table.bids and min(rolled) < self.n_dice):
            raise ValueError("bids rise, and follow the rolls")
        if table.called and (not table.bids or UNKNOWN in faces):
            raise ValueError("only a bid can be called, and then all dice are shown")
        if table.first >= self.n_players:
            raise ValueError("no such first player")

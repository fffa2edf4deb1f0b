"""A server as a player of matches: `server:host:port`, perhaps with `,level=4`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

from engine_cy import Action
from server.cli.connection import NO_ADDRESS, TOKEN, AnyClient, Connection, is_address
from server.cli.exit_codes import Failure
from server.client.refusals import Refused
from solver.config import Budget, InvalidQuestionError
from solver.match import Turn, with_settings

LEVELS = range(11)


@dataclass(frozen=True, slots=True)
class ServerPlayer:
    """It is told what the player to act sees and has seen, and nothing else. `level` is its strength, from 1 to 10; 0:
    as strong as the budget allows."""

    name: str
    address: str
    level: int = 0
    tls: bool = False

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        """What it suggests, and the iterations that took."""
        from eminence.v1 import solver_pb2 as pb
        from server.codec.views import write_view

        granted = pb.Budget(iterations=budget.iterations)
        if budget.time_ms is not None:
            granted.time.FromMicroseconds(round(budget.time_ms * 1000))
        options = pb.Options(seed=seed, level=self.level, lines=1)
        try:
            found = _client(self.address, self.tls).suggest(write_view(turn.view, turn.seen), granted, options)
        except Refused as refused:
            raise Failure(f"{self.name}: the server says {refused.code}: {refused.message}") from None
        return turn.position.game.action(found.best.text), found.iterations


def read_server(text: str, settings: str) -> ServerPlayer:
    """The player that `server:host:port,level=4` names."""
    address, _, rest = settings.partition(",")
    if not is_address(address):
        raise InvalidQuestionError(text, f"{address!r} is {NO_ADDRESS}")
    server = with_settings(ServerPlayer(text, address), text, rest)
    if server.address != address:
        raise InvalidQuestionError(text, f"the address is said once, as in server:{address}")
    if server.level not in LEVELS:
        raise InvalidQuestionError(text, f"level {server.level} is not in 0..{LEVELS[-1]}")
    return server


@cache
def _client(address: str, tls: bool) -> AnyClient:
    return Connection(address, os.environ.get(TOKEN, ""), tls).open()

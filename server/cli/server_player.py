"""A server as a player of matches: `server:host:port`, `server:host:port,level=4` or `...,level=hard`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache

from engine_cy import Action
from server.cli.connection import NO_ADDRESS, TOKEN, AnyClient, Connection, is_address
from server.cli.exit_codes import Failure
from server.client.refusals import Refused
from solver.config import LEVEL_NAMES, Budget, InvalidQuestionError
from solver.match import Turn, with_settings

LEVELS = range(11)


@dataclass(frozen=True, slots=True)
class ServerPlayer:
    """Player whose moves a server chooses, given only what the player to act sees and has seen.

    `level` is its strength, from 1 to 10; 0: as strong as the budget allows.
    """

    name: str
    address: str
    level: int = 0
    tls: bool = False

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        """Return the suggested move and the number of iterations done."""
        from eminence.v1 import solver_pb2 as pb
        from server.codec.views import write_view

        message = pb.Budget(iterations=budget.iterations)
        if budget.time_ms is not None:
            message.time.FromMicroseconds(round(budget.time_ms * 1000))
        options = pb.Options(seed=seed, level=self.level, lines=1)
        try:
            suggestion = _client(self.address, self.tls).suggest(write_view(turn.view, turn.seen), message, options)
        except Refused as refused:
            raise Failure(f"{self.name}: the call failed with {refused.code}: {refused.message}") from None
        return turn.position.game.action(suggestion.best.text), suggestion.iterations


def read_server(text: str, settings: str) -> ServerPlayer:
    """Parse a player such as `server:host:port,level=4`; `settings` is the text after `server:`."""
    address, _, rest = settings.partition(",")
    if not is_address(address):
        raise InvalidQuestionError(text, f"{address!r} is {NO_ADDRESS}")
    named = re.sub(r"\blevel=(\w+)", lambda found: f"level={LEVEL_NAMES.get(found[1], found[1])}", rest)
    server = with_settings(ServerPlayer(text, address), text, named)
    if server.address != address:
        raise InvalidQuestionError(text, f"address cannot be a setting; it stands in server:{address}")
    if server.level not in LEVELS:
        raise InvalidQuestionError(text, f"level {server.level} is not in 0..{LEVELS[-1]}")
    return server


@cache
def _client(address: str, tls: bool) -> AnyClient:
    return Connection(address, os.environ.get(TOKEN, ""), tls).open()

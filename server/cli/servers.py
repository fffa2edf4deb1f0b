"""A server as a player of matches: `server:host:port`, perhaps with `,level=4`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from engine_cy import Action
from solver.config import Budget, InvalidBudgetError
from solver.match import Turn, with_settings

if TYPE_CHECKING:
    from server.client import Client

_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:,/]+):[0-9]+")


class ServerError(RuntimeError):
    """A server that did not answer, or refused: the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Server:
    """It is told what the player to act sees and has seen, and nothing else. `level` is its strength, from 1 to 10; 0:
    as strong as the budget allows."""

    name: str
    address: str
    level: int = 0

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        """What it suggests, and the iterations that took."""
        import grpc

        from eminence.v1 import solver_pb2 as pb
        from server.codec.views import write_view

        granted = pb.Budget(iterations=budget.iterations)
        if budget.time_ms:
            granted.time.FromMicroseconds(int(budget.time_ms * 1000))
        # A server's seed has 64 bits, as ours; a match repeats against a server as it does against itself.
        options = pb.Options(seed=seed, level=self.level, lines=1)
        try:
            found = _client(self.address).suggest(write_view(turn.view, turn.seen), granted, options)
        except grpc.RpcError as error:
            code, details = error.code(), error.details()  # type: ignore[attr-defined]
            raise ServerError(f"{self.name}: {code.name}: {details}") from None
        return turn.position.game.action(found.best.text), found.iterations


def read_server(text: str, settings: str) -> Server:
    """The player that `server:host:port,level=4` names."""
    address, _, rest = settings.partition(",")
    if not _ADDRESS.fullmatch(address):
        raise InvalidBudgetError(f"{text}: {address!r} is no address such as 127.0.0.1:50051")
    if "address" in rest:
        raise InvalidBudgetError(f"{text}: 'address' stands before the settings; there is one other, level")
    server = with_settings(Server(text, address), text, rest)
    if not 0 <= server.level <= 10:
        raise InvalidBudgetError(f"{text}: level {server.level} is not in 0..10")
    return server


@cache
def _client(address: str) -> Client:
    from server.client import Client

    return Client(address)

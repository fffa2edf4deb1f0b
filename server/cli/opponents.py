"""Choose the moves of the other seats and the hints, given only the observation of a seat."""

from __future__ import annotations

from collections.abc import Sequence

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action
from server.cli.connection import AnyClient, Connection
from server.cli.options import Observation
from server.client.refusals import Refused
from solver.config import DEFAULT_ITERATIONS, LEVEL_NAMES, LEVELS

HINTS = 5
HINT_ITERATIONS = 50_000
# Timeout of a call to a server.
SECONDS = 60.0
# Strength (level) of each configuration; 0: as strong as the budget allows.
STRENGTHS = {"default": 0} | {config.name: level for level, config in LEVELS.items()} | LEVEL_NAMES


class MoveChooser:
    """Player of the other seats; moves depend only on the observation and the seed.

    Raises ServerFailure if a server does not answer.
    """

    def __init__(self, connection: Connection | None = None, think_at_least: float = 0.0) -> None:
        self.connection = connection or Connection()
        self.think_at_least = think_at_least  # seconds of each move
        self._clients: dict[str | None, AnyClient] = {}

    def check(self, name: str) -> None:
        """Raise Failure if a configuration does not exist or cannot play."""
        self._player(name)

    def choose(self, name: str, observation: Observation, seed: int) -> Action:
        """Return the move of a configuration."""
        client, level = self._player(name)
        budget = None if level else pb.Budget(iterations=DEFAULT_ITERATIONS)
        options = pb.Options(seed=seed, level=level, lines=1)
        suggestion = self._suggest(client, observation, budget, options, self.think_at_least)
        return observation.game.action(suggestion.best.text)

    def hint(self, observation: Observation) -> Sequence[pb.Candidate]:
        """Return the best moves, best first."""
        options = pb.Options(seed=0, lines=HINTS)
        return self._suggest(self.client(), observation, pb.Budget(iterations=HINT_ITERATIONS), options).candidates

    def _player(self, name: str) -> tuple[AnyClient, int]:
        if name in STRENGTHS:
            return self.client(), STRENGTHS[name]
        self.connection.require_none(f"--seats with {name!r}")
        return self.client(name), 0

    def client(self, config: str | None = None) -> AnyClient:
        """Return a client that searches with a configuration."""
        if config not in self._clients:
            self._clients[config] = self.connection.open(config=config)
        return self._clients[config]

    def _suggest(
        self,
        client: AnyClient,
        observation: Observation,
        budget: pb.Budget | None,
        options: pb.Options,
        think_at_least: float = 0.0,
    ) -> pb.Suggestion:
        try:
            suggestion = client.suggest(
                observation.message, budget, options, seconds=SECONDS, think_at_least=think_at_least
            )
        except Refused as refused:
            raise self.connection.failure(refused) from None
        if suggestion.stop_reason == pb.STOP_REASON_CANCELLED:  # Ctrl-C ends the game, not only the search
            raise KeyboardInterrupt
        return suggestion

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

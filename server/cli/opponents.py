"""Who plays against a person and gives hints. It is told what a seat sees and has observation, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action
from server.cli.connection import AnyClient, Connection
from server.cli.options import Observation
from server.client.refusals import Refused
from solver.config import DEFAULT_ITERATIONS, LEVELS

HINTS = 5
HINT_ITERATIONS = 50_000
# After which a server is not waited for any more.
SECONDS = 60.0
# By which strength a configuration is played; 0: as strong as the budget allows.
STRENGTHS = {"default": 0} | {config.name: level for level, config in LEVELS.items()}


class Engine:
    """Who plays the other seats. It plays the same again with the same seed, wherever it is. Where a server does not
    answer, a `ServerFailure` says so."""

    def __init__(self, connection: Connection | None = None) -> None:
        self.connection = connection or Connection()
        self._clients: dict[str | None, AnyClient] = {}

    def check(self, name: str) -> None:
        """Refuse a configuration that it does not have."""
        self._player(name)

    def choose(self, name: str, observation: Observation, seed: int) -> Action:
        """What a configuration plays."""
        client, level = self._player(name)
        budget = None if level else pb.Budget(iterations=DEFAULT_ITERATIONS)
        suggestion = self._suggest(client, observation, budget, pb.Options(seed=seed, level=level, lines=1))
        return observation.game.action(suggestion.best.text)

    def hint(self, observation: Observation) -> Sequence[pb.Candidate]:
        """The best moves, best first."""
        options = pb.Options(seed=0, lines=HINTS)
        return self._suggest(self.client(), observation, pb.Budget(iterations=HINT_ITERATIONS), options).candidates

    def _player(self, name: str) -> tuple[AnyClient, int]:
        if name in STRENGTHS:
            return self.client(), STRENGTHS[name]
        self.connection.require_none(f"--seats with {name!r}")
        return self.client(name), 0

    def client(self, config: str | None = None) -> AnyClient:
        """A client whose searches are configured so."""
        if config not in self._clients:
            self._clients[config] = self.connection.open(config=config)
        return self._clients[config]

    def _suggest(
        self, client: AnyClient, observation: Observation, budget: pb.Budget | None, options: pb.Options
    ) -> pb.Suggestion:
        try:
            suggestion = client.suggest(observation.message, budget, options, seconds=SECONDS)
        except Refused as refused:
            raise self.connection.failure(refused) from None
        if suggestion.stop_reason == pb.STOP_REASON_CANCELLED:  # by Ctrl-C, which ends the game, not the move
            raise KeyboardInterrupt
        return suggestion

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

"""Who plays against a person and gives hints: this process, or a server. Either is told what a seat sees and has seen,
and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from eminence.v1 import solver_pb2 as pb
from engine_cy import Action
from server.cli.asking import Seen
from server.cli.failing import Failure
from server.cli.remote import Remote, greet, rpc_error, server_failure
from server.messages.answers import write_candidate
from solver.config import DEFAULT_ITERATIONS, LEVELS, Budget, read_config
from solver.solve import solve

if TYPE_CHECKING:
    from server.client import Client

HINTS = 5
HINT_ITERATIONS = 50_000
# After which a server is not waited for any more.
SERVER_SECONDS = 60.0


class Engine(Protocol):
    """Who plays the other seats. It plays the same again with the same seed, wherever it is."""

    def check(self, name: str) -> None:
        """Refuse a configuration that it does not have."""

    def choose(self, name: str, seen: Seen, seed: int) -> Action:
        """What a configuration plays."""

    def hint(self, seen: Seen) -> Sequence[pb.Candidate]:
        """The best moves, best first."""


class Here:
    """This process."""

    def check(self, name: str) -> None:
        read_config(name)

    def choose(self, name: str, seen: Seen, seed: int) -> Action:
        best = solve(seen.view, config=read_config(name), seed=seed, history=seen.history, lines=0).best
        assert best is not None  # it is that seat's turn
        return best

    def hint(self, seen: Seen) -> Sequence[pb.Candidate]:
        found = solve(seen.view, Budget(iterations=HINT_ITERATIONS), history=seen.history, lines=HINTS)
        candidates = pb.Suggestion().candidates
        for move in found.moves[:HINTS]:
            write_candidate(candidates.add(), move)
        return candidates


class There:
    """A server. Where it does not answer, a `ServerFailure` says so."""

    # By which strength of a server a configuration is played; 0: as much as its budget allows.
    LEVELS = {"default": 0} | {config.name: level for level, config in LEVELS.items()}

    def __init__(self, client: Client, remote: Remote) -> None:
        self._client, self._remote = client, remote
        self._ask(lambda: greet(client))

    def check(self, name: str) -> None:
        if name not in self.LEVELS:
            raise Failure(f"seats: a server plays {', '.join(self.LEVELS)}, not {name!r}")

    def choose(self, name: str, seen: Seen, seed: int) -> Action:
        level = self.LEVELS[name]
        budget = None if level else pb.Budget(iterations=DEFAULT_ITERATIONS)
        found = self._suggest(seen, budget, pb.Options(seed=seed, level=level, lines=1))
        return seen.game.action(found.best.text)

    def hint(self, seen: Seen) -> Sequence[pb.Candidate]:
        found = self._suggest(seen, pb.Budget(iterations=HINT_ITERATIONS), pb.Options(seed=0, lines=HINTS))
        return found.candidates

    def _suggest(self, seen: Seen, budget: pb.Budget | None, options: pb.Options) -> pb.Suggestion:
        return self._ask(lambda: self._client.suggest(seen.message, budget, options, seconds=SERVER_SECONDS))

    def _ask(self, call: Callable[[], pb.Suggestion]) -> pb.Suggestion:
        try:
            return call()
        except rpc_error() as error:
            raise server_failure(self._remote.address, error) from None

"""Compute digests of fixed games and searches: a change that should not affect play must not change them.

`python -m solver.signature` prints the digests that solver/expected_signature.py stores.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from engine_cy import CHANCE, Game, Position, Rng, editions_of, game_sources, new_game, players_of
from solver.config import Budget
from solver.expected_signature import DIGESTS
from solver.solve import solve

DEALS = 32


class Signatures(NamedTuple):
    """Hold the digest over all editions, and that of each by its game and name, as 16 hexadecimal digits."""

    total: str
    digests: dict[str, dict[str, str]]


def signature(deals: int = DEALS) -> str:
    """Return the digest over all editions."""
    return measure(editions(), deals).total


def published() -> Signatures:
    """Measure only the editions whose digests are stored."""
    return measure([(game_id, edition) for game_id, stored in DIGESTS.items() for edition in stored])


def measure(rulesets: Iterable[tuple[str, str]], deals: int = DEALS) -> Signatures:
    total = blake2b(digest_size=8)
    digests: dict[str, dict[str, str]] = {}
    for game_id, edition in rulesets:
        digest = blake2b(digest_size=8)
        for game in games(game_id, edition):
            for part in parts(game, deals):
                total.update(part)
                digest.update(part)
        digests.setdefault(game_id, {})[edition] = digest.hexdigest()
    return Signatures(total.hexdigest(), digests)


def editions() -> Iterator[tuple[str, str]]:
    """Yield every edition of every built-in game."""
    for game_id in (source.id for source in game_sources() if source.package is None):
        for edition in editions_of(game_id):
            yield game_id, edition


def games(game_id: str, edition: str) -> Iterator[Game]:
    """Yield an edition for every number of players."""
    for players in players_of(game_id, edition):
        yield new_game(game_id, edition, players=players)


def parts(game: Game, deals: int) -> Iterator[bytes]:
    yield repr(game).encode()
    for seed in range(deals):
        yield from random_game(game, seed)
    yield from searches(game)


def random_game(game: Game, seed: int) -> Iterator[bytes]:
    """Yield the states, views and actions of a random game."""
    rng = Rng(seed)
    position = game.deal(seed, first=seed % game.n_players)
    yield from playouts(position, rng)
    while not position.is_over:
        yield bytes(position)
        yield from views(game, position, rng)
        actions = position.legal_actions()
        for action in actions:
            yield struct.pack(f"<{len(action.code)}I", *action.code)
        position = position.play(actions[rng.below(len(actions))])
    yield from end(position)


def searches(game: Game) -> Iterator[bytes]:
    """Yield the results of fixed searches: the visits and values of every move, with one tree and with two."""
    rng = Rng(11)
    position = game.deal(3)
    while not position.is_over:
        actions = position.legal_actions()
        if position.to_act != CHANCE and len(actions) > 1 and rng.below(6) == 0:
            for config, workers in (("default", 1), ("plain", 2), ("flat", 1), ("pimc", 1)):
                view = position.view(position.to_act or 0)
                answer = solve(view, Budget(iterations=300), config=config, seed=5, shares=workers)
                yield repr(
                    [(str(move.action), move.visits, move.win, move.points, move.ranks) for move in answer.moves]
                ).encode()
        position = position.play(actions[rng.below(len(actions))])


def views(game: Game, position: Position, rng: Rng) -> Iterator[bytes]:
    """Yield the key of each player's view, and a world sampled from it."""
    for player in range(game.n_players):
        view = position.view(player)
        yield struct.pack("<Q", view.key)
        yield bytes(view.sample_world(rng))


def playouts(position: Position, rng: Rng) -> Iterator[bytes]:
    for _ in range(4):
        yield from end(position.play_out(rng))


def end(position: Position) -> Iterator[bytes]:
    yield bytes(position)
    yield struct.pack(f"<{len(position.payoffs)}d", *position.payoffs)


if __name__ == "__main__":
    measured = measure(editions())
    print(f"signature: {measured.total}")
    for game_id, digests in measured.digests.items():
        for edition, digest in digests.items():
            print(f"{game_id} {edition}: {digest}")

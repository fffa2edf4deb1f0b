"""A digest of fixed games and searches: a change that is not meant to change what is played leaves it as it is."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import blake2b

from engine_cy import CHANCE, Game, InvalidRulesetError, Position, Rng, game_ids, new_game
from engine_cy.castle_village_port.editions import EDITIONS as CASTLE_EDITIONS
from engine_cy.oriflamme.editions import editions_of
from solver.config import Budget
from solver.solve import solve

DEALS = 32


def signature(deals: int = DEALS) -> str:
    """16 hexadecimal digits."""
    digest = blake2b(digest_size=8)
    for game in games():
        digest.update(repr(game).encode())
        for seed in range(deals):
            for part in random_game(game, seed):
                digest.update(part)
        for part in searches(game):
            digest.update(part)
    return digest.hexdigest()


def games() -> Iterator[Game]:
    """Every game, in every edition, for every number of players."""
    for game_id in game_ids():
        editions: list[str | None] = [*(CASTLE_EDITIONS if game_id == "castle_village_port" else editions_of(game_id))]
        for edition in editions or [None]:  # the toys have none
            for players in range(2, 6):
                try:
                    yield new_game(game_id, edition, players=players)
                except InvalidRulesetError:
                    continue


def random_game(game: Game, seed: int) -> Iterator[bytes]:
    """All that a deal and a random game from it show."""
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
    """What fixed searches find: the visits and values of every move, with one tree and with two."""
    rng = Rng(11)
    position = game.deal(3)
    while not position.is_over:
        actions = position.legal_actions()
        if position.to_act != CHANCE and len(actions) > 1 and rng.below(6) == 0:
            for config, workers in (("default", 1), ("plain", 2), ("flat", 1), ("pimc", 1)):
                view = position.view(position.to_act or 0)
                found = solve(view, Budget(iterations=300), config=config, seed=5, shares=workers)
                yield repr(
                    [(str(move.action), move.visits, move.win, move.points, move.ranks) for move in found.moves]
                ).encode()
        position = position.play(actions[rng.below(len(actions))])


def views(game: Game, position: Position, rng: Rng) -> Iterator[bytes]:
    """What each player sees, and a table that it may be."""
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

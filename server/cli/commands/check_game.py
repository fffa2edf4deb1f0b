"""eminence check-game: check that a game keeps the laws on which every search relies."""

from __future__ import annotations

import click

import solver  # noqa: F401  adds the games of OpenSpiel
from engine_cy import game_check, new_game
from engine_cy.record import read_ruleset
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.exit_codes import FAILED
from server.cli.options import players_option


@command("eminence check-game kuhn_poker", "eminence check-game oriflamme --games 2 --json", name="check-game")
@click.argument("game_id", metavar="ID")
@click.option("--ruleset", default="", metavar="NAME", help="Ruleset. Default: the game's first.")
@players_option
@click.option("--games", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="Random games to play.")
@click.option("--seed", type=click.IntRange(0, 2**32), default=0, show_default=True, help="Seed of the first game.")
@json_option
def check_game(game_id: str, ruleset: str, players: int | None, games: int, seed: int, as_json: bool) -> int:
    """Play random games of the game ID, and check at every table the laws on which searches rely.

    Copies are equal; texts and records read back; legal actions are accepted and others refused; a view has what its
    seat may know, and no more; sampled worlds look the same to their observer, and are those that the game lists, where
    it lists them; games end with payoffs. The first fault is printed with its position, and the exit code is 1. For
    authors of games: run it in CI.
    """
    game = new_game(game_id, read_ruleset(ruleset), players)
    try:
        check = game_check.check_game(game, games, seed)
    except game_check.BrokenLawError as error:
        if as_json:
            fault = {"law": error.law, "seed": error.seed, "position": error.position, "details": error.details}
            formatting.print_json({"game": game_id, "fault": fault})
        else:
            click.echo(f"{game_id} breaks a law: {error}", err=True)
        return FAILED
    if as_json:
        formatting.print_json({"game": game_id, **check._asdict(), "fault": None})
    else:
        click.echo(
            f"{game_id} keeps all laws: {check.positions:,} positions in {check.games} games;\n"
            f"the worlds of {check.enumerated_views:,} views were enumerated"
        )
    return 0

"""eminence compare: compare several moves on the same hidden cards."""

from __future__ import annotations

import click
from rich.text import Text

from eminence.v1 import solver_pb2 as pb
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.commands.suggest import STOP_REASONS, title
from server.cli.connection import Connection, server_options
from server.cli.exit_codes import Failure
from server.cli.options import Observation, SearchFlags, action_message, position_options, search_flags
from server.messages.requests import check_to_act
from solver.question import COMPARED_MAX

# Standard errors from which a difference is hardly due to chance.
CLEAR_ERRORS = 2.0


@command(
    'eminence compare "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B" reveal keep',
    "eminence compare view.txt reveal keep --iterations 2000 --json",
    'eminence compare game.txt --at 0 "place Heir front" "place Lord front" --time-ms 300',
)
@position_options
@click.argument("moves", nargs=-1, required=True, metavar="MOVE MOVE ...")
@search_flags
@server_options
@json_option
def compare(
    observation: Observation,
    moves: tuple[str, ...],
    flags: SearchFlags,
    connection: Connection,
    as_json: bool,
) -> None:
    """Compare several moves, each in the same sampled worlds, so that small differences show.

    POSITION is as for `eminence suggest`. Iterations are those of each move.
    """
    check_to_act(observation.view)
    if not 2 <= len(moves) <= COMPARED_MAX:
        raise Failure(f"moves: {len(moves)} is not in 2..{COMPARED_MAX}")
    actions = [action_message(move) for move in moves]
    with connection.open(config=flags.config) as client:
        comparison = client.compare(observation.message, actions, flags.budget(), flags.options(observation.game))
    if as_json:
        formatting.print_json(comparison)
    else:
        _print(comparison, observation)


def _print(comparison: pb.Comparison, observation: Observation) -> None:
    first = comparison.actions[0].action.text
    table = formatting.table("move", "win %", "points", f"win % over {first}", right=("win %", "points"))
    for compared in comparison.actions:
        table.add_row(
            compared.action.text,
            formatting.win(compared.win) if compared.HasField("win") else "",
            formatting.points(compared.points) if compared.HasField("points") else "",
            "" if compared.action.text == first else _difference(compared),
        )
    out = formatting.console()
    out.print(Text(title(observation)), Text(str(observation.view), style="dim"), "", table, "", sep="\n")
    reason = STOP_REASONS.get(comparison.stop_reason, "")
    again = f"--seed {comparison.seed}" if comparison.reproducible else "not reproducible"
    out.print(
        Text(
            f"{formatting.count(comparison.worlds)} worlds in {formatting.seconds(comparison.elapsed)}: {reason}; "
            f"{again}; engine {comparison.engine_signature}",
            style="dim",
        )
    )


def _difference(compared: pb.ComparedAction) -> Text:
    if not compared.HasField("win_difference"):
        return Text("")
    difference = compared.win_difference
    is_clear = abs(difference.mean) > CLEAR_ERRORS * difference.standard_error
    style = ("green" if difference.mean > 0 else "red") if is_clear else ""
    return Text(formatting.difference(difference, 100) + ("" if is_clear else "  (may be chance)"), style=style)

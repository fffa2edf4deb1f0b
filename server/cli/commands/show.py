"""eminence show: print a table as people see it, or draw it."""

from __future__ import annotations

from pathlib import Path

import click

from engine_cy.pictures import THEMES, Theme
from server.cli import formatting, inputs
from server.cli.command import check_place, command, files, json_option
from server.cli.exit_codes import Failure
from server.cli.inputs import GameChoice, read_one
from server.cli.options import game_options, language_option, table_of


@command(
    'eminence show "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B"',
    "eminence show game.txt --at 4 --seat A",
    "eminence show view.txt --svg table.svg --lang fr",
    "eminence show castle.txt --game castle_village_port --svg castle.svg --theme dark",
)
@click.argument("position", metavar="POSITION|FILE|-", shell_complete=files)
@click.option("--seat", metavar="LETTER", help="Show what this seat sees. Default: everything in the position.")
@click.option("--at", type=int, metavar="N", help="Of a record: the table after N actions. Default: its end.")
@click.option(
    "--svg",
    metavar="FILE",
    type=click.Path(path_type=Path),
    shell_complete=files,
    help="Write a picture to this file instead of printing.",
)
@click.option(
    "--theme", type=click.Choice(THEMES), help="Colours of the picture. Default: auto, those of the reader's system."
)
@language_option
@game_options
@json_option
def show(
    position: str,
    seat: str | None,
    at: int | None,
    svg: Path | None,
    theme: Theme | None,
    language: str,
    choice: GameChoice,
    as_json: bool,
) -> None:
    """Show a position, a view or the table of a record: the cards, the points and the known hands.

    A view shows what its observer sees; the other cards are backs.
    """
    if theme is not None and svg is None:
        raise Failure("--theme needs --svg")
    check_place(svg, "svg")
    table = table_of(read_one(position, choice), seat, at)
    if svg is not None:
        svg.write_text(table.to_svg(theme or "auto", language), encoding="utf-8")
    elif as_json:
        formatting.print_json(inputs.as_json(table))
    else:
        from server.cli.pages.board import draw

        formatting.console().print(draw(table, language=language), end="")

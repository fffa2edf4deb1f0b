"""eminence suggest: suggest a move, and show why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from engine_cy import Game
from engine_cy.seats import CHANCE_SEAT, SEATS
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.connection import AnyClient, Connection, server_options
from server.cli.options import Observation, SearchFlags, position_options, search_flags
from server.games import adapter_of
from server.refusals import Refusal

EVERY_MS = 250.0
# Limits of the moves and cards shown, unless --lines sets another.
MOVES_SHOWN = 10
KINDS_SHOWN = 4

STOP_REASONS = {
    pb.STOP_REASON_ITERATIONS: "the iterations were done",
    pb.STOP_REASON_TIME: "the time was up",
    pb.STOP_REASON_CONFIDENCE: "the best move was certain enough",
    pb.STOP_REASON_FORCED: "it is publicly the only move",
    pb.STOP_REASON_DEADLINE: "the deadline of the call was near",
    pb.STOP_REASON_CANCELLED: "it was interrupted",
    pb.STOP_REASON_SHUTDOWN: "the server was shutting down",
    pb.STOP_REASON_GAME_OVER: "the game is over",
    pb.STOP_REASON_LOST: "workers were lost",
}


@command(
    'eminence suggest "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B"',
    "eminence suggest view.txt --iterations 20000 --seed 7",
    "eminence suggest game.txt --at 4 --level 8",
    'eminence suggest ">A:Soldier/A:Spy B:Ambush(3)" --seat A --lines 3 --time-ms 300',
    "eminence suggest view.txt --information --model A=greedy --time-ms 300",
    "eminence convert view.txt --to json | eminence suggest - --json --time-ms 100",
    "eminence suggest castle.txt --game castle_village_port --time-ms 300",
)
@position_options
@search_flags
@click.option("--lines", type=click.IntRange(1, 1000), help="Number of moves in the answer, best first. Default: all.")
@click.option("--among", multiple=True, metavar="MOVE", help="Consider only this move; repeatable.")
@click.option("--information", is_flag=True, help="Show also the effect of showing your own face-down cards.")
@server_options
@json_option
def suggest(
    observation: Observation,
    flags: SearchFlags,
    lines: int | None,
    among: tuple[str, ...],
    information: bool,
    connection: Connection,
    as_json: bool,
) -> None:
    """Suggest a move, and show why, given only what one player sees.

    POSITION is text (docs/notation.md), the name of a file, or `-` for standard input. JSON and records of games are
    read, too. Ctrl-C ends a long search with the answer so far.
    """
    if observation.view.is_over:
        raise Refusal("GAME_OVER", "view", "the game is over; there is no move to suggest")
    options = flags.options(observation.game, lines=lines or 0, among=among, information=information)
    out = formatting.console()
    grows = out.is_terminal and not as_json
    with (
        connection.open(config=flags.config) as client,
        _growing(out, observation, lines) if grows else nullcontext() as show,
    ):
        answer = ask(client, observation, flags.budget(), options, show)
    if as_json:
        formatting.print_json(answer)
    else:
        out.print(rendered(answer, observation, lines or MOVES_SHOWN))


def ask(
    client: AnyClient,
    observation: Observation,
    budget: pb.Budget,
    options: pb.Options,
    show: Callable[[pb.Suggestion], None] | None = None,
) -> pb.Suggestion:
    """Return the answer; pass partial ones to `show`. Ctrl-C ends the search with the last partial answer."""
    latest = None
    with client.analyze(observation.message, budget, options, int(EVERY_MS)) as steps:
        try:
            for step in steps:
                latest = step.suggestion
                if show and not step.last:
                    show(latest)
        except KeyboardInterrupt:
            if latest is None:
                raise
            latest.stop_reason = pb.STOP_REASON_CANCELLED
    assert latest is not None
    return latest


@contextmanager
def _growing(out: Any, observation: Observation, lines: int | None) -> Iterator[Callable[[pb.Suggestion], None]]:
    """Update the partial answer in place on the terminal; clear it at the end."""
    with Live(console=out, transient=True, auto_refresh=False) as live:
        yield lambda so_far: live.update(rendered(so_far, observation, lines or MOVES_SHOWN), refresh=True)


# --- for people ------------------------------------------------------------------------------------------------


def rendered(answer: pb.Suggestion, observation: Observation, most: int) -> RenderableType:
    """Format an answer as a page of text."""
    parts: list[RenderableType] = [Text(title(observation)), Text(str(observation.view), style="dim"), ""]
    if answer.HasField("best"):
        parts += [moves_table(answer, most), *_left_out(answer, most), "", *_advice(answer)]
    else:
        acting = CHANCE_SEAT if (observation.view.to_act or 0) < 0 else SEATS[observation.view.to_act or 0]
        parts += [f"{acting} is to act, so there is no move to suggest.", "", _seats_table(answer)]
    if answer.beliefs:
        parts += ["", formatting.heading("Likely hidden cards"), beliefs_table(answer, observation.game)]
    if answer.information:
        parts += ["", formatting.heading("Effect of showing your cards"), _information_table(answer, observation.game)]
    return Group(*parts, "", Text(_account(answer), style="dim"))


def title(observation: Observation) -> str:
    game = observation.game
    spec = game.spec[1]
    edition = spec if isinstance(spec, str) else "a custom ruleset"
    history = f", after {len(observation.history.actions)} actions" if observation.history else ""
    return f"{game.id}, {edition}, {game.n_players} players; the view of {SEATS[observation.view.observer]}{history}"


def moves_table(answer: pb.Suggestion, most: int) -> RenderableType:
    """Make the table of moves, best first; the suggested one is green."""
    table = formatting.table(
        "move", "win %", "points", "ranks %", "visits", "then", right=("win %", "points", "ranks %", "visits")
    )
    for candidate in answer.candidates[:most]:
        is_best = candidate.action.text == answer.best.text
        table.add_row(
            Text(candidate.action.text, style="bold green" if is_best else ""),
            formatting.win(candidate.win) if candidate.HasField("win") else "",
            formatting.points(candidate.points) if candidate.HasField("points") else "",
            _ranks(candidate),
            formatting.count(candidate.visits),
            formatting.line(candidate.principal_variation[1:4]),  # the likely continuation after the move
        )
    return table


def _ranks(candidate: pb.Candidate) -> str:
    """Format the chances of the ranks and their number of playouts, often a small part of the visits."""
    if not candidate.rank_probabilities:
        return ""
    chances = " ".join(f"{100 * chance:.0f}" for chance in candidate.rank_probabilities)
    return f"{chances} of {formatting.count(candidate.ended)}"


def _left_out(answer: pb.Suggestion, most: int) -> list[RenderableType]:
    more = len(answer.candidates) - most
    return [Text(f"and {more} more (--lines {len(answer.candidates)} shows all)", style="dim")] if more > 0 else []


def _advice(answer: pb.Suggestion) -> list[RenderableType]:
    parts: list[RenderableType] = [Text.assemble("Play: ", (answer.best.text, "bold green"))]
    if len(answer.mix) > 1:
        mix = ", ".join(f"{move.action.text} {formatting.percent(move.probability)}" for move in answer.mix)
        parts.append(f"Equally good within the error; to be hard to read, play: {mix}")
    return parts


def _seats_table(answer: pb.Suggestion) -> RenderableType:
    table = formatting.table("seat", "win %", "points", right=("win %", "points"))
    for value in answer.seats:
        points = formatting.points(value.points) if value.HasField("points") else ""
        table.add_row(SEATS[value.seat - 1], formatting.win(value.win), points)
    return table


def beliefs_table(answer: pb.Suggestion, game: Game) -> RenderableType:
    """Make the table of beliefs: a row for each hidden card and hand."""
    table = formatting.table("seat", "where", "may be")
    for belief in answer.beliefs:
        seat = SEATS[belief.seat - 1]
        for card in belief.face_down:
            table.add_row(seat, card.spot.text, _chances(card.cards, game))
        if belief.hand:
            table.add_row(seat, "hand", _chances(belief.hand, game))
    return table


def _chances(cards: Any, game: Game) -> str:
    return formatting.likeliest([(_name_of(card.card, game), card.probability) for card in cards], KINDS_SHOWN)


def _name_of(card: view_pb2.Card, game: Game) -> str:
    return adapter_of(game.id).kind_names(game).get(card.name, card.name)


def _information_table(answer: pb.Suggestion, game: Game) -> RenderableType:
    table = formatting.table("card", "where", "win % if shown", "guessed by", right=("win % if shown",))
    for card in answer.information:
        guesses = ", ".join(
            f"{SEATS[guess.seat - 1]} {formatting.percent(guess.probability)}" for guess in card.guesses
        )
        table.add_row(_name_of(card.card, game), card.spot.text, formatting.difference(card.win_if_shown, 100), guesses)
    return table


def _account(answer: pb.Suggestion) -> str:
    """Describe the search: iterations, time, worlds, seed and engine."""
    reason = STOP_REASONS.get(answer.stop_reason, "still searching")
    parts = [f"{formatting.count(answer.iterations)} iterations in {formatting.seconds(answer.elapsed)}: {reason}"]
    if answer.fitting_worlds:
        effective = formatting.count(answer.effective_sample_size)
        parts.append(f"{formatting.count(answer.fitting_worlds)} possible worlds, effectively {effective}")
    again = f"--seed {answer.seed}" if answer.reproducible else "not reproducible"
    return "; ".join(parts) + f"; {again}; engine {answer.engine_signature}"

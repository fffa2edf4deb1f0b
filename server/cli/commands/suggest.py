"""eminence suggest: what to play, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game
from engine_cy.castle_village_port.binding import CastleVillagePort
from engine_cy.seats import CHANCE_SEAT, SEATS
from server.card_names import ORIFLAMME
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.connection import AnyClient, Connection, server_options
from server.cli.options import Observation, SearchOptions, position_options, thinking_options
from server.codec.fields import CARDS
from server.refusals import Refusal

EVERY_MS = 250.0
# So many moves and cards are shown, unless more are asked for.
MOVES_SHOWN = 10
KINDS_SHOWN = 4

WHY = {
    pb.STOP_REASON_ITERATIONS: "the iterations were done",
    pb.STOP_REASON_TIME: "the time was up",
    pb.STOP_REASON_CONFIDENCE: "the best move was sure enough",
    pb.STOP_REASON_FORCED: "there is one move only, and everybody sees that",
    pb.STOP_REASON_DEADLINE: "the call's deadline was near",
    pb.STOP_REASON_CANCELLED: "it was interrupted",
    pb.STOP_REASON_SHUTDOWN: "the server was about to stop",
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
@thinking_options
@click.option("--lines", type=click.IntRange(1, 1000), help="Answer so many of the best moves. Default: all.")
@click.option("--among", multiple=True, metavar="MOVE", help="Consider only this move; may be given several times.")
@click.option("--information", is_flag=True, help="Say, too, what showing your own face-down cards would change.")
@server_options
@json_option
def suggest(
    observation: Observation,
    thinking: SearchOptions,
    lines: int | None,
    among: tuple[str, ...],
    information: bool,
    connection: Connection,
    as_json: bool,
) -> None:
    """What to play, and why, given only what one player sees.

    The position is text (docs/notation.md), a file with it, or `-` for standard input; JSON and records of games are
    read, too. Ctrl-C ends a long search with what was found.
    """
    if observation.view.is_over:
        raise Refusal("GAME_OVER", "view", "nothing can be played any more")
    options = thinking.options(observation.game, lines=lines or 0, among=among, information=information)
    out = formatting.console()
    grows = out.is_terminal and not as_json
    with (
        connection.open(config=thinking.config) as client,
        _growing(out, observation, lines) if grows else nullcontext() as tell,
    ):
        found = ask(client, observation, thinking.budget(), options, tell)
    if as_json:
        formatting.print_json(found)
    else:
        out.print(rendered(found, observation, lines or MOVES_SHOWN))


def ask(
    client: AnyClient,
    observation: Observation,
    budget: pb.Budget,
    options: pb.Options,
    tell: Callable[[pb.Suggestion], None] | None = None,
) -> pb.Suggestion:
    """Return the answer; `tell` gets those on the way. Ctrl-C ends it with what was found."""
    latest = None
    with client.analyze(observation.message, budget, options, int(EVERY_MS)) as steps:
        try:
            for step in steps:
                latest = step.suggestion
                if tell and not step.last:
                    tell(latest)
        except KeyboardInterrupt:
            if latest is None:
                raise
            latest.stop_reason = pb.STOP_REASON_CANCELLED
    assert latest is not None
    return latest


@contextmanager
def _growing(out: Any, observation: Observation, lines: int | None) -> Iterator[Callable[[pb.Suggestion], None]]:
    """Show answers as they grow, in place; they vanish in the end."""
    with Live(console=out, transient=True, auto_refresh=False) as live:
        yield lambda so_far: live.update(rendered(so_far, observation, lines or MOVES_SHOWN), refresh=True)


# --- for people ------------------------------------------------------------------------------------------------


def rendered(found: pb.Suggestion, observation: Observation, most: int) -> RenderableType:
    """An answer as a page of text."""
    parts: list[RenderableType] = [Text(title(observation)), Text(str(observation.view), style="dim"), ""]
    if found.HasField("best"):
        parts += [moves_table(found, most), *_left_out(found, most), "", *_advice(found)]
    else:
        acting = CHANCE_SEAT if (observation.view.to_act or 0) < 0 else SEATS[observation.view.to_act or 0]
        parts += [f"{acting} is to act, so there is no move to suggest.", "", _seats_table(found)]
    if found.beliefs:
        parts += ["", formatting.heading("What the others may hide"), beliefs_table(found, observation.game)]
    if found.information:
        parts += ["", formatting.heading("What showing your cards would change"), _information_table(found)]
    return Group(*parts, "", Text(_account(found), style="dim"))


def title(observation: Observation) -> str:
    game = observation.game
    spec = game.spec[1]
    edition = spec if isinstance(spec, str) else "a ruleset of its own"
    told = f", and {len(observation.history.actions)} actions before" if observation.history else ""
    return f"{game.id}, {edition}, {game.n_players} players; what {SEATS[observation.view.observer]} sees{told}"


def moves_table(found: pb.Suggestion, most: int) -> RenderableType:
    """Moves with their figures, best first; the one to play is marked."""
    table = formatting.table(
        "move", "win %", "points", "ranks %", "visits", "then", right=("win %", "points", "ranks %", "visits")
    )
    for candidate in found.candidates[:most]:
        is_best = candidate.action.text == found.best.text
        table.add_row(
            Text(candidate.action.text, style="bold green" if is_best else ""),
            formatting.win(candidate.win) if candidate.HasField("win") else "",
            formatting.points(candidate.points) if candidate.HasField("points") else "",
            _ranks(candidate),
            formatting.count(candidate.visits),
            formatting.line(candidate.principal_variation[1:4]),  # what is likely to follow the move itself
        )
    return table


def _ranks(candidate: pb.Candidate) -> str:
    """The chances of the ranks, and how many playouts they come from: often a small part of the visits."""
    if not candidate.rank_probabilities:
        return ""
    chances = " ".join(f"{100 * chance:.0f}" for chance in candidate.rank_probabilities)
    return f"{chances} of {formatting.count(candidate.ended)}"


def _left_out(found: pb.Suggestion, most: int) -> list[RenderableType]:
    more = len(found.candidates) - most
    return [Text(f"and {more} more (--lines {len(found.candidates)} shows all)", style="dim")] if more > 0 else []


def _advice(found: pb.Suggestion) -> list[RenderableType]:
    parts: list[RenderableType] = [Text.assemble("Play: ", (found.best.text, "bold green"))]
    if len(found.mix) > 1:
        often = ", ".join(f"{move.action.text} {formatting.percent(move.probability)}" for move in found.mix)
        parts.append(f"As good, as far as can be told; to be hard to read, play: {often}")
    return parts


def _seats_table(found: pb.Suggestion) -> RenderableType:
    table = formatting.table("seat", "win %", "points", right=("win %", "points"))
    for value in found.seats:
        points = formatting.points(value.points) if value.HasField("points") else ""
        table.add_row(SEATS[value.seat - 1], formatting.win(value.win), points)
    return table


def beliefs_table(found: pb.Suggestion, game: Game) -> RenderableType:
    """A row for each hidden card and hand."""
    table = formatting.table("whose", "where", "what it may be")
    for belief in found.beliefs:
        seat = SEATS[belief.seat - 1]
        for spot in belief.face_down:
            under = f", under {spot.depth}" if spot.depth else ""
            table.add_row(seat, f"slot {spot.slot}{under}", _chances(spot.cards, game))
        if belief.selected:
            table.add_row(seat, "selected", _chances(belief.selected, game))
        if belief.hand:
            table.add_row(seat, "hand", _chances(belief.hand, game))
    return table


def _chances(cards: Any, game: Game) -> str:
    return formatting.likeliest([(_card(card, game), card.probability) for card in cards], KINDS_SHOWN)


def _card(card: pb.CardProbability, game: Game) -> str:
    if isinstance(game, CastleVillagePort):
        name = next((row.name for row in game.ruleset.cards if row.value == card.value), "")
        return f"{card.value} {name}".rstrip()
    return _card_name(card.oriflamme, card.name)


def _card_name(number: int, name: str) -> str:
    """A card of Oriflamme by its English name; `name` is that of an edition's own card."""
    return name or ORIFLAMME[CARDS.read(number, "card")].en


def _information_table(found: pb.Suggestion) -> RenderableType:
    table = formatting.table("card", "where", "win % if shown", "who would guess it", right=("win % if shown",))
    for card in found.information:
        guesses = ", ".join(
            f"{SEATS[guess.seat - 1]} {formatting.percent(guess.probability)}" for guess in card.guesses
        )
        under = f", under {card.depth}" if card.depth else ""
        where = "selected" if card.value else f"slot {card.slot}{under}"
        table.add_row(
            str(card.value) if card.value else _card_name(card.card, card.name),
            where,
            formatting.difference(card.win_if_shown, 100),
            guesses,
        )
    return table


def _account(found: pb.Suggestion) -> str:
    """How the answer came about."""
    why = WHY.get(found.stop_reason, "it goes on")
    parts = [f"{formatting.count(found.iterations)} iterations in {formatting.seconds(found.elapsed)}: {why}"]
    if found.fitting_worlds:
        effective = formatting.count(found.effective_sample_size)
        parts.append(f"{formatting.count(found.fitting_worlds)} worlds fit, as open as {effective}")
    again = f"--seed {found.seed}" if found.reproducible else "not reproducible"
    return "; ".join(parts) + f"; {again}; engine {found.engine_signature}"

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
from engine_cy.seats import CHANCE_SEAT, SEATS
from server.cli import formatting
from server.cli.command import command, json_option
from server.cli.connection import AnyClient, Connection, server_options
from server.cli.options import WORDS, Observation, SearchFlags, language_option, position_options, search_flags
from server.games import adapter_of
from server.games.continuation import told
from server.games.narration import Reader
from server.languages import words_of
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
@language_option
@server_options
@json_option
def suggest(
    observation: Observation,
    flags: SearchFlags,
    lines: int | None,
    among: tuple[str, ...],
    information: bool,
    language: str,
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
        _growing(out, Page(observation, lines or MOVES_SHOWN, language)) if grows else nullcontext() as show,
    ):
        answer = ask(client, observation, flags.budget(), options, show)
    if as_json:
        formatting.print_json(answer)
    else:
        out.print(Page(observation, lines or MOVES_SHOWN, language).rendered(answer))


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
def _growing(out: Any, page: Page) -> Iterator[Callable[[pb.Suggestion], None]]:
    """Update the partial answer in place on the terminal; clear it at the end."""
    with Live(console=out, transient=True, auto_refresh=False) as live:
        yield lambda so_far: live.update(page.rendered(so_far), refresh=True)


# --- for people ------------------------------------------------------------------------------------------------


class Page:
    """Formats answers about one view as pages of text, with at most `most` moves."""

    def __init__(self, observation: Observation, most: int, language: str) -> None:
        self._observation, self._most = observation, most
        self._adapter, self._language = adapter_of(observation.game.id), language
        self._reader = Reader(language, observation.view.observer)
        self._words = words_of(WORDS, language)
        self._say = self._words.say
        self._names = self._adapter.kind_names(observation.game, language)

    def rendered(self, answer: pb.Suggestion) -> RenderableType:
        """Format an answer."""
        view, say = self._observation.view, self._say
        parts: list[RenderableType] = [Text(title(self._observation)), Text(str(view), style="dim"), ""]
        if answer.HasField("best"):
            parts += [self._moves_table(answer), *self._left_out(answer), "", *self._advice(answer)]
        else:
            acting = CHANCE_SEAT if (view.to_act or 0) < 0 else SEATS[view.to_act or 0]
            parts += [say("suggest.not_to_act", seat=acting), "", self._seats_table(answer)]
        if answer.beliefs:
            parts += ["", formatting.heading(say("suggest.hidden")), self._beliefs_table(answer)]
        if answer.information:
            parts += ["", formatting.heading(say("suggest.shown")), self._information_table(answer)]
        return Group(*parts, "", Text(_account(answer), style="dim"))

    def _move(self, notation: str, style: str = "") -> Text:
        return formatting.move(self._in_words(notation), notation, style)

    def _in_words(self, notation: str) -> str:
        return self._adapter.choice(self._observation.view, notation, self._reader)

    def _moves_table(self, answer: pb.Suggestion) -> RenderableType:
        """Make the table of moves, best first; the suggested one is green."""
        heads = [self._say(key) for key in ("move", "win", "points", "ranks", "visits", "then")]
        table = formatting.table(*heads, right=heads[1:5], moves=heads[0])
        for candidate in answer.candidates[: self._most]:
            is_best = candidate.action.text == answer.best.text
            table.add_row(
                self._move(candidate.action.text, "bold green" if is_best else ""),
                formatting.win(candidate.win) if candidate.HasField("win") else "",
                formatting.points(candidate.points) if candidate.HasField("points") else "",
                _ranks(candidate),
                formatting.count(candidate.visits),
                formatting.line(candidate.principal_variation[1:4]),  # the likely continuation after the move
            )
        return table

    def _left_out(self, answer: pb.Suggestion) -> list[RenderableType]:
        more, every = len(answer.candidates) - self._most, len(answer.candidates)
        return [Text(self._say("suggest.more", n=more, all=every), style="dim")] if more > 0 else []

    def _advice(self, answer: pb.Suggestion) -> list[RenderableType]:
        before, _, after = self._say("suggest.play", move="\0").partition("\0")
        parts: list[RenderableType] = [Text.assemble(before, self._move(answer.best.text, "bold green"), after)]
        best = next((move for move in answer.candidates if move.action.text == answer.best.text), None)
        if best and len(best.principal_variation) > 1:  # a narrow terminal has no room for its column
            line = told(self._adapter, self._observation.view, best.principal_variation[:4], self._reader)
            before, _, after = self._say("suggest.then", line="\0").partition("\0")
            parts.append(Text.assemble(before, formatting.told_line(line[1:]), after))
        if len(answer.mix) > 1:
            mix = ", ".join(f"{move.action.text} {formatting.percent(move.probability)}" for move in answer.mix)
            parts.append(self._say("suggest.mix", moves=mix))
        return parts

    def _seats_table(self, answer: pb.Suggestion) -> RenderableType:
        heads = [self._say(key) for key in ("seat", "win", "points")]
        table = formatting.table(*heads, right=heads[1:])
        for value in answer.seats:
            points = formatting.points(value.points) if value.HasField("points") else ""
            table.add_row(SEATS[value.seat - 1], formatting.win(value.win), points)
        return table

    def _beliefs_table(self, answer: pb.Suggestion) -> RenderableType:
        """Make the table of beliefs: a row for each hidden card and hand."""
        table = formatting.table(*(self._say(key) for key in ("seat", "where", "may_be")))
        for belief in answer.beliefs:
            seat = SEATS[belief.seat - 1]
            for card in belief.face_down:
                table.add_row(seat, self._place(card.spot), self._chances(card.cards))
            if belief.hand:
                table.add_row(seat, self._say("hand"), self._chances(belief.hand))
        return table

    def _place(self, spot: view_pb2.Spot) -> str:
        return self._adapter.place_in(spot, self._language)

    def _chances(self, cards: Any) -> str:
        named = [(self._name_of(card.card), card.probability) for card in cards]
        return formatting.likeliest(named, KINDS_SHOWN, self._words)

    def _name_of(self, card: view_pb2.Card) -> str:
        return self._names.get(card.name, card.name)

    def _information_table(self, answer: pb.Suggestion) -> RenderableType:
        heads = [self._say(key) for key in ("card", "where", "suggest.if_shown", "suggest.guessed")]
        table = formatting.table(*heads, right=heads[2:3])
        for card in answer.information:
            guesses = ", ".join(
                f"{SEATS[guess.seat - 1]} {formatting.percent(guess.probability)}" for guess in card.guesses
            )
            win = formatting.difference(card.win_if_shown, 100)
            table.add_row(self._name_of(card.card), self._place(card.spot), win, guesses)
        return table


def title(observation: Observation) -> str:
    game = observation.game
    spec = game.spec[1]
    edition = spec if isinstance(spec, str) else "a custom ruleset"
    history = f", after {len(observation.history.actions)} actions" if observation.history else ""
    return f"{game.id}, {edition}, {game.n_players} players; the view of {SEATS[observation.view.observer]}{history}"


def _ranks(candidate: pb.Candidate) -> str:
    """Format the chances of the ranks and their number of playouts, often a small part of the visits."""
    if not candidate.rank_probabilities:
        return ""
    chances = " ".join(f"{100 * chance:.0f}" for chance in candidate.rank_probabilities)
    return f"{chances} of {formatting.count(candidate.ended)}"


def _account(answer: pb.Suggestion) -> str:
    """Describe the search: iterations, time, worlds, seed and engine."""
    reason = STOP_REASONS.get(answer.stop_reason, "still searching")
    parts = [f"{formatting.count(answer.iterations)} iterations in {formatting.seconds(answer.elapsed)}: {reason}"]
    if answer.fitting_worlds:
        effective = formatting.count(answer.effective_sample_size)
        parts.append(f"{formatting.count(answer.fitting_worlds)} possible worlds, effectively {effective}")
    if answer.calibration == "none" and any(candidate.HasField("win") for candidate in answer.candidates):
        parts.append("win % not calibrated")
    again = f"--seed {answer.seed}" if answer.reproducible else "not reproducible"
    return "; ".join(parts) + f"; {again}; engine {answer.engine_signature}"

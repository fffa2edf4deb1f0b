"""The layout of the pages: things on screen, rows that scroll, and tables that ask a question, to look at."""

from __future__ import annotations

from collections.abc import Callable

from process import Server
from twins import record_of
from waiting import HANG_S

from eminence.v1 import table_pb2, table_pb2_grpc
from engine_cy import Position, new_game
from engine_cy.record import Record
from server.codec import records

PHONE, TABLET, DESKTOP = (360, 640), (768, 1024), (1440, 900)
SIZES = (PHONE, TABLET, DESKTOP)
# The things that a selector finds and that are off the screen, or under another thing, at their middle or at a corner.
# Rows scroll sideways: of their cards, the one that acts counts.
OFF_SCREEN = """
selectors => selectors.flatMap(selector => {
  const found = [...document.querySelectorAll(selector)].filter(each => each.checkVisibility());
  if (found.length === 0) return [`${selector}: none`];
  return found.filter(each => {
    const { left, right, top, bottom } = each.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const points = [[x, y], [left + 3, top + 3], [right - 3, top + 3], [left + 3, bottom - 3], [right - 3, bottom - 3]];
    const isHere = left >= 0 && top >= 0 && right <= innerWidth + 0.5 && bottom <= innerHeight + 0.5;
    return !isHere || !points.every(([x, y]) => {
      const hit = document.elementFromPoint(x, y);
      return hit && (each.contains(hit) || hit.contains(each));
    });
  }).map(each => `${selector}: ${JSON.stringify(each.getBoundingClientRect())}`);
})
"""
# A row of cards as wide as four of them, and the card that acts in its middle, unless the row ends.
CURSOR = """
row => {
  const card = row.querySelector('.card.acting'), box = row.getBoundingClientRect();
  const at = card.getBoundingClientRect();
  const isEnd = row.scrollLeft <= 1 || row.scrollLeft + row.clientWidth >= row.scrollWidth - 1;
  const off = Math.abs((at.left + at.right) / 2 - (box.left + box.right) / 2);
  return { cards: row.clientWidth / at.width, width: at.width, height: at.height, isEnd, off,
    isSeen: at.left >= box.left && at.right <= box.right };
}
"""
# Things that are wider than their box, though it does not scroll, and boxes that do.
SIDEWAYS = """
scrolling => [document.documentElement, ...document.querySelectorAll('body *')]
  .filter(each => each === document.documentElement || each.checkVisibility() && !each.closest(scrolling))
  .filter(each => each.scrollWidth > each.clientWidth + 1
    && (each === document.documentElement || !['visible', 'clip'].includes(getComputedStyle(each).overflowX)))
  .map(each => `${each.tagName} ${each.className}`)
"""


def long_queue(position: Position) -> bool:
    """Tell a question at a card in the middle of a queue that is wider than a phone."""
    queue = str(position).partition(" | ")[0].split()
    cursor = next((at for at, card in enumerate(queue) if card.startswith(">")), 0)
    return len(queue) >= 7 and 2 < cursor < len(queue) - 2


def sit_down(served: Server, record: Record) -> str:
    """Open a table that begins with a record, with a person at the seat to act; return the address of their page."""
    end = record.end
    assert isinstance(end, Position)
    names = ("Annabelle", "Bartholomew", "Cy", "Dan", "Evangeline")
    sitters = [
        table_pb2.Sitter(name=names[seat]) if seat == end.to_act else table_pb2.Sitter(level=1)
        for seat in range(end.game.n_players)
    ]
    with served.channel() as channel:
        request = table_pb2.OpenTableRequest(record=records.write(record), sitters=sitters)
        keys = table_pb2_grpc.TableServiceStub(channel).OpenTable(request, timeout=HANG_S).keys
    return f"#/play?key={keys[0].key}"


def record_with(
    game_id: str, edition: str | None, players: int, asks: str, accept: Callable[[Position], bool]
) -> Record:
    """Return the beginning of a random game, up to a question of a kind."""
    game = new_game(game_id, edition, players)
    for seed in range(400):
        record = record_of(game, seed, 12 + seed % 40)
        end = record.end
        if (
            isinstance(end, Position)
            and asks in {str(action).split()[0] for action in end.legal_actions()}
            and accept(end)
        ):
            return record
    raise AssertionError("no random game has such a question")


QUESTIONS = {
    "oriflamme for 3": ("oriflamme", "en-2019", 3, "reveal", lambda _: True),
    "oriflamme for 5": ("oriflamme", "en-2019", 5, "reveal", long_queue),
    "a card to place": ("oriflamme", "en-2019", 5, "place", lambda _: True),
    "castle for 3": ("castle_village_port", None, 3, "place", lambda _: True),
    "castle for 5": ("castle_village_port", None, 5, "place", lambda _: True),
    "a card to select": ("castle_village_port", None, 5, "select", lambda _: True),
}

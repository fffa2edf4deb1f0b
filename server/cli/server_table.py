"""A seat at a table of a server (TableService), in the form in which `eminence play` plays a game of its own.

This process gets the view of the seat alone. The key of the seat opens it; a link of the page holds the key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from eminence.v1 import table_pb2 as pb
from engine_cy import Action, Game, Position, View
from engine_cy.errors import InvalidRecordError
from engine_cy.seats import SEATS
from server.cli.connection import Connection
from server.cli.exit_codes import Failure
from server.cli.opponents import STRENGTHS, MoveChooser
from server.cli.options import Observation
from server.cli.table_game import PERSON, SeenMove
from server.client import Client
from server.client.refusals import Refused
from server.codec import records
from server.codec.fields import write_seat
from server.codec.games import write_game
from server.codec.views import read_view_and_history, write_action

# The player of a seat that another person takes, by its key.
OTHER_PERSON = "person"
_KEY = re.compile(r"(?:.*[?&#]key=)?([\w-]{32})")


def key_in(text: str) -> str:
    """Return the key in a text: the key itself, or a link of the page."""
    found = _KEY.fullmatch(text.strip())
    if found is None:
        raise Failure("table: is neither `new`, the key of a seat (32 characters), nor a link with one")
    return found[1]


def open_table(connection: Connection, game: Game, seats: Sequence[str], name: str, seed: int | None) -> dict[int, str]:
    """Open a table; return the keys of its people by seat. `seats` holds `me` once, `person` and levels."""
    if len(seats) != game.n_players or seats.count(PERSON) != 1:
        raise Failure(f"seats: {','.join(seats)!r} does not name {game.n_players} players, {PERSON!r} once among them")
    sitters = []
    for seat in seats:
        level = 0 if seat in (PERSON, OTHER_PERSON) else STRENGTHS.get(seat, 0)
        if not level and seat not in (PERSON, OTHER_PERSON):
            raise Failure(
                f"seats: {seat!r} is not one of {PERSON}, {OTHER_PERSON}, level-1 to level-10, easy, normal, hard"
            )
        sitters.append(pb.Sitter(name=name if seat == PERSON else "", level=level))
    request = pb.OpenTableRequest(game=write_game(game), sitters=sitters, seed=seed)
    client = connection.open()
    assert isinstance(client, Client)
    try:
        keys = client.tables.OpenTable(request).keys
    except Refused as refused:
        raise connection.failure(refused) from None
    finally:
        client.close()
    return {number: key.key for number in range(game.n_players) for key in keys if key.seat == write_seat(number)}


class ServerTable:
    """A game that a server holds, as one seat sees it. It has the interface of `TableGame` for a session."""

    def __init__(self, connection: Connection, key: str, chooser: MoveChooser) -> None:
        client = connection.open()
        assert isinstance(client, Client)
        self._client, self._connection, self._key = client, connection, key
        self.chooser = chooser
        self._shown = 0  # the number of moves that were shown
        self._moves: list[SeenMove] = []
        self._table = pb.TableSeen()
        with self._calling():
            self._take(client.tables.GetTable(pb.GetTableRequest(key=key)).table)
        self._shown = len(self._moves)
        self.me = self._table.seat - write_seat(0)

    # --- what a session shows ---

    @property
    def start(self) -> View:
        return self.view

    @property
    def seats(self) -> list[str]:
        people = [OTHER_PERSON if not sitter.level else f"level-{sitter.level}" for sitter in self._table.sitters]
        return [PERSON if seat == self.me else name for seat, name in enumerate(people)]

    @property
    def names(self) -> list[str]:
        return [sitter.name or SEATS[seat] for seat, sitter in enumerate(self._table.sitters)]

    @property
    def position(self) -> View | Position:
        """The table as the seat sees it; after the end, with nothing hidden."""
        return records.read(self._table.result.record).end if self._table.HasField("result") else self.view

    @property
    def view(self) -> View:
        return self.observation.view

    @property
    def text(self) -> str:
        """The record: as the seat saw the game, or the whole one after the end."""
        with self._calling():
            return str(self._client.tables.GetTableRecord(pb.GetTableRecordRequest(key=self._key)).text)

    # --- what a session does ---

    def play(self, action: Action) -> SeenMove | None:
        """Choose an action; return it as the seat saw it, or None if the table changed before, or keeps no history."""
        before, number = self.view, len(self._moves)
        message = write_action(action)
        try:
            with self._calling():
                request = pb.ActRequest(key=self._key, version=self._table.version, action=message)
                self._take(self._client.tables.Act(request).table)
        except _TableChangedError:
            with self._calling():
                self._take(self._client.tables.GetTable(pb.GetTableRequest(key=self._key)).table)
            return None
        if not before.game.has_history:
            return None
        self._shown = number + 1
        # A choice that waits for those of others is not in the history yet. It shows no card.
        return self._moves[number] if number < len(self._moves) else SeenMove(before, str(action), before.play(action))

    def advance(self) -> Iterator[SeenMove]:
        """Follow the table until the person has a choice or the game is over; yield each action."""
        while True:
            while self._shown < len(self._moves):
                self._shown += 1
                yield self._moves[self._shown - 1]
            if self._table.HasField("result"):
                return
            options = self.view.legal_actions() if self._table.legal_actions else []
            if len(options) > 1:
                return
            elif options:
                move = self.play(options[0])
                if move is not None:
                    yield move
            else:
                self._wait()

    def take_back(self) -> bool:
        """Take the own last choice back; return whether that is possible."""
        if not self._table.may_take_back:
            return False
        with self._calling():
            request = pb.TakeBackRequest(key=self._key, version=self._table.version)
            self._take(self._client.tables.TakeBack(request).table)
        self._shown = len(self._moves)
        return True

    def comment(self, text: str) -> None:
        raise InvalidRecordError("comment: the server keeps this game; comment on the saved record instead")

    def close(self) -> None:
        self._client.close()

    # --- inside ---

    def _take(self, table: pb.TableSeen) -> None:
        """Take the table as it is now."""
        view, history = read_view_and_history(table.view)
        if table.taken_back > self._table.taken_back:
            self._shown = min(self._shown, len(history.actions) if history else 0)
        self._table, self.observation = table, Observation(view, history)
        if history is not None:
            tables = list(history.record.tables())
            self._moves = [SeenMove(*each) for each in zip(tables, history.actions, tables[1:], strict=False)]

    def _wait(self) -> None:
        """Wait until the table changes."""
        watch: Any = self._client.tables.WatchTable  # as the client equips it: a stream to be closed
        with self._calling(), watch(pb.WatchTableRequest(key=self._key)) as changes:
            for change in changes:
                if change.table.version != self._table.version or change.table.HasField("result"):
                    self._take(change.table)
                    return
        raise Failure("table: it has ended, or the server is stopping")

    @contextmanager
    def _calling(self) -> Iterator[None]:
        try:
            yield
        except Refused as refused:
            if refused.reason == "TABLE_CHANGED":
                raise _TableChangedError from None
            if refused.reason == "NO_TABLE":
                raise Failure(refused.message, refused.reason) from None
            raise self._connection.failure(refused) from None


class _TableChangedError(Exception):
    """The table is not as this process saw it last."""


def invitations(keys: Mapping[int, str], address: str) -> Iterator[str]:
    """Yield, for each person at a new table, the command that sits down."""
    for seat, key in keys.items():
        yield f"{SEATS[seat]}: eminence play --server {address} --table {key}"

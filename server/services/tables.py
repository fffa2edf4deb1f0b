"""TableService: games of people and engines whose hidden cards only the server knows.

This module writes messages from `Seen`, and never handles a position.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from eminence.v1 import solver_pb2
from eminence.v1 import table_pb2 as pb
from engine_cy.record import Record
from server.codec import records, views
from server.codec.fields import check_text, read_optional_seat, required, write_seat
from server.codec.games import read_required_game
from server.game_named import installed_game
from server.refusals import Refusal, at, missing, under
from server.rpc.callers import Context, current_caller
from server.rpc.deadline import Deadline
from server.rpc.status import refusal_of
from server.services.solver import SolverService
from server.settings import Settings
from server.tables.keeper import Keeper, KeptTable
from server.tables.table import EngineTurn, Seen, Sitter, Table, continued
from server.telemetry import Telemetry
from solver.config import LEVELS

SERVICE = pb.DESCRIPTOR.services_by_name["TableService"]
NAME_MAX = 40
KEY_TEXT_MAX = 100

T = TypeVar("T")
_log = logging.getLogger(__name__)


class TableService:
    """The tables. Belongs to the event loop's thread; a thread of its own plays and computes views."""

    def __init__(self, settings: Settings, telemetry: Telemetry, solver: SolverService) -> None:
        self._keeper = Keeper(settings.tables_max, settings.caller_tables, settings.table_hours, settings.tables)
        self._solver = solver
        self._network_ms = float(settings.network_ms)
        self._thread = ThreadPoolExecutor(1, "tables")
        telemetry.follow_tables(lambda: len(self._keeper))
        self._state = "starting"

    # --- start and end ---

    def load(self) -> None:
        """Load the tables of the file. Do not call it on the event loop's thread."""
        self._keeper.load()

    def open(self) -> None:
        self._state = "serving"

    def close(self) -> None:
        """Refuse new calls, and end those that watch a table."""
        self._state = "stopping"
        self._keeper.notify_all()

    def end(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._keeper.end()

    # --- calls ---

    async def OpenTable(self, request: pb.OpenTableRequest, context: Context) -> pb.OpenTableResponse:
        deadline = self._arrive(context)
        async with current_caller().turn():
            table = await self._in_thread(_read_table, request)
        people = [seat for seat, sitter in enumerate(table.sitters) if not sitter.level]
        kept, keys = self._keeper.open(table, people, _owner())
        await self._play_on(kept, deadline)
        return pb.OpenTableResponse(keys=[pb.SeatKey(seat=write_seat(seat), key=key) for seat, key in keys.items()])

    async def GetTable(self, request: pb.GetTableRequest, context: Context) -> pb.GetTableResponse:
        self._arrive(context)
        kept, seat = self._find(request.key)
        self._continue(kept)
        return pb.GetTableResponse(table=await self._see(kept, seat))

    async def WatchTable(self, request: pb.WatchTableRequest, context: Context) -> AsyncIterator[pb.WatchTableResponse]:
        self._arrive(context)
        kept, seat = self._find(request.key)
        self._continue(kept)
        latest = None
        while not kept.is_closed and self._state == "serving":
            changed = kept.changed
            seen = await self._see(kept, seat)
            if seen != latest:
                latest = seen
                yield pb.WatchTableResponse(table=seen)
            await changed.wait()

    async def Act(self, request: pb.ActRequest, context: Context) -> pb.ActResponse:
        deadline = self._arrive(context)
        kept, seat = self._find(request.key)
        required(request, "action", "")
        async with kept.lock:
            await self._in_thread(_choose, kept.table, seat, request)
        self._note_change(kept)
        await self._play_on(kept, deadline)
        return pb.ActResponse(table=await self._see(kept, seat))

    async def TakeBack(self, request: pb.TakeBackRequest, context: Context) -> pb.TakeBackResponse:
        self._arrive(context)
        kept, seat = self._find(request.key)
        async with kept.lock:
            kept.table.take_back(seat, request.version)
        self._note_change(kept)
        self._continue(kept)
        return pb.TakeBackResponse(table=await self._see(kept, seat))

    async def GetTableRecord(self, request: pb.GetTableRecordRequest, context: Context) -> pb.GetTableRecordResponse:
        self._arrive(context)
        kept, seat = self._find(request.key)
        if not kept.table.game.has_history and not kept.table.is_over:
            raise Refusal("INVALID_RECORD", "", "a game without histories has a record only at its end")
        async with kept.lock:
            return await self._in_thread(lambda: _write_record(kept.table.record_of(seat)))

    async def CloseTable(self, request: pb.CloseTableRequest, context: Context) -> pb.CloseTableResponse:
        self._arrive(context)
        kept, _ = self._find(request.key)
        self._keeper.close_table(kept)
        return pb.CloseTableResponse()

    # --- playing ---

    async def _play_on(self, kept: KeptTable, deadline: Deadline) -> None:
        """Let chance and the engine act, until a person has to choose or the deadline is near."""
        self._continue(kept)
        assert kept.playing is not None
        left = deadline.left_seconds()
        if left is not None:
            left = max(left - max(self._network_ms / 1000, left / 10), 0.0)
        await asyncio.wait([kept.playing], timeout=left)

    def _continue(self, kept: KeptTable) -> None:
        """Play on in a task of its own, which outlives the call."""
        if kept.playing is None or kept.playing.done():
            kept.playing = asyncio.ensure_future(self._advance(kept))

    async def _advance(self, kept: KeptTable) -> None:
        try:
            while not kept.is_closed:
                async with kept.lock:
                    version = kept.table.version
                    turn = await self._in_thread(kept.table.advance)
                if kept.table.version != version:
                    self._note_change(kept)
                if turn is None:
                    return
                action = await self._choice_of(turn)
                if self._state != "serving":
                    return  # the search was cut short: after a restart, it is made again
                async with kept.lock:
                    await self._in_thread(kept.table.play_engine, turn, action)
                self._note_change(kept)
        except Exception as error:  # the next call of the table tries again
            _log.warning("tables: an engine could not choose: %s", refusal_of(error).reason)

    async def _choice_of(self, turn: EngineTurn) -> Any:
        """Ask the adviser, which gets the view of the engine's seat and nothing else."""
        request = await self._in_thread(_request_of, turn)
        suggestion = await self._solver.suggest_in_bulk(request)
        return turn.view.game.action(suggestion.best.text)

    def _note_change(self, kept: KeptTable) -> None:
        self._keeper.save(kept)
        kept.notify()

    # --- their parts ---

    def _arrive(self, context: Context) -> Deadline:
        if self._state != "serving":
            raise Refusal("UNAVAILABLE", "", f"the server is {self._state}", retry_after=1.0)
        return Deadline.of(context, self._network_ms)

    def _find(self, key: str) -> tuple[KeptTable, int]:
        if not key:
            raise missing("key")
        return self._keeper.find(check_text(key, KEY_TEXT_MAX, "key"))

    async def _see(self, kept: KeptTable, seat: int) -> pb.TableSeen:
        async with kept.lock:
            return await self._in_thread(lambda: write_seen(kept.table.see(seat)))

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)


def write_seen(seen: Seen) -> pb.TableSeen:
    """Write a table as a seat sees it."""
    message = pb.TableSeen(
        seat=write_seat(seen.seat),
        version=seen.version,
        view=views.write_view(seen.view, seen.history),
        legal_actions=map(views.write_action, seen.legal),
        to_act=map(write_seat, seen.to_act),
        thinking=write_seat(seen.thinking),
        sitters=[pb.Sitter(name=sitter.name, level=sitter.level) for sitter in seen.sitters],
        may_take_back=seen.may_take_back,
        taken_back=seen.taken_back,
        deal_known=seen.deal_known,
    )
    if seen.chosen is not None:
        message.chosen.CopyFrom(views.write_action(seen.view.game.action(seen.chosen)))
    if (result := seen.result) is not None:
        message.result.CopyFrom(
            pb.TableResult(
                points=result.scores, win_shares=result.payoffs, seed=result.seed, record=records.write(result.record)
            )
        )
    return message


def _read_table(request: pb.OpenTableRequest) -> Table:
    if installed_game(request) is not None:
        raise Refusal("INVALID_RULESET", "game.game_id", "installed games have no tables")
    seed = request.seed if request.HasField("seed") else secrets.randbits(64)
    if request.HasField("record"):
        if request.first or request.HasField("game"):
            field = "first" if request.first else "game"
            raise Refusal("CONTRADICTION", field, "cannot be combined with a record, which has it")
        record = records.read(request.record, "record")
        if record.observer is not None:
            raise Refusal("INVALID_RECORD", "record", "is one seat's record: a table needs the whole game")
        return continued(record, _read_sitters(request.sitters, record.game.n_players), seed)
    game = read_required_game(request, "")
    first = read_optional_seat(request.first, game.n_players, "first") or 0
    sitters = _read_sitters(request.sitters, game.n_players)
    return Table(game.deal(seed, first), sitters, seed, deal_known=request.HasField("seed"))


def _read_sitters(messages: Any, n_players: int) -> list[Sitter]:
    if not messages:
        raise missing("sitters")
    if len(messages) != n_players:
        raise Refusal("OUT_OF_RANGE", "sitters", f"{len(messages)} entries, not one for each of {n_players} players")
    sitters = []
    for number, message in enumerate(messages):
        with under(f"sitters[{number}]"):
            if message.level and message.level not in LEVELS:
                raise Refusal("OUT_OF_RANGE", "level", f"{message.level} is not in 0..{max(LEVELS)}")
            sitters.append(Sitter(check_text(message.name, NAME_MAX, "name"), message.level))
    if all(sitter.level for sitter in sitters):
        raise Refusal("CONTRADICTION", "sitters", "a table needs a person (level 0)")
    return sitters


def _choose(table: Table, seat: int, request: pb.ActRequest) -> None:
    action = views.read_action(table.game, request.action, "action")
    with at("action"):
        table.choose(seat, request.version, action)


def _request_of(turn: EngineTurn) -> solver_pb2.SuggestRequest:
    options = solver_pb2.Options(seed=turn.seed, level=turn.level, lines=1)
    return solver_pb2.SuggestRequest(view=views.write_view(turn.view, turn.history), options=options)


def _write_record(record: Record) -> pb.GetTableRecordResponse:
    return pb.GetTableRecordResponse(record=records.write(record), text=str(record))


def _owner() -> bytes:
    """Return the hash of the caller's identity or address."""
    key = current_caller().key
    return hashlib.sha256(key if isinstance(key, bytes) else key.encode()).digest()

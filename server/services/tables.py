"""TableService: games of people and engines whose hidden cards only the server knows.

`table_steps` has what the calls do to a table. For an installed game, a worker process does it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from google.protobuf.wrappers_pb2 import BytesValue

from eminence.v1 import solver_pb2
from eminence.v1 import table_pb2 as pb
from server.codec.fields import check_text, required, write_seat
from server.game_named import installed_game
from server.refusals import Refusal, missing
from server.rpc.callers import Context, current_caller
from server.rpc.deadline import Deadline
from server.rpc.status import refusal_of
from server.services.plugins import Plugins
from server.services.solver import SolverService
from server.services.table_steps import STEPS, read_step, read_table, step_request
from server.settings import Settings
from server.tables.installed import InstalledTable
from server.tables.keeper import Keeper, KeptTable
from server.tables.table import Table
from server.telemetry import Telemetry

SERVICE = pb.DESCRIPTOR.services_by_name["TableService"]
KEY_TEXT_MAX = 100

T = TypeVar("T")
_log = logging.getLogger(__name__)


class TableService:
    """The tables. Belongs to the event loop's thread; a thread of its own plays and computes views."""

    def __init__(self, settings: Settings, telemetry: Telemetry, solver: SolverService, plugins: Plugins) -> None:
        self._keeper = Keeper(settings.tables_max, settings.caller_tables, settings.table_hours, settings.tables)
        self._solver, self._plugins = solver, plugins
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
            table = await self._open(request)
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
            await self._step(kept, "choose", seat, request.SerializeToString())
        self._note_change(kept)
        await self._play_on(kept, deadline)
        return pb.ActResponse(table=await self._see(kept, seat))

    async def TakeBack(self, request: pb.TakeBackRequest, context: Context) -> pb.TakeBackResponse:
        self._arrive(context)
        kept, seat = self._find(request.key)
        async with kept.lock:
            await self._step(kept, "take_back", seat, request.SerializeToString())
        self._note_change(kept)
        self._continue(kept)
        return pb.TakeBackResponse(table=await self._see(kept, seat))

    async def GetTableRecord(self, request: pb.GetTableRecordRequest, context: Context) -> pb.GetTableRecordResponse:
        self._arrive(context)
        kept, seat = self._find(request.key)
        async with kept.lock:
            return pb.GetTableRecordResponse.FromString(await self._step(kept, "write_record", seat))

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
                    question = await self._step(kept, "advance")
                    asked_at = kept.table.version
                if asked_at != version:
                    self._note_change(kept)
                if not question:
                    return
                action = await self._choice_of(kept, solver_pb2.SuggestRequest.FromString(question))
                if self._state != "serving":
                    return  # the search was cut short: after a restart, it is made again
                async with kept.lock:
                    await self._step(kept, "play_engine", asked_at, action.encode())
                self._note_change(kept)
        except Exception as error:  # the next call of the table tries again
            _log.warning("tables: an engine could not choose: %s", refusal_of(error).reason)

    async def _choice_of(self, kept: KeptTable, request: solver_pb2.SuggestRequest) -> str:
        """Ask the adviser, which gets the view of the engine's seat and nothing else."""
        if isinstance(kept.table, InstalledTable):
            raw = await self._plugins.answer_in_bulk(kept.table.game_id, "Suggest", request)
            return solver_pb2.SuggestResponse.FromString(raw).suggestion.best.text
        return (await self._solver.suggest_in_bulk(request)).best.text

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
            return pb.TableSeen.FromString(await self._step(kept, "see", seat))

    async def _open(self, request: pb.OpenTableRequest) -> Table | InstalledTable:
        seed = secrets.randbits(64)
        game_id = installed_game(request)
        if game_id is None:
            return await self._in_thread(read_table, request, seed)
        row, _ = await self._step_elsewhere(game_id, None, "open", seed, request.SerializeToString())
        return InstalledTable(game_id, row)

    async def _step(self, kept: KeptTable, name: str, number: int = 0, message: bytes = b"") -> bytes:
        """Take a step of a table, which nothing else uses meanwhile."""
        table = kept.table
        if isinstance(table, Table):
            return await self._in_thread(STEPS[name], table, number, message)
        table.content, result = await self._step_elsewhere(table.game_id, table.content, name, number, message)
        return result

    async def _step_elsewhere(
        self, game_id: str, row: dict[str, Any] | None, name: str, number: int, message: bytes
    ) -> tuple[dict[str, Any], bytes]:
        request = step_request(row, name, number, message)
        raw = await self._plugins.answer_in_bulk(game_id, "TableStep", request)
        return read_step(game_id, BytesValue.FromString(raw))

    async def _in_thread(self, call: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)


def _owner() -> bytes:
    """Return the hash of the caller's identity or address."""
    key = current_caller().key
    return hashlib.sha256(key if isinstance(key, bytes) else key.encode()).digest()

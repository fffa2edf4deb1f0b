"""Admission: threads, memory and queues, and how callers share them."""

from __future__ import annotations

import asyncio
import time

import pytest
from waiting import settle

from server.refusals import Refusal
from server.rpc.admission import Admission, Kind, Ticket


@pytest.fixture(autouse=True)
def _callers_stay_active(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count callers as active for an hour, however slow the machine is."""
    monkeypatch.setattr("server.rpc.admission.ACTIVE_SECONDS", 3600.0)


def test_searches_run_up_to_the_number_of_workers() -> None:
    async def run() -> None:
        admission = Admission(1, 1, {"interactive": 10, "bulk": 10})
        tickets: list[Ticket] = []

        async def enter(shares: int) -> None:
            tickets.append(await admission.enter("interactive", shares, None))

        tasks = [asyncio.ensure_future(enter(1)) for _ in range(3)]
        await settle()
        assert (admission.running, admission.waiting("interactive")) == (1, 2)
        admission.resize(3)
        tasks.append(asyncio.ensure_future(enter(8)))
        await settle()
        assert (admission.running, admission.waiting("interactive")) == (3, 1)
        assert admission.threads_for("bulk", 8) == 2
        # A search wider than the remaining workers gets all of them instead of waiting forever.
        admission.resize(2)
        for ticket in tickets[:2]:
            admission.leave(ticket)
        await settle()
        assert admission.running == 1
        admission.leave(tickets[2])
        await settle()
        assert [ticket.weight for ticket in tickets[3:]] == [2]
        admission.leave(tickets[3])
        await asyncio.gather(*tasks)

    asyncio.run(run())


def test_searches_wait_for_memory() -> None:
    async def run() -> None:
        admission = Admission(4, 1, {"interactive": 10, "bulk": 10}, memory_max=100)
        first = await admission.enter("interactive", 1, None, memory=60)
        small = await admission.enter("bulk", 1, None, memory=40)
        with pytest.raises(Refusal) as refused:  # the wait for memory would take too much of its time
            await admission.enter("interactive", 1, 1_000_000, memory=70)
        assert refused.value.reason == "OVERLOADED"
        waiting = asyncio.ensure_future(admission.enter("interactive", 1, None, memory=70))
        await asyncio.sleep(0)
        assert (admission.running, admission.waiting("interactive")) == (2, 1)
        admission.leave(small)
        await asyncio.sleep(0)
        assert not waiting.done()  # 60 and 70 are more than 100
        admission.leave(first)
        admission.leave(await waiting)
        assert (admission.running, admission.waiting("interactive")) == (0, 0)

    asyncio.run(run())


def test_a_search_is_expected_to_end_by_its_deadline() -> None:
    """Calls with a minute of budget, but six seconds until their deadlines, hold others up for six seconds."""

    async def run() -> None:
        admission = Admission(2, 0, {"interactive": 10, "bulk": 10})
        minute, soon = 60 * 10**9, time.monotonic_ns() + 6 * 10**9
        first = await admission.enter("interactive", 1, minute, soon)
        await admission.enter("interactive", 1, minute, soon)
        third = asyncio.ensure_future(admission.enter("interactive", 1, minute))
        await asyncio.sleep(0)
        assert not third.done()  # it waits at most six seconds of its minute
        admission.leave(first)
        admission.leave(await third)
        fourth = await admission.enter("interactive", 1, minute)
        with pytest.raises(Refusal) as refused:
            await admission.enter("interactive", 1, minute, soon)  # its own deadline shortens its minute, too
        assert refused.value.retry_after is not None
        assert refused.value.retry_after <= 6
        admission.leave(fourth)

    asyncio.run(run())


def test_one_search_without_a_time_limit_waits_in_the_pool() -> None:
    async def run() -> None:
        admission = Admission(1, 0, {"interactive": 10, "bulk": 10}, ahead=1)
        first = await admission.enter("interactive", 1, None)
        following = await admission.enter("interactive", 1, None)
        third = asyncio.ensure_future(admission.enter("interactive", 1, None))
        bulk = asyncio.ensure_future(admission.enter("bulk", 1, None))
        timed = asyncio.ensure_future(admission.enter("interactive", 1, 10**12))
        await asyncio.sleep(0)
        assert (admission.running, admission.waiting("interactive"), admission.waiting("bulk")) == (1, 3, 1)
        admission.leave(first)
        admission.leave(await third)
        await asyncio.sleep(0)
        assert not timed.done()  # in the pool its time would run while another search has the thread
        admission.leave(following)
        admission.leave(await timed)
        admission.leave(await bulk)
        assert admission.running == 0

    asyncio.run(run())


# --- callers share threads and queues ------------------------------------------------------------------------------


def entering(admission: Admission, caller: str, kind: Kind = "interactive", shares: int = 1) -> asyncio.Task[Ticket]:
    return asyncio.ensure_future(admission.enter(kind, shares, None, caller=caller))


def test_a_caller_alone_has_all_threads() -> None:
    async def run() -> None:
        admission = Admission(4, 1, {"interactive": 10, "bulk": 10})
        wide = await entering(admission, "A", shares=4)
        assert wide.weight == 4
        admission.leave(wide)

    asyncio.run(run())


@pytest.mark.parametrize("kind", ["interactive", "bulk"])
def test_a_caller_leaves_a_thread_to_others_while_they_are_active(kind: Kind) -> None:
    async def run() -> None:
        admission = Admission(3, 0, {"interactive": 100, "bulk": 100})
        admission.leave(await entering(admission, "B", kind))
        flood = [entering(admission, "A", kind) for _ in range(20)]
        wide = entering(admission, "A", kind, shares=3)
        await settle()
        assert admission.running == 2
        for _ in range(5):  # B finds a free thread each time, and A keeps two
            quick = entering(admission, "B", kind)
            await settle()
            assert quick.done()
            admission.leave(quick.result())
            first = next(task for task in flood if task.done())
            flood.remove(first)
            admission.leave(first.result())
            await settle()
            assert admission.running == 2
        for task in flood:
            admission.leave(await task)
            await settle()
        assert (await wide).weight == 2

    asyncio.run(run())


def test_a_caller_has_all_threads_again_when_others_are_inactive(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        admission = Admission(2, 0, {"interactive": 10, "bulk": 10})
        admission.leave(await entering(admission, "B"))
        monkeypatch.setattr("server.rpc.admission.ACTIVE_SECONDS", 0.0)
        tasks = [entering(admission, "A") for _ in range(2)]
        await settle()
        assert all(task.done() for task in tasks)

    asyncio.run(run())


def test_callers_take_turns_in_a_queue() -> None:
    async def run() -> list[str]:
        admission = Admission(1, 0, {"interactive": 10, "bulk": 10})
        running = await entering(admission, "A")
        waiting = {name: entering(admission, name[0]) for name in ("A1", "A2", "B1", "A3", "B2")}
        await settle()
        waiting["C1"] = entering(admission, "C")
        order: list[str] = []
        for _ in range(len(waiting)):
            await settle()
            admission.leave(running)
            await settle()
            name = next(name for name, task in waiting.items() if task.done() and name not in order)
            order.append(name)
            running = waiting[name].result()
        return order

    assert asyncio.run(run()) == ["B1", "C1", "A1", "B2", "A2", "A3"]


def test_a_full_queue_drops_the_last_search_of_the_caller_with_the_most() -> None:
    async def run() -> None:
        admission = Admission(1, 0, {"interactive": 3, "bulk": 3})
        running = await entering(admission, "A")
        flood = [entering(admission, "A") for _ in range(3)]
        await settle()
        with pytest.raises(Refusal, match="interactive_queue"):
            await entering(admission, "A")
        of_other_caller = entering(admission, "B")
        await settle()
        assert [task.done() for task in flood] == [False, False, True]
        assert isinstance(flood[2].exception(), Refusal)
        admission.leave(running)
        await settle()
        assert of_other_caller.done()
        more = [entering(admission, "B") for _ in range(2)]
        await settle()
        assert admission.waiting("interactive") == 3
        assert more[1].done()  # both callers now have equally many, so the new search is refused
        assert isinstance(more[1].exception(), Refusal)

    asyncio.run(run())


def test_a_long_request_is_refused_unread_only_if_there_is_no_room_for_its_search() -> None:
    async def run() -> None:
        admission = Admission(1, 0, {"interactive": 0, "bulk": 0})
        admission.check_room("interactive", "A")  # a thread is free
        running = await entering(admission, "A")
        with pytest.raises(Refusal, match="interactive_queue"):
            admission.check_room("interactive", "A")
        admission.leave(running)
        admission.check_room("interactive", "A")

    asyncio.run(run())

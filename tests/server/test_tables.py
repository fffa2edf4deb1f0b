"""Tables of people and engines: a key opens its own seat, and no card of another seat leaves the server early."""

from __future__ import annotations

import ast
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from process import Server, refusal, server
from tables import mostly_slow
from twin_tables import PERSON, SPECS, TWIN_GAMES, differences, pairs, seen_by, twin_differences
from waiting import HANG_S
from web import post_json

import server.services.tables as served
from eminence.v1 import seat_pb2, table_pb2_grpc, view_pb2
from eminence.v1 import table_pb2 as pb
from engine_cy import new_game
from engine_cy.record import Record, read_record
from server.client import Client
from server.codec import records
from server.codec.views import read_view
from server.refusals import Refusal
from server.tables.keeper import Keeper
from server.tables.table import Sitter, Table, continued

ROOT = Path(__file__).parents[2]
ENGINE = Sitter("", 1)
EN = view_pb2.GameSpec(game_id="oriflamme", players=3)
CASTLE = view_pb2.GameSpec(game_id="castle_village_port", players=3)
NOT_FOUND = ("NOT_FOUND", "NO_TABLE", "key")
A, B, C = (seat_pb2.Seat.Value(f"SEAT_{letter}") for letter in "ABC")
every_spec = pytest.mark.parametrize(
    "spec", mostly_slow(SPECS.values(), SPECS, ("en-2019-3p", "prototype-2p", "hidden_gold"))
)


# --- what a seat sees ------------------------------------------------------------------------------------------


@every_spec
def test_a_seat_that_cannot_tell_two_tables_apart_gets_equal_bytes(spec: Any) -> None:
    for acting in (True, False):
        n_pairs, n_different = differences(spec, 12, acting=acting)
        assert n_pairs > 5
        assert n_different == 0


@pytest.mark.parametrize("game_id", TWIN_GAMES)
def test_twin_tables_of_a_game_have_equal_bytes(game_id: str) -> None:
    """`python -m benchmarks web --only twin_differences` compares 5,000 pairs of each game."""
    assert twin_differences(game_id, 60) == 0


def test_a_table_that_shows_the_truth_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above can fail: put the view of another seat, the number of a world, or the seed into a message."""
    see = Table.see

    def peek(change: Callable[[Table, Any], Any]) -> int:
        monkeypatch.setattr(Table, "see", lambda table, seat: change(table, see(table, seat)))
        return differences(SPECS["en-2019-3p"], 12)[1]

    assert peek(lambda _table, seen: seen) == 0
    others_view = lambda table, seen: seen._replace(view=table._position.view((seen.seat + 1) % 3))  # noqa: E731
    assert peek(others_view) > 0
    card = lambda table, seen: seen._replace(version=sum(bytes(table._position)))  # noqa: E731
    assert peek(card) > 0
    whole = lambda table, seen: seen._replace(sitters=[Sitter(str(table.record)), *seen.sitters[1:]])  # noqa: E731
    assert peek(whole) > 0


def test_the_seat_that_sees_the_difference_gets_other_bytes() -> None:
    for truth, other, seat in pairs(SPECS["en-2019-3p"], 12, acting=False):
        people = [PERSON] * 3
        acting = next(each for each in range(3) if truth.seen_from(each) != other.seen_from(each))
        assert acting != seat
        assert seen_by(truth, acting, people) != seen_by(other, acting, people)


def test_messages_are_built_where_no_position_is() -> None:
    service = "".join((ROOT / "server" / "services" / f"{name}.py").read_text() for name in ("tables", "table_steps"))
    for word in ("Position", "_position", "sample_world", "positions", "referee"):
        assert word not in service.replace("never handles a position", "")
    for path in (ROOT / "server" / "tables").glob("*.py"):
        tree = ast.parse(path.read_text())
        names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        assert not [name for name in names if name.startswith(("eminence", "google", "grpc", "server.codec"))]


@every_spec
def test_games_of_people_end_with_the_result_of_their_record(spec: Any) -> None:
    """Play at random, in any order where choices are simultaneous; each seat follows the game by its own views."""
    game = new_game(*spec)
    draw = random.Random(3)
    table = Table(game.deal(5), [PERSON] * game.n_players, 5, deal_known=False)
    table.advance()
    n_at_once = 0
    while not table.is_over:
        choosers = table.see(0).to_act
        n_at_once = max(n_at_once, len(choosers))
        seat = draw.choice(list(choosers))
        seen = table.see(seat)
        assert seen.result is None
        assert seen.view.to_act == seat
        if seen.history is not None:
            assert seen.history.end == seen.view
        others = [table.see(other) for other in range(game.n_players) if other not in choosers]
        assert all(not other.legal for other in others)
        table.choose(seat, seen.version, draw.choice(list(seen.legal)))
        if seat in table.waiting:
            assert table.see(seat).chosen == table.waiting[seat]
            assert seat not in table.see(seat).to_act
        table.advance()
    result = table.see(0).result
    assert result is not None
    assert read_record(str(result.record)).end == result.record.end
    assert n_at_once == (game.n_players if game.id == "castle_village_port" else 1)


def test_an_early_choice_sees_what_it_would_see_in_turn() -> None:
    game = new_game("castle_village_port", "house", 3)
    table = Table(game.deal(1), [PERSON] * 3, 1, deal_known=False)
    early = table.see(2)
    assert (early.to_act, early.view.to_act) == ([0, 1, 2], 2)
    for seat in (0, 1):
        table.choose(seat, table.version, table.see(seat).legal[0])
    assert table.see(2).view == early.view
    assert table.see(2).legal == early.legal


def refusal_reason(call: Callable[[], object]) -> str:
    with pytest.raises(Refusal) as refused:
        call()
    return refused.value.reason


def test_a_choice_is_taken_back_until_a_card_is_shown_or_another_person_chooses() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    table = Table(game.deal(4), [PERSON, ENGINE, Sitter("Cy")], 4, deal_known=False)
    table.choose(0, 0, table.see(0).legal[0])
    assert table.see(0).may_take_back
    assert not table.see(2).may_take_back
    turn = table.advance()
    assert turn is not None
    first_seed = turn.seed
    table.play_engine(turn.version, turn.view.legal_actions()[0])
    version = table.version
    assert refusal_reason(lambda: table.take_back(2, version)) == "NOT_TAKEN_BACK"
    assert refusal_reason(lambda: table.take_back(0, version - 1)) == "TABLE_CHANGED"
    table.take_back(0, version)  # past the engine's choice, which showed no card
    assert (table.actions, table.taken_back, table.version) == ([], 1, version + 1)
    table.choose(0, table.version, table.see(0).legal[0])
    repeated = table.advance()
    assert repeated is not None
    assert repeated.seed == first_seed
    table.play_engine(repeated.version, repeated.view.legal_actions()[0])
    table.choose(2, table.version, table.see(2).legal[0])
    assert refusal_reason(lambda: table.take_back(0, table.version)) == "NOT_TAKEN_BACK"  # C has chosen
    assert table.see(2).may_take_back
    while not table.see(0).to_act:  # the engine's card may come first
        turn = table.advance()
        assert turn is not None
        table.play_engine(turn.version, next(each for each in turn.view.legal_actions() if str(each) == "keep"))
    [seat] = table.see(0).to_act
    table.choose(seat, table.version, next(each for each in table.see(seat).legal if str(each) == "reveal"))
    assert not table.see(seat).may_take_back  # the card was shown
    assert refusal_reason(lambda: table.take_back(seat, table.version)) == "NOT_TAKEN_BACK"


def test_an_early_choice_is_taken_back_while_it_waits() -> None:
    table = Table(new_game("castle_village_port", "house", 3).deal(1), [PERSON] * 3, 1, deal_known=False)
    legal = table.see(2).legal
    table.choose(2, table.version, legal[0])
    assert refusal_reason(lambda: table.choose(2, table.version, legal[1])) == "NOT_TO_ACT"
    table.take_back(2, table.version)
    table.choose(2, table.version, legal[1])
    assert table.see(2).chosen == str(legal[1])


def test_refusals_of_a_choice_quote_the_view_only() -> None:
    game = new_game("oriflamme", "en-2019", 3)
    for truth, other, seat in pairs(SPECS["en-2019-3p"], 20, acting=True):
        texts = []
        for record in (truth, other):
            table = continued(record, [PERSON] * 3, 7)
            for text in ("keep", "target 1", "place Ambush front", "reveal"):
                action = game.action(text)
                try:
                    table.choose(seat, table.version, action)
                    texts.append("legal")
                    break
                except Exception as error:
                    texts.append(str(error))
        assert texts[: len(texts) // 2] == texts[len(texts) // 2 :]


# --- the keeper ------------------------------------------------------------------------------------------------


def a_table(seed: int = 1) -> Table:
    return Table(new_game("oriflamme", "en-2019", 3).deal(seed), [PERSON, ENGINE, ENGINE], seed, deal_known=False)


def test_tables_are_bounded_by_number_caller_and_age(monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Keeper(3, 2, 1.0, "")
    _, keys = keeper.open(a_table(), [0], b"ann")
    keeper.open(a_table(), [0], b"ann")
    assert refusal_reason(lambda: keeper.open(a_table(), [0], b"ann")) == "QUOTA_EXHAUSTED"
    keeper.open(a_table(), [0], b"bob")
    assert refusal_reason(lambda: keeper.open(a_table(), [0], b"cy")) == "OVERLOADED"
    now = time.time() + 3700
    monkeypatch.setattr("server.tables.keeper.time.time", lambda: now)
    assert refusal_reason(lambda: keeper.find(keys[0])) == "NO_TABLE"
    assert len(keeper) == 0
    keeper.open(a_table(), [0], b"ann")


def test_the_file_keeps_tables_and_no_keys(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    keeper = Keeper(10, 10, 24, str(path))
    keeper.load()
    table = a_table()
    kept, keys = keeper.open(table, [0], b"ann")
    table.choose(0, 0, table.see(0).legal[0])
    keeper.save(kept)
    closed, _ = keeper.open(a_table(2), [0], b"ann")
    keeper.close_table(closed)
    keeper.end()
    assert path.stat().st_mode & 0o777 == 0o600
    assert keys[0].encode() not in path.read_bytes()
    again = Keeper(10, 10, 24, str(path))
    again.load()
    restored, seat = again.find(keys[0])
    assert len(again) == 1
    assert isinstance(restored.table, Table)
    assert restored.table.see(seat) == table.see(seat)
    turn, expected = restored.table.advance(), table.advance()
    assert turn == expected
    again.end()


def test_a_file_of_the_answer_cache_is_not_overwritten(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "file.sqlite"
    keeper = Keeper(10, 10, 24, str(path))
    keeper.load()
    _, keys = keeper.open(a_table(), [0], b"ann")
    keeper.end()
    with server("--cache-file", str(path)) as running:
        assert running.stop() == 0
    again = Keeper(10, 10, 24, str(path))
    again.load()
    assert again.find(keys[0])
    again.end()


# --- the service -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server("--threads", "2", web=True) as running:
        yield running


@pytest.fixture
def tables(running: Server) -> Iterator[Any]:
    with running.channel() as channel:
        yield table_pb2_grpc.TableServiceStub(channel)


def opened(tables: Any, *levels: int, game: view_pb2.GameSpec = EN, **more: Any) -> list[str]:
    """Open a table; return the keys of its people."""
    sitters = [pb.Sitter(name=f"P{number}", level=level) for number, level in enumerate(levels)]
    response = tables.OpenTable(pb.OpenTableRequest(game=game, sitters=sitters, **more), timeout=HANG_S)
    return [key.key for key in response.keys]


def look(tables: Any, key: str) -> pb.TableSeen:
    table: pb.TableSeen = tables.GetTable(pb.GetTableRequest(key=key), timeout=HANG_S).table
    return table


def act(tables: Any, key: str, number: int = 0) -> pb.TableSeen:
    seen = look(tables, key)
    request = pb.ActRequest(key=key, version=seen.version, action=seen.legal_actions[number])
    table: pb.TableSeen = tables.Act(request, timeout=HANG_S).table
    return table


def test_a_game_against_engines_is_played_to_its_end(tables: Any) -> None:
    [key] = opened(tables, 2, 0, 1, seed=11, first=C)
    record_text = ""
    seen = look(tables, key)
    assert (seen.seat, list(seen.to_act), seen.deal_known) == (B, [B], True)
    assert len(seen.view.history.actions) == 2  # C and A have chosen
    while not seen.HasField("result"):
        record_text = tables.GetTableRecord(pb.GetTableRecordRequest(key=key), timeout=HANG_S).text
        assert "seen by B" in record_text
        seen = act(tables, key)
    assert seen.result.seed == 11
    assert sum(seen.result.win_shares) == pytest.approx(1)
    whole = records.read(seen.result.record)
    assert whole.observer is None
    assert whole.result == tuple(seen.result.points)
    final = tables.GetTableRecord(pb.GetTableRecordRequest(key=key), timeout=HANG_S)
    assert read_record(final.text) == whole
    assert refusal(tables.Act, pb.ActRequest(key=key, version=seen.version, action=view_pb2.Action(text="keep")))[
        1
    ] == ("GAME_OVER")
    # The same seed and choices give the same game.
    [again] = opened(tables, 2, 0, 1, seed=11, first=C)
    while not (repeated := act(tables, again)).HasField("result"):
        pass
    assert repeated.result == seen.result


def test_a_key_opens_its_own_seat_and_no_other(tables: Any) -> None:
    keys = opened(tables, 0, 0, 1)
    assert len({*keys}) == 2
    assert all(len(key) == 32 for key in keys)
    for key, seat in zip(keys, (A, B), strict=True):
        seen = look(tables, key)
        assert seen.seat == seat
        assert not seen.deal_known
    of_a = look(tables, keys[0])
    assert str(read_view(of_a.view)).endswith("seen by A")
    not_b = pb.ActRequest(key=keys[1], version=of_a.version, action=of_a.legal_actions[0])
    assert refusal(tables.Act, not_b) == ("FAILED_PRECONDITION", "NOT_TO_ACT", "")


def requests_with(key: str) -> dict[str, Any]:
    action = view_pb2.Action(text="keep")
    return {
        "GetTable": pb.GetTableRequest(key=key),
        "WatchTable": pb.WatchTableRequest(key=key),
        "Act": pb.ActRequest(key=key, action=action),
        "TakeBack": pb.TakeBackRequest(key=key),
        "GetTableRecord": pb.GetTableRecordRequest(key=key),
        "CloseTable": pb.CloseTableRequest(key=key),
    }


def test_wrong_keys_and_keys_of_ended_tables_are_unknown_to_every_call(tables: Any) -> None:
    [key] = opened(tables, 0, 1, 1)
    assert {*requests_with(key), "OpenTable"} == {method.name for method in served.SERVICE.methods}
    wrong = [key[:-1], key + "a", key.swapcase(), "x" * 32, "é" * 32, key[::-1]]
    for bad in wrong:
        for name, request in requests_with(bad).items():
            assert refusal(getattr(tables, name), request) == NOT_FOUND
    for name, request in requests_with("").items():
        assert refusal(getattr(tables, name), request)[1:] == ("MISSING_FIELD", "key")
    tables.CloseTable(pb.CloseTableRequest(key=key), timeout=HANG_S)
    for name, request in requests_with(key).items():
        assert refusal(getattr(tables, name), request) == NOT_FOUND


def test_an_action_counts_once(tables: Any) -> None:
    [key] = opened(tables, 0, 1, 1)
    seen = look(tables, key)
    request = pb.ActRequest(key=key, version=seen.version, action=seen.legal_actions[0])
    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda _: outcome_of(tables, request), range(4)))
    assert sorted(outcomes) == ["ABORTED"] * 3 + ["OK"]


def outcome_of(tables: Any, request: pb.ActRequest) -> str:
    try:
        tables.Act(request, timeout=HANG_S)
    except grpc.RpcError as error:
        call: Any = error
        name: str = call.code().name
        return name
    return "OK"


def test_simultaneous_choices_are_made_in_any_order_and_seen_by_nobody(tables: Any) -> None:
    a, b, c = opened(tables, 0, 0, 0, game=CASTLE)
    before = look(tables, a)
    assert list(before.to_act) == [A, B, C]
    early = act(tables, c, 3)
    assert early.HasField("chosen")
    assert list(early.to_act) == [A, B]
    for key in (a, b):
        seen = look(tables, key)
        assert list(seen.to_act) == [A, B]
        assert not seen.HasField("chosen")
    now = look(tables, a)
    now.to_act[:] = before.to_act
    assert now == before  # A sees that C has chosen, and nothing else
    act(tables, a, 1)
    after = act(tables, b, 2)
    assert [action.action.text.split()[0] for action in after.view.history.actions[:3]] == ["select"] * 3
    assert after.version == 3


def test_watching_shows_each_change(tables: Any) -> None:
    a, b, _ = opened(tables, 0, 0, 0)
    watch = tables.WatchTable(pb.WatchTableRequest(key=b), timeout=HANG_S)
    assert next(watch).table.version == 0
    act(tables, a)
    seen = next(watch).table
    assert (seen.seat, seen.version, list(seen.to_act)) == (B, 1, [B])
    tables.CloseTable(pb.CloseTableRequest(key=a), timeout=HANG_S)
    assert list(watch) == []


@pytest.mark.parametrize(
    ("change", "reason", "field"),
    [
        ({"sitters": []}, "MISSING_FIELD", "sitters"),
        ({"sitters": [pb.Sitter()] * 2}, "OUT_OF_RANGE", "sitters"),
        ({"sitters": [pb.Sitter(level=3)] * 3}, "CONTRADICTION", "sitters"),
        ({"sitters": [pb.Sitter(level=11)] * 3}, "OUT_OF_RANGE", "sitters[0].level"),
        ({"sitters": [pb.Sitter(level=-1)] * 3}, "OUT_OF_RANGE", "sitters[0].level"),
        ({"sitters": [pb.Sitter(name="x" * 41)] * 3}, "TOO_LONG", "sitters[0].name"),
        ({"game": view_pb2.GameSpec(game_id="go", players=3)}, "INVALID_RULESET", "game.game_id"),
        ({"game": None}, "MISSING_FIELD", "game"),
        ({"first": 5}, "OUT_OF_RANGE", "first"),
    ],
)
def test_impossible_tables_are_refused(change: Any, reason: str, field: str, tables: Any) -> None:
    request = pb.OpenTableRequest(**{"game": EN, "sitters": [pb.Sitter()] * 3, **change})
    assert refusal(tables.OpenTable, request)[1:] == (reason, field)


def test_a_table_continues_a_record(tables: Any) -> None:
    game = new_game("oriflamme", "en-2019", 3)
    record = Record(game.deal(3))
    message = records.write(record.play(game.deal(3).legal_actions()[0]))
    sitters = [pb.Sitter()] * 3
    response = tables.OpenTable(pb.OpenTableRequest(sitters=sitters, record=message), timeout=HANG_S)
    seen = look(tables, response.keys[1].key)
    assert (len(seen.view.history.actions), list(seen.to_act), seen.deal_known) == (1, [B], True)
    seat_record = records.write(record.seen_from(0))
    assert refusal(tables.OpenTable, pb.OpenTableRequest(sitters=sitters, record=seat_record))[1] == "INVALID_RECORD"
    both = pb.OpenTableRequest(sitters=sitters, record=message, game=EN)
    assert refusal(tables.OpenTable, both)[1:] == ("CONTRADICTION", "game")


def test_tables_outlive_the_server_in_their_file(tmp_path: Path) -> None:
    flags = ("--tables", str(tmp_path / "tables.sqlite"))
    with server(*flags) as running, running.channel() as channel:
        tables = table_pb2_grpc.TableServiceStub(channel)
        [key] = opened(tables, 1, 0, 1)
        before = act(tables, key)
        assert running.stop() == 0
    with server(*flags) as running, running.channel() as channel:
        tables = table_pb2_grpc.TableServiceStub(channel)
        assert look(tables, key) == before
        assert act(tables, key).version > before.version


def test_a_stop_ends_those_who_watch() -> None:
    with server("--drain-ms", "60000") as running, running.channel() as channel:
        tables = table_pb2_grpc.TableServiceStub(channel)
        [key] = opened(tables, 0, 1, 1)
        watch = tables.WatchTable(pb.WatchTableRequest(key=key), timeout=HANG_S)
        next(watch)
        assert running.stop() == 0


def test_quotas_hold_and_keys_are_in_no_log() -> None:
    with server("--caller-tables", "1", web=True, metrics=True) as running, running.channel() as channel:
        tables = table_pb2_grpc.TableServiceStub(channel)
        [key] = opened(tables, 0, 1, 1)
        more = pb.OpenTableRequest(game=EN, sitters=[pb.Sitter()] * 3)
        assert refusal(tables.OpenTable, more)[1] == "QUOTA_EXHAUSTED"
        assert (
            post_json(running.web, "/eminence.v1.TableService/GetTable", {"key": key}).json["table"]["seat"] == "SEAT_A"
        )
        refused = post_json(running.web, "/eminence.v1.TableService/Act", {"key": key, "action": {"text": "fly"}})
        assert refused.json["code"] == "invalid_argument"
        assert running.metrics()["eminence_tables"] == 1
        running.process.terminate()
        assert running.process.stderr is not None
        log = running.process.stderr.read()
    assert key not in log
    assert "GetTable" in log


def test_the_python_client_plays_at_tables(running: Server) -> None:
    with Client(running.address) as client:
        sitters = [pb.Sitter(), pb.Sitter(level=1), pb.Sitter(level=1)]
        opened_table = client.tables.OpenTable(pb.OpenTableRequest(game=EN, sitters=sitters))
        key = opened_table.keys[0].key
        seen = client.tables.GetTable(pb.GetTableRequest(key=key)).table
        # The view is ready for the adviser.
        best = client.suggest(seen.view).best
        seen = client.tables.Act(pb.ActRequest(key=key, version=seen.version, action=best)).table
        assert len(seen.view.history.actions) >= 3
        watch = client.tables.WatchTable(pb.WatchTableRequest(key=key))
        assert next(iter(watch)).table.version == seen.version

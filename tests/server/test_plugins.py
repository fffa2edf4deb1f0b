"""Installed games on a server: worker processes run their code, and faults in it harm no other call."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from google.protobuf.any_pb2 import Any as Any_
from plugins import SHOW_MODULES, install_games
from process import Server, refusal, server, stub, suggest
from waiting import HANG_S, wait_until

from eminence.v1 import record_pb2, referee_pb2, referee_pb2_grpc, rules_pb2, rules_pb2_grpc, table_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from server.client import Client, Refused

TABLE = "1 ?, first A | seen by A"
FEW = pb.Budget(iterations=50)
METHOD_MS = 500


def spec(game: str) -> view_pb2.GameSpec:
    return view_pb2.GameSpec(game_id=game, players=2, ruleset=view_pb2.Ruleset(edition="1x4"))


def view(game: str) -> view_pb2.View:
    return view_pb2.View(game=spec(game), text=TABLE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("plugins")


@pytest.fixture(scope="module")
def running(folder: Path) -> Iterator[Server]:
    """Run a server with one worker process."""
    environment = install_games(folder, hung=True)
    (folder / "sitecustomize.py").write_text(SHOW_MODULES)
    flags = ("--plugin-workers", "1", "--plugin-method-ms", METHOD_MS, "--plugin-memory-mb", 400, "--plugin-queue", 1)
    with server(*map(str, flags), metrics=True, environment=environment) as running:
        yield running


@pytest.fixture(scope="module")
def client(running: Server) -> Iterator[Client]:
    with Client(running.address) as client:
        yield client


def modules_of(running: Server, folder: Path) -> set[str]:
    """Return the modules that the server process has imported."""
    file = folder / f"modules-{running.process.pid}"
    file.unlink(missing_ok=True)
    running.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: file.exists() and file.read_text().endswith("\n"))
    return set(file.read_text().split())


# --- every service --------------------------------------------------------------------------------------------------


def test_the_solver_answers_and_no_module_of_a_game_enters_the_server(
    running: Server, client: Client, folder: Path
) -> None:
    best = client.suggest(view("liars_dice"), FEW, pb.Options(seed=1)).best.text
    assert best.startswith("bid ")
    *_, last = client.analyze(view("liars_dice"), FEW, pb.Options(seed=1))
    assert (last.last, last.suggestion.best.text) == (True, best)
    actions = [view_pb2.Action(text=text) for text in ("bid 1x1", "bid 1x2")]
    assert len(client.compare(view("liars_dice"), actions, FEW).actions) == 2
    with pytest.raises(Refused, match="cannot be imported: ModuleNotFoundError") as refused:
        client.suggest(view("missing"))
    assert refused.value.reason == "GAME_FAULT"
    modules = modules_of(running, folder)
    assert "server.app" in modules
    assert not {"liars_dice", "faulty_games", "hung_games"} & modules


def test_the_referee_plays_a_game_and_its_record_is_reviewed(client: Client, running: Server, folder: Path) -> None:
    dealt = client.referee.Deal(referee_pb2.DealRequest(game=spec("liars_dice"), seed=1))
    standing = referee_pb2.Standing(record=dealt.record)
    over = False
    while not over:
        legal = client.referee.GetResult(referee_pb2.GetResultRequest(standing=standing)).legal_actions
        played = client.referee.Play(referee_pb2.PlayRequest(standing=standing, action=legal[-1]))
        standing, over = referee_pb2.Standing(record=played.record), played.over
    record = played.record
    assert record.text.startswith("game liars_dice\n")
    read = client.rules.ReadText(rules_pb2.ReadTextRequest(record=record.text))
    assert read.record.text == record.text
    *decisions, summary = client.review(record_pb2.Record(text=record.text), FEW)
    assert [answer.HasField("decision") for answer in decisions] == [True, True]
    assert summary.HasField("summary")
    assert "liars_dice" not in modules_of(running, folder)


def test_the_rules_list_every_game_with_its_origin_or_its_fault(client: Client, running: Server, folder: Path) -> None:
    games = {game.game_id: game for game in client.rules.ListGames(rules_pb2.ListGamesRequest()).games}
    assert (games["oriflamme"].origin, games["oriflamme"].fault) == ("eminence", "")
    dice = games["liars_dice"]
    assert (dice.origin, list(dice.players), dice.editions[0]) == ("dice-games 1.2", [2, 3, 4, 5], "1x6")
    assert "cannot be imported" in games["missing"].fault
    assert games["hung"].fault.startswith("hung: <module> (hung_games.py, line ")
    assert not games["hung"].editions
    rulesets = client.rules.ListRulesets(rules_pb2.ListRulesetsRequest(game_id="liars_dice")).rulesets
    assert [entry.ruleset.edition for entry in rulesets] == list(dice.editions)
    assert not client.rules.ListCards(rules_pb2.ListCardsRequest(game=spec("liars_dice"))).cards
    legal = client.rules.ListLegalActions(rules_pb2.ListLegalActionsRequest(view=view("liars_dice")))
    assert legal.actions[0].text == "bid 1x1"
    assert not {"liars_dice", "hung_games"} & modules_of(running, folder)


def test_a_batch_mixes_games_and_a_faulty_item_ends_alone(client: Client) -> None:
    views = {"a": view("liars_dice"), "b": suggest().view, "c": view("raising"), "d": view("liars_dice")}
    items = [pb.BatchItem(id=name, view=view, budget=FEW) for name, view in views.items()]
    with client.analyze_batch(pb.AnalyzeBatchRequest(item=item) for item in items) as responses:
        answers = {response.id: response for response in responses}
    assert {name: answer.HasField("suggestion") for name, answer in answers.items()} == {
        "a": True,
        "b": True,
        "c": False,
        "d": True,
    }
    assert "Raising.apply (faulty_games.py, line" in answers["c"].error.message


def test_a_game_that_the_server_does_not_have_is_refused_with_those_that_it_has(client: Client) -> None:
    with pytest.raises(Refused, match=r"'bridge' is not a game \(oriflamme, .*liars_dice.*\)") as refused:
        client.suggest(view("bridge"))
    assert refused.value.reason == "INVALID_RULESET"


def test_a_text_may_not_name_a_game_that_its_message_does_not(client: Client, running: Server, folder: Path) -> None:
    text = "game liars_dice\nruleset 1x4\nplayers 2\nfirst A\n"
    record = record_pb2.Record(game=suggest().view.game, text=text)
    with pytest.raises(Refused, match="is not the game of the record's text"):
        client.referee.GetRecord(referee_pb2.GetRecordRequest(record=record))
    assert "liars_dice" not in modules_of(running, folder)


def test_a_package_may_have_messages_of_its_own(client: Client, running: Server, folder: Path) -> None:
    fields = [(1, "1 ?, first A"), (2, "A")]
    value = b"".join(bytes([number << 3 | 2, len(text)]) + text.encode() for number, text in fields)
    table = Any_(type_url="type.googleapis.com/dice.DiceView", value=value)
    typed = view_pb2.View(game=spec("typed"), typed=table)
    seeded = pb.Options(seed=1)
    assert client.suggest(typed, FEW, seeded).best == client.suggest(view("typed"), FEW, seeded).best
    answer = client.rules.ValidateView(rules_pb2.ValidateViewRequest(view=view("typed")))
    assert (answer.view.typed, answer.text) == (table, TABLE)
    games = client.rules.ListGames(rules_pb2.ListGamesRequest()).games
    assert next(game.names.en for game in games if game.game_id == "typed") == "Typed dice"
    # Fields that its class does not have, and other classes, are refused.
    table.value += b"\x18\x07"
    with pytest.raises(Refused, match=r"view\.typed\.3: field 3 is not known to this server"):
        client.suggest(view_pb2.View(game=spec("typed"), typed=table), FEW)
    table.type_url = "type.googleapis.com/dice.Other"
    with pytest.raises(Refused, match=r"view\.typed: 'dice\.Other' is not 'dice\.DiceView'"):
        client.suggest(view_pb2.View(game=spec("typed"), typed=table), FEW)
    assert "typed_games" not in modules_of(running, folder)


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ("raising", r"raising: Raising.apply \(faulty_games.py, line \d+\): KeyError: 'joker'"),
        ("leaving", r"leaving: Faulty.apply \(faulty_games.py, line \d+\): SystemExit: 3"),
        ("nonsense", "nonsense: .*must be real number, not str"),
        ("exiting", r"exiting: its code ended the worker process \(exit code 7\)"),
        ("allocating", r"allocating: Allocating.apply \(faulty_games.py, line \d+\): MemoryError"),
        ("hanging", r"hanging: Faulty.apply \(faulty_games.py, line \d+\): did not return within 0.5 s"),
        ("hung", r"hung: <module> \(hung_games.py, line \d+\): did not return within 0.5 s"),
    ],
)
def test_a_fault_ends_its_call_by_name_and_the_worker_answers_on(client: Client, game: str, message: str) -> None:
    with pytest.raises(Refused, match=f"^{message}") as refused:
        client.suggest(view(game), FEW)
    assert (refused.value.code, refused.value.reason, refused.value.field) == ("INTERNAL", "GAME_FAULT", "")
    assert client.suggest(view("liars_dice"), FEW).iterations == 50


def test_a_hang_is_stopped_by_the_deadline_and_other_games_are_answered_meanwhile(folder: Path, tmp_path: Path) -> None:
    with (
        server(
            "--plugin-workers", "1", "--network-ms", "1000", metrics=True, environment=install_games(tmp_path)
        ) as running,
        Client(running.address) as client,
        ThreadPoolExecutor() as executor,
    ):
        client.rules.ListGames(rules_pb2.ListGamesRequest())  # the worker has described all games
        hanging = executor.submit(client.suggest, view("hanging"), FEW, seconds=3.0)
        wait_until(lambda: running.metrics()['eminence_plugin_calls{state="running"}'] == 1)
        assert client.suggest(suggest().view, FEW).iterations == 50
        assert not hanging.done()
        with pytest.raises(Refused, match="did not return by the end of the call") as refused:
            hanging.result(HANG_S)
        assert refused.value.reason == "GAME_FAULT"
        assert client.suggest(view("liars_dice"), FEW).iterations == 50
        assert running.metrics()["eminence_plugin_workers_lost_total"] == 1
        assert running.stop() == 0


def test_a_killed_worker_is_replaced(running: Server, client: Client) -> None:
    wait_until(lambda: running.metrics()["eminence_plugin_workers"] == 1)
    (worker,) = workers_of(running)
    os.kill(worker, signal.SIGKILL)
    assert client.suggest(view("liars_dice"), FEW).iterations == 50
    assert worker not in workers_of(running)


def workers_of(running: Server) -> list[int]:
    """Return the ids of the worker processes of a server."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_text()
        except OSError:
            continue
        if parent == running.process.pid and "spawn_main" in command:
            found.append(int(entry.name))
    return found


# --- bounds -----------------------------------------------------------------------------------------------------------


def test_a_full_queue_refuses_the_next_call_by_the_name_of_its_setting(running: Server, client: Client) -> None:
    unlimited = pb.Budget(iterations=10**9)
    with ThreadPoolExecutor() as executor, grpc.insecure_channel(running.address) as channel:
        streams = [client.analyze(view("liars_dice"), unlimited) for _ in range(2)]
        pending = [executor.submit(list, stream) for stream in streams]
        states = ('eminence_plugin_calls{state="running"}', 'eminence_plugin_calls{state="waiting"}')
        wait_until(lambda: [running.metrics()[state] for state in states] == [1, 1])
        request = pb.SuggestRequest(view=view("liars_dice"), budget=pb.Budget(iterations=50))
        assert refusal(stub(channel).Suggest, request) == ("RESOURCE_EXHAUSTED", "OVERLOADED", "")
        for stream in streams:
            stream.cancel()
        for future in pending:
            future.result(HANG_S)
    assert running.metrics()['eminence_bound_refusals_total{bound="plugin_queue"}'] >= 1
    assert client.suggest(view("liars_dice"), FEW).iterations == 50


def test_requests_beyond_the_bytes_are_refused_by_the_name_of_the_setting(tmp_path: Path) -> None:
    with (
        server("--plugin-bytes", "40", metrics=True, environment=install_games(tmp_path)) as running,
        Client(running.address) as client,
    ):
        client.rules.ListGames(rules_pb2.ListGamesRequest())
        with grpc.insecure_channel(running.address) as channel:
            rules = rules_pb2_grpc.RulesServiceStub(channel)
            assert rules.ListRulesets(rules_pb2.ListRulesetsRequest(game_id="liars_dice")).rulesets
            referee = referee_pb2_grpc.RefereeServiceStub(channel)
            request = referee_pb2.DealRequest(game=spec("liars_dice"), seed=2**63)
            request.game.ruleset.edition = "x" * 40
            assert refusal(referee.Deal, request) == ("RESOURCE_EXHAUSTED", "OVERLOADED", "")
        assert running.metrics()['eminence_bound_refusals_total{bound="plugin_bytes"}'] == 1
        assert client.rules.ListSwitches(rules_pb2.ListSwitchesRequest(game_id="liars_dice")) is not None


def test_a_budget_is_shortened_to_the_caps_of_the_server(tmp_path: Path) -> None:
    flags = ("--time-max-ms", "200", "--iterations-max", "70")
    with server(*flags, environment=install_games(tmp_path)) as running, Client(running.address) as client:
        suggestion = client.suggest(view("liars_dice"), pb.Budget(iterations=10**6))
        assert (suggestion.iterations, suggestion.budget.time.ToMilliseconds()) == (70, 200)


@pytest.mark.slow
def test_sigterm_ends_a_search_with_its_result_so_far(tmp_path: Path) -> None:
    with (
        server("--drain-ms", "0", metrics=True, environment=install_games(tmp_path)) as running,
        Client(running.address) as client,
        ThreadPoolExecutor() as executor,
    ):
        client.rules.ListGames(rules_pb2.ListGamesRequest())
        pending = executor.submit(client.suggest, view("liars_dice"), pb.Budget(iterations=10**9))
        wait_until(lambda: running.metrics()['eminence_plugin_calls{state="running"}'] == 1)
        workers = workers_of(running)
        assert running.stop() == 0
        assert pending.result(HANG_S).stop_reason == pb.STOP_REASON_SHUTDOWN
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))


# --- tables ---------------------------------------------------------------------------------------------------------


def table_with(client: Client, game: str, *levels: int) -> list[str]:
    sitters = [table_pb2.Sitter(level=level) for level in levels]
    request = table_pb2.OpenTableRequest(game=spec(game), sitters=sitters, seed=5)
    return [each.key for each in client.tables.OpenTable(request, timeout=HANG_S).keys]


def look(client: Client, key: str) -> table_pb2.TableSeen:
    table: table_pb2.TableSeen = client.tables.GetTable(table_pb2.GetTableRequest(key=key), timeout=HANG_S).table
    return table


def act(client: Client, key: str, number: int) -> table_pb2.TableSeen:
    seen = look(client, key)
    request = table_pb2.ActRequest(key=key, version=seen.version, action=seen.legal_actions[number])
    table: table_pb2.TableSeen = client.tables.Act(request, timeout=HANG_S).table
    return table


def test_people_and_engines_play_an_installed_game_at_a_table(client: Client, running: Server, folder: Path) -> None:
    [key] = table_with(client, "liars_dice", 0, 1)
    seen = look(client, key)
    assert seen.view.text.endswith("seen by A")
    seen = act(client, key, 0)
    while not seen.HasField("result"):
        assert seen.legal_actions
        seen = act(client, key, -1)  # calls the engine a liar
    record = client.tables.GetTableRecord(table_pb2.GetTableRecordRequest(key=key), timeout=HANG_S)
    assert record.text.startswith("game liars_dice\n")
    assert list(seen.result.points) == list(record.record.result)
    assert "liars_dice" not in modules_of(running, folder)


def test_a_seat_of_an_installed_game_sees_its_own_dice_only(client: Client) -> None:
    first, second = table_with(client, "liars_dice", 0, 0)
    tables = [look(client, key) for key in (first, second)]
    dice = [table.view.text.partition(",")[0].split() for table in tables]
    assert [row.index("?") for row in dice] == [1, 0]
    assert not tables[1].legal_actions
    with pytest.raises(Refused) as refused:
        client.tables.GetTableRecord(table_pb2.GetTableRecordRequest(key=first), timeout=HANG_S)
    assert refused.value.reason == "INVALID_RECORD"


@pytest.mark.parametrize("game", ["raising", "exiting", "hanging"])
def test_a_fault_at_a_table_harms_no_other_table(client: Client, game: str) -> None:
    [key, *_] = table_with(client, game, 0, 0)
    before = look(client, key)
    with pytest.raises(Refused, match=f"{game}:") as refused:
        act(client, key, 0)
    assert refused.value.reason == "GAME_FAULT"
    assert look(client, key) == before
    [other, *_] = table_with(client, "liars_dice", 0, 0)
    assert act(client, other, 0).version > 0


def test_tables_of_installed_games_outlive_the_server_in_their_file(folder: Path, tmp_path: Path) -> None:
    environment = {"PYTHONPATH": os.pathsep.join(map(str, [folder, *sys.path]))}
    flags = ("--tables", str(tmp_path / "tables.sqlite"), "--plugin-workers", "1")
    with server(*flags, environment=environment) as first, Client(first.address) as client:
        [key, *_] = table_with(client, "liars_dice", 0, 0)
        seen = act(client, key, 1)
        assert first.stop() == 0
    with server(*flags, environment=environment) as second, Client(second.address) as client:
        assert look(client, key) == seen

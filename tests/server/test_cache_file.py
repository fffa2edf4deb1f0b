"""The file of cached answers: it outlives the server and survives damage, full disks and other engines."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from process import PLACE, Server, server, stub, suggest, view
from tables import mostly_slow
from tokens import as_client, write_tokens
from waiting import HANG_S, wait_until

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import view_pb2
from server import answer_cache_file
from server.answer_cache import OVERHEAD, Cache
from server.answer_cache_file import CacheFile

START = PLACE + "| seen by A"
CACHE_VERSION = b"this one"


def log_of(running: Server) -> list[dict[str, Any]]:
    """Stop a server and return its log."""
    assert running.stop() == 0
    assert running.process.stderr is not None
    return [json.loads(line) for line in running.process.stderr.read().splitlines()]


def searched(running: Server, *iterations: int, **call: Any) -> list[pb.SuggestResponse]:
    with running.channel() as channel:
        return [stub(channel).Suggest(suggest(START, iterations=n), **{"timeout": 60, **call}) for n in iterations]


@pytest.fixture(autouse=True)
def _disks_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_cache_file, "LAST_SECONDS", HANG_S)


def keys(file: Path) -> int:
    with closing(sqlite3.connect(file)) as database:
        [number] = database.execute("SELECT count(*) FROM answers").fetchone()
        return int(number)


def keys_in_use(file: Path) -> int:
    """Return how many answers a file has while a server holds it: a kill would leave these."""
    copy = file.parent / "copy"
    copy.mkdir(exist_ok=True)
    for path in file.parent.glob(f"{file.name}*"):
        shutil.copy(path, copy)
    try:
        return keys(copy / file.name)
    except sqlite3.Error:
        return 0
    finally:
        shutil.rmtree(copy)


# --- servers one after the other -------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_answers_outlive_the_server(tmp_path: Path, end: signal.Signals) -> None:
    file = tmp_path / "answers"
    actions = [view_pb2.Action(text=text) for text in ("place Heir front", "place Lord front")]
    comparison = pb.CompareRequest(view=view(START), actions=actions, budget=pb.Budget(iterations=200))
    with server("--cache-file", str(file)) as running, running.channel() as channel:
        [first] = searched(running, 600)
        compared = stub(channel).Compare(comparison, timeout=60)
        if end == signal.SIGKILL:
            wait_until(lambda: keys_in_use(file) == 2)  # the server writes in the background
        running.process.send_signal(end)
        running.process.wait(HANG_S)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with server("--cache-file", str(file), metrics=True) as running, running.channel() as channel:
        [again] = searched(running, 600)
        compared_again = stub(channel).Compare(comparison, timeout=60)
        assert running.answers_from_cache() == 2
        problems = [line for line in log_of(running) if line["level"] in ("warning", "error")]
    assert problems == []
    for answer in (first.suggestion, again.suggestion, compared.comparison, compared_again.comparison):
        answer.ClearField("elapsed")
    assert (first, compared) == (again, compared_again)


def test_only_reproducible_answers_are_written(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    with server("--cache-file", str(file)) as running, running.channel() as channel:
        stub(channel).Suggest(suggest(START, time_ms=50), timeout=60)
        choice = "A:? >B:Heir C:?(1) | round 2 | points 1 2 3 | seen by B"
        stub(channel).Suggest(suggest(choice, iterations=10), timeout=60)
        searched(running, 40, 40, 41)
        assert running.stop() == 0
    assert keys(file) == 3  # B has a choice in the second question, too


@pytest.mark.slow
def test_a_client_with_a_new_token_gets_none_of_the_old_answers(tmp_path: Path) -> None:
    file = tmp_path / "answers"
    flags = ("--cache-file", str(file), "--tokens", str(tmp_path / "tokens.toml"), "--log", "info")
    counts = []
    for token in ("a-secret", "b-secret", "a-secret"):
        write_tokens(tmp_path, token)
        with server(*flags, metrics=True) as running:
            searched(running, 600, **as_client(token))
            counts.append(running.answers_from_cache())
            assert running.stop() == 0
    assert counts == [0, 0, 1]
    assert b"secret" not in file.read_bytes()


@pytest.mark.slow
def test_a_file_in_use_by_another_server_is_not_touched(tmp_path: Path) -> None:
    flags = ("--cache-file", str(tmp_path / "answers"))
    with server(*flags) as first, server(*flags) as second:
        searched(first, 40)
        [answer] = searched(second, 41)
        assert answer.suggestion.iterations == 41
        [error] = [line for line in log_of(second) if line["level"] == "error"]
        assert first.stop() == 0
    assert error["text"].startswith("cache_file: ")
    assert error["text"].endswith("is not used, and memory alone keeps its content: database is locked")
    assert keys(tmp_path / "answers") == 1


def unusable_file(path: Path, kind: str) -> Path:
    if kind == "no database":
        path.write_text("Dear diary, " * 500, "utf-8")
    elif kind == "another database":
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE diary (day TEXT)")
    elif kind == "a folder":
        path.mkdir()
    elif kind == "cut short":
        content = filled(path, 400)
        path.write_bytes(content[: len(content) // 2])
    elif kind == "overwritten":
        content = filled(path, 400)
        path.write_bytes(content[:4096] + os.urandom(len(content) - 4096))
    elif kind == "nowhere":
        return path / "nowhere"
    return path


def filled(path: Path, number: int) -> bytes:
    """Write a file with `number` answers; return its bytes."""
    file = CacheFile(str(path), CACHE_VERSION)
    file.open(10**9, 0)
    for n in range(number):
        file.put(n.to_bytes(16, "big"), b"%d" % n * 100)
    file.close()
    return path.read_bytes()


KINDS = ["no database", "another database", "a folder", "cut short", "overwritten", "nowhere"]


@pytest.mark.parametrize("kind", mostly_slow(KINDS, KINDS, ("no database", "cut short")))
def test_a_server_with_an_unusable_file_keeps_answers_in_memory(tmp_path: Path, kind: str) -> None:
    path = unusable_file(tmp_path / "answers", kind)
    before = path.read_bytes() if path.is_file() else b""
    with server("--cache-file", str(path), metrics=True) as running:
        searched(running, 600, 600)
        assert running.answers_from_cache() == 1  # from memory
        errors = [line["text"] for line in log_of(running) if line["level"] == "error"]
    assert len(errors) == 1
    assert f"{path} is not used, and memory alone keeps its content: " in errors[0]
    if kind in ("no database", "another database"):
        assert path.read_bytes() == before


# --- the file itself -------------------------------------------------------------------------------------------


def answers_in(path: Path, edition: bytes = CACHE_VERSION, bytes_max: int = 10**9) -> dict[bytes, bytes]:
    file = CacheFile(str(path), edition)
    answers = dict(file.open(bytes_max, 0))
    file.close()
    return answers


def test_another_edition_of_the_engine_reads_nothing_and_empties_the_file(tmp_path: Path) -> None:
    filled(tmp_path / "answers", 5)
    assert len(answers_in(tmp_path / "answers")) == 5
    assert answers_in(tmp_path / "answers", b"another") == {}
    assert answers_in(tmp_path / "answers") == {}


def test_a_damaged_answer_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    filled(tmp_path / "answers", 5)
    with closing(sqlite3.connect(tmp_path / "answers", isolation_level=None)) as database:
        database.execute("UPDATE answers SET answer = ? WHERE key = ?", (b"2" * 99, (2).to_bytes(16, "big")))
        database.execute("UPDATE answers SET answer = 7 WHERE key = ?", ((3).to_bytes(16, "big"),))
    assert [int.from_bytes(key, "big") for key in answers_in(tmp_path / "answers")] == [0, 1, 4]
    assert "2 damaged rows in" in caplog.text


def test_the_oldest_answers_are_dropped_for_lack_of_room(tmp_path: Path) -> None:
    filled(tmp_path / "answers", 10)
    assert [int.from_bytes(key, "big") for key in answers_in(tmp_path / "answers", bytes_max=450)] == [6, 7, 8, 9]
    assert len(answers_in(tmp_path / "answers")) == 4


def test_the_file_has_the_bound_of_the_cache(tmp_path: Path) -> None:
    path, answer = tmp_path / "answers", pb.Suggestion(knowledge="x" * 700)
    file = CacheFile(str(path), CACHE_VERSION)
    cache = Cache(20 * (answer.ByteSize() + OVERHEAD), file)
    cache.load()
    for n in range(3000):
        cache.put(n.to_bytes(16, "big"), answer)
        if n % 500 == 0:
            wait_until(lambda: not file._changes)
    cache.close()
    assert [int.from_bytes(key, "big") for key in answers_in(path)] == list(range(2980, 3000))
    assert path.stat().st_size < 2**20


def test_no_call_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_writing, may_end = threading.Event(), threading.Event()

    def write(*_: Any) -> None:
        is_writing.set()
        assert may_end.wait(HANG_S)

    monkeypatch.setattr(answer_cache_file, "_write", write)
    monkeypatch.setattr(answer_cache_file, "LAST_SECONDS", 0.1)
    file = CacheFile(str(tmp_path / "answers"), CACHE_VERSION)
    cache = Cache(10**6, file)
    cache.load()
    cache.put(b"first", pb.Suggestion(seed=1))
    assert is_writing.wait(HANG_S)
    for n in range(100):
        cache.put(n.to_bytes(16, "big"), pb.Suggestion(seed=n))
    assert len(cache) == 101
    cache.close()
    may_end.set()
    file._writer.join(HANG_S)


def test_a_full_disk_is_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(answer_cache_file, "_write", fail)
    cache = Cache(10**6, CacheFile(str(tmp_path / "answers"), CACHE_VERSION))
    cache.load()
    cache.put(bytes([0]), pb.Suggestion(seed=0))
    wait_until(lambda: caplog.records)
    for n in range(1, 4):
        cache.put(bytes([n]), pb.Suggestion(seed=n))
    cache.close()
    assert len(cache) == 4
    assert caplog.text.count("database or disk is full") == 1
    assert len(caplog.records) == 1

"""eminence analyze: every position answered once, whatever is killed and however often it is begun again."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
import pytest
from program import ROOT, VIEW, command, environment, random_record, run, views, write_files
from waiting import HANG_S, wait_until

from engine_cy import new_game
from server.cli.results.files import BELIEFS, COLUMNS, MOVES, JsonLines, arrow_schema
from solver import Budget, solve

ENDINGS = ("jsonl", "sqlite", "parquet")
FEW = ("--iterations", "100")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    return tmp_path


def rows(path: Path) -> list[dict[str, Any]]:
    """Positions of a file of results, with their moves."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".parquet":
        read: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
        return read
    with closing(sqlite3.connect(path)) as base:
        base.row_factory = sqlite3.Row
        found = [dict(row) for row in base.execute("SELECT * FROM positions")]
        for row in found:
            number = row.pop("id")
            for table in ("moves", "beliefs"):
                inner = base.execute(f"SELECT * FROM {table} WHERE position = ? ORDER BY rank", [number])
                row[table] = [
                    {name: value for name, value in dict(r).items() if name not in ("position", "rank")} for r in inner
                ]
            row["seats"] = json.loads(row["seats"])
            row["reproducible"] = bool(row["reproducible"])
            for move in row["moves"]:
                move["ranks"] = json.loads(move["ranks"])
    return found


def keys(path: Path) -> list[tuple[Any, ...]]:
    return sorted((row["file"], row["line"], row["action"] or 0) for row in rows(path))


def test_all_kinds_of_files_hold_the_same_which_is_what_a_search_alone_finds(here):
    found = {}
    for ending in ENDINGS:
        told = run("analyze", "positions.txt", "game.txt", "--out", f"r.{ending}", *FEW, "--json").json
        found[ending] = sorted(
            rows(here / f"r.{ending}"), key=lambda row: (row["file"], row["line"], row["action"] or 0)
        )
        assert told["answered"] == len(found[ending])
    assert found["jsonl"] == found["sqlite"] == found["parquet"]
    for row in found["jsonl"]:
        assert list(row) == [column.name for column in COLUMNS]
        assert all(list(move) == [column.name for column in MOVES] for move in row["moves"])
        assert all(list(belief) == [column.name for column in BELIEFS] for belief in row["beliefs"])
    row = next(row for row in found["jsonl"] if row["file"] == "positions.txt")
    game = new_game(row["game"], row["ruleset"], row["players"])
    alone = solve(game.view(row["view"]), Budget(iterations=100), seed=int(row["seed"]))
    assert row["best"] == str(alone.best)
    assert [move["visits"] for move in row["moves"]] == [move.visits for move in alone.moves]
    assert row["reproducible"]


def test_a_record_is_all_its_decisions_or_those_of_a_seat_and_says_what_was_played(here):
    (here / "two.txt").write_text(
        f"{random_record('oriflamme', 'de-2019', 4, 3)}\n{random_record('oriflamme', 'en-2019', 3, 4)}"
    )
    assert run("analyze", "two.txt", "--out", "all.jsonl", *FEW, "--workers", "1").code == 0
    found = rows(here / "all.jsonl")
    assert {row["ruleset"] for row in found} == {"de-2019", "en-2019"}
    assert len({row["line"] for row in found}) == 2
    assert all(row["played"] in [move["move"] for move in row["moves"]] for row in found)
    assert run("analyze", "two.txt", "--out", "b.jsonl", "--seat", "b", *FEW, "--workers", "1").code == 0
    assert keys(here / "b.jsonl") == sorted(
        (row["file"], row["line"], row["action"]) for row in found if row["observer"] == "B"
    )


def test_lines_of_json_are_read_too(here):
    run("convert", "positions.txt", "--to", "json", "--out", "p.json")
    run("analyze", "positions.txt", "--out", "a.jsonl", *FEW, "--workers", "1")
    assert run("analyze", "p.json", "--out", "b.jsonl", *FEW, "--workers", "1").code == 0
    assert {row["view"]: row["best"] for row in rows(here / "a.jsonl")} == {
        row["view"]: row["best"] for row in rows(here / "b.jsonl")
    }


def test_a_bad_line_is_named_and_skipped_or_ends_it(here):
    (here / "bad.txt").write_text(
        f"{VIEW}\n# a comment\n\nA:Spy B:Nope\n{VIEW.replace('seen by B', 'seen by C')}\n{VIEW}\n"
    )
    skipped = run("analyze", "bad.txt", "--out", "s.jsonl", *FEW, "--workers", "1")
    assert skipped.code == 1
    assert [line.partition(": ")[0] for line in skipped.err.splitlines()] == ["bad.txt:4", "bad.txt:5"]
    assert "2 without an answer" in skipped.out
    assert [key[1] for key in keys(here / "s.jsonl")] == [1, 6]
    stopped = run("analyze", "bad.txt", "--out", "t.jsonl", *FEW, "--workers", "1", "--bad-lines", "stop")
    assert stopped.code == 1
    assert stopped.err.startswith("eminence: bad.txt:4: ")
    assert 6 not in [key[1] for key in keys(here / "t.jsonl")]


def test_other_settings_and_other_inputs_are_not_mixed_in(here):
    assert run("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--workers", "1").code == 0
    other = run("analyze", "positions.txt", "--out", "r.jsonl", "--iterations", "99", "--workers", "1")
    assert (other.code, other.err) == (
        1,
        "eminence: out: r.jsonl holds results of other settings: iterations 100, now 99\n",
    )
    (here / "positions.txt").write_text(VIEW + "\n")
    changed = run("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--workers", "1")
    assert changed.code == 1
    assert "positions.txt:1: has changed since" in changed.err


@pytest.mark.parametrize("ending", ENDINGS)
def test_more_input_is_added_to_what_is_there(here, ending):
    lines = (here / "positions.txt").read_text().splitlines(keepends=True)
    (here / "positions.txt").write_text("".join(lines[:5]))
    run("analyze", "positions.txt", "--out", f"r.{ending}", *FEW, "--workers", "1")
    (here / "positions.txt").write_text("".join(lines))
    told = run("analyze", "positions.txt", "--out", f"r.{ending}", *FEW, "--workers", "1", "--json").json
    assert (told["answered"], told["resumed"]) == (len(lines) - 5, 5)
    assert [key[1] for key in keys(here / f"r.{ending}")] == list(range(1, len(lines) + 1))
    assert sorted(path.name for path in here.glob("r.*")) == [f"r.{ending}"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_something_else_wrote_is_not_touched(here, ending):
    (here / f"r.{ending}").write_text("dear diary\n")
    assert run("analyze", "positions.txt", "--out", f"r.{ending}", *FEW).code == 1
    assert (here / f"r.{ending}").read_text() == "dear diary\n"


@pytest.mark.parametrize("ending", ENDINGS)
def test_killed_at_any_moment_nothing_is_lost_and_nothing_done_twice(here, ending):
    (here / "many.txt").write_text("\n".join(views(400)) + "\n")
    (here / "game.txt").write_text(str(random_record("oriflamme", "en-2019", 3, 9)))
    args = (
        "analyze",
        "many.txt",
        "game.txt",
        "--out",
        f"r.{ending}",
        "--iterations",
        "400",
        "--workers",
        "2",
        "--json",
    )
    rng = random.Random(ending)
    seen: set[tuple[Any, ...]] = set()
    kills = 0
    while True:
        with subprocess.Popen(
            command(*args), env=environment(), cwd=here, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            if kills < 6:
                # From before the first row on; in the last two rounds near the end, and at it.
                let_run(process, here / f"r.{ending}", rng.randrange(90 * kills, 90 * kills + 90), rng.random())
                process.kill()
                process.wait()
                kills += 1
                there = written(here / f"r.{ending}")
                assert seen <= there, "rows were lost"
                seen = there
                continue
            assert process.stdout is not None
            told = json.loads(process.stdout.read())
        break
    answered = told["answered"] + told["resumed"]
    assert told["resumed"] == len(seen) > 300
    found = keys(here / f"r.{ending}")
    assert len(found) == len(set(found)) == answered
    assert len([key for key in found if key[0] == "many.txt"]) == 400
    assert seen <= {(file, line, action) for file, line, action in found}
    assert sorted(path.name for path in here.glob("r.*")) == [f"r.{ending}"]
    # And it is the same as if nobody had killed it.
    (here / "whole").mkdir()
    run(*args[:4], f"whole/r.{ending}", *args[5:])
    whole = {(row["file"], row["line"], row["action"]): row for row in rows(here / "whole" / f"r.{ending}")}
    assert {(row["file"], row["line"], row["action"]): row for row in rows(here / f"r.{ending}")} == whole


def let_run(process: subprocess.Popen[bytes], path: Path, n_rows: int, seconds: float) -> None:
    """Let a process run for a part of a second, and until there are as many rows or it has ended."""
    time.sleep(seconds)
    wait_until(lambda: process.poll() is not None or len(written(path)) >= n_rows)


def written(path: Path) -> set[tuple[Any, ...]]:
    """The rows of a file that nobody has closed, and of its journal."""
    if path.suffix == ".sqlite":
        return in_sqlite(path)
    found: set[tuple[Any, ...]] = set()
    if path.suffix == ".parquet":
        if path.exists():
            found = {(row["file"], row["line"], row["action"] or 0) for row in rows(path)}
        path = path.with_name(path.name + ".journal")
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    told = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return found | {(row["file"], row["line"], row["action"] or 0) for row in told}


def in_sqlite(path: Path) -> set[tuple[Any, ...]]:
    """What is committed; a file that was only just begun has no table."""
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as base:
        tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
        if "positions" not in tables:
            return set()
        found = base.execute("SELECT file, line, action FROM positions").fetchall()
    return {(file, line, action or 0) for file, line, action in found}


def test_half_a_line_is_cut_off_and_a_damaged_one_is_said(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": ' + b"x" * 100_000)
    lines = JsonLines(path)
    assert list(lines.rows()) == [{"a": 1}]
    lines.add({"a": 2})
    lines.close()
    assert path.read_bytes() == b'{"a": 1}\n{"a": 2}\n'


def test_killed_between_the_parquet_file_and_the_end_of_its_journal(here):
    run("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--workers", "1")
    run("analyze", "positions.txt", "--out", "r.parquet", *FEW, "--workers", "1")
    (here / "r.parquet.journal").write_text((here / "r.jsonl").read_text())
    before = (here / "r.parquet").stat().st_mtime_ns
    told = run("analyze", "positions.txt", "--out", "r.parquet", *FEW, "--workers", "1", "--json").json
    assert (told["answered"], told["resumed"]) == (0, 12)
    assert (here / "r.parquet").stat().st_mtime_ns == before
    # The same, and the input has grown meanwhile.
    (here / "r.parquet.journal").write_text((here / "r.jsonl").read_text())
    with (here / "positions.txt").open("a") as file:
        file.write(f"{VIEW}\n")
    told = run("analyze", "positions.txt", "--out", "r.parquet", *FEW, "--workers", "1", "--json").json
    assert (told["answered"], told["resumed"]) == (1, 12)
    assert [line for _, line, _ in keys(here / "r.parquet")] == list(range(1, 14))
    assert not (here / "r.parquet.journal").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_two_at_once_do_not_write_to_one_file(here, ending):
    (here / "many.txt").write_text("\n".join(views(300)) + "\n")
    args = ("analyze", "many.txt", "--out", f"r.{ending}", "--iterations", "20000", "--workers", "1")
    with subprocess.Popen(command(*args), env=environment(), cwd=here, stderr=subprocess.PIPE) as process:
        path = here / f"r.{ending}"
        wait_until(lambda: written(path))
        other = run(*args)
        process.kill()
    assert other.code == 1
    assert "another process is writing to it" in other.err


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_said_and_nothing_is_lost(here, ending):
    """A limit on the size of files stands for it."""
    (here / "many.txt").write_text("\n".join(views(100)) + "\n")
    args = ("analyze", "many.txt", "--out", f"r.{ending}", *FEW, "--workers", "1")
    found = subprocess.run(
        command(*args),
        env=environment(),
        cwd=here,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    )
    assert found.returncode == 1
    assert found.stderr.startswith(f"eminence: out: r.{ending}")
    kept = written(here / f"r.{ending}")
    assert len(kept) >= 5
    told = run(*args, "--json").json
    assert (told["resumed"], told["answered"]) == (len(kept), 100 - len(kept))
    assert [line for _, line, _ in keys(here / f"r.{ending}")] == list(range(1, 101))


@pytest.mark.parametrize("workers", [1, 3])
def test_interrupted_it_keeps_what_it_has(here, workers):
    (here / "many.txt").write_text("\n".join(views(300)) + "\n")
    args = ("analyze", "many.txt", "--out", "r.jsonl", "--iterations", "5000", "--workers", workers)
    with subprocess.Popen(
        command(*args), env=environment(), cwd=here, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        wait_until(lambda: written(here / "r.jsonl"))
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: workers, too
        assert process.wait(HANG_S) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""
    assert written(here / "r.jsonl")


def test_where_no_cluster_is_it_is_said(here):
    for address, why in (("127.0.0.1:1", "127.0.0.1:1"), ("nowhere", "is not host:port")):
        found = run("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--ray-address", address)
        assert found.code == 1
        assert found.err.startswith("eminence: ray-address: ")
        assert why in found.err


@pytest.mark.slow
def test_a_cluster_finds_what_processes_here_find(here):
    assert (
        run("analyze", "positions.txt", "--out", "ray.jsonl", *FEW, "--ray-address", "local", "--workers", 1).code == 0
    )
    assert run("analyze", "positions.txt", "--out", "here.jsonl", *FEW, "--workers", 1).code == 0
    by_line = [sorted(rows(here / name), key=lambda row: int(row["line"])) for name in ("ray.jsonl", "here.jsonl")]
    assert by_line[0] == by_line[1]


def test_there_is_a_bar_on_a_terminal(here):
    asked = " ".join(command("analyze", "positions.txt", "--out", "r.jsonl", "--iterations", "100", "--workers", "1"))
    out = subprocess.run(
        ["script", "-qec", asked, "/dev/null"],
        env=environment(TERM="xterm-256color"),
        cwd=here,
        capture_output=True,
        text=True,
    ).stdout
    assert "100%" in out
    assert "12 positions" in out


def test_the_page_on_records_tells_every_column():
    page = (ROOT / "docs" / "records.md").read_text()
    for column in (*COLUMNS, *MOVES, *BELIEFS):
        assert f"| `{column.name}` | {column.kind} | {column.meaning} |" in page, column.name
    assert [field.name for field in arrow_schema()] == [column.name for column in COLUMNS]


def test_the_query_on_the_page_on_records_runs(here):
    page = (ROOT / "docs" / "records.md").read_text()
    run("analyze", "game.txt", "--out", "results.parquet", "--iterations", "50", "--workers", "1")
    run("analyze", "game.txt", "--out", "results.jsonl", "--iterations", "50", "--workers", "1")
    query = page.split("```sql\n")[1].split("```")[0]
    assert "results.parquet" in query
    told = duckdb.execute(query).fetchall()
    assert told
    assert duckdb.execute(query.replace("results.parquet", "results.jsonl")).fetchall() == told

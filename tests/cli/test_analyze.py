"""eminence analyze: every position is answered once, through kills, resumes, full disks and two processes."""

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
from program import ROOT, VIEW, command, environment, random_record, run, views
from waiting import HANG_S, wait_until

from engine_cy import new_game
from server.cli.results.files import BELIEFS, COLUMNS, MOVES, JsonLines, arrow_schema
from solver import Budget, solve

ENDINGS = ("jsonl", "sqlite", "parquet")
FEW = ("--iterations", "100")


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of results, with their moves and beliefs."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".parquet":
        in_parquet: list[dict[str, Any]] = pyarrow.parquet.read_table(path).to_pylist()
        return in_parquet
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        positions = [dict(row) for row in database.execute("SELECT * FROM positions")]
        for row in positions:
            number = row.pop("id")
            for table in ("moves", "beliefs"):
                selected = database.execute(f"SELECT * FROM {table} WHERE position = ? ORDER BY rank", [number])
                row[table] = [
                    {name: value for name, value in dict(r).items() if name not in ("position", "rank")}
                    for r in selected
                ]
            row["seats"] = json.loads(row["seats"])
            row["reproducible"] = bool(row["reproducible"])
            for move in row["moves"]:
                move["ranks"] = json.loads(move["ranks"])
    return positions


def keys(path: Path) -> list[tuple[Any, ...]]:
    return sorted((row["file"], row["line"], row["action"] or 0) for row in rows(path))


def test_every_kind_of_file_holds_the_answers_of_the_solver(folder):
    rows_by_ending = {}
    for ending in ENDINGS:
        summary = run("analyze", "positions.txt", "game.txt", "--out", f"r.{ending}", *FEW, "--json").json
        rows_by_ending[ending] = sorted(
            rows(folder / f"r.{ending}"), key=lambda row: (row["file"], row["line"], row["action"] or 0)
        )
        assert summary["answered"] == len(rows_by_ending[ending])
    assert rows_by_ending["jsonl"] == rows_by_ending["sqlite"] == rows_by_ending["parquet"]
    for row in rows_by_ending["jsonl"]:
        assert list(row) == [column.name for column in COLUMNS]
        assert all(list(move) == [column.name for column in MOVES] for move in row["moves"])
        assert all(list(belief) == [column.name for column in BELIEFS] for belief in row["beliefs"])
    row = next(row for row in rows_by_ending["jsonl"] if row["file"] == "positions.txt")
    game = new_game(row["game"], row["ruleset"], row["players"])
    answer = solve(game.view(row["view"]), Budget(iterations=100), seed=int(row["seed"]))
    assert row["best"] == str(answer.best)
    assert [move["visits"] for move in row["moves"]] == [move.visits for move in answer.moves]
    assert row["reproducible"]


def test_a_record_has_a_row_for_each_decision_of_all_seats_or_of_one(folder):
    (folder / "two.txt").write_text(
        f"{random_record('oriflamme', 'de-2019', 4, 3)}\n{random_record('oriflamme', 'en-2019', 3, 4)}"
    )
    assert run("analyze", "two.txt", "--out", "all.jsonl", *FEW, "--workers", "1").code == 0
    decisions = rows(folder / "all.jsonl")
    assert {row["ruleset"] for row in decisions} == {"de-2019", "en-2019"}
    assert len({row["line"] for row in decisions}) == 2
    assert all(row["played"] in [move["move"] for move in row["moves"]] for row in decisions)
    assert run("analyze", "two.txt", "--out", "b.jsonl", "--seat", "b", *FEW, "--workers", "1").code == 0
    assert keys(folder / "b.jsonl") == sorted(
        (row["file"], row["line"], row["action"]) for row in decisions if row["observer"] == "B"
    )


def test_lines_of_json_are_read(folder):
    run("convert", "positions.txt", "--to", "json", "--out", "p.json")
    run("analyze", "positions.txt", "--out", "a.jsonl", *FEW, "--workers", "1")
    assert run("analyze", "p.json", "--out", "b.jsonl", *FEW, "--workers", "1").code == 0
    assert {row["view"]: row["best"] for row in rows(folder / "a.jsonl")} == {
        row["view"]: row["best"] for row in rows(folder / "b.jsonl")
    }


def test_a_bad_line_is_named_and_skipped_or_ends_the_run(folder):
    (folder / "bad.txt").write_text(
        f"{VIEW}\n# a comment\n\nA:Spy B:Nope\n{VIEW.replace('seen by B', 'seen by C')}\n{VIEW}\n"
    )
    skipped = run("analyze", "bad.txt", "--out", "s.jsonl", *FEW, "--workers", "1")
    assert skipped.code == 1
    assert [line.partition(": ")[0] for line in skipped.err.splitlines()] == ["bad.txt:4", "bad.txt:5"]
    assert "2 without an answer" in skipped.out
    assert [key[1] for key in keys(folder / "s.jsonl")] == [1, 6]
    stopped = run("analyze", "bad.txt", "--out", "t.jsonl", *FEW, "--workers", "1", "--bad-lines", "stop")
    assert stopped.code == 1
    assert stopped.err.startswith("eminence: bad.txt:4: ")
    assert 6 not in [key[1] for key in keys(folder / "t.jsonl")]


def test_a_file_is_not_resumed_with_other_settings_or_changed_input(folder):
    assert run("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--workers", "1").code == 0
    other = run("analyze", "positions.txt", "--out", "r.jsonl", "--iterations", "99", "--workers", "1")
    assert (other.code, other.err) == (
        1,
        "eminence: out: r.jsonl holds results of other settings: iterations 100, now 99\n",
    )
    (folder / "positions.txt").write_text(VIEW + "\n")
    changed = run("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--workers", "1")
    assert changed.code == 1
    assert "positions.txt:1: has changed since" in changed.err


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_resumed_run_adds_new_input(folder, ending):
    lines = (folder / "positions.txt").read_text().splitlines(keepends=True)
    (folder / "positions.txt").write_text("".join(lines[:5]))
    run("analyze", "positions.txt", "--out", f"r.{ending}", *FEW, "--workers", "1")
    (folder / "positions.txt").write_text("".join(lines))
    summary = run("analyze", "positions.txt", "--out", f"r.{ending}", *FEW, "--workers", "1", "--json").json
    assert (summary["answered"], summary["resumed"]) == (len(lines) - 5, 5)
    assert [key[1] for key in keys(folder / f"r.{ending}")] == list(range(1, len(lines) + 1))
    assert sorted(path.name for path in folder.glob("r.*")) == [f"r.{ending}"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_foreign_file_is_not_touched(folder, ending):
    (folder / f"r.{ending}").write_text("dear diary\n")
    assert run("analyze", "positions.txt", "--out", f"r.{ending}", *FEW).code == 1
    assert (folder / f"r.{ending}").read_text() == "dear diary\n"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_kills_at_any_moment_lose_no_row_and_repeat_none(folder, ending):
    (folder / "many.txt").write_text("\n".join(views(400)) + "\n")
    (folder / "game.txt").write_text(str(random_record("oriflamme", "en-2019", 3, 9)))
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
    earlier: set[tuple[Any, ...]] = set()
    kills = 0
    while True:
        with subprocess.Popen(
            command(*args), env=environment(), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            if kills < 6:
                # Kill from before the first row up to the last rows.
                let_run(process, folder / f"r.{ending}", rng.randrange(90 * kills, 90 * kills + 90), rng.random())
                process.kill()
                process.wait()
                kills += 1
                now = written_keys(folder / f"r.{ending}")
                assert earlier <= now, "rows were lost"
                earlier = now
                continue
            assert process.stdout is not None
            summary = json.loads(process.stdout.read())
        break
    answered = summary["answered"] + summary["resumed"]
    assert summary["resumed"] == len(earlier) > 300
    all_keys = keys(folder / f"r.{ending}")
    assert len(all_keys) == len(set(all_keys)) == answered
    assert len([key for key in all_keys if key[0] == "many.txt"]) == 400
    assert earlier <= {(file, line, action) for file, line, action in all_keys}
    assert sorted(path.name for path in folder.glob("r.*")) == [f"r.{ending}"]
    # An uninterrupted run has the same rows.
    (folder / "whole").mkdir()
    run(*args[:4], f"whole/r.{ending}", *args[5:])
    uninterrupted = {(row["file"], row["line"], row["action"]): row for row in rows(folder / "whole" / f"r.{ending}")}
    assert {(row["file"], row["line"], row["action"]): row for row in rows(folder / f"r.{ending}")} == uninterrupted


def let_run(process: subprocess.Popen[bytes], path: Path, n_rows: int, seconds: float) -> None:
    """Let a process run for `seconds`, and then until it has ended or written `n_rows`."""
    time.sleep(seconds)
    wait_until(lambda: process.poll() is not None or len(written_keys(path)) >= n_rows)


def written_keys(path: Path) -> set[tuple[Any, ...]]:
    """Return the keys of the rows in a file that may still be open, and in its journal."""
    if path.suffix == ".sqlite":
        return keys_in_sqlite(path)
    in_file: set[tuple[Any, ...]] = set()
    if path.suffix == ".parquet":
        if path.exists():
            in_file = {(row["file"], row["line"], row["action"] or 0) for row in rows(path)}
        path = path.with_name(path.name + ".journal")
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    in_journal = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return in_file | {(row["file"], row["line"], row["action"] or 0) for row in in_journal}


def keys_in_sqlite(path: Path) -> set[tuple[Any, ...]]:
    """Return the committed keys; a file that was just created has no table."""
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if "positions" not in tables:
            return set()
        committed = database.execute("SELECT file, line, action FROM positions").fetchall()
    return {(file, line, action or 0) for file, line, action in committed}


def test_an_incomplete_last_line_is_cut_off(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"a": 1}\n{"a": ' + b"x" * 100_000)
    lines = JsonLines(path)
    assert list(lines.rows()) == [{"a": 1}]
    lines.add({"a": 2})
    lines.close()
    assert path.read_bytes() == b'{"a": 1}\n{"a": 2}\n'


def test_a_kill_between_the_parquet_file_and_the_end_of_its_journal_repeats_nothing(folder):
    run("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--workers", "1")
    run("analyze", "positions.txt", "--out", "r.parquet", *FEW, "--workers", "1")
    (folder / "r.parquet.journal").write_text((folder / "r.jsonl").read_text())
    before = (folder / "r.parquet").stat().st_mtime_ns
    summary = run("analyze", "positions.txt", "--out", "r.parquet", *FEW, "--workers", "1", "--json").json
    assert (summary["answered"], summary["resumed"]) == (0, 12)
    assert (folder / "r.parquet").stat().st_mtime_ns == before
    # The same, with a new line of input.
    (folder / "r.parquet.journal").write_text((folder / "r.jsonl").read_text())
    with (folder / "positions.txt").open("a") as file:
        file.write(f"{VIEW}\n")
    summary = run("analyze", "positions.txt", "--out", "r.parquet", *FEW, "--workers", "1", "--json").json
    assert (summary["answered"], summary["resumed"]) == (1, 12)
    assert [line for _, line, _ in keys(folder / "r.parquet")] == list(range(1, 14))
    assert not (folder / "r.parquet.journal").exists()


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_second_process_does_not_write_to_the_file(folder, ending):
    (folder / "many.txt").write_text("\n".join(views(300)) + "\n")
    args = ("analyze", "many.txt", "--out", f"r.{ending}", "--iterations", "20000", "--workers", "1")
    with subprocess.Popen(command(*args), env=environment(), cwd=folder, stderr=subprocess.PIPE) as process:
        path = folder / f"r.{ending}"
        wait_until(lambda: written_keys(path))
        other = run(*args)
        process.kill()
    assert other.code == 1
    assert "another process is writing to it" in other.err


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_is_an_error_and_loses_no_row(folder, ending):
    """Limit the size of files to simulate the full disk."""
    (folder / "many.txt").write_text("\n".join(views(100)) + "\n")
    args = ("analyze", "many.txt", "--out", f"r.{ending}", *FEW, "--workers", "1")
    result = subprocess.run(
        command(*args),
        env=environment(),
        cwd=folder,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    )
    assert result.returncode == 1
    assert result.stderr.startswith(f"eminence: out: r.{ending}")
    before = written_keys(folder / f"r.{ending}")
    assert len(before) >= 5
    summary = run(*args, "--json").json
    assert (summary["resumed"], summary["answered"]) == (len(before), 100 - len(before))
    assert [line for _, line, _ in keys(folder / f"r.{ending}")] == list(range(1, 101))


@pytest.mark.parametrize("workers", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_an_interrupted_run_keeps_its_rows(folder, workers):
    (folder / "many.txt").write_text("\n".join(views(300)) + "\n")
    args = ("analyze", "many.txt", "--out", "r.jsonl", "--iterations", "5000", "--workers", workers)
    with subprocess.Popen(
        command(*args), env=environment(), cwd=folder, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        wait_until(lambda: written_keys(folder / "r.jsonl"))
        os.killpg(process.pid, signal.SIGINT)  # a terminal signals the workers, too
        assert process.wait(HANG_S) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""
    assert written_keys(folder / "r.jsonl")


def test_an_unreachable_cluster_is_an_error(folder):
    for address, why in (("127.0.0.1:1", "127.0.0.1:1"), ("nowhere", "is not host:port")):
        result = run("analyze", "positions.txt", "--out", "r.jsonl", *FEW, "--ray-address", address)
        assert result.code == 1
        assert result.err.startswith("eminence: ray-address: ")
        assert why in result.err


@pytest.mark.slow
def test_a_cluster_gives_the_rows_of_local_processes(folder):
    assert (
        run("analyze", "positions.txt", "--out", "ray.jsonl", *FEW, "--ray-address", "local", "--workers", 1).code == 0
    )
    assert run("analyze", "positions.txt", "--out", "here.jsonl", *FEW, "--workers", 1).code == 0
    by_line = [sorted(rows(folder / name), key=lambda row: int(row["line"])) for name in ("ray.jsonl", "here.jsonl")]
    assert by_line[0] == by_line[1]


def test_a_terminal_shows_a_progress_bar(folder):
    shell_command = " ".join(
        command("analyze", "positions.txt", "--out", "r.jsonl", "--iterations", "100", "--workers", "1")
    )
    out = subprocess.run(
        ["script", "-qec", shell_command, "/dev/null"],
        env=environment(TERM="xterm-256color"),
        cwd=folder,
        capture_output=True,
        text=True,
    ).stdout
    assert "100%" in out
    assert "12 positions" in out


def test_the_page_on_records_documents_every_column():
    page = (ROOT / "docs" / "records.md").read_text()
    for column in (*COLUMNS, *MOVES, *BELIEFS):
        assert f"| `{column.name}` | {column.kind} | {column.meaning} |" in page, column.name
    assert [field.name for field in arrow_schema()] == [column.name for column in COLUMNS]


def test_the_query_on_the_page_on_records_runs(folder):
    page = (ROOT / "docs" / "records.md").read_text()
    run("analyze", "game.txt", "--out", "results.parquet", "--iterations", "50", "--workers", "1")
    run("analyze", "game.txt", "--out", "results.jsonl", "--iterations", "50", "--workers", "1")
    query = page.split("```sql\n")[1].split("```")[0]
    assert "results.parquet" in query
    result = duckdb.execute(query).fetchall()
    assert result
    assert duckdb.execute(query.replace("results.parquet", "results.jsonl")).fetchall() == result

"""Adding an edition, as docs/how_to/extend.md does, keeps other editions, their caches and their resumable files."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from knights import knights_edition
from process import PLACE, server, stub, suggest
from program import ROOT, VIEW, run

from eminence.v1 import solver_pb2 as pb
from engine_cy import new_game
from engine_cy.oriflamme.binding import Oriflamme
from engine_cy.oriflamme.editions import EDITIONS
from server.client.requests import text_view
from solver import Budget, solve
from solver.expected_signature import DIGESTS, SIGNATURE, signature_of
from solver.signature import editions, measure, published

PAGE = (ROOT / "docs" / "how_to" / "extend.md").read_text()
# The editions of the page: one with other switches, and one with its own card.
BLOCKS = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "EDITIONS[" in block]
ADDED = re.findall(r'^EDITIONS\["(\w+)"\] =', "\n".join(BLOCKS), re.MULTILINE)


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Add the editions to this process when called."""

    def add() -> None:
        for name in ADDED:
            monkeypatch.setitem(EDITIONS, name, EDITIONS["en-2019"])
        for block in BLOCKS:
            exec(block, {})

    return add


def test_the_page_adds_two_editions_and_names_existing_files() -> None:
    assert ADDED == ["house", "knights"]
    names = set(re.findall(r"`([\w./]+\.(?:py|pyx|pxd|json|proto))`", PAGE))
    assert len(names) > 12
    for name in names:
        folders = "engine_cy/*", "server/games/*"
        assert (ROOT / name).exists() or any(True for folder in folders for _ in ROOT.glob(f"{folder}/{name}")), name


@pytest.mark.slow
def test_published_editions_keep_their_digests(added: Any) -> None:
    added()
    assert published() == (SIGNATURE, DIGESTS)
    assert ("oriflamme", "knights") in list(editions())
    # `python -m solver.signature` measures the new editions, too, which changes the total.
    sample = measure([("oriflamme", name) for name in ("revised", "house", "knights")], deals=1)
    assert sample.digests["oriflamme"]["revised"] == measure([("oriflamme", "revised")], deals=1).total
    assert len(set(sample.digests["oriflamme"].values())) == 3


def test_each_ruleset_has_its_own_signature(added: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rulesets: list[tuple[str, Any]] = [
        *[(game_id, edition) for game_id, edition in editions()],
        ("oriflamme", {"edition": "en-2019", "ambush_own_gain": 5}),
        ("oriflamme", {"edition": "de-2019", "ambush_own_gain": 5}),
        ("castle_village_port", {"starting_gold": 5}),
    ]
    before = [signature_of(new_game(game_id, ruleset, 2 if "poker" in game_id else 3)) for game_id, ruleset in rulesets]
    assert len(set(before)) == len(before)
    assert before[0] == DIGESTS["oriflamme"]["en-2019"] == signature_of(new_game("oriflamme", "en-2019", 5))
    added()
    after = [signature_of(new_game(game_id, ruleset, 2 if "poker" in game_id else 3)) for game_id, ruleset in rulesets]
    assert after == before
    own = {signature_of(new_game("oriflamme", name, 3)) for name in ("house", "knights")}
    assert len(own | set(before)) == len(before) + 2
    # Another card or another engine changes the signature.
    monkeypatch.setitem(EDITIONS, "knights", knights_edition(points=3))
    monkeypatch.setitem(DIGESTS["oriflamme"], "revised", "0" * 16)
    # `new_game` caches games by name, so these are made directly.
    changed = {signature_of(Oriflamme("oriflamme", name, 3)) for name in ("knights", "revised")}
    assert not changed & (own | set(before))
    turned = signature_of(new_game("oriflamme", {"edition": "revised", "ambush_own_gain": 5}, 3))
    monkeypatch.undo()
    assert turned != signature_of(new_game("oriflamme", {"edition": "revised", "ambush_own_gain": 5}, 3))


def test_an_answer_has_the_signature_of_its_ruleset(added: Any) -> None:
    added()
    for ruleset in ("de-2019", "knights", {"edition": "de-2019", "decree_onto_stack": False}):
        game = new_game("oriflamme", ruleset, 3)
        assert solve(game.deal(1).view(0), Budget(iterations=5)).signature == signature_of(game)


@pytest.mark.slow
def test_a_server_with_a_new_edition_starts_and_keeps_the_answers_of_others(tmp_path: Path) -> None:
    # The blocks print, which would come before the greeting of the server.
    quiet = "import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    exec({!r}, {{}})\n"
    (tmp_path / "sitecustomize.py").write_text("".join(quiet.format(block) for block in BLOCKS))
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    question = suggest(PLACE + "| seen by A", iterations=300)
    answers = []
    for environment in ({}, {"PYTHONPATH": path}):
        with server("--cache-file", str(tmp_path / "answers"), self_test=True, environment=environment) as running:
            with running.channel() as channel:
                answers.append(stub(channel).Suggest(question, timeout=20).suggestion)
                if environment:
                    request = pb.SuggestRequest(view=text_view("oriflamme", "knights", 3, ">A:Knight B:? | seen by A"))
                    assert stub(channel).Suggest(request, timeout=20).suggestion.best.text == "reveal"
            assert running.stop() == 0
        with closing(sqlite3.connect(tmp_path / "answers")) as database:
            # A changed signature of the ruleset would give the same question a second key.
            assert database.execute("SELECT count(*) FROM answers").fetchone() == (1,)
    for answer in answers:
        answer.ClearField("elapsed")
    assert answers[0] == answers[1]


def test_analyze_and_match_resume_their_files(added: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "positions.txt").write_text(VIEW + "\n")
    analyze = ("analyze", "positions.txt", "--out", "rows.jsonl", "--iterations", 20, "--workers", 1, "--json")
    match = ("match", "random", "greedy", "--deals", 2, "--resume", "match.jsonl", "--json")
    results = [run(*analyze).json, run(*match).json]
    assert (results[0]["answered"], results[0]["resumed"]) == (1, 0)
    before = (tmp_path / "match.jsonl").read_bytes()
    added()
    (tmp_path / "positions.txt").write_text(VIEW + "\n" + VIEW.replace("round 2", "round 3") + "\n")
    again = run(*analyze).json
    assert (again["answered"], again["resumed"], again["bad"]) == (1, 1, 0)
    assert run(*match).json["deals"] == results[1]["deals"]
    assert (tmp_path / "match.jsonl").read_bytes() == before
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    engines = [json.loads(row["settings"])["engine"] for row in rows]
    assert engines == [{"oriflamme en-2019": DIGESTS["oriflamme"]["en-2019"]}] * 2

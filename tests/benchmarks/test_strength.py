"""The yardsticks of strength: versions against themselves, earlier versions, the cheater, and known forecasts."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from benchmarks import frozen, reliability
from benchmarks.__main__ import main
from benchmarks.cheater import Cheater, OpenQuestion
from benchmarks.frozen import VERSIONS, FrozenPlayer, version_of
from benchmarks.match import read_player
from benchmarks.reliability import Forecast, of_observer
from engine_cy import new_game
from solver import Budget, InvalidQuestionError, match
from solver.match import Match
from solver.solve import solve
from solver.training import games

GAME = new_game("oriflamme", "en-2019", 3)


def has_history() -> bool:
    if not shutil.which("git"):
        return False
    known = subprocess.run(
        ["git", "cat-file", "-e", VERSIONS["default-1"]], cwd=frozen.ROOT, capture_output=True, check=False
    )
    return known.returncode == 0


needs_history = pytest.mark.skipif(not has_history(), reason="earlier versions are built from the history of the clone")


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(games, "CHUNK", 2)


def run(capsys, tmp_path, *arguments):
    options = ["--games=6", "--play=20", "--positions=2", "--iterations=40", "--workers=1", f"--work={tmp_path}"]
    main(["strength", *options, "--json", *arguments])
    return json.loads(capsys.readouterr().out.splitlines()[-1])


# --- figures ----------------------------------------------------------------------------------------------------


def test_a_version_against_itself_differs_by_nothing(capsys, tmp_path):
    printed = run(capsys, tmp_path, "--against=default")
    assert {"ece_mover", "ece_seats", "log_loss_raw", "belief_bits"} <= set(printed)
    assert [printed[f"log_loss_difference{part}"] for part in ("", "_low", "_high")] == [0, 0, 0]
    assert run(capsys, tmp_path, "--against=default") == printed  # from the stored games and searches


def test_another_version_differs(capsys, tmp_path):
    assert run(capsys, tmp_path, "--against=plain", "--no-beliefs")["log_loss_difference"] != 0


def test_an_interrupted_measurement_continues(capsys, tmp_path):
    printed = run(capsys, tmp_path / "whole")
    run(capsys, tmp_path / "parts")
    path = next((tmp_path / "parts").rglob("default-40.jsonl"))
    first, second, *_ = path.read_text().splitlines()
    path.write_text(f"{first}\n{second}\n[1, [[")
    assert run(capsys, tmp_path / "parts") == printed


def test_searches_with_other_options_are_refused(capsys, tmp_path):
    run(capsys, tmp_path, "--no-beliefs")
    with pytest.raises(SystemExit, match="holds other searches"):
        run(capsys, tmp_path, "--no-beliefs", "--positions=3")


def forecasts_of(*shares_and_payoffs):
    return [Forecast(i, 1, 0, shares, payoffs) for i, (shares, payoffs) in enumerate(shares_and_payoffs)]


def test_the_error_of_known_forecasts():
    sure = forecasts_of(*[((0.75, 0.25), (1.0, 0.0))] * 3, ((0.75, 0.25), (0.0, 1.0)))
    assert reliability.error_of(sure, of_observer) == pytest.approx(0)
    wrong = forecasts_of(*[((0.75, 0.25), (0.0, 1.0))] * 4)
    assert reliability.error_of(wrong, of_observer) == pytest.approx(0.75)
    assert reliability.surplus_by_round(wrong)[1].mean == pytest.approx(0.75)


def test_the_noise_of_many_true_forecasts_is_small():
    few, many = (forecasts_of(*[((0.3, 0.7), (0.0, 1.0))] * n) for n in (10, 1000))
    assert reliability.noise_of(many, of_observer) < 0.02 < reliability.noise_of(few, of_observer)


def test_the_positions_of_a_game_count_as_one_observation():
    apart = reliability.mean_of((i, float(i % 2)) for i in range(100))
    together = reliability.mean_of((i // 50, float(i // 50)) for i in range(100))
    assert apart.mean == together.mean == 0.5
    assert apart.high - apart.low < 0.25 < together.high - together.low


# --- the cheater ------------------------------------------------------------------------------------------------


def test_the_cheater_searches_the_true_world_alone():
    position = GAME.deal(3)
    for action in ("place Spy front", "place ? back", "place ? back"):
        legal = position.legal_actions()
        position = position.play(action if "?" not in action else legal[0])
    view = position.view(0)
    question = OpenQuestion(view, position, Budget(iterations=200), lines=8)
    assert {question.worlds.sample_world(seed) for seed in range(20)} == {position}
    assert solve(question).worlds == 200
    with pytest.raises(ValueError, match="does not fit the view"):
        OpenQuestion(view, GAME.deal(4), Budget(iterations=200))


def test_the_cheater_beats_the_same_search():
    game = Match(GAME.spec, Cheater("cheater"), read_player("default"), Budget(iterations=150), seed=5)
    assert match.run(game, 12).score.mean > 1 / 3


# --- earlier versions -------------------------------------------------------------------------------------------


def test_a_version_without_a_commit_is_refused():
    with pytest.raises(InvalidQuestionError, match="names no commit"):
        read_player("frozen")
    assert read_player("frozen:commit=abc,config=level-5") == FrozenPlayer(
        "frozen:commit=abc,config=level-5", "abc", "level-5"
    )


@needs_history
def test_an_unknown_commit_is_refused():
    with pytest.raises(frozen.FrozenBuildError, match="is not in the history"):
        frozen.folder_of("0" * 40)


@pytest.mark.slow
@needs_history
def test_default_1_plays_its_golden_moves():
    version = version_of(VERSIONS["default-1"])
    cases = json.loads((version.folder / "tests" / "cases" / "golden_moves.json").read_text())
    assert len(cases) > 50
    for case in cases:
        record = "\n".join(case["history"]) if "history" in case else None
        options = {name: case[name] for name in ("shares", "models", "among") if name in case}
        answer = version.ask(case["game"], case["view"], Budget(iterations=500), 5, "default", record, **options)
        assert (answer["best"], answer["visits"]) == (case["best"], case["visits"]), case["name"]


@pytest.mark.slow
@needs_history
def test_default_1_against_itself_scores_a_fair_share():
    player = read_player("default-1")
    report = match.run(Match(GAME.spec, player, player, Budget(iterations=30), seed=1), 2)
    assert report.score.mean == pytest.approx(1 / 3)
    assert match.per_decision(report, 0) == 30

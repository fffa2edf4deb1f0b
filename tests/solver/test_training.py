"""A set of weights is trained from nothing by one command, which resumes; useless weights are never installed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine_cy.learned.self_play import SelfPlay
from engine_cy.oriflamme.features import WEIGHTS
from solver.training.__main__ import main
from solver.training.fitting import IMPROVE, SHARPEN, learn_marks, learn_prior, share_against
from solver.training.oriflamme import PLAN

ROOT = Path(__file__).parents[2]


def train(work: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "solver.training", "oriflamme-3", "--quick", "--workers", "1", f"--work={work}"]
    return subprocess.run([*command, *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
def test_one_command_trains_a_set_and_resumes(tmp_path):
    before = WEIGHTS.path.read_bytes()
    assert "beliefs took" in train(tmp_path)
    folder = tmp_path / "oriflamme-3"
    steps = {path.name: path.read_bytes() for path in folder.glob("*-*.json")}
    assert set(steps) == {"1-learn.json", "2-games.json", "3-refit.json", "4-beliefs.json"}
    learned = json.loads(steps["1-learn.json"])["result"]
    assert len(learned["marks"][0]) == WEIGHTS.width("marks")
    assert json.loads(steps["3-refit.json"])["result"] != learned["features"]
    # The last steps again, from the stored first ones: the same numbers.
    (folder / "3-refit.json").unlink()
    (folder / "4-beliefs.json").unlink()
    train(tmp_path)
    for name in ("3-refit.json", "4-beliefs.json"):
        assert json.loads((folder / name).read_text())["result"] == json.loads(steps[name])["result"]
    assert WEIGHTS.path.read_bytes() == before


def test_a_folder_of_another_run_is_refused(tmp_path):
    (tmp_path / "oriflamme-3").mkdir()
    (tmp_path / "oriflamme-3" / "run.json").write_text("{}")
    with pytest.raises(SystemExit, match="holds another run"):
        main(["oriflamme-3", "--quick", f"--work={tmp_path}"])


def test_useless_weights_are_not_installed(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["oriflamme-3", "--quick", "--install", f"--work={tmp_path}"])
    assert "--install is refused" in capsys.readouterr().err


def test_a_policy_learns_on_and_beats_the_earlier_one():
    """It learns from nearly nothing, as a good policy needs millions of games to become better."""
    nothing = np.full(WEIGHTS.width("marks"), 1e-3)
    try:
        learn_marks(PLAN, "oriflamme-3", nothing, IMPROVE._replace(batch=256), 24, 1, 0.0, False)
        assert share_against(PLAN.sets["oriflamme-3"][0], nothing) > 0.4
    finally:
        WEIGHTS.load()


def test_a_prior_learns_on_from_the_marks_and_beats_them():
    marks = np.full(WEIGHTS.width("marks"), 1e-3)
    start = np.concatenate([marks, np.zeros(WEIGHTS.width("priors") - len(marks))])
    try:
        WEIGHTS.replace("oriflamme-3", marks=[marks.tolist()])
        learn_prior(PLAN, "oriflamme-3", 24, 1, verbose=False, schedule=SHARPEN._replace(batch=256))
        learned = np.array(WEIGHTS.rows("oriflamme-3", "priors")[0])
        assert np.any(learned[len(marks) :])
        assert share_against(PLAN.sets["oriflamme-3"][0], start, of_prior=True) > 0.4
    finally:
        WEIGHTS.load()


def test_weights_of_an_earlier_policy_fit_the_present_one():
    with pytest.raises(ValueError, match="marks: 3 weights, not 4508"):
        SelfPlay(PLAN.sets["oriflamme-3"][0], 1, 0.0).remember([0.0] * 3)

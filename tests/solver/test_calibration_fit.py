"""The fit of the calibration finds known numbers again, and its command resumes and repeats."""

from __future__ import annotations

import json
import random

import pytest

from engine_cy import new_game
from solver.calibration import Ranks, Row, Shares, calibrated_shares, flat, read_row, weights_digest
from solver.training import calibration, games
from solver.training.calibration import FitPlan, Sample, drawn_fit, fit_players, fit_points, main

TRUE = Shares(0.7, -0.3, 0.8, 1.5, 1.25, 0.0, 1.0)
EFFORT = 1000


def sample(game: int, draw: random.Random) -> Sample:
    """Return a sample whose result is drawn by the true numbers."""
    parts = [draw.expovariate(1) for _ in range(3)]
    raw = [part / sum(parts) for part in parts]
    winner = draw.choices(range(3), calibrated_shares(raw, 0, TRUE, EFFORT))[0]
    payoffs = [float(seat == winner) for seat in range(3)]
    mean = draw.uniform(5, 15)
    scores = [round(draw.gauss(mean + TRUE.own_points, 4 * TRUE.own_spread)), 5, 5]
    return Sample(game, 1 + game % 2, EFFORT, 0, raw, [mean, 4.0], [], raw, [[], [], []], payoffs, scores)


def test_the_fit_finds_the_numbers_that_made_the_results():
    draw = random.Random(1)
    rounds = fit_players({"x": [sample(game, draw) for game in range(4000)]}, (EFFORT,))["x"]
    assert set(rounds) == {1, 2}
    for (row,) in rounds.values():
        assert row.move.temperature == pytest.approx(TRUE.temperature, abs=0.1)
        assert row.move.offset == pytest.approx(TRUE.offset, abs=0.12)
        assert row.move.others == pytest.approx(TRUE.others, abs=0.12)
        assert row.move.own_points == pytest.approx(TRUE.own_points, abs=0.5)
        assert row.move.own_spread == pytest.approx(TRUE.own_spread, abs=0.08)


def test_few_samples_stay_near_the_wider_group():
    draw = random.Random(2)
    few = fit_players({"x": [sample(game, draw) for game in range(4)]}, (EFFORT,))["x"]
    assert all(0.6 < row.move.temperature < 1.3 for rows in few.values() for row in rows)


def test_a_fit_without_samples_is_the_wider_one():
    assert fit_points([], (1.0, 2.0), (1.0, 1.0)) == [1.0, 2.0]
    assert drawn_fit(lambda numbers: 0.0, [0.5], [0.1]) == pytest.approx([0.5], abs=1e-3)


def test_rows_are_read_as_they_were_written():
    row = Row(TRUE, TRUE._replace(offset=0.1), TRUE, Ranks(0.9, 0.1))
    assert read_row(flat(row)) == row
    with pytest.raises(ValueError, match="22 numbers in a row, not 23"):
        read_row(flat(row)[1:])


@pytest.mark.slow
def test_the_command_resumes_and_repeats(tmp_path, monkeypatch):
    monkeypatch.setattr(games, "CHUNK", 2)
    plan = FitPlan([("prototype", 2, 1), ("prototype", 3, 2)], 20, [(5,), (20, 40)])
    monkeypatch.setattr(calibration, "PLANS", {"oriflamme_prototype": plan})
    command = ["oriflamme_prototype", "--games=2", f"--work={tmp_path / 'work'}", f"--out={tmp_path / 'fit.json'}"]
    main([*command, "--workers=1"])
    text = (tmp_path / "fit.json").read_text()
    content = json.loads(text)
    assert content["weights"] == weights_digest(new_game("oriflamme_prototype", "prototype", 2))
    assert content["made_of"]["oriflamme_prototype"]["games"] == {"prototype 2": 2, "prototype 3": 4}
    assert set(content["fits"]) == {"oriflamme_prototype prototype 2", "oriflamme_prototype prototype 3"}
    assert content["fits"]["oriflamme_prototype prototype 2"]["efforts"] == [5, 20, 40]
    # Fits of other games stay, unless they belong to other weights.
    content["fits"]["oriflamme x 3"] = {}
    (tmp_path / "fit.json").write_text(json.dumps(content))
    main([*command, "--workers=1"])
    assert "oriflamme x 3" in (tmp_path / "fit.json").read_text()
    (tmp_path / "fit.json").write_text(json.dumps(content | {"weights": "others"}))
    main([*command, "--workers=1"])
    assert (tmp_path / "fit.json").read_text() == text
    path = tmp_path / "work" / "oriflamme_prototype-prototype-3" / "samples-20-40.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:2]) + "\n")
    main([*command, "--workers=2"])
    assert (tmp_path / "fit.json").read_text() == text

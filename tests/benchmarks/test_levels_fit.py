"""The fit of the levels: even steps on a path, and the measured steps."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from benchmarks import levels
from benchmarks.__main__ import main
from benchmarks.levels import PATH, Scale, Strength, between, rising
from solver import LEVELS

POINTS = (Strength(16, 0.4, False), Strength(64, 0.2, False), Strength(64, 0.0, True), Strength(6400, 0.0, True))


def test_levels_are_at_even_distances_of_elo():
    fitted, step = Scale(POINTS, (0, 100, 300, 400)).levels(5)
    assert step == 100
    assert fitted == [POINTS[0], POINTS[1], Strength(64, 0.1, True), POINTS[2], POINTS[3]]


def test_between_two_points_iterations_change_by_factors_and_errors_by_differences():
    assert between(POINTS[0], POINTS[1], 0.5) == Strength(32, 0.3, False)
    assert between(POINTS[2], POINTS[3], 0.5) == Strength(640, 0.0, True)
    assert between(POINTS[2], POINTS[3], 0.4).iterations == 400  # 403.8 has too many digits


def test_a_flat_part_of_the_path_has_no_level_twice():
    fitted, _ = Scale(POINTS, (0, 0, 200, 300)).levels(4)
    assert len(set(fitted)) == 4
    assert fitted[-1] == POINTS[-1]


@pytest.mark.parametrize(
    ("elo", "expected"), [((0, 80, 60, 200), [0, 70, 70, 200]), ((3, 2, 1), [2, 2, 2]), ((1, 2, 3), [1, 2, 3])]
)
def test_points_in_the_wrong_order_get_their_mean(elo, expected):
    assert rising(elo) == expected


def test_the_path_rises_in_every_number():
    for weak, strong in pairwise(PATH):
        assert weak.iterations <= strong.iterations
        assert weak.misjudgement >= strong.misjudgement
        assert weak.remembers <= strong.remembers


# --- the command ------------------------------------------------------------------------------------------------


def run(capsys, tmp_path, *arguments):
    page = tmp_path / "levels.md"
    if not page.exists():
        page.write_text("# Levels\n")
    options = ["--players=3", "--games=6", "--workers=1", f"--work={tmp_path}", f"--page={page}", "--json"]
    main(["levels", *options, *arguments])
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(levels, "PATH", POINTS[:3])
    monkeypatch.setattr(levels, "LEVELS", {number: LEVELS[number] for number in (1, 2, 3)})
    monkeypatch.setattr(levels, "TIMED_DEALS", 1)


def test_the_fit_gives_levels_and_goes_on(capsys, tmp_path, short):
    first = run(capsys, tmp_path, "--fit", "--minutes=0.1")
    assert run(capsys, tmp_path, "--fit", "--minutes=0") == first
    assert len(first["levels"]) == 3
    assert first["levels"][0] == POINTS[0]._asdict()
    assert [point["iterations"] for point in first["path"]] == [16, 64, 64]
    assert run(capsys, tmp_path, "--fit", "--minutes=0.01")["path"] != first["path"]


def test_the_steps_are_measured_on_other_deals_and_written(capsys, tmp_path, short):
    printed = run(capsys, tmp_path, "--minutes=1")["steps"]
    assert [(row["level"], row["players"], row["games"]) for row in printed] == [(2, 3, 6), (3, 3, 6)]
    text = (tmp_path / "levels.md").read_text()
    assert "| 1 | `beginner` | 16 |" in text
    assert text.count("## ") == 0
    assert run(capsys, tmp_path, "--minutes=0")["steps"] == printed
    assert levels.SEED != levels.FIT_SEED

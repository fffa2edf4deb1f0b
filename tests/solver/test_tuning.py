"""Tuning finds the worth of settings, resumes, and gives a player against itself nothing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from solver.config import CONFIGS
from solver.match.elo import share_of
from solver.training import tuning
from solver.training.games import SETS
from solver.training.tuning import SETTINGS, Effect, Estimate, effects, main, play


def test_a_surface_with_known_effects_is_found():
    rng = random.Random(1)
    deals = []
    for _ in range(4000):
        places = {name: rng.uniform(-1, 1) for name in SETTINGS}
        elo = 20 * places["exploration"] - 30 * places["first_play"] ** 2
        deals.append((places, share_of(elo, 3) + rng.gauss(0, 0.1)))
    found = effects(deals, 3)
    for name, slope, curve in (("exploration", 20, 0), ("first_play", 0, -30), ("trust", 0, 0)):
        effect = found[name]
        assert abs(effect.slope.elo - slope) < 2 * effect.slope.error < 20
        assert abs(effect.curve.elo - curve) < 2 * effect.curve.error < 40
    assert found["exploration"].best_place > 0.9
    assert abs(found["first_play"].best_place) < 0.2


@pytest.mark.parametrize(
    ("slope", "curve", "best"), [(10, 0, 1), (-10, 0, -1), (10, -20, 0.25), (10, -2, 1), (2, 10, 1), (-2, 10, -1)]
)
def test_the_best_place_is_the_top_of_the_surface(slope, curve, best):
    assert Effect(Estimate(slope, 1), Estimate(curve, 1)).best_place == pytest.approx(best)


def test_the_settings_of_default_win_no_more_than_default():
    places = {name: span.place_of(getattr(CONFIGS["default"], name)) for name, span in SETTINGS.items()}
    # One deal, played in every seat by equal players with equal luck, splits its wins evenly.
    assert play(SETS["oriflamme-3"][0], places, 20, 1, 0) == pytest.approx(1 / 3)


def test_the_command_resumes_and_adds_deals(tmp_path, capsys, monkeypatch):
    played: list[int] = []

    def count(*arguments: Any) -> float:
        played.append(arguments[-1])
        return play(*arguments)

    monkeypatch.setattr(tuning, "play", count)
    command = ["oriflamme-3", "--iterations", "10", "--workers", "1", f"--out={tmp_path / 'deals.log'}"]
    main([*command, "--deals", "10"])
    main([*command, "--deals", "12"])
    assert sorted(played) == list(range(12))
    printed = capsys.readouterr().out
    main([*command, "--deals", "12"])
    assert len(played) == 12
    assert printed.endswith(capsys.readouterr().out)


def test_too_few_deals_are_refused(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["oriflamme-3", "--deals", "3", f"--out={tmp_path / 'deals.log'}"])
    assert "--deals is at least 8" in capsys.readouterr().err

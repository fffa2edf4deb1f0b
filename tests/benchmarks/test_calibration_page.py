"""The page about calibration: figures of known forecasts, kept games, sections and plots."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from benchmarks import plots, reliability
from benchmarks.__main__ import main
from benchmarks.reliability import Forecast, of_observer
from engine_cy import Rng
from solver.training import games


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    monkeypatch.setattr(games, "CHUNK", 2)


def run(capsys, tmp_path, *arguments):
    page = tmp_path / "calibration.md"
    if not page.exists():
        page.write_text("# Calibration\n")
    options = ["--only=oriflamme-3", "--games=4", "--play=20", "--positions=2", "--iterations", "30", "60"]
    main(["calibration", *options, "--workers=1", f"--work={tmp_path}", f"--page={page}", "--json", *arguments])
    return json.loads(capsys.readouterr().out.splitlines()[-1])["oriflamme-3"]


def test_the_page_has_a_section_with_a_plot_for_each_effort(capsys, tmp_path):
    printed = run(capsys, tmp_path)
    assert [values["effort"] for values in printed] == ["30 iterations", "60 iterations"]
    text = (tmp_path / "calibration.md").read_text()
    assert text.count("## oriflamme, en-2019, 3 players") == 1
    assert "Fit: `oriflamme en-2019 3`." in text
    assert f"{printed[0]['mover_error']['mean']:.3f} [" in text
    plots_drawn = sorted(tmp_path.glob("pictures/*.svg"))
    assert len(plots_drawn) == 2
    assert len(ElementTree.parse(plots_drawn[0]).findall(".//{*}circle")) > 4
    assert run(capsys, tmp_path) == printed
    assert (tmp_path / "calibration.md").read_text() == text


def drawn_forecasts(n_games, shift):
    """Return forecasts of three positions a game, whose true shares are smaller by `shift`."""
    rng, forecasts = Rng(9), []
    for game in range(n_games):
        draw = rng.below(10**6) / 10**6
        for round_number in range(1, 4):
            share = 0.25 + 0.5 * rng.below(10**6) / 10**6
            won = float(draw < share - shift)
            forecasts.append(Forecast(game, round_number, 0, (share, 1 - share), (won, 1 - won)))
    return forecasts


@pytest.mark.parametrize(("shift", "holds"), [(0.0, True), (0.1, False)])
def test_the_interval_of_the_error_tells_true_forecasts_from_false_ones(shift, holds):
    low, high = reliability.error_interval(drawn_forecasts(600, shift), of_observer)
    assert (low <= 0.01) is holds
    assert high > shift


def test_a_single_game_says_nothing_about_the_error():
    assert reliability.error_interval(drawn_forecasts(1, 0), of_observer) == (0.0, 1.0)


def test_a_dot_on_the_diagonal_is_drawn_there():
    svg = plots.reliability("title", [("one", [plots.Dot(0.5, 0.5, 0.4, 0.6, 1.0)])])
    (circle,) = ElementTree.fromstring(svg).findall(".//{*}circle")
    (diagonal,) = ElementTree.fromstring(svg).findall(".//*[@class='diagonal']")
    ends = {name: float(diagonal.attrib[name]) for name in ("x1", "x2", "y1", "y2")}
    assert float(circle.attrib["cx"]) == pytest.approx((ends["x1"] + ends["x2"]) / 2)
    assert float(circle.attrib["cy"]) == pytest.approx((ends["y1"] + ends["y2"]) / 2)

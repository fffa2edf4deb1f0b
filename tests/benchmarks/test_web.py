"""Every goal of the benchmark of the page can be missed: the figures of a good and of a bad page. Nothing is timed."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from benchmarks import web
from benchmarks.__main__ import main
from benchmarks.report import Measured
from benchmarks.web import GOALS, MEANINGS, Beside, Opening
from server.tables.table import Sitter, Table
from server.web.files import read_files

GOOD = Opening(paint=400, largest=500, answer=900, shift=0.02, blocked=100)


def of_opening(name: str, bad: Opening) -> tuple[Measured, Measured]:
    return web.opening_figures([GOOD] * 5, [GOOD] * 5)[name], web.opening_figures([bad] * 5, [bad] * 5)[name]


# The measurements of a good page and of a bad one.
TWINS: dict[str, tuple[Measured, Measured]] = {
    "desktop_paint_ms": of_opening("desktop_paint_ms", GOOD._replace(paint=501)),
    "desktop_answer_ms": of_opening("desktop_answer_ms", GOOD._replace(answer=1001)),
    "phone_paint_ms": of_opening("phone_paint_ms", GOOD._replace(paint=1801)),
    "phone_largest_ms": of_opening("phone_largest_ms", GOOD._replace(largest=2501)),
    "phone_answer_ms": of_opening("phone_answer_ms", GOOD._replace(answer=3001)),
    "layout_shift": of_opening("layout_shift", GOOD._replace(shift=0.06)),
    "phone_blocked_ms": of_opening("phone_blocked_ms", GOOD._replace(blocked=301)),
    "grpc_cached": (web.beside_figure([Beside(98, 100)] * 5), web.beside_figure([Beside(94, 100)] * 5)),
    "grpc_throughput": (web.beside_figure([Beside(98, 100)] * 5), web.beside_figure([Beside(94, 100)] * 5)),
}


@pytest.mark.parametrize("name", TWINS)
def test_a_bad_page_misses_the_goal_and_a_good_one_does_not(name: str) -> None:
    good, bad = TWINS[name]
    assert GOALS[name].verdict(good[0].value) != "MISSED"
    assert GOALS[name].verdict(bad[0].value) == "MISSED"


def test_all_goals_have_a_meaning_and_one_measurement() -> None:
    assert list(GOALS) == list(MEANINGS)
    assert [name for names in web.MEASURES for name in names] == list(GOALS)
    assert web.FULL.rounds >= 5


def test_the_worse_of_both_layout_shifts_counts() -> None:
    shifted = GOOD._replace(shift=0.2)
    for desktop, phone in (([GOOD], [shifted]), ([shifted], [GOOD])):
        assert web.opening_figures(desktop, phone)["layout_shift"][0].value == 0.2


def test_a_task_blocks_by_what_it_takes_beyond_50_ms_after_the_first_paint() -> None:
    tasks = [(0, 300), (290, 60), (500, 49), (600, 150)]
    assert web.blocked(tasks, since=310) == 10 + 100


def test_the_longest_event_of_a_click_counts() -> None:
    assert web.longest_event([]) == 16
    assert web.longest_event([("click", 40), ("pointerup", 56), ("keydown", 400)]) == 56


def test_the_bundle_is_light() -> None:
    """It has all files but those of the languages that a reader does not read; all of them together miss the goal."""
    value, sizes = web.measure_bundle(web.FULL)["bundle_kb"]
    assert set(sizes) == set(read_files()) - {"/index.html", "/licenses.md"}
    words = sorted(size for path, size in sizes.items() if path[8:11] in ("en-", "fr-", "de-"))
    assert len(words) == 3
    assert value.value * 1000 == sum(sizes.values()) - words[0] - words[1]
    assert GOALS["bundle_kb"].verdict(value.value) != "MISSED"
    assert GOALS["bundle_kb"].verdict(sum(sizes.values()) / 1000) == "MISSED"


def test_the_positions_are_those_of_the_goals() -> None:
    assert len(web.crowded().legal_actions()) > 100
    assert str(web.opening().legal_actions()[0]).startswith("place")


def test_a_missing_browser_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CHROMIUM", raising=False)
    with pytest.raises(SystemExit, match=r"needs Chromium \(Debian: apt-get install chromium.*Playwright"):
        web.run()
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(SystemExit, match="pip install playwright"):
        web.run(only=["pick_ms"])


def test_pages_with_faults_and_twins_that_differ_miss_their_goals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the truth to every seat."""
    few = web.FULL._replace(pairs=30)
    figure, counts = web.measure_twins(few)["twin_differences"]
    assert (figure.value, counts["pairs"]) == (0, 30)
    see = Table.see

    def tell(table: Table, seat: int) -> Any:
        seen = see(table, seat)
        return seen._replace(sitters=[Sitter(str(table.record)), *seen.sitters[1:]])

    monkeypatch.setattr(Table, "see", tell)
    figure, counts = web.measure_twins(few)["twin_differences"]
    assert GOALS["twin_differences"].verdict(figure.value) == "MISSED"
    assert all(counts[game_id] > 0 for game_id in ("oriflamme", "oriflamme_prototype", "castle_village_port"))
    assert GOALS["axe_faults"].verdict(0) != "MISSED"
    assert GOALS["axe_faults"].verdict(1) == "MISSED"


def test_an_unknown_figure_is_refused() -> None:
    with pytest.raises(SystemExit, match="--only: unknown figures: speed; known figures: bundle_kb"):
        main(["web", "--only", "speed"])


def test_the_bundle_is_measured_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_browser() -> Any:
        raise AssertionError

    monkeypatch.setattr(web, "chromium", no_browser)
    assert list(web.run(only=["bundle_kb"]).figures) == ["bundle_kb"]

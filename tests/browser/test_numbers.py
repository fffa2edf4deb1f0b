"""Numbers of the Analyse page, beside those of the moves, are those of the command for the same seed and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from analysis import ITERATIONS, SEED, VIEWS, analysed, compact, link_to, with_effort
from program import run
from waiting import wait_until

Open = Callable[..., Any]
EFFORT = ("--iterations", ITERATIONS, "--seed", SEED)
COMPARED = 400
games = pytest.mark.parametrize("game_id", VIEWS)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def opened(open_page: Open, game_id: str) -> Any:
    page = open_page("#/play")
    with_effort(page)
    with_effort(page, COMPARED, method="CompareStream")
    return analysed(page, link_to(game_id, VIEWS[game_id]))


@games
def test_a_comparison_is_that_of_the_command(game_id: str, open_page: Open) -> None:
    page = opened(open_page, game_id)
    moves = page.locator(".moves button.move").all_inner_texts()[:3]
    for box in page.locator(".moves input[type=checkbox]").all()[:3]:
        box.check()
    page.get_by_role("button", name="Compare in the same worlds").click()
    section = page.get_by_role("region", name="Comparison of pinned moves")
    page.get_by_role("button", name="Compare in the same worlds").wait_for()
    section.locator("li").first.wait_for()
    effort = ("--iterations", COMPARED, "--seed", SEED)
    expected = run("compare", VIEWS[game_id], *moves, "--game", game_id, "--json", *effort).json
    first, *others = expected["actions"]
    shown = [compact(line) for line in section.locator("li").all_inner_texts()]
    assert len(shown) == len(moves) - 1
    for line, other in zip(shown, others, strict=True):
        difference = other["winDifference"]
        by = difference.get("mean", 0)
        assert line == (
            f"{other['action']['text']} wins {percent(abs(by))} {'less' if by < 0 else 'more'} than"
            f" {first['action']['text']} ± {100 * difference['standardError']:.1f}"
        )
    assert f"in the same {int(expected['worlds']):,} worlds" in section.inner_text()
    # The numbers of another seed are others: this test can fail.
    effort = ("--iterations", COMPARED, "--seed", SEED + 1)
    other = run("compare", VIEWS[game_id], *moves, "--game", game_id, "--json", *effort).json
    assert other["actions"][1]["winDifference"] != others[0]["winDifference"]


@games
def test_the_chances_of_ranks_are_those_of_the_command(game_id: str, open_page: Open) -> None:
    page = opened(open_page, game_id)
    if page.get_by_role("button", name="Show all").count():
        page.get_by_role("button", name="Show all").click()
    expected = run("suggest", VIEWS[game_id], "--game", game_id, "--json", *EFFORT).json["candidates"]
    tried = [candidate for candidate in expected if int(candidate.get("visits", 0)) >= 20]
    bars = page.locator(".moves svg.ranks")
    assert bars.count() == len(tried) > 0
    for bar, candidate in zip(bars.all(), tried, strict=True):
        shares = candidate["rankProbabilities"]
        told = ", ".join(f"{rank}: {percent(share)}" for rank, share in enumerate(shares, 1))
        assert bar.get_attribute("aria-label") == told
        widths = [float(part.get_attribute("width")) for part in bar.locator("rect").all()]
        assert widths == pytest.approx([100 * share for share in shares])


def test_what_secrets_are_worth_is_that_of_the_command(open_page: Open) -> None:
    page = opened(open_page, "oriflamme")
    page.keyboard.press("i")
    lines = page.locator(".secrets p")
    expected = run("suggest", VIEWS["oriflamme"], "--information", "--json", *EFFORT).json["information"]
    assert len(expected) == 2
    wait_until(lambda: lines.count() == len(expected) and page.get_by_text("all iterations done").count())
    for line, secret in zip(lines.all(), expected, strict=True):
        worth = secret["winIfShown"]
        sign = "−" if worth["mean"] < 0 else "+"
        guesses = " ".join(
            f"{guess['seat'].removeprefix('SEAT_')} {percent(guess.get('probability', 0))}"
            for guess in secret["guesses"]
        )
        place = secret["spot"]["text"].replace("slot", "Slot")
        assert compact(line.inner_text()).replace(" ;", ";") == (
            f"{secret['card']['name']} ({place}): if all knew it, {sign}{percent(abs(worth['mean']))}"
            f" ± {100 * worth['standardError']:.1f}; it is guessed by {guesses}"
        )

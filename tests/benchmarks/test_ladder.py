"""The ladder: ratings of known strengths, kept games, and the page."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import ladder, pages, plots
from benchmarks.__main__ import main
from benchmarks.ladder import Entrant, Pair, read_entrant
from benchmarks.ratings import Result, fit
from engine_cy import Rng, new_game
from solver import CONFIGS, Budget, InvalidQuestionError, match
from solver.match import share_of
from solver.match.book import header_of

TRUE = (0.0, 80.0, -120.0, 300.0)
PAIRS = ((0, 1), (1, 2), (3, 1), (0, 2), (3, 0))


def drawn(rng, share, players, deals):
    """Return the means of deals of independent games with this share of the win."""
    wins = [[rng.below(10**6) < share * 10**6 for _ in range(players)] for _ in range(deals)]
    return [sum(games) / players for games in wins]


def results_of(seed, deals, players=3):
    rng = Rng(seed)
    return [Result(a, b, n, drawn(rng, share_of(TRUE[a] - TRUE[b], n), n, deals)) for n in (players,) for a, b in PAIRS]


@pytest.mark.parametrize("players", [2, 3, 5])
def test_known_ratings_are_found(players):
    ratings = fit(4, results_of(5, 3000, players), 0)
    assert ratings.elo[0] == 0
    assert ratings.elo == pytest.approx(TRUE, abs=25)
    assert max(ratings.errors) < 25


def test_exact_shares_give_the_elo_of_a_match():
    (result,) = (Result(0, 1, 4, [share_of(130, 4)] * 100_000),)
    assert fit(2, [result], 1).elo[0] == pytest.approx(130, abs=0.1)


def test_games_of_several_numbers_of_players_count_together():
    both = results_of(1, 1500, 3) + results_of(2, 1500, 4)
    assert fit(4, both, 0).elo == pytest.approx(TRUE, abs=30)


def test_ninety_five_percent_of_the_intervals_hold_the_true_elo():
    inside = []
    for seed in range(60):
        ratings = fit(4, results_of(100 + seed, 60), 0)
        inside += [abs(ratings.elo[i] - TRUE[i]) <= ratings.errors[i] for i in range(1, 4)]
    assert 0.90 <= np.mean(inside) <= 0.99


def test_dependent_games_of_a_deal_widen_the_interval():
    independent = Result(0, 1, 3, drawn(Rng(3), 1 / 3, 3, 200))
    dependent = Result(0, 1, 3, [float(Rng(4, i).below(3) == 0) for i in range(200)])
    assert fit(2, [dependent], 1).errors[0] > 1.4 * fit(2, [independent], 1).errors[0]


def test_a_player_who_won_every_game_has_a_finite_elo_and_a_wide_interval():
    ratings = fit(2, [Result(0, 1, 3, [1.0] * 10)], 1)
    assert 200 < ratings.elo[0] < 2000
    assert ratings.errors[0] > ratings.elo[0] / 2


# --- the command ------------------------------------------------------------------------------------------------

GAME = new_game("oriflamme", "en-2019", 3)
ENTRANTS = ("random", "greedy", "plain@30")


def run(capsys, tmp_path, *arguments):
    page = tmp_path / "strength.md"
    if not page.exists():
        page.write_text("# Strength\n")
    options = ["--entrants", *ENTRANTS, "--anchor=plain@30", "--workers=1", f"--work={tmp_path}", f"--page={page}"]
    main(["ladder", *options, "--json", *arguments])
    return json.loads(capsys.readouterr().out.splitlines()[-1])


@pytest.fixture
def played(capsys, tmp_path):
    # The interval of a player without games is wider.
    return run(capsys, tmp_path, "--minutes=5", "--error=1500")


def test_players_are_ranked(played):
    elo = {row["name"]: row["elo"] for row in played["entrants"]}
    assert elo["plain@30"] == 0
    assert elo["random"] < -50
    assert sum(row["games"] for row in played["entrants"]) == 2 * played["games"]


def test_the_same_command_goes_on(capsys, tmp_path, played):
    assert run(capsys, tmp_path, "--minutes=0") == played
    more = run(capsys, tmp_path, "--minutes=0.02")
    assert more["games"] > played["games"]
    assert {pair["seed"] for pair in played["pairs"]} <= {pair["seed"] for pair in more["pairs"]}


def test_another_version_of_the_weights_starts_anew(capsys, tmp_path, monkeypatch, played):
    monkeypatch.setattr(ladder, "weights_digest", lambda game: "others")
    with pytest.raises(SystemExit):
        run(capsys, tmp_path, "--minutes=0")
    assert "there are no games yet" in capsys.readouterr().err


def test_the_page_has_a_section_and_a_plot(capsys, tmp_path, played):
    page = (tmp_path / "strength.md").read_text()
    run(capsys, tmp_path, "--minutes=0")
    assert (tmp_path / "strength.md").read_text() == page
    assert page.count("## oriflamme, en-2019, 3 players") == 1
    assert "| `plain@30` | 30 iterations | +0 | ±0 |" in page
    (plot,) = tmp_path.glob("pictures/*.svg")
    assert f"pictures/{plot.name}" in page
    assert len(ElementTree.parse(plot).findall(".//{*}circle")) == len(played["entrants"])


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("plain@10ms", Budget(thread_time_ms=10)),
        ("default@1.5s", Budget(thread_time_ms=1500)),
        ("flat@1000", Budget(iterations=1000)),
        ("level-6", Budget(iterations=CONFIGS["level-6"].iterations)),
    ],
)
def test_an_entrant_has_its_own_budget(text, budget):
    assert read_entrant(text).budget == budget


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("plain", "needs a budget, such as plain@10ms"),
        ("plain@", "needs a budget"),
        ("plain@fast", "'plain@fast' has no budget of the kind"),
        ("plain@10min", "has no budget"),
        ("none@10ms", "'none' is not one of"),
    ],
)
def test_an_entrant_that_cannot_be_read_is_refused(text, problem):
    with pytest.raises(InvalidQuestionError, match=problem):
        read_entrant(text)


def test_the_file_of_a_pair_names_only_settings_that_differ_from_their_defaults(tmp_path):
    """Settings added later leave the names of kept files as they are."""
    matches = ladder.Matches(GAME, [read_entrant("plain@5"), read_entrant("random")], 1, tmp_path)
    header = header_of(matches.match_of(Pair(0, 1)))["match"]
    assert header["a"]["player"] == {"name": "plain"}
    assert header["b"]["player"] == {"name": "random", "how": "random"}


def test_a_pair_with_other_settings_has_another_file(tmp_path):
    game = GAME
    weak = read_entrant("level-1")
    other = Entrant("level-1", replace(CONFIGS["level-1"], exploration=2.0), weak.budget)
    files = [ladder.Matches(game, [entrant, weak], 1, tmp_path).path_of(Pair(0, 1)) for entrant in (weak, other)]
    assert files[0] != files[1]


@pytest.mark.parametrize("names", [("level-2", "level-1"), ("plain@20", "level-3"), ("plain@20", "random")])
def test_deals_without_python_are_those_of_a_match(tmp_path, names):
    entrants = [read_entrant(name) for name in names]
    matches = ladder.Matches(GAME, entrants, 1, tmp_path)
    pair = Pair(0, 1)
    assert ladder.is_fast(matches.match_of(pair)) == ("random" not in names)
    for deals in (2, 1):
        matches.play(pair, deals, None)
    assert matches.played[pair] == match.run(matches.match_of(pair), 3).deals
    assert json.loads(matches.path_of(pair).read_text().splitlines()[0])["match"]["a"]["name"] == names[0]


# --- pages and plots --------------------------------------------------------------------------------------------


def test_a_section_replaces_the_one_of_its_name_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nText.\n")
    pages.replace_section(page, "b", "second")
    pages.replace_section(page, "a", "first")
    pages.replace_section(page, "b", "third")
    text = page.read_text()
    assert text.startswith("# Title\n\nText.\n")
    assert "second" not in text
    assert text.index("first") < text.index("third")


@pytest.mark.parametrize("width", [8, 12, 47, 160, 900, 2500])
def test_a_scale_has_few_round_steps(width):
    step = plots.step_of(width, 6)
    assert 1 < width / step <= 6
    assert str(step)[0] in "125"


def test_a_long_name_has_room_beside_the_plot():
    name = "openspiel:rollouts=engine@1000"
    svg = ElementTree.fromstring(plots.intervals("title", "Elo", [plots.Interval(name, 1, 0, 2)]))
    (label,) = [text for text in svg.findall(".//{*}text") if text.text == name]
    assert float(label.attrib["x"]) > 7 * len(name)


def test_words_in_a_plot_are_escaped():
    svg = plots.intervals("a < b & c", "Elo", [plots.Interval("<x>", 1, 0, 2)])
    assert ElementTree.fromstring(svg).findtext("{*}title") == "a < b & c"

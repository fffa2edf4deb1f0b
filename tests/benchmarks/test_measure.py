"""The measurements of the benchmarks; no test here asserts a time."""

from __future__ import annotations

import json
import os
import re

import pytest

from benchmarks import engine, measure, search
from benchmarks.__main__ import main
from benchmarks.measure import Busy, Effort, Rounds, Side, alone, alternate, figure
from benchmarks.report import Goal, as_json, table
from engine_cy import new_game
from solver.signature import measure as measure_rulesets


def test_a_figure_is_the_median_of_the_rounds():
    assert figure([5.0, 1.0, 3.0]).value == 3.0


def test_one_interrupted_round_does_not_count_for_the_spread():
    assert figure([10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 99.0]).spread == 0
    assert figure([10.0, 10.5, 10.0, 10.0, 10.0, 99.0, 9.0]).spread == pytest.approx(0.05)


def test_a_difference_may_be_negative_or_nothing():
    assert figure([-1.0, -1.0, -1.5, -1.0]).spread == pytest.approx(0.5)
    assert figure([0.0, 0.0, 0.0]) == (0.0, 0.0)


@pytest.mark.parametrize(("far", "noisy"), [(11.4, False), (11.6, True)])
def test_a_spread_above_15_percent_is_noisy(far, noisy):
    assert figure([9.0, 10.0, 10.0, 10.0, 10.0, far, far]).noisy is noisy


def test_a_ratio_is_the_median_of_the_ratios_in_each_round():
    # In the second round the machine was half as fast for both sides.
    rounds = Rounds({"ours": [30.0, 15.0, 33.0], "theirs": [10.0, 5.0, 10.0]})
    assert rounds.times_as_fast("ours", "theirs").value == 3.0
    assert rounds.rate("ours").value == 30.0
    assert rounds.ns("theirs") == 1e8


def test_against_several_the_median_of_each_round_counts():
    rounds = Rounds({"ours": [12.0, 12.0], "a": [1.0, 6.0], "b": [2.0, 2.0], "c": [6.0, 1.0]})
    assert rounds.times_as_fast("ours", "a", "b", "c").value == 6.0


def test_against_the_best_of_several_the_fastest_of_each_round_counts():
    rounds = Rounds({"ours": [12.0, 12.0], "a": [1.0, 6.0], "b": [2.0, 2.0], "c": [6.0, 1.0]})
    assert rounds.times_as_fast("ours", "a", "b", "c", of_others=max).value == 2.0


def test_a_side_is_measured_by_its_own_clock():
    ticks = iter(range(0, 10**12, 10**9))
    rounds = alternate([Side("a", lambda n: 5.0, lambda: next(ticks))], Effort(rounds=3, seconds=1.0))
    assert rounds.rates == {"a": [5.0, 5.0, 5.0]}


def test_the_sides_take_turns():
    turns = []

    def side(name: str) -> Side:
        def run(n: int) -> float:
            turns.append(name)
            return sum(1 for _ in range(1000 * n)) / 1000

        return Side(name, run)

    rounds = alternate([side("a"), side("b")], Effort(rounds=4, seconds=0.001))
    assert turns[-8:] == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert [len(rates) for rates in rounds.rates.values()] == [4, 4]


def test_the_lock_refuses_a_second_holder_and_names_the_first(tmp_path):
    path = tmp_path / "build" / "benchmarks.lock"
    with alone(path):
        with pytest.raises(
            Busy, match=rf"another benchmark is running \(process {os.getpid()} holds .*benchmarks.lock"
        ):
            alone(path).__enter__()
        # The refused attempt has not released the lock.
        with pytest.raises(Busy):
            alone(path).__enter__()
    with alone(path):
        pass


def test_a_timed_suite_does_not_start_while_another_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(measure, "LOCK", tmp_path / "benchmarks.lock")
    with alone(), pytest.raises(SystemExit, match="another benchmark is running"):
        main(["engine"])


@pytest.mark.parametrize(
    ("goal", "verdicts"),
    [
        (Goal(5, 7), {4.9: "MISSED", 5: "met", 7: "close to the limit"}),
        (Goal(2, 1.5), {2.1: "MISSED", 2: "met", 1.5: "close to the limit"}),
    ],
)
def test_a_goal_is_met_from_its_bound_on(goal, verdicts):
    assert {value: goal.verdict(value) for value in verdicts} == verdicts


def test_the_table_marks_noisy_figures():
    goals = {"calm": Goal(5, 7), "shaken": Goal(2, 1.5)}
    lines = table(goals, {"calm": figure([6.0]), "shaken": figure([1.0, 2.0, 2.0, 3.0])}).splitlines()
    assert lines[0].split() == ["figure", "measured", "spread", "goal", "close"]
    assert lines[1].split() == ["calm", "6.00", "0%", ">=", "5", ">=", "7", "met"]
    assert lines[2].split() == ["shaken", "2.00", "100%", "<=", "2", "<=", "1.5", "met,", "noisy"]


@pytest.mark.parametrize("subject", [engine.ENGINE, engine.CASTLE], ids=lambda subject: subject.name)
def test_the_engine_suites_print_every_figure(subject):
    result = engine.run(subject, engine.QUICK)
    printed = json.loads(json.dumps(as_json(result)))
    assert set(printed) == {
        *engine.MEASURES,
        "spread",
        "noisy",
        "raw",
        "sizeof_state",
        "decisions_per_game",
        "branching",
        "load",
    }
    assert all(printed[name] > 0 for name in engine.MEASURES)
    assert printed["sizeof_state"] % 16 == 0
    tables = {edition: "".join(counted) for edition, counted in printed["decisions_per_game"].items()}
    assert (
        tables
        == {
            "engine": {"fr-2019": "345", "en-2019": "345", "de-2019": "345", "revised": "345", "prototype": "234"},
            "castle": {"house": "345"},
        }[subject.name]
    )
    assert {edition: "".join(counted) for edition, counted in printed["branching"].items()} == tables
    kind, least = {"engine": ("reveal", 2), "castle": ("select", 4)}[subject.name]
    assert least <= printed["branching"][subject.game[1]]["4"][kind]["mean"] < 7
    text = engine.as_text(subject, result)
    assert all(name in text for name in engine.MEASURES)


def test_the_search_suite_prints_every_figure():
    result = search.run(search.QUICK)
    printed = json.loads(json.dumps(as_json(result)))
    assert set(printed) == {*search.GOALS, "spread", "noisy", "raw", "load"}
    assert set(search.MEASURES) == set(search.MEANINGS) == set(search.GOALS)
    assert all(printed[name] > 0 for name in search.GOALS)
    assert printed["raw"]["tree"]["iterations"] == search.QUICK.iterations
    assert printed["raw"]["cancellations"] == 4 * search.QUICK.cancel_rounds
    assert len(printed["raw"]["cancel_ms"]) == 4
    assert printed["raw"]["decisions_per_simulation"] == pytest.approx(65, rel=0.2)
    text = search.as_text(result)
    assert all(name in text for name in search.GOALS)


def test_99_of_100_values_are_at_most_the_99th_percentile():
    assert search.percentile_99([float(n) for n in range(1, 201)]) == 198.0
    assert search.percentile_99([3.0]) == 3.0
    assert search.percentile_99([1.0, 2.0, 3.0]) == 3.0


def test_games_have_as_many_decisions_as_the_reference_games():
    for players, reference in engine.ENGINE.reference_decisions.items():
        counted = engine.decisions_per_game(new_game("oriflamme", "en-2019", players), 2000)
        assert counted == pytest.approx(reference, rel=engine.REFERENCE_TOLERANCE)


@pytest.mark.parametrize("game", ["oriflamme_prototype", "castle_village_port"])
def test_python_and_the_engine_count_the_same_decisions(game):
    counted = engine.branching(new_game(game, players=4), 100)
    in_python = sum(kind["per_game"] for kind in counted.values())
    assert in_python == pytest.approx(engine.decisions_per_game(new_game(game, players=4), 2000), rel=0.05)


def test_the_signature_stays_the_same_and_depends_on_what_is_played():
    rulesets = [("castle_village_port", "house"), ("kuhn_poker", "standard")]
    two_deals = measure_rulesets(rulesets, deals=2)
    assert measure_rulesets(rulesets, deals=2) == two_deals
    assert measure_rulesets(rulesets, deals=3).total != two_deals.total
    assert len(two_deals.total) == 16


@pytest.mark.slow
def test_the_signature_is_one_line(capsys):
    main(["signature"])
    assert re.fullmatch(r"signature: [0-9a-f]{16}\n", capsys.readouterr().out)

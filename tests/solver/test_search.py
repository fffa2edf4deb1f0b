"""The search: answers, limits, tactics, comparisons, confidence, and interruption."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from typing import Any

import pytest
from known_kuhn import known_kuhn
from ray_processes import cpu_ticks
from tables import ALL_IDS, ALL_SPECS, random_game
from waiting import HANG_S, wait_until

from engine_cy import View, new_game
from solver import CONFIGS, Budget, Comparison, Config, Estimate, InvalidQuestionError, SearchQuestion, compare, solve
from solver.merge import Tally
from solver.pool.base import compute_here
from solver.pool.parts import begin_part, tallies_of
from solver.search import Searcher
from solver.stopping import is_sure

PLAIN = CONFIGS["plain"].settings(None)


def views(spec: tuple[str, Any, int], seed: int, every: int = 9) -> list[View]:
    """Return views of the player to act at some tables of a random game at which they have a choice."""
    game = new_game(*spec)
    played = [position for position, _ in random_game(game, seed) if len(position.legal_actions()) > 1]
    return [position.view(position.to_act or 0) for position in played[::every] if position.to_act != -1]


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_the_visits_of_all_moves_sum_to_the_iterations(spec: tuple[str, Any, int]) -> None:
    for view in views(spec, seed=1):
        for config in ("flat", "pimc", "plain", "default"):
            answer = solve(view, Budget(iterations=200), config=config, seed=3)
            assert sum(move.visits for move in answer.moves) == answer.iterations == 200
            assert {move.action for move in answer.moves} == set(view.legal_actions())
            assert answer.best in view.legal_actions()


@pytest.mark.parametrize("spec", ALL_SPECS, ids=ALL_IDS)
def test_equal_questions_have_equal_answers(spec: tuple[str, Any, int]) -> None:
    for view in views(spec, seed=2, every=20):
        one = compute_here(SearchQuestion(view, Budget(iterations=301), seed=5, shares=2))
        other = solve(view, Budget(iterations=301), seed=5, shares=2)
        assert one.moves == other.moves
        assert one.reproducible
        assert (one.best, one.nodes, one.worlds, one.tree_bytes) == (
            other.best,
            other.nodes,
            other.worlds,
            other.tree_bytes,
        )


def test_different_seeds_give_different_searches() -> None:
    view = views(ALL_SPECS[0], seed=2)[1]
    assert len({solve(view, Budget(iterations=300), seed=seed).moves for seed in range(5)}) == 5


# Positions that a competent search must solve. A is to act; the hands of the opponents only complete the position.
TACTICS = {
    "a Decree replays the only face-up Heir": (
        "A1:Heir* B1:Lord* C1:Spy* C2:Heir(1) B2:Soldier* >A2:Decree | round 6 | points 10 11 5"
        " | hands Ambush Heir Ambush | piles Lord,Soldier,Archer,Assassination Archer,Ambush,Assassination,Spy"
        " Assassination,Archer,Lord,Soldier",
        # To the end of the queue or onto the Decree itself: the Heir acts again either way.
        ["reveal", "move 0 to 6", "move 0 on 5"],
    ),
    "an Assassination clears the way for the own Heir": (
        ">A:Assassination C:Lord* B:Heir* A:Heir* C:Spy* | round 6 | points 10 12 8 | hands Ambush Soldier Ambush"
        " | piles Lord,Soldier,Archer,Decree Archer,Ambush,Assassination,Spy,Lord Archer,Assassination,Heir,Soldier",
        ["reveal", "target 2"],
    ),
    "a Spy robs the leader": (
        "B:Heir* >A:Spy* C:Heir* | round 6 | points 11 12 9 | ask A rob | hands Ambush Soldier Ambush"
        " | piles Lord,Soldier,Archer,Decree,Assassination Archer,Ambush,Assassination,Lord,Spy"
        " Archer,Assassination,Spy,Soldier,Lord",
        ["rob B"],
    ),
    "an Archer shoots the own Ambush": (
        "A:Ambush(1) C:Heir* >A:Archer* B:Heir*/B:Spy(1)/B:Lord(1) | round 6 | points 10 11 4 | ask A target"
        " | hands Heir Soldier Ambush | piles Lord,Soldier,Spy,Decree Archer,Ambush,Assassination"
        " Archer,Lord,Assassination,Soldier,Spy",
        ["target 0"],
    ),
    "an Ambush beside a lone Soldier stays hidden": (
        "C:Lord* >A:Ambush(1) B:Soldier* | round 4 | points 7 7 7 | hands Heir,Decree,Conspiracy Lord,Heir,Spy"
        " Soldier,Spy,Ambush | piles Lord,Soldier,Archer Archer,Ambush,Assassination Assassination,Archer,Heir",
        ["keep"],
    ),
    "a Shapeshifter copies the Lord, not the Heir": (
        "C:Shapeshifter* B:Heir* >A:Shapeshifter B:Lord* C:Spy* | round 6 | points 10 10 4 | hands Heir Soldier Ambush"
        " | piles Lord,Soldier,Archer,Decree,Assassination Archer,Ambush,Assassination,Spy"
        " Archer,Heir,Assassination,Lord",
        ["reveal", "copy 3"],
    ),
    "a Soldier between own cards is not revealed": (
        "A:Lord* >A:Soldier(1) A:Heir* B:Spy* C:Spy C:Lord* B:Lord(1) B:Assassination C:Soldier(1) | round 3"
        " | points 5 5 5 | hands Archer,Assassination,Ambush,Conspiracy Archer,Heir,Ambush,Conspiracy"
        " Archer,Heir,Ambush,Conspiracy",
        ["keep"],
    ),
}


@pytest.mark.parametrize("name", TACTICS)
@pytest.mark.parametrize("config", ["plain", "default"])
@pytest.mark.parametrize(
    "budget", [Budget(iterations=2500), pytest.param(Budget(thread_time_ms=5), marks=pytest.mark.slow)], ids=str
)
def test_the_search_finds_tactics(name: str, budget: Budget, config: str) -> None:
    text, (*before, best) = TACTICS[name]
    best_actions = {best}
    if name.startswith("a Decree"):
        *before, other = before
        best_actions.add(other)
    position = new_game("oriflamme", "en-2019", 3).position(text)
    for action in before:
        assert {str(solve(position.view("A"), budget, seed=seed, config=config).best) for seed in range(20)} == {action}
        position = position.play(action)
    assert {str(solve(position.view("A"), budget, seed=seed, config=config).best) for seed in range(20)} <= best_actions


def test_a_forced_decision_is_answered_at_once() -> None:
    view = new_game("oriflamme").position(">A:Soldier* B:Spy C:Heir").view("A")
    answer = solve(view, Budget(iterations=10**9))
    assert str(answer.best) == "target 1"
    assert (answer.stopped_by, answer.iterations) == ("forced", 0)


def test_a_search_goes_on_when_its_tree_is_full() -> None:
    view = views(ALL_SPECS[0], seed=3)[0]
    answer = solve(view, Budget(iterations=60_000, memory_mb=0.25))
    assert answer.iterations == sum(move.visits for move in answer.moves) == 60_000
    assert answer.tree_bytes <= 0.25 * 2**20
    assert solve(view, Budget(iterations=60_000)).tree_bytes > 0.25 * 2**20


def test_a_time_limit_ends_the_search() -> None:
    view = views(ALL_SPECS[0], seed=3)[0]
    for budget in (Budget(time_ms=20), Budget(thread_time_ms=20)):
        answer = solve(view, budget)
        assert answer.stopped_by == "time"
        assert answer.iterations > 0
        assert not answer.reproducible
    assert solve(view, Budget(time_ms=60_000, iterations=500)).stopped_by == "iterations"


def test_a_stopped_searcher_does_no_iteration() -> None:
    searcher = Searcher(views(ALL_SPECS[0], seed=3)[0], PLAIN, 2**24, 1, 0)
    searcher.stop()
    assert searcher.run(10**12) == "stopped"
    assert searcher.iterations == 0


def test_a_search_is_stopped_from_another_thread() -> None:
    searcher = Searcher(views(ALL_SPECS[0], seed=3)[0], PLAIN, 2**24, 1, 0)
    reasons: list[str] = []
    thread = threading.Thread(target=lambda: reasons.append(searcher.run(10**12)))
    thread.start()
    wait_until(lambda: searcher.iterations)
    searcher.stop()
    thread.join(timeout=HANG_S)
    assert reasons == ["stopped"]


def test_a_search_in_several_runs_equals_one_run() -> None:
    whole = Searcher(views(ALL_SPECS[0], seed=3)[0], PLAIN, 2**24, 1, 0)
    resumed = Searcher(views(ALL_SPECS[0], seed=3)[0], PLAIN, 2**24, 1, 0)
    whole.run(1000)
    for _ in range(10):
        resumed.run(100)
    assert whole.results() == resumed.results()


def test_moves_without_visits_share_their_tally() -> None:
    """A search of many moves in many shares took memory for each move of each share, visited or not."""
    question = SearchQuestion(views(ALL_SPECS[0], seed=3)[0], Budget(iterations=1))
    searcher = begin_part(question, 0)
    nothing = {id(tally) for tally in tallies_of(searcher)}
    assert len(nothing) == 1
    searcher.run(1)
    tallies = tallies_of(searcher)
    assert sum(tally.visits for tally in tallies) == 1
    assert {id(tally) for tally in tallies if not tally.visits} == nothing


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (Budget(iterations=0), "budget.iterations: 0 is not in 1.."),
        (Budget(iterations=True), "budget.iterations: True is not in"),
        (Budget(iterations=2.5), "budget.iterations: 2.5 is not in"),  # type: ignore[arg-type]
        (Budget(time_ms=-1), "budget.time_ms: -1 is not in"),
        (Budget(time_ms=float("nan")), "budget.time_ms: nan is not in"),
        (Budget(memory_mb=0), "budget.memory_mb: 0 is not in"),
        (Budget(time_ms=1, thread_time_ms=1), "thread_time_ms: cannot be combined with time_ms"),
    ],
)
def test_invalid_budgets_are_refused(budget: Budget, message: str) -> None:
    with pytest.raises(InvalidQuestionError) as refusal:
        solve(views(ALL_SPECS[0], seed=3)[0], budget)
    assert message in str(refusal.value)


def test_invalid_questions_are_refused() -> None:
    view = views(ALL_SPECS[0], seed=3)[0]
    with pytest.raises(
        InvalidQuestionError, match="config: 'clever' is not one of random, greedy, flat, pimc, plain, default"
    ):
        solve(view, config="clever")
    with pytest.raises(InvalidQuestionError, match="shares: 0 is not in 1"):
        solve(view, shares=0)
    game = new_game("oriflamme")
    with pytest.raises(InvalidQuestionError, match="view: the game is over"):
        solve(game.deal().play_out().view("A"))


def test_win_points_and_ranks_are_estimates_of_possible_results() -> None:
    view = new_game("oriflamme").position("A:Heir/A:Spy >A:Lord(1) B:Heir* | round 6 | points 5 5 1").view("A")
    answer = solve(view, Budget(iterations=400), seed=1, config="plain")
    for move in answer.moves:
        assert move.win is not None
        assert move.points is not None
        assert 0 <= move.win.mean <= 1
        assert sum(move.ranks) == pytest.approx(1)
        assert sum(move.seats) == pytest.approx(1)
        assert move.win.error <= 0.5
    assert str(answer.best) == "reveal"
    assert answer.move("reveal").points.mean > answer.move("keep").points.mean  # type: ignore[union-attr]
    with pytest.raises(KeyError, match="'dance' is not one of"):
        answer.move("dance")


def test_a_move_counts_the_playouts_behind_its_ranks() -> None:
    """`default` replaces the end of most playouts by an evaluation, which has no ranks."""
    view = new_game("oriflamme").deal(3).view("A")
    uncalibrated = replace(CONFIGS["default"], trust=0.9)
    cut, whole = (solve(view, Budget(iterations=600), seed=1, config=config) for config in (uncalibrated, "plain"))
    assert all(move.ended == move.visits for move in whole.moves)
    assert 0 < sum(move.ended for move in cut.moves) < 300
    for move in cut.moves:
        assert move.ended <= move.visits
        assert bool(move.ranks) == bool(move.ended)
        assert all(move.ended * share == pytest.approx(round(move.ended * share)) for share in move.ranks)


def test_variants_of_a_configuration_give_different_searches() -> None:
    view = views(ALL_SPECS[0], seed=2)[1]
    plain = solve(view, Budget(iterations=500), seed=1)
    for variant in (
        replace(CONFIGS["plain"], nodes="own"),
        replace(CONFIGS["plain"], exploration=0.9),
        replace(CONFIGS["plain"], worlds=5),
    ):
        assert solve(view, Budget(iterations=500), seed=1, config=variant).moves != plain.moves
    assert solve(view, Budget(iterations=500), config=Config("mine", worlds=5)).worlds == 5
    assert PLAIN.world_repeats == 1


def test_two_decisions_are_compared_on_the_same_worlds() -> None:
    text, _ = TACTICS["an Ambush beside a lone Soldier stays hidden"]
    view = new_game("oriflamme", "en-2019", 3).position(text).view("A")
    comparison = compare(view, ["reveal", "keep"], Budget(iterations=2000), seed=1)
    difference = gain_of_second(comparison)
    assert difference.mean > 0.1
    assert difference.mean > 4 * difference.error
    assert (comparison.worlds, comparison.iterations) == (2000, 4000)
    back = gain_of_second(compare(view, ["keep", "reveal"], Budget(iterations=2000), seed=1))
    assert back.mean == pytest.approx(-difference.mean)
    assert str(comparison).startswith("reveal  (2000 worlds, ")
    assert re.search(r"keep +win \+", str(comparison))


def gain_of_second(comparison: Comparison) -> Estimate:
    """Return how much more the second of two moves wins than the first."""
    difference = comparison.moves[1].win_difference
    assert difference is not None
    return difference


def test_a_paired_difference_has_a_smaller_error_than_two_separate_searches() -> None:
    view = new_game("oriflamme", "en-2019", 3).deal(seed=7).view("A")
    one, other = (str(action) for action in view.legal_actions()[:2])
    paired = gain_of_second(compare(view, [one, other], Budget(iterations=4000)))
    separate = solve(view, Budget(iterations=8000), config="flat")
    spreads = [separate.move(action).win.spread for action in (one, other)]  # type: ignore[union-attr]
    assert paired.spread < (spreads[0] ** 2 + spreads[1] ** 2) ** 0.5


def test_invalid_comparisons_are_refused() -> None:
    view = views(ALL_SPECS[0], seed=3)[0]
    legal = [str(action) for action in view.legal_actions()]
    with pytest.raises(InvalidQuestionError, match=r"actions\[1\]: 'dance' is not one of"):
        compare(view, [legal[0], "dance"])
    with pytest.raises(InvalidQuestionError, match=r"actions\[2\]: '.*' is named twice"):
        compare(view, [*legal[:2], legal[0]])
    for number in (0, 1, 17):
        with pytest.raises(InvalidQuestionError, match=f"actions: {number} moves; 2 to 16 can be compared"):
            compare(view, (legal * 17)[:number])
    with pytest.raises(InvalidQuestionError, match="config: 'random' does not search; a comparison needs a search"):
        compare(view, legal[:2], config="random")
    with pytest.raises(InvalidQuestionError, match=r"view: it is [BC]'s turn, not the observer's \(A\)"):
        compare(new_game("oriflamme").deal(first=1).view("A"), legal[:2])
    with pytest.raises(
        InvalidQuestionError, match=r"budget\.iterations: \d+ are too many for the memory budget; \d+ fit"
    ):
        compare(view, legal[:2], Budget(iterations=10**6, memory_mb=1))


def test_a_search_stops_when_it_is_sure() -> None:
    text, _ = TACTICS["a Spy robs the leader"]
    view = new_game("oriflamme", "en-2019", 3).position(text).view("A")
    budget = Budget(iterations=1_000_000, confidence=0.95)
    answer = solve(view, budget, config=Config("wide", exploration=2.0), seed=1)
    assert answer.stopped_by == "confidence"
    assert answer.iterations < 100_000
    assert str(answer.best) == "rob B"
    repeated = solve(view, budget, config=Config("wide", exploration=2.0), seed=1)
    assert repeated.moves == answer.moves
    # Between equivalent moves there is no confidence.
    equal_moves = (
        new_game("oriflamme", "en-2019", 3).position("C:Lord >A:Spy* B:Lord | ask A rob | points 9 5 5").view("A")
    )
    assert solve(equal_moves, Budget(iterations=20_000, confidence=0.95)).stopped_by == "iterations"


SIX_BY_TWO: Any = ("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2)
# Moves that only the observer's own hidden cards force; the other players see a choice.
SECRETLY_FORCED: dict[str, tuple[Any, str, str]] = {
    "a face-down Ambush, which may only be kept": (
        ("oriflamme_prototype", "prototype", 3),
        ">A:Ambush B:? C:? | round 1 | ask A reveal | seen by A",
        ">A:Spy B:? C:? | round 1 | ask A reveal | seen by A",
    ),
    "two equal cards in hand": (
        SIX_BY_TWO,
        "- | round 6 | first A | ask A place | hands Spy,Spy ? | seen by A",
        "- | round 6 | first A | ask A place | hands Spy,Lord ? | seen by A",
    ),
}


@pytest.mark.parametrize("name", SECRETLY_FORCED)
def test_a_secretly_forced_move_takes_the_iterations_of_a_free_one(name: str) -> None:
    spec, forced, free = SECRETLY_FORCED[name]
    budget = Budget(iterations=6000, confidence=0.999_9)
    view, twin = (new_game(*spec).view(text) for text in (forced, free))
    assert [len(one.legal_actions()) for one in (view, twin)] == [1, 2]
    for shares in (1, 3):
        answers = [solve(one, budget, seed=1, shares=shares) for one in (view, twin)]
        assert [(answer.stopped_by, answer.total.iterations) for answer in answers] == [("iterations", 6000)] * 2
    # The same holds if `among` has one move that is legal in both.
    common = (set(map(str, view.legal_actions())) & set(map(str, twin.legal_actions()))).pop()
    narrow_answers = [solve(one, budget, among=[common]) for one in (view, twin)]
    assert [(answer.stopped_by, answer.total.iterations) for answer in narrow_answers] == [("iterations", 6000)] * 2


def test_confidence_needs_visits_and_a_gap_and_more_of_both_the_higher_it_is() -> None:
    def tally(visits: int, wins: int) -> Tally:
        return Tally(1, (visits, 0, float(wins), float(wins), 0, 0, 0, 0))

    assert not is_sure([tally(29, 29), tally(10_000, 0)], 0, 0.5)
    assert is_sure([tally(1000, 900), tally(1000, 100)], 0, 0.99)
    assert not is_sure([tally(1000, 510), tally(1000, 490)], 0, 0.9)
    close_tallies = [tally(1000, 640), tally(1000, 400)]
    assert is_sure(close_tallies, 0, 0.6)
    assert not is_sure(close_tallies, 0, 0.999_9)


def test_a_confidence_of_95_percent_is_wrong_in_at_most_5_percent_of_races() -> None:
    """Each of 300 races is between arms of 0.5 and 0.45."""
    draw = random.Random(8)
    n_wrong = n_ended = 0
    for _ in range(300):
        wins, n = [0, 0], 0
        for _ in range(40):
            n += 250
            wins = [
                wins[0] + sum(draw.random() < 0.5 for _ in range(250)),
                wins[1] + sum(draw.random() < 0.45 for _ in range(250)),
            ]
            tallies = [Tally(1, (n, 0, float(w), float(w), 0, 0, 0, 0)) for w in wins]
            if is_sure(tallies, 0, 0.95):
                n_ended += 1
                n_wrong += wins[1] > wins[0]
                break
    assert n_ended > 100
    assert n_wrong <= 15


def test_near_equal_moves_are_mixed_and_clear_ones_are_not() -> None:
    equal_moves = new_game("oriflamme", "en-2019", 3).position("C:Lord >A:Spy* B:Lord | ask A rob | points 9 5 5")
    answer = solve(equal_moves.view("A"), Budget(iterations=4000), seed=3, config="plain")
    assert {str(action) for action, _ in answer.mix} == {"rob B", "rob C"}
    assert sum(share for _, share in answer.mix) == pytest.approx(1)
    assert answer.mix[0][0] == answer.best
    text, _ = TACTICS["a Spy robs the leader"]
    clear = new_game("oriflamme", "en-2019", 3).position(text).view("A")
    assert solve(clear, Budget(iterations=4000)).mix == ((clear.game.action("rob B"), 1.0),)


def test_a_game_without_knowledge_is_searched_as_with_plain() -> None:
    # No weights fit this table, whose rewards are far from the house's.
    view = views(("castle_village_port", {"rewards": {"castle": [50]}}, 3), seed=1)[1]
    answer = solve(view, Budget(iterations=400), seed=2)
    assert (answer.question.config.name, answer.knowledge) == ("default", "none")
    assert answer.moves == solve(view, Budget(iterations=400), seed=2, config="plain").moves
    with pytest.raises(InvalidQuestionError, match="'greedy' needs knowledge, and castle_village_port has none"):
        solve(view, config="greedy")
    oriflamme = views(ALL_SPECS[0], seed=2)[1]
    assert solve(oriflamme, Budget(iterations=400)).knowledge == "oriflamme"
    assert solve(oriflamme, Budget(iterations=400), config="plain").knowledge == "none"


def test_greedy_moves_are_legal_and_depend_only_on_the_view() -> None:
    for spec in ALL_SPECS[:-3]:
        for view in views(spec, seed=4, every=13):
            answer = solve(view, config="greedy", seed=3)
            assert answer.best in view.legal_actions()
            assert solve(view.sample_world(9).view(view.observer), config="greedy", seed=3).best == answer.best


HAND = "Archer,Assassin,Spy,Heir,Queen,Lord"
HANDS = " Archer,Assassin,Soldier,Spy,Heir,Queen Archer,Assassin,Soldier,Heir,Queen,Lord"


def test_a_kept_ambush_is_searched_like_any_other_card() -> None:
    """The prototype's Ambush may only be kept; neither the effort nor the views may reveal it."""
    game = new_game("oriflamme_prototype", "prototype", 3)
    tables = [game.position(f">A:{card} B:Lord C:Spy | hands {HAND}{HANDS}") for card in ("Ambush", "Soldier")]
    efforts = []
    for table in tables:
        answer = solve(table.view("A"), Budget(iterations=700), seed=1)
        efforts.append((answer.iterations, answer.worlds, answer.stopped_by, sum(move.visits for move in answer.moves)))
    assert efforts == [(700, 700, "iterations", 700)] * 2
    for observer in ("B", "C"):
        views_after = [table.view(observer).play("keep") for table in tables]
        assert views_after[0] == views_after[1]
        assert views_after[0].key == views_after[1].key
        assert tables[0].seen("keep", observer) == tables[1].seen("keep", observer) == "keep"


def test_a_kept_ambush_takes_the_time_of_any_other_card() -> None:
    game = new_game("oriflamme_prototype", "prototype", 3)
    for card in ("Ambush", "Soldier"):
        view = game.position(f">A:{card} B:Lord C:Spy | hands {HAND}{HANDS}").view("A")
        answer = solve(view, Budget(time_ms=30))
        assert answer.stopped_by == "time"
        assert answer.elapsed_ms >= 30


@pytest.mark.parametrize("shares", [1, 2])
def test_a_long_search_can_be_interrupted(shares: int) -> None:
    program = (
        "from engine_cy import new_game; from solver import Budget, solve; print('go', flush=True);"
        f"solve(new_game('oriflamme').deal().view('A'), Budget(iterations=10**11), shares={shares})"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    before = cpu_ticks(process.pid)
    wait_until(lambda: cpu_ticks(process.pid) > before + 10)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=HANG_S)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors


def test_opponents_in_the_tree_prefer_what_suits_the_hand_of_each_world() -> None:
    """With a huge exploration constant, visits follow the prior: B calls with the King and folds with the Queen."""
    config = Config("prior", selection="puct", exploration=1e6)
    answer = solve(known_kuhn().view("J ? | first A | seen by A"), Budget(iterations=4000), config=config, seed=1)
    (bet,) = [move for move in answer.moves if str(move.action) == "bet"]
    assert bet.points is not None
    # A loses two chips in half of the worlds, and wins one in the others.
    assert bet.points.mean == pytest.approx(-0.5, abs=0.3)

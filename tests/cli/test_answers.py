"""eminence suggest, compare, rules and bench print the answers of the solver and the tables of the rules."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable
from enum import IntEnum, IntFlag
from typing import Any

import pytest
from certificates import make_certificate
from google.protobuf import json_format
from process import server
from program import CASTLE, VIEW, command, environment, random_record, run
from tokens import write_tokens

from eminence.v1 import solver_pb2 as pb
from engine_cy import game_ids, new_game
from engine_cy.castle_village_port import words as castle_words
from engine_cy.castle_village_port.cards import HOUSE
from engine_cy.oriflamme import words
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from engine_cy.oriflamme.editions import EDITIONS, SWITCHES
from server.cli.commands import suggest
from server.languages import words_of
from solver import Budget, compare, information, solve
from solver.config import CONFIGS, LEVELS

FEW = ("--iterations", "300", "--seed", "7")
GAME = new_game("oriflamme", "en-2019", 3)


def suggestion(*args: object, **more: str) -> pb.Suggestion:
    """Return the message that `--json` prints."""
    result = run("suggest", *args, "--json", **more)
    assert result.code == 0, result.err
    return json_format.ParseDict(result.json, pb.Suggestion())


# --- suggest ---------------------------------------------------------------------------------------------------


def test_suggest_prints_the_answer_of_the_solver():
    message = suggestion(VIEW, *FEW)
    answer = solve(GAME.view(VIEW), Budget(iterations=300), seed=7, lines=8)
    assert message.best.text == str(answer.best)
    assert [candidate.visits for candidate in message.candidates] == [move.visits for move in answer.moves]
    assert answer.moves[0].win is not None
    assert message.candidates[0].win.mean == answer.moves[0].win.mean
    assert message.reproducible
    assert (message.seed, message.stop_reason) == (7, pb.STOP_REASON_ITERATIONS)


def test_equal_questions_have_equal_answers():
    first, second = suggestion(VIEW, "--iterations", 300), suggestion(VIEW, "--iterations", 300)
    for message in (first, second):
        message.ClearField("elapsed")
    assert first == second
    assert suggestion(VIEW, "--iterations", 300, "--seed", 1).seed == 1


def test_each_option_reaches_the_search():
    view = GAME.view(VIEW)

    def visits(**options: Any) -> list[int]:
        budget = options.pop("budget", Budget(iterations=300))
        return [move.visits for move in solve(view, budget, seed=7, **options).moves]

    def visits_of(*args: object) -> list[int]:
        return [candidate.visits for candidate in suggestion(VIEW, "--seed", 7, *args).candidates]

    assert visits_of("--iterations", 300, "--shares", 2) == visits(shares=2)
    assert visits_of("--iterations", 300, "--model", "A=random", "--model", "C=greedy") == visits(
        models={"A": "random", "C": "greedy"}
    )
    assert visits_of("--iterations", 300, "--config", "plain") == visits(config="plain")
    assert visits_of("--level", 8) == visits(config="level-8", budget=Budget(iterations=LEVELS[8].iterations))
    assert visits_of("--iterations", 300, "--among", "keep") == visits(among=["keep"])
    assert visits_of("--iterations", 300, "--uniform") != visits_of("--iterations", 300)
    assert len(visits_of("--iterations", 300, "--lines", 1)) == 1
    obvious = ">A:Soldier/A:Spy B:Ambush(3) | round 6"
    sure = suggestion(obvious, "--seat", "A", "--confidence", 0.9, "--iterations", 10**6)
    assert sure.stop_reason == pb.STOP_REASON_CONFIDENCE
    small = suggestion(VIEW, "--iterations", 20_000, "--memory-mb", 0.2)
    assert small.memory_bytes <= 0.2 * 2**20


@pytest.mark.parametrize("config", CONFIGS)
def test_every_configuration_can_be_named(config):
    level = config.removeprefix("level-")
    args = ("--level", level) if level != config else ("--config", config, "--iterations", "60")
    assert suggestion(VIEW, *args).best.text in ("reveal", "keep")


@pytest.mark.parametrize(
    ("game", "args", "knowledge"),
    [
        ("oriflamme", (), "oriflamme"),
        ("oriflamme", ("--config", "greedy"), "oriflamme"),
        ("oriflamme", ("--level", 1), "oriflamme"),
        ("oriflamme", ("--config", "plain"), "none"),
        ("oriflamme", ("--config", "random"), "none"),
        ("castle_village_port", (), "castle_village_port"),
        ("castle_village_port", ("--config", "flat"), "none"),
    ],
)
def test_suggest_names_the_knowledge_that_it_used(game, args, knowledge):
    view = {"oriflamme": VIEW, "castle_village_port": CASTLE}[game]
    assert suggestion(view, "--game", game, "--iterations", 20, *args).knowledge == knowledge


def test_information_prints_the_value_of_hidden_cards():
    message = suggestion(VIEW, "--iterations", 1600, "--seed", 7, "--information")
    (card,) = message.information
    (answer,) = information(GAME.view(VIEW), Budget(iterations=50), seed=7)
    assert card.win_if_shown.mean == -answer.worth.mean
    out = run("suggest", VIEW, "--iterations", 400, "--information").out
    assert "Effect of showing your cards" in out
    waiting = "A:? >B:? C:Heir(1) | round 2 | points 1 2 3 | seen by C"
    assert "only the player to act can reveal a card" in run("suggest", waiting, *FEW, "--information").err
    assert run("suggest", CASTLE, "--game", "castle_village_port", *FEW, "--information").code == 0


@pytest.mark.timing
@pytest.mark.parametrize("shares", [1, 2])
def test_information_keeps_to_the_time_limit(shares):
    """Check that information is there: it is dropped if it overruns its part of the time limit."""
    message = suggestion(VIEW, "--time-ms", 500, "--shares", shares, "--information")
    assert len(message.information) == 1
    assert message.stop_reason == pb.STOP_REASON_TIME


def test_ranks_are_printed_with_their_number_of_playouts():
    candidate = run("suggest", VIEW, *FEW, "--json").json["candidates"][0]
    table = run("suggest", VIEW, *FEW).out
    assert 0 < int(candidate["ended"]) <= int(candidate["visits"])
    assert re.search(rf" \d+ \d+ \d+ of {candidate['ended']} ", table)


def test_the_text_of_suggest_is_complete_and_fits_into_80_columns():
    out = run("suggest", VIEW, *FEW).out
    assert max(map(len, out.splitlines())) <= 80
    for part in ("win %", "points", "ranks %", "visits", "Likely hidden cards", "slot 0", "hand", "--seed 7"):
        assert part in out
    then = " ".join(out.split("Then likely: ")[1].split("Likely hidden")[0].split())
    assert re.match(r"[A-C] [A-Z][^;]* (keep|reveal|place \S+ \S+)(; |$)", then)
    assert "300\N{NO-BREAK SPACE}" not in out
    assert "300 iterations in" in out
    assert "the iterations were done" in out
    start = random_record("oriflamme", "en-2019", 5, 3, until=0)
    placing = run("suggest", str(start), *FEW).out
    assert max(map(len, placing.splitlines())) <= 80
    assert "more (--lines" not in placing or "shows all" in placing


@pytest.mark.parametrize(
    ("game", "players"), [("oriflamme_prototype", 2), ("castle_village_port", 5), ("oriflamme", 5)]
)
def test_suggest_answers_at_every_moment_of_every_game(game, players):
    ruleset = None
    record = random_record(game, ruleset, players, 11)
    for at in range(0, len(record.actions), 9):
        result = run("suggest", str(record), "--at", at, "--seat", "B", "--iterations", 40)
        assert result.code == 0, result.err
        assert max(map(len, result.out.splitlines())) <= 80
    over = run("suggest", str(record), "--seat", "A", "--json")
    assert json.loads(over.err)["error"]["reason"] == "GAME_OVER"


def test_a_seat_that_is_not_to_act_gets_expectations_of_all_seats():
    text = "A:? >B:? C:Heir(1) | round 2 | points 1 2 3 | seen by C"
    out = run("suggest", text, *FEW).out
    assert "B is to act, so there is no move to suggest." in out
    seats = out[out.index("seat  ") : out.index("Likely hidden cards")]
    assert [line[0] for line in seats.splitlines()[2:5]] == ["A", "B", "C"]
    message = suggestion(text, *FEW)
    assert not message.HasField("best")
    assert len(message.seats) == 3


def test_a_history_sharpens_beliefs(folder):
    record = random_record("oriflamme", "en-2019", 3, 7, until=9)
    (folder / "before.txt").write_text(str(record))
    seat = "ABC"[record.end.to_act or 0]
    table = str(record.end.view(seat))  # type: ignore[union-attr]
    alone, informed = suggestion(table, *FEW), suggestion(table, *FEW, "--history", "before.txt")
    assert informed.effective_sample_size < alone.effective_sample_size
    from_record = suggestion("before.txt", *FEW)
    assert from_record.beliefs == informed.beliefs
    mismatch = run("suggest", VIEW, *FEW, "--history", "before.txt")
    assert mismatch.code == 1
    assert mismatch.err.startswith("eminence: ")


def test_a_terminal_shows_the_growing_answer(folder):
    shell_command = " ".join(command("suggest", "view.txt", "--time-ms", "1200"))
    out = subprocess.run(
        ["script", "-qec", shell_command, "/dev/null"], env=environment(TERM="xterm"), capture_output=True, text=True
    ).stdout
    assert out.count("win %") >= 3
    assert out.rstrip().rpartition("What the others")[2].count("the time was up") == 1


# --- compare ---------------------------------------------------------------------------------------------------


def test_compare_prints_the_comparison_of_the_solver():
    message = json_format.ParseDict(run("compare", VIEW, "keep", "reveal", *FEW, "--json").json, pb.Comparison())
    comparison = compare(GAME.view(VIEW), ["keep", "reveal"], Budget(iterations=300), seed=7)
    assert message.worlds == comparison.worlds == 300
    assert comparison.moves[1].win_difference is not None
    assert message.actions[1].win_difference.mean == comparison.moves[1].win_difference.mean
    assert message.actions[0].win_difference.mean == 0
    out = run("compare", VIEW, "keep", "reveal", "--iterations", 4000).out
    assert "win % over keep" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize(("config", "knowledge"), [("default", "oriflamme"), ("plain", "none")])
def test_compare_names_the_knowledge_that_it_used(config, knowledge):
    message = run("compare", VIEW, "keep", "reveal", *FEW, "--config", config, "--json").json
    assert message["knowledge"] == knowledge


def test_an_insignificant_difference_is_marked():
    start = "- | ask A place | hands Archer,Soldier,Spy,Heir,Lord,Shapeshifter,Ambush ? ? | seen by A"
    out = run("compare", start, "place Spy front", "place Archer front", "--iterations", 20, "--seed", 3).out
    assert "(may be chance)" in out


# --- a server --------------------------------------------------------------------------------------------------


def test_a_server_answers_as_this_process_does(folder):
    with server() as running:
        to = ("--server", running.address)
        local, remote = suggestion("game.txt", "--at", 5, *FEW), suggestion("game.txt", "--at", 5, *FEW, *to)
        for message in (local, remote):
            message.ClearField("elapsed")
        local.budget.CopyFrom(remote.budget)  # a server has caps
        assert local == remote
        compared = run("compare", VIEW, "keep", "reveal", *FEW, *to, "--json").json["actions"]
        assert compared == run("compare", VIEW, "keep", "reveal", *FEW, "--json").json["actions"]
        refused = run("suggest", VIEW, "--iterations", 0, *to)
        assert (refused.code, refused.err.partition(":")[0]) == (1, "eminence")
        assert "budget.iterations: 0 is not in 1.." in refused.err
        error = json.loads(run("suggest", VIEW, "--iterations", 0, *to, "--json").err)["error"]
        assert error["reason"] == "OUT_OF_RANGE"
        assert "--config cannot be used with --server" in run("suggest", VIEW, "--config", "plain", *to).err
        watched = "A:? >B:? C:Heir(1) | round 2 | points 1 2 3 | seen by C"
        assert len(suggestion(watched, *FEW, *to).seats) == 3
    unreachable = run("suggest", VIEW, "--time-ms", 200, *to)
    assert (unreachable.code, unreachable.out) == (1, "")
    assert "UNAVAILABLE" in unreachable.err


def test_the_token_reaches_the_server(folder):
    with server("--tokens", write_tokens(folder, "test")) as running:
        to = ("--server", running.address)
        assert "UNAUTHENTICATED" in run("suggest", VIEW, *FEW, *to).err
        assert run("suggest", VIEW, *FEW, *to, EMINENCE_TOKEN="test").code == 0
        assert run("suggest", VIEW, *FEW, *to, "--token", "test").code == 0


@pytest.mark.slow
def test_a_server_with_tls_is_reached(folder):
    certificate = make_certificate(folder, "server")
    pair = ("--tls-cert", certificate, "--tls-key", str(folder / "server.key"))
    with server(*pair, "--client-ca", certificate, wait=False) as running:
        to = ("--server", running.address, "--tls-ca", certificate)
        assert suggestion(VIEW, *FEW, *to, *pair).best.text in ("reveal", "keep")
        assert "UNAVAILABLE" in run("suggest", VIEW, *FEW, "--server", running.address).err
        half = run("suggest", VIEW, *FEW, *to, "--tls-key", pair[-1])
        assert half.err == "eminence: --tls-cert and --tls-key must be given together\n"


@pytest.mark.parametrize("columns", [24, 40, 60, 80])
def test_narrow_tables_drop_their_last_columns_and_never_the_move(columns):
    args = ("suggest", VIEW, "--iterations", 300, "--lines", 3)
    moves = [candidate["action"]["text"] for candidate in run(*args, "--json").json["candidates"]]
    lines = run(*args, COLUMNS=str(columns)).out.splitlines()
    assert max(map(len, lines)) <= columns
    head = next(line for line in lines if line.startswith("move"))
    assert ("win %" in head, "visits" in head) == (True, columns >= 60)
    table = " ".join(line[: head.index("win %")] for line in lines[lines.index(head) :]).split()
    for move in moves:
        assert set(move.split()) <= set(table)


# --- rules -----------------------------------------------------------------------------------------------------


def test_every_word_of_the_card_tables_has_a_sentence():
    kinds: list[tuple[str, str, Iterable[IntEnum | IntFlag]]] = [
        ("oriflamme", "reach", words.Reach),
        ("oriflamme", "deed", words.Deed),
        ("oriflamme", "nature", words.Nature),
        ("castle_village_port", "when", castle_words.When),
        ("castle_village_port", "deed", castle_words.Deed),
        ("castle_village_port", "reward", castle_words.Reward),
    ]
    for area, prefix, kind in kinds:
        messages = words_of(f"server.games.{area}", "en").messages
        named = {f"{prefix}.{word.name}" for word in kind if word or prefix != "nature"}
        assert {key for key in messages if key.startswith(f"{prefix}.")} == named


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_every_card_is_found_by_its_name_in_every_language(language):
    cards = [card for game in game_ids() for card in run("rules", "--game", game, "--json").json["cards"]]
    assert len(cards) == len(PUBLISHED) + len(PROTOTYPE) + len(HOUSE)
    for card in cards:
        name = card["names"][language] or str(card["value"])
        assert card in run("rules", name.upper(), "--json").json["cards"]


def test_a_card_is_printed_with_the_switches_of_the_ruleset_for_the_games_that_have_it():
    archer = run("rules", "archer", "--ruleset", "de-2019", "--json").json["cards"]
    assert [card["game"] for card in archer] == ["oriflamme"]
    lord = run("rules", "lord", "--ruleset", '{"lord_counts_covered": false}', "--json").json["cards"]
    assert [(card["game"], card["switches"]) for card in lord] == [("oriflamme", {"lord_counts_covered": False})]
    queen = run("rules", "queen", "--ruleset", "prototype ambush_gain=5").out
    assert "Queen (oriflamme_prototype)" in queen
    assert [card["game"] for card in run("rules", "archer", "--players", 2, "--json").json["cards"]] == [
        "oriflamme_prototype"
    ]
    refused = run("rules", "archer", "--ruleset", "prototype ambush_gain=12")
    assert "ruleset.ambush_gain: 12 is not one of" in refused.err
    refused = run("rules", "archer", "--ruleset", "de-1999")
    assert refused.code == 1
    assert "ruleset.edition: 'de-1999' is not an edition of oriflamme" in refused.err


def test_the_overview_has_the_refused_games_as_text_and_as_json(monkeypatch):
    from server.cli.commands import rules

    refusal = "game: 'oriflamme' of dice-games 1.2 is refused: it is the id of a built-in game"
    assert run("rules", "--json").json["refused"] == []
    monkeypatch.setattr(rules, "refused_games", lambda: [refusal])
    assert run("rules", "--json").json["refused"] == [refusal]
    assert refusal in " ".join(run("rules").out.split())


def test_rules_print_the_switches_and_numbers_of_a_ruleset():
    printed = run("rules", "--game", "oriflamme", "--ruleset", "de-2019 ambush_own_gain=2", "--json").json
    assert {switch["name"]: switch["value"] for switch in printed["switches"]} == {
        **EDITIONS["de-2019"].switches,
        "ambush_own_gain": 2,
    }
    assert {switch["name"] for switch in printed["switches"]} == set(SWITCHES["oriflamme"])
    two = run("rules", "--game", "oriflamme_prototype", "--players", 2, "--json").json
    assert (two["numbers"]["copies_of_each_card"], two["numbers"]["rounds"]) == (2, 7)
    five = run("rules", "--game", "castle_village_port", "--players", 5, "--json").json
    assert five["rewards"]["castle"] == ["+5", "+4", "+2", "+1"]
    assert five["numbers"]["turns_per_round"] == 3


@pytest.mark.parametrize("args", [(), ("--game", "oriflamme"), ("--game", "castle_village_port"), ("ambush",)])
@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_rules_fit_into_80_columns(args, language):
    assert max(map(len, run("rules", *args, "--lang", language).out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ("Archer", "points at", "Copies of each card 1", "a Lord counts every own card", "Rounds 6")),
        ("fr", ("Changeforme", "désigne", "Exemplaires de chaque carte 1", "un Seigneur compte", "Manches 6")),
        ("de", ("Bogenschützin", "zielt auf", "Exemplare jeder Karte 1", "ein Gebieter zählt", "Runden 6")),
    ],
)
def test_rules_speak_the_language_of_the_reader(language, texts):
    out = " ".join(run("rules", "--game", "oriflamme", "--players", 3, "--lang", language).out.split())
    assert [text for text in texts if text not in out] == []
    # Programs read English, whatever the environment.
    in_english = run("rules", "--game", "oriflamme", "--json").json
    assert run("rules", "--game", "oriflamme", "--json", "--lang", language).json == in_english


def test_an_unknown_language_of_rules_is_refused():
    assert run("rules", "--lang", "xx").err == "eminence: lang: 'xx' is not one of en, fr, de\n"


# --- bench -----------------------------------------------------------------------------------------------------


def test_bench_prints_rates_and_the_speedup_of_threads():
    rates = run("bench", "--seconds", "0.05", "--threads", "2", "--json").json
    for name in ("playouts_per_second", "iterations_per_second", "iterations_per_second_all_threads"):
        assert rates[name] > 0
        assert rates[f"{name}_spread"] >= 0
    assert rates["speedup"] == pytest.approx(
        rates["iterations_per_second_all_threads"] / rates["iterations_per_second"], abs=0.01
    )
    single = run("bench", "--seconds", "0.05", "--threads", "1", "--json").json
    assert "speedup" not in single


@pytest.mark.timing
def test_playouts_are_faster_than_iterations():
    rates = run("bench", "--seconds", "0.05", "--threads", "1", "--json").json
    assert rates["playouts_per_second"] > rates["iterations_per_second"] > 1000


def test_every_stop_reason_has_a_sentence():
    assert set(suggest.STOP_REASONS) == set(pb.StopReason.values()) - {pb.STOP_REASON_UNSPECIFIED}

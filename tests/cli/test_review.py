"""eminence review: verdicts, the graph of chances, the HTML report."""

from __future__ import annotations

import html
import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from process import server
from program import run as run_here
from program import write_files

from eminence.v1 import solver_pb2 as pb
from engine_cy import new_game
from engine_cy.annotations import Comment, Variation
from engine_cy.pictures import SIGNS
from engine_cy.record import Record, read_record
from server.cli.commands.review import run_review
from server.cli.options import SearchFlags
from server.cli.pages.win_chart import LABEL, ROWS, as_text, plot
from server.cli.review_run import Reviewer
from server.client.local import LocalClient
from server.games import adapter_of
from server.report.chart import chart_of
from server.report.page import _graph, write_report
from server.report.review import Parts, Review
from solver.extras import MissingExtraError
from solver.review import decisions

FEW = ("--iterations", "200")
LOADING = {"src", "srcset", "data"}
VOID = {"meta", "br", "input", "link", "img", "hr"}


def review_of(record: Record, seat: int | None = None, **thinking: Any) -> Review:
    with LocalClient() as client:
        return run_review(Reviewer(client, record, seat, SearchFlags(iterations=200, **thinking)))


@pytest.fixture(scope="module")
def review(oriflamme: Record) -> Review:
    return review_of(oriflamme)


# --- what is judged -------------------------------------------------------------------------------------------


def test_every_choice_is_listed_with_a_graph_and_a_summary(run, tmp_path, oriflamme):
    (tmp_path / "game.txt").write_text(str(oriflamme))
    out = run("review", "game.txt", *FEW).stdout
    assert max(map(len, out.splitlines())) <= 80
    assert "\x1b" not in out
    printed = json.loads(run("review", "game.txt", *FEW, "--json").stdout)
    chosen = [decision for decision in printed["decisions"] if not decision.get("forced")]
    listed = re.findall(r"^ *(\d+) +([A-C]) ", out, re.M)
    assert listed == [(str(decision.get("index", 0) + 1), decision["seat"][-1]) for decision in chosen]
    assert "100% │" in out
    assert [seat["seat"] for seat in printed["summary"]["seats"]] == ["SEAT_A", "SEAT_B", "SEAT_C"]


def test_luck_and_losses_add_up_to_the_payoff(review):
    end = review.record.end
    for seat in review.summary.seats:
        assert seat.outcome == end.payoffs[seat.seat - 1]
        assert 1 / 3 + seat.luck - seat.win_loss.mean == pytest.approx(seat.outcome, abs=1e-9)
    for message in (*review.summary.seats, *(judged.message for judged in review.decisions)):
        parts = message.luck_parts
        assert parts.chance + parts.opponents + parts.hidden == message.luck


def test_the_number_of_cores_does_not_change_a_review(oriflamme, monkeypatch):
    reviews = []
    for cores in (1, 3):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cores=cores: range(cores))
        reviews.append(review_of(oriflamme, 1))
    assert [decision.message for decision in reviews[0].decisions] == [
        decision.message for decision in reviews[1].decisions
    ]
    assert reviews[0].summary == reviews[1].summary


def test_a_single_seat_is_reviewed(run, oriflamme):
    printed = json.loads(run("review", "-", "--seat", "b", *FEW, "--json", stdin=str(oriflamme)).stdout)
    assert {decision["seat"] for decision in printed["decisions"]} == {"SEAT_B"}
    assert printed["summary"]["luckKnown"]


def test_a_record_of_one_seat_is_reviewed_without_luck(oriflamme):
    review = review_of(oriflamme.seen_from("C"))
    assert {decision.seat for decision in review.decisions} == {2}
    assert all(decision.luck is None for decision in review.decisions)
    assert "Luck is known only if the record holds all cards" in write_report(review)


def test_hidden_cards_do_not_change_a_review(oriflamme):
    whole, seen = review_of(oriflamme, 2, seed=1), review_of(oriflamme.seen_from("C"), seed=1)
    for from_whole, from_seen in zip(whole.decisions, seen.decisions, strict=True):
        verdict = type(from_whole.message)()
        verdict.CopyFrom(from_whole.message)
        verdict.ClearField("luck")
        verdict.ClearField("luck_parts")
        assert verdict == from_seen.message


def test_a_server_gives_the_same_review(run, oriflamme):
    local = json.loads(run("review", "-", *FEW, "--seed", "3", "--json", stdin=str(oriflamme)).stdout)
    with server("--threads", "1") as running:
        args = ("--server", running.address, "--seed", "3")
        remote = json.loads(run("review", "-", *FEW, *args, "--json", stdin=str(oriflamme)).stdout)
        refused = run("review", "-", "--config", "plain", "--server", running.address, stdin=str(oriflamme), rc=1)
    for printed in (local, remote):
        del printed["summary"]["budget"]
    assert remote == local
    assert refused.stderr == "eminence: --config cannot be used with --server\n"


def test_a_time_limit_applies_to_each_decision(run, oriflamme):
    printed = json.loads(run("review", "-", "--time-ms", "5", "--seat", "A", "--json", stdin=str(oriflamme)).stdout)
    assert not printed["summary"].get("reproducible", False)
    assert printed["summary"]["budget"]["time"] == "0.005s"


# --- the graph ------------------------------------------------------------------------------------------------


def test_the_graph_shows_each_seat_and_fits(review):
    chart = chart_of(review)
    lines = as_text(chart, 80).plain.splitlines()
    assert len(lines) == ROWS + 2
    assert max(map(len, lines)) <= 80
    graph = "".join(line[LABEL + 1 :] for line in lines[:ROWS])
    assert set("ABC") <= set(graph)
    winner = max(range(3), key=lambda seat: review.record.end.payoffs[seat])
    # The winner ends at the top.
    assert lines[0].rstrip()[-1] == "ABC"[winner]
    assert [series.path[-1][0] for series in chart.series] == [len(review.record.actions)] * 3


def test_the_graph_shows_no_negative_chance(review, tmp_path):
    """Give decisions a loss above their value, which happens because both are measured in different worlds."""
    worse = []
    for judged in review.decisions:
        changed = pb.ReviewedDecision()
        changed.CopyFrom(judged.message)
        if judged.value is not None and not judged.message.forced:
            changed.grade = pb.GRADE_BLUNDER
            changed.win_loss.mean = judged.value + 0.2
        worse.append(replace(judged, message=changed))
    chart = chart_of(replace(review, decisions=worse))
    shares = [share for series in chart.series for _, share in series.path]
    assert min(shares) == 0
    assert max(shares) <= 1
    assert len(as_text(chart, 80).plain.splitlines()) == ROWS + 2
    plot(chart, "", tmp_path / "a.svg")
    graph = _graph(chart)
    assert max(dot.y for line in graph.lines for dot in line.dots) == graph.bottom


def test_the_graph_marks_the_rounds_of_the_record(review):
    chart = chart_of(review)
    tables = list(review.record.tables())
    assert [tables[begin].table.round for begin in chart.rounds] == [1, 2, 3, 4, 5, 6]
    assert all(tables[begin - 1].table.round == number for number, begin in enumerate(chart.rounds) if number)


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.png", b"\x89PNG")])
def test_the_graph_is_plotted(run, tmp_path, oriflamme, name, start):
    run("review", "-", *FEW, "--plot", name, stdin=str(oriflamme))
    assert (tmp_path / name).read_bytes().startswith(start)


def test_without_matplotlib_the_error_names_the_package(review, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"plot: a graph needs matplotlib: pip install 'eminence\[plots\]'"):
        plot(chart_of(review), "", tmp_path / "a.svg")


# --- the report -----------------------------------------------------------------------------------------------


class Page(HTMLParser):
    """The links, ids and loaded resources of a page, whose tags must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [str(attributes["id"])] if "id" in attributes else []
        if tag == "a":
            self.links.append(str(attributes["href"]))
        self.loaded += [f"{tag} {name}" for name in attributes if name in LOADING or (tag, name) == ("link", "href")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("which", ["oriflamme", "prototype", "castle"])
def test_the_report_loads_nothing_and_its_links_lead_somewhere(which, request):
    review = review_of(request.getfixturevalue(which))
    text = write_report(review)
    page = Page(text)
    assert page.loaded == []
    assert not re.search(r"https?://|@import|url\(", text)
    assert len(page.ids) == len(set(page.ids))
    assert set(page.links) <= {f"#{name}" for name in page.ids}
    assert [name for name in page.ids if re.fullmatch(r"d\d+", name)] == [
        f"d{decision.number}" for decision in review.chosen
    ]
    svg = text[text.index("<svg") : text.index("</svg>") + 6]
    lines = ElementTree.fromstring(svg).findall(".//polyline")
    assert len(lines) == review.record.game.n_players


def test_the_picture_of_a_decision_shows_only_cards_that_the_seat_saw(oriflamme):
    for decision in decisions(oriflamme):
        slots = decision.view.table.slots
        drawn = adapter_of(decision.view.game.id).picture(decision.view).slots or []
        assert [len(slot) for slot in drawn] == [len(slot.cards) for slot in slots]
        for cards, slot in zip(drawn, slots, strict=True):
            for card, played in zip(cards, slot.cards, strict=True):
                hidden = played.card is None and slot.family != decision.seat
                assert (card.face == "back") == hidden
                assert (card.name == "") == hidden


def brightness(color: str) -> float:
    """Return the relative luminance that WCAG 2 defines."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_has_enough_contrast_in_the_light_and_the_dark_scheme(review):
    schemes = re.findall(r":root \{(.*?)\}", write_report(review), re.S)
    assert len(schemes) == 2
    for scheme in schemes:
        colors = dict(re.findall(r"--(\w+): (#\w{6})", scheme))
        for text in ("ink", "soft", *"abcde", *SIGNS):
            for ground in ("page", "sheet", "shade"):
                low, high = sorted(brightness(colors[name]) for name in (text, ground))
                assert (high + 0.05) / (low + 0.05) >= 4.5, (text, ground)


def annotated(record: Record) -> Record:
    """Return a record with a comment on each kind of action, and a variation with one inside."""
    inner = Variation(1, record.actions[1:2], (Comment(1, "as in the game"),))
    return replace(
        record,
        names=("Ann", "<b>&", *[""] * (record.game.n_players - 2)),
        event="Club evening",
        date="2026-11-19",
        comments=(Comment(0, "Before the\ngame"), Comment(2, "My <i>plan"), Comment(len(record.actions), "The end")),
        variations=(Variation(0, record.actions[:3], (Comment(3, "the same"),), (inner,)),),
    )


@pytest.mark.parametrize("which", ["oriflamme", "prototype", "castle"])
def test_comments_and_variations_are_shown_and_change_no_figure(which, request):
    record = request.getfixturevalue(which)
    noted = review_of(annotated(record))
    plain = review_of(record)
    assert noted.summary == plain.summary
    assert [judged.message for judged in noted.decisions] == [judged.message for judged in plain.decisions]
    text = write_report(noted)
    Page(text)
    # Each is shown once beside a decision, and once in the record below.
    for words in ("Before the\ngame", "My &lt;i&gt;plan", "The end", "{as in the game}"):
        assert text.partition("<footer>")[0].count(words) == 1, words
    assert "Club evening" in text
    assert "&lt;b&gt;&amp;" in text
    assert "<i>plan" not in text


def test_the_text_lists_comments_and_variations(run, oriflamme):
    out = run("review", "-", *FEW, stdin=str(annotated(oriflamme))).stdout
    assert max(map(len, out.splitlines())) <= 80
    title, names = out.splitlines()[:2]
    assert title.endswith(", Club evening, 2026-11-19")
    assert names == "A Ann, B <b>&"
    last = len(oriflamme.actions)
    assert "\nstart: Before the\n  game\n" in out
    assert "\n1. instead: " in out
    assert re.search(rf"^{last}\. [ABC] [^:]+: The end$", out, re.M)


def test_the_review_of_one_seat_shows_no_comments_of_a_whole_game(oriflamme):
    review = review_of(annotated(oriflamme), 1)
    text = write_report(review)
    assert "plan" not in text
    assert "as in the game" not in text
    assert "Ann" in text
    assert str(annotated(oriflamme).seen_from(1).actions[0]) in text
    own = replace(oriflamme.seen_from(1), comments=(Comment(1, "My own words"),))
    assert "My own words" in write_report(review_of(own))


def test_shown_parts_add_up_to_the_shown_outcome(review, oriflamme):
    for seat in review.summary.seats:
        fair, *causes, outcome = Parts.of(seat, 3)
        assert fair + sum(causes) == outcome == round(1000 * review.record.end.payoffs[seat.seat - 1])  # type: ignore[arg-type]
    unfinished = review_of(oriflamme.until(20))
    for seat in unfinished.summary.seats:
        fair, *causes, outcome = Parts.of(seat, 3)
        assert fair + sum(causes) == outcome  # type: ignore[arg-type]
    (one,) = review_of(oriflamme, 1).summary.seats
    fair, chance, opponents, hidden, own, outcome = Parts.of(one, 3)
    assert opponents is None
    assert fair + chance + hidden + own == outcome


def test_a_panel_has_one_share_of_the_win_for_a_move(review):
    text = write_report(review)
    worse = next(judged for judged in review.chosen if judged.loss > 0.01)
    panel = text[text.index(f'id="d{worse.number}"') :].partition("</details>")[0]
    assert worse.value is not None
    best, lost = round(100 * worse.value, 1), round(100 * worse.loss, 1)
    wins = re.findall(r"<td>([\d.]+) %", panel)
    assert wins == [f"{best:.1f}", f"{max(best - lost, 0):.1f}"]
    assert f"{best:.1f} %</span>" in panel
    assert f"{lost:.1f} %</span>" in panel


def test_names_of_cards_are_escaped(castle):
    ruleset = castle.game.ruleset.spelled_out()
    ruleset["cards"] = [{**card, "name": "<b>&" if card["value"] == 10 else card["name"]} for card in ruleset["cards"]]
    start = new_game("castle_village_port", ruleset, 3).deal(5)
    review = review_of(Record(start, tuple(castle.actions[:40])))
    text = write_report(review)
    assert "&lt;b&gt;&amp;" in text
    assert "<b>&" not in text
    Page(text)


# --- what is refused ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--seat", "D"), "seat: 'D' is not at this table (A, B, C)"),
        (("--plot", "x.gif"), "plot: x.gif has another suffix than .svg, .png or .pdf"),
        (("--iterations", "0"), "budget.iterations: 0 is not in 1..1000000000000"),
        (("--html", "no/such/folder.html", *FEW), "html: the folder no/such does not exist"),
    ],
)
def test_invalid_arguments_are_refused_by_name(run, oriflamme, args, why):
    assert run("review", "-", *args, stdin=str(oriflamme), rc=1).stderr == f"eminence: {why}\n"


def test_unreadable_records_are_refused(run, tmp_path, oriflamme):
    assert "nothing.txt: neither a file nor a position" in run("review", "nothing.txt", rc=1).stderr
    broken = str(oriflamme).replace("result", "A reveal\nresult")
    assert "eminence: -:1: " in run("review", "-", stdin=broken, rc=1).stderr
    seen = read_record(str(oriflamme)).seen_from("A")
    assert "holds only the decisions of A" in run("review", "-", "--seat", "B", stdin=str(seen), rc=1).stderr
    error = json.loads(run("review", "nothing.txt", "--json", rc=1).stderr)
    assert error["error"]["message"].startswith("nothing.txt: ")


def test_a_failed_review_writes_no_file(run, tmp_path, oriflamme):
    Path(tmp_path / "report.html").write_text("mine")
    run("review", "-", "--seat", "E", "--html", "report.html", stdin=str(oriflamme), rc=1)
    assert (tmp_path / "report.html").read_text() == "mine"


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["Reveal the", "better: ", "round 2", "What followed", "The costliest decisions"]),
        ("fr", ["Révéler ", "mieux : ", "manche 2", "Ce qui suivit", "Les décisions les plus coûteuses"]),
        ("de", [" aufdecken", "besser: ", "Runde 2", "Was folgte", "Die teuersten Entscheidungen"]),
    ],
)
def test_a_review_and_its_report_speak_the_language_of_the_reader(tmp_path, language, texts):
    write_files(tmp_path)
    page = tmp_path / "report.html"
    arguments = ("--iterations", "20", "--lang", language, "--html", page)
    output = run_here("review", tmp_path / "game.txt", *arguments)
    shown = output.out + html.unescape(page.read_text("utf-8"))
    assert [text for text in texts if text not in shown] == []
    assert max(map(len, output.out.splitlines())) <= 80
    assert f'<html lang="{language}">' in page.read_text("utf-8")
    steps = re.findall(r"<li><span class=.chip[^<]*</span> (.*?)</li>", page.read_text("utf-8"))
    in_words = [step for step in steps if re.fullmatch(r"<span>[^<]+</span> <code>[^<]+</code>", step)]
    assert len(in_words) > 0.8 * len(steps) > 0

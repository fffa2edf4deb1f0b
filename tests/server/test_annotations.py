"""Annotations of records: kept in text, JSON and messages, bounded, and hidden from seats and searches."""

from __future__ import annotations

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from annotations import annotated
from hypothesis import given, settings
from hypothesis import strategies as st
from program import random_record
from reference import GAMES, move_text, start_of
from tables import ALL_IDS, ALL_SPECS, mostly_slow

from eminence.v1 import record_pb2, referee_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from eminence.v1.seat_pb2 import SEAT_A, SEAT_C, SEAT_UNSPECIFIED
from engine_cy import annotations as limits
from engine_cy.annotations import Comment, Variation
from engine_cy.errors import InvalidRecordError
from engine_cy.record import Record, read_record
from server.cli import inputs
from server.cli.commands.convert import as_json_line, as_text
from server.client.local import LocalClient
from server.codec import records
from server.codec.fields import write_seat
from server.refusals import Refusal
from server.services.referee import RefereeService

FILES = sorted(GAMES.glob("*.jsonl.gz"))
QUICK_FILES = ("oriflamme-en-2019-3p", "oriflamme_prototype-6x2-2p")


def read_piece(text: str) -> inputs.Input:
    (piece,) = inputs.pieces("-", text.splitlines(keepends=True))
    return inputs.read_piece(piece, inputs.GameChoice())


def check_kept(record: Record) -> None:
    """Write a record as text, JSON and a message, and read each back."""
    assert read_piece(as_text(record)) == record
    assert read_piece(as_json_line(record)) == record
    assert records.read(record_pb2.Record.FromString(records.write(record).SerializeToString())) == record


@pytest.mark.parametrize("file", mostly_slow(FILES, (file.name.split(".")[0] for file in FILES), QUICK_FILES))
def test_reference_games_keep_their_annotations(file: Path) -> None:
    draw = random.Random(file.name)
    with gzip.open(file, "rt") as lines:
        references: list[dict[str, Any]] = list(map(json.loads, lines))
    for reference in references:
        start = start_of(reference)
        actions = tuple(str(start.game.action(move_text(step["move"]))) for step in reference["steps"])
        plain = Record(start, actions).ended()
        record = annotated(plain, draw)
        record = replace(
            record,
            names=tuple(f"{number}. {seat}" for number, seat in enumerate(plain.game.seats)),
            comments=(Comment(0, "the start"), Comment(len(plain.actions), "the end\nof the game")),
            variations=(*record.variations, Variation(len(actions) - 1, actions[-1:], (Comment(1, "again"),))),
        )
        check_kept(record)
        assert record.bare == plain


@pytest.mark.parametrize("spec", mostly_slow(ALL_SPECS, ALL_IDS))
@given(seed=st.integers(0, 2**32), until=st.integers(0, 60))
@settings(max_examples=6, deadline=None)
def test_random_records_keep_their_annotations(spec: tuple[str, Any, int], seed: int, until: int) -> None:
    game_id, ruleset, players = spec
    record = annotated(random_record(game_id, ruleset, players, seed, until), random.Random(seed))
    check_kept(record)
    for seat in record.game.seats:
        seen = record.seen_from(seat)
        assert not seen.comments
        assert not seen.variations
        assert (seen.names, seen.date, seen.event) == (record.names, record.date, record.event)
        check_kept(seen)


@pytest.fixture(scope="module")
def record() -> Record:
    return random_record("oriflamme", "en-2019", 3, 7)


def test_a_seats_own_record_keeps_comments_and_variations(record):
    seen = record.seen_from("B")
    noted = replace(seen, comments=(Comment(3, "mine"),), variations=(Variation(0, seen.actions[:2]),))
    check_kept(noted)
    assert "version 2" in str(noted)


def test_only_annotations_need_version_2(record):
    assert "version" not in str(record)
    assert read_record(f"version 1\n{record}") == read_record(f"version 2\n{record}") == record
    for field, value in (("date", "2026"), ("event", "x"), ("comments", (Comment(0, "x"),))):
        assert str(replace(record, **{field: value})).startswith("version 2\n")
    assert replace(record, names=("", " ", "")) == record


def test_a_copy_up_to_an_action_keeps_what_is_said_before(record):
    variations = (Variation(2, record.actions[2:4]), Variation(5, record.actions[5:6]))
    noted = replace(record, names=("A", "B", "C"), comments=(Comment(1, "a"), Comment(4, "b")), variations=variations)
    short = noted.until(3)
    assert short.end == list(record.tables())[3]
    assert (short.names, short.comments, short.variations) == (noted.names, noted.comments[:1], variations[:1])


# --- what is refused ------------------------------------------------------------------------------------------

NESTED: tuple[Variation, ...] = ()
for _ in range(limits.DEPTH_MAX + 1):
    NESTED = (Variation(0, ("place Heir front",), (), NESTED),)
LONG = "x" * 10_000

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"names": ("Ann",)}, "names: 1 entries, not one for each of 3 players"),
    ({"names": (LONG, "", "")}, f"names[0]: '{'x' * 40}'... has 10000 characters; at most 100 are possible"),
    ({"names": ("", "A\x1b[2J", "")}, "names[1]: character 2 is U+001B; no control characters are accepted"),
    ({"names": ("", "", "A\nB")}, "names[2]: character 2 is U+000A; no control characters are accepted"),
    ({"event": "a\u202eb"}, "event: character 2 is U+202E; no control characters are accepted"),
    ({"event": LONG}, f"event: '{'x' * 40}'... has 10000 characters; at most 200 are possible"),
    ({"date": "2026-02-30"}, "date: '2026-02-30' is not a date such as 2026-11-19, 2026-11 or 2026"),
    ({"date": "19.11.2026"}, "date: '19.11.2026' is not a date such as 2026-11-19, 2026-11 or 2026"),
    (
        {"comments": (Comment(0, "a\tb"),)},
        "comments[0].text: character 2 is U+0009; no control characters but newlines are accepted",
    ),
    ({"comments": (Comment(0, " \n"),)}, "comments[0].text: is empty"),
    ({"comments": (Comment(99, "a"),)}, "comments[0].after: 99 is not in 0..6, the number of actions of its line"),
    (
        {"comments": (Comment(1, "a"), Comment(1, "b"))},
        "comments[1].after: 1 follows 1; comments are in the order of the actions, one after each",
    ),
    (
        {"comments": (Comment(0, LONG),)},
        f"comments[0].text: '{'x' * 40}'... has 10000 characters; at most 2000 are possible",
    ),
    (
        {"comments": tuple(Comment(after, "x" * 2000) for after in range(7)), "variations": ()},
        "",  # 14,000 characters are possible
    ),
    ({"variations": (Variation(0, ()),)}, "variations[0].actions: a variation has at least one action"),
]


@pytest.mark.parametrize(
    ("annotations", "why"), REFUSED, ids=lambda value: value[:30] if isinstance(value, str) else ""
)
def test_annotations_that_cannot_be_kept_are_refused_in_one_sentence(record, annotations, why):
    short = record.until(6)
    message = records.write(short)
    for field, value in annotations.items():
        if field == "comments":
            message.comments.extend([record_pb2.Comment(after=after, text=text) for after, text in value])
        elif field == "names":
            message.names.extend(value)
        elif field == "variations":
            message.variations.extend([record_pb2.Variation(after=part.after) for part in value])
        else:
            setattr(message, field, value)
    if not why:
        assert records.read(message) == replace(short, **annotations)
        return
    with pytest.raises(InvalidRecordError) as refused:
        replace(short, **annotations)
    assert str(refused.value) == why
    with pytest.raises(Refusal) as refused_message:
        records.read(message)
    assert str(refused_message.value) == f"record.{why}"


def test_variations_are_bounded(record):
    first = record.actions[0]
    with pytest.raises(InvalidRecordError, match="variations: nested 5 deep; at most 4 are possible"):
        replace(record, variations=NESTED)
    with pytest.raises(InvalidRecordError, match="variations: 65 in all; at most 64 are possible"):
        replace(record, variations=(Variation(0, (first,)),) * 65)
    with pytest.raises(InvalidRecordError, match="variations: 540 actions in all; at most 512 are possible"):
        replace(record, variations=(Variation(0, record.actions[:9]),) * 60)
    message = records.write(record)
    innermost = message.variations.add(after=0)
    for _ in range(60):
        innermost.actions.add().action.text = first
        innermost = innermost.variations.add(after=0)
    with pytest.raises(Refusal, match=r"record\.variations: 5 levels or more in all; at most 4 are possible"):
        records.read(message)
    message = records.write(record)
    for _ in range(65):
        message.variations.add(after=0).actions.add().action.text = first
    with pytest.raises(Refusal, match=r"record\.variations: 65 variations or more in all; at most 64 are possible"):
        records.read(message)
    del message.variations[1:]
    for _ in range(512):
        message.variations[0].actions.add().action.text = "not read"
    with pytest.raises(Refusal, match=r"record\.variations: 513 actions or more in all; at most 512 are possible"):
        records.read(message)


def test_illegal_variations_are_refused(record):
    text = str(replace(record, variations=(Variation(1, record.actions[1:2]),)))
    for old, new, why in (
        ("variation\n", "variation\n  A target 3\n", "line 12: 'A' is not the seat to act, which is 'B'"),
        ("variation\n", "variation now\n", "line 11: 'now' after 'variation', which stands alone"),
        ("\nend\n", "\n", "is not an action|is not the seat to act"),
        ("variation\n", "", "line 12: 'end' without a 'variation'"),
        ("variation\n", "variation\nresult 1 1 1\n", "line 12: 'result' cannot stand in a variation"),
        ("version 2\n", "", "line 10: 'variation' needs 'version 2' in the header"),
        ("version 2\n", "version 3\n", r"version: '3' is not supported \(1, 2\)"),
        ("players 3\n", "players 3\nname F Fay\n", "header: name: 'F' is not at this table"),
        ("players 3\n", "players 3\nname A Ann\nname A Bob\n", "line 6: 'name A' occurs twice"),
        ("players 3\n", "players 3\nplace Paris\n", "header: 'place Paris' is not like"),
    ):
        with pytest.raises(InvalidRecordError, match=why):
            read_record(text.replace(old, new, 1))
    message = records.write(record)
    message.variations.add(after=99)
    with pytest.raises(Refusal, match=r"record.variations\[0\].after: 99 is not in 0.."):
        records.read(message)
    message.variations[0].after = 1
    message.variations[0].actions.add().action.text = "target 3"
    with pytest.raises(Refusal, match=r"record.variations\[0\].actions\[0\]: "):
        records.read(message)


@pytest.mark.parametrize(
    ("unknown", "why"),
    [
        (
            {"players": ["Ann"]},
            "players: is not a field of Record (game, whole, seen, text, result, ",
        ),
        ({"comments": [{"by": "Ann"}]}, "comments[0].by: is not a field of Comment (after, text)"),
    ],
)
def test_unknown_fields_of_json_are_refused_by_name_in_one_sentence(record, unknown, why):
    fields = json.loads(as_json_line(record))
    with pytest.raises(Refusal) as refused:
        inputs.read_json(json.dumps({**fields, **unknown}))
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_text_has_its_own_annotations(record):
    message = record_pb2.Record(text=str(replace(record, names=("A", "B", "C"))))
    assert records.read(message).names == ("A", "B", "C")
    message.names.extend(["X", "Y", "Z"])
    with pytest.raises(Refusal, match=r"record\.names: cannot be set beside `text`, which holds its own"):
        records.read(message)


# --- who sees them --------------------------------------------------------------------------------------------


def secret(record: Record) -> Record:
    """Annotate a record with a comment and a variation that name hidden cards."""
    comments = (Comment(0, "B has the Ambush"), Comment(len(record.actions), "over"))
    return replace(record, names=("Ann", "Bob", ""), comments=comments, variations=(Variation(0, record.actions[:3]),))


def test_the_referee_keeps_annotations_and_gives_seats_no_comments(record):
    noted = secret(record.until(8))
    referee, standing = RefereeService(), referee_pb2.Standing(record=records.write(noted))
    action = record.actions[8]
    played = referee.Play(referee_pb2.PlayRequest(standing=standing, action=view_pb2.Action(text=action)))
    assert records.read(played.record) == noted.play(action)
    whole = referee.GetRecord(referee_pb2.GetRecordRequest(record=records.write(noted)))
    assert records.read(whole.record) == read_record(whole.text) == noted
    for seat in range(3):
        request = referee_pb2.GetRecordRequest(record=records.write(noted), seat=write_seat(seat))
        seen = referee.GetRecord(request)
        assert records.read(seen.record) == read_record(seen.text) == noted.seen_from(seat)
        assert "Ambush" not in str(seen.record.comments) + str(seen.record.variations)


def test_refusals_for_a_seat_quote_no_comment(record):
    message = records.write(secret(record))
    message.comments[0].text = "B has the Ambush\x07"
    referee = RefereeService()
    with pytest.raises(Refusal) as refused:
        referee.GetRecord(referee_pb2.GetRecordRequest(record=message, seat=SEAT_A))
    assert str(refused.value) == "record.comments[0]: is not possible; `GetRecord` without a seat says why"


@pytest.mark.parametrize("seat", [SEAT_UNSPECIFIED, SEAT_C])
def test_annotations_change_no_review(record, seat):
    """The seed is derived from the record, so it must not depend on them either."""
    budget = pb.Budget(iterations=40)
    with LocalClient() as client:
        plain, noted = (list(client.review(records.write(one), budget, seat=seat)) for one in (record, secret(record)))
    assert plain == noted

"""Files of positions and records: reading, converting between text and JSON, hiding cards."""

from __future__ import annotations

import json
import random
import subprocess

import pytest
from mutations import SPECS
from program import ROOT, VIEW, command, environment, random_record, run, write_files

from engine_cy import CHANCE, Position, View, new_game
from engine_cy.record import Record, read_record
from server.cli.commands.convert import as_json_line, as_record, as_text
from server.cli.exit_codes import Failure
from server.cli.inputs import UNREADABLE, GameChoice, Input, Piece, pieces, read_json, read_piece

GAME = new_game("oriflamme", "en-2019", 3)
PAGE = ROOT / "docs" / "records.md"


def read_one(text: str, choice: GameChoice) -> Input:
    (piece,) = pieces("-", text.splitlines(keepends=True))
    return read_piece(piece, choice)


def check_game(record: Record, table: Position | View, seat: int) -> None:
    """Convert a game, a seat's record and a table to each form and back."""
    game = record.game
    game_id, _, players = game.spec
    ruleset = str(record).splitlines()[1].removeprefix("ruleset ")
    choice = GameChoice(game_id, ruleset, players)
    view = table.view(seat) if isinstance(table, Position) else table
    for thing in (record, record.seen_from(seat), table, view):
        assert read_one(as_text(thing), choice) == thing
        assert read_one(as_json_line(thing), GameChoice()) == thing
    for thing in (table, view):
        record_from = read_one(as_record(thing), GameChoice())
        assert isinstance(record_from, Record)
        assert record_from.start == thing
        assert not record_from.actions
        assert read_one(as_json_line(record_from), GameChoice()) == record_from


def check_games(n: int, seed: int) -> None:
    rng = random.Random(seed)
    for number in range(n):
        game_id, ruleset, players = SPECS[number % len(SPECS)]
        until = rng.choice([None, None, rng.randrange(40)])
        record = random_record(game_id, ruleset, players, seed=seed + number, until=until)
        tables = list(record.tables())
        check_game(record, rng.choice(tables), rng.randrange(players))


def test_converting_and_reading_back_changes_nothing():
    check_games(60, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1_000_000, 1_010_000, 2500))
def test_converting_ten_thousand_games_and_reading_them_back_changes_nothing(seed):
    check_games(2500, seed=seed)


def test_the_converted_games_have_every_edition():
    editions = {ruleset if isinstance(ruleset, str) else (ruleset or {}).get("edition") for _, ruleset, _ in SPECS}
    assert {"en-2019", "fr-2019", "de-2019", "revised", "prototype", "house"} <= editions


def test_a_file_is_split_where_each_piece_begins():
    record = str(random_record("oriflamme", "en-2019", 3, 3))
    view = new_game("oriflamme", "en-2019", 3).deal(4).view("A")
    castle = str(random_record("castle_village_port", "house", 3, 3))
    bare_record = str(Record(view))
    pretty = json.dumps(json.loads(as_json_line(view)), indent=2)
    parts = [
        record,
        VIEW + "\n",
        f"# a comment\n\nversion 1\n{record}",
        pretty + "\n",
        bare_record,
        castle,
        as_json_line(view) + "\n",
    ]
    text = "".join(parts)
    split = list(pieces("f", text.splitlines(keepends=True)))
    assert [piece.text.rstrip() for piece in split] == [part.removeprefix("# a comment\n\n").rstrip() for part in parts]
    assert split[1].line == record.count("\n") + 1
    assert split[-1].end == len(text)
    assert [piece.end for piece in split] == sorted(piece.end for piece in split)
    kinds = [type(read_piece(piece, GameChoice())) for piece in split]
    assert kinds == [Record, View, Record, View, Record, Record, View]


def test_json_without_a_type_is_recognized_by_its_fields():
    record = random_record("oriflamme", "en-2019", 3, 3)
    position = record.start
    assert isinstance(position, Position)
    for thing in (record, record.seen_from("B"), position, position.view("C")):
        message = json.loads(as_json_line(thing))
        del message["@type"]
        assert read_json(json.dumps(message)) == thing
    game = {"gameId": "oriflamme", "players": 3}
    assert isinstance(read_json(json.dumps({"game": game, "text": VIEW})), View)
    assert isinstance(read_json(json.dumps({"game": game, "text": "A:Spy"})), Position)
    assert isinstance(read_json(json.dumps({"text": str(record)})), Record)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "JSON: "),
        ("{}", "view.game: is required"),
        (
            '{"@type": "type.googleapis.com/eminence.v2.View"}',
            "unknown type 'type.googleapis.com/eminence.v2.View'",
        ),
        ('{"game": {"gameId": "oriflamme", "players": 3}, "txt": ""}', "txt"),
        ('{"game": {"gameId": "chess", "players": 3}, "text": "A:Spy"}', "'chess' is not a game"),
        ("[" * 100_000, ""),
        ('{"a":' * 100_000, "JSON: "),
        ("game go\nplayers 2\n", "'go' is not a game"),
        ("version 7\ngame oriflamme\nplayers 3\n", "version: '7' is not supported (1, 2)"),
    ],
)
def test_unreadable_input_is_refused_with_the_reason(text, why):
    with pytest.raises(Exception) as refused:  # noqa: PT011 - several classes, none of them for bugs
        read_piece(Piece("f", 1, text, len(text)), GameChoice())
    assert type(refused.value).__name__ in ("Refusal", "Failure", "InvalidRecordError", "NotationError")
    assert why in str(refused.value)


def test_damaged_input_is_read_or_refused_but_never_crashes():
    rng = random.Random(3)
    record = random_record("oriflamme", "de-2019", 4, 3, until=12)
    castle = random_record("castle_village_port", "house", 3, 3, until=12)
    texts = [str(record), VIEW, as_json_line(record), str(castle), as_json_line(castle.seen_from("B"))]
    texts += [as_json_line(record.end), as_json_line(castle.end), as_json_line(GAME.view(VIEW))]
    refused = 0
    for _ in range(3000):
        text = list(rng.choice(texts))
        for _ in range(rng.randrange(1, 4)):
            start = rng.randrange(len(text))
            replacement = rng.choice(["", rng.choice(text), rng.choice('{}[]",:|/>*?()0 9-\x00é\n')])
            text[start : start + rng.choice([0, 1, 1, 5])] = replacement
        try:
            for piece in pieces("-", "".join(text).splitlines(keepends=True)):
                read_piece(piece, GameChoice())
        except UNREADABLE:
            refused += 1
    assert refused > 1500


@pytest.mark.parametrize("as_input", [True, False])
def test_input_that_is_not_text_is_refused(tmp_path, as_input):
    (tmp_path / "photo.txt").write_bytes(b"\xff\xd8\xff")
    with (tmp_path / "photo.txt").open("rb") as file:
        result = subprocess.run(
            command("suggest", "-" if as_input else "photo.txt"),
            stdin=file,
            cwd=tmp_path,
            env=environment(PYTHONIOENCODING="utf-8:strict"),
            capture_output=True,
            text=True,
        )
    assert result.returncode == 1
    assert "not UTF-8 text" in result.stderr


def test_convert_names_the_lines_that_it_skips(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mixed.txt").write_text(f"{VIEW}\nnonsense | here\n{VIEW}\n")
    result = run("convert", "mixed.txt", "--to", "json")
    assert result.code == 1
    assert result.err.startswith("mixed.txt:2: ")
    assert [json.loads(line)["@type"] for line in result.out.splitlines()] == [
        "type.googleapis.com/eminence.v1.View"
    ] * 2


def test_convert_hides_the_cards_that_a_seat_did_not_see(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    whole = read_record((tmp_path / "game.txt").read_text())
    assert read_record(run("convert", "game.txt", "--seat", "b", "--to", "record").out) == whole.seen_from("B")
    tables = list(whole.tables())
    assert run("convert", "game.txt", "--at", "5").out == f"{tables[5]}\n"
    assert run("convert", "game.txt", "--at", "5", "--seat", "C").out == f"{tables[5].view('C')}\n"  # type: ignore[union-attr]


def test_a_question_holds_a_view_and_its_observers_record_alone(monkeypatch):
    """Make questions from whole records and positions."""
    from server.cli.options import observe

    record = random_record("oriflamme", "en-2019", 4, 5)
    tables = [table for table in record.tables() if table.to_act not in (None, CHANCE)]
    for at, table in list(enumerate(record.tables()))[1:40:7]:
        for seat in "ABCD":
            seat_view = observe(record, seat, at)
            assert seat_view.view == table.view(seat)  # type: ignore[union-attr]
            assert seat_view.history is not None
            assert seat_view.history.record.observer == "ABCD".index(seat)
            assert seat_view.history.end == seat_view.view
    position = tables[3]
    assert isinstance(position, Position)
    assert observe(position).view == position.view(position.to_act or 0)
    with pytest.raises(Failure, match="the view of A cannot be derived"):
        observe(position.view("B"), "A")


def test_the_json_on_the_page_is_read():
    view, record = (part.split("```")[0] for part in PAGE.read_text().split("```json\n")[1:])
    assert isinstance(read_json(view), View)
    annotated = read_json(record)
    assert isinstance(annotated, Record)
    assert annotated.comments[0].text == "A club evening."

"""Every command says the same with a server and without one: there is one way in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from process import Server, server
from program import CASTLE, VIEW, Said, random_record, run, write_files

from server.cli.main import COMMANDS, eminence

FEW = ("--iterations", "100")
GAME = ("--game", "castle_village_port")
WATCHED = "A:? >B:? C:Heir(1) | round 2 | points 1 2 3 | seen by C"

# All that may differ. In JSON: times, and the budget that was granted, which holds a server's caps.
KEYS = {"elapsed", "budget", "seconds", "positions_per_second", "moves_per_s"}
# In text: times and rates. In the report and the file of a game there are none.
TIMES = re.compile(r"\d+\.\d+ (ms|s|per second)\b")

ASKED: list[tuple[str, ...]] = [
    ("suggest", VIEW, *FEW),
    ("suggest", VIEW, *FEW, "--json"),
    (
        "suggest",
        VIEW,
        *FEW,
        "--seed",
        "5",
        "--shares",
        "2",
        "--model",
        "A=random",
        "--uniform",
        "--lines",
        "1",
        "--json",
    ),
    ("suggest", VIEW, "--level", "3", "--information", "--json"),
    ("suggest", VIEW, "--iterations", "2000", "--confidence", "0.9", "--memory-mb", "1", "--among", "keep", "--json"),
    ("suggest", WATCHED, *FEW),
    ("suggest", CASTLE, *GAME, *FEW),
    ("suggest", "game.txt", "--at", "9", *FEW, "--json"),
    ("suggest", "seen.txt", *FEW, "--json"),
    ("compare", VIEW, "reveal", "keep", *FEW),
    ("compare", VIEW, "reveal", "keep", *FEW, "--shares", "2", "--json"),
    ("compare", "game.txt", "--at", "0", "place Heir front", "place Lord front", "--level", "2", "--json"),
    ("analyze", "positions.txt", "games.txt", *FEW, "--out", "OUT", "--json"),
    ("analyze", "bad.txt", *FEW, "--model", "C=greedy", "--out", "OUT"),
    ("review", "game.txt", *FEW, "--html", "OUT"),
    ("review", "game.txt", "--seat", "B", "--level", "1", "--json"),
    ("review", "seen.txt", *FEW, "--json"),
    ("play", "--seed", "3", "--level", "1", "--save", "OUT"),
    ("play", *GAME, "--seats", "level-2,me,default", "--seed", "5", "--json"),
    ("match", "PLAYER,level=1", "random", "--iterations", "20", "--deals", "2", "--workers", "1", "--json"),
]
REFUSED: list[tuple[str, ...]] = [
    ("suggest", VIEW, "--iterations", "0"),
    ("suggest", VIEW, "--confidence", "7", "--json"),
    ("suggest", VIEW, "--among", "fly"),
    ("suggest", VIEW, "--model", "B=greedy"),
    ("suggest", VIEW, "--memory-mb", "0.05"),
    ("suggest", WATCHED, "--information"),
    ("suggest", "A:? >B:Heir C:? | round 2 | points 1 2 3 | hands ? Heir ? | seen by B"),
    ("compare", VIEW, "reveal", "reveal", *FEW),
    ("compare", VIEW, "reveal", "fly", *FEW, "--json"),
    ("compare", VIEW, "reveal", "keep", "--level", "3", "--information"),
    ("analyze", "positions.txt", "--iterations", "0", "--out", "OUT"),
    ("analyze", "bad.txt", *FEW, "--out", "OUT", "--bad-lines", "stop"),
    ("review", "game.txt", "--confidence", "7"),
    ("review", "game.txt", "--model", "A=good"),
]


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with server("--no-self-test") as found:
        yield found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    games = (("oriflamme", "fr-2019", 4), ("oriflamme_prototype", None, 3), ("castle_village_port", "house", 3))
    (tmp_path / "games.txt").write_text(
        "\n".join(str(random_record(game, edition, n, 4, 12)) for game, edition, n in games)
    )
    (tmp_path / "seen.txt").write_text(str(random_record("oriflamme", "en-2019", 3, 7, until=9).seen_from("A")))
    (tmp_path / "bad.txt").write_text(f"{VIEW}\nA:Spy B:Nope\n{VIEW.replace('by B', 'by C')}\n{VIEW}\n")
    return tmp_path


def both(args: tuple[str, ...], address: str) -> tuple[list[Any], list[Any]]:
    """What a command says and writes without a server and with one."""
    with_server = () if args[0] == "match" else ("--server", address)
    return outcome(args, "level-1", ()), outcome(args, f"server:{address},level=1", with_server)


def outcome(args: tuple[str, ...], player: str, more: tuple[str, ...]) -> list[Any]:
    out = Path("out.html" if args[0] == "review" else "out.txt" if args[0] == "play" else "out.jsonl")
    out.unlink(missing_ok=True)
    replaced = [player if arg == "PLAYER,level=1" else str(out) if arg == "OUT" else arg for arg in args]
    typed = "hint\n" + "1\n" * 300 if args[0] == "play" else ""
    said = run(*replaced, *more, said=typed, COLUMNS="200")  # else times decide where lines break
    written = out.read_text() if out.exists() else ""
    lines = sorted(written.splitlines()) if out.suffix == ".jsonl" else [written]  # rows come in any order
    return [said.code, comparable(said, player), sorted(said.err.splitlines()), lines]


def comparable(said: Said, player: str) -> Any:
    """The output without what may differ."""
    try:
        lines = [json.loads(line) for line in said.out.splitlines()]
    except ValueError:
        return TIMES.sub("TIME", said.out)
    return [without(line, player) for line in lines]


def without(value: Any, player: str) -> Any:
    if isinstance(value, dict):
        return {key: without(inner, player) for key, inner in value.items() if key not in KEYS}
    if isinstance(value, list):
        return [without(inner, player) for inner in value]
    return "PLAYER" if value == player else value


@pytest.mark.parametrize("args", ASKED, ids=lambda args: " ".join(args)[:60])
def test_a_server_changes_nothing_that_is_said(here: Path, running: Server, args: tuple[str, ...]) -> None:
    local, remote = both(args, running.address)
    assert local == remote
    assert local[0] == (1 if "bad.txt" in args else 0)
    assert local[1]


@pytest.mark.parametrize("args", REFUSED, ids=lambda args: " ".join(args)[:60])
def test_what_is_refused_is_refused_in_the_same_words(here: Path, running: Server, args: tuple[str, ...]) -> None:
    local, remote = both(args, running.address)
    assert local == remote
    assert (local[0], local[1]) in ((1, ""), (2, ""), (1, []), (2, []))
    assert local[2]


def test_no_command_that_asks_is_left_out() -> None:
    def has_server(name: str) -> bool:
        command = eminence.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        return any(parameter.name == "server" for parameter in command.params)

    asked = {args[0] for args in ASKED}
    assert {name for name in COMMANDS if has_server(name)} | {"match"} == asked
    assert {args[0] for args in REFUSED} <= asked

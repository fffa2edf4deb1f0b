"""Every command has the same output with a server and without one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from process import Server, server
from program import CASTLE, VIEW, Output, random_record, run

from server.cli.main import COMMANDS, eminence

FEW = ("--iterations", "100")
GAME = ("--game", "castle_village_port")
WATCHED = "A:? >B:? C:Heir(1) | round 2 | points 1 2 3 | seen by C"

# Output that may differ. In JSON: times, and the granted budget, which holds a server's caps.
KEYS = {"elapsed", "budget", "seconds", "positions_per_second", "moves_per_s"}
# In text: times and rates. The report and the file of a game have neither.
TIMES = re.compile(r"\d+\.\d+ (ms|s|per second)\b")

ANSWERED: list[tuple[str, ...]] = [
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
    with server() as running:
        yield running


@pytest.fixture
def inputs(folder: Path) -> None:
    """Write more input files."""
    games = (("oriflamme", "fr-2019", 4), ("oriflamme_prototype", None, 3), ("castle_village_port", "house", 3))
    (folder / "games.txt").write_text(
        "\n".join(str(random_record(game, edition, n, 4, 12)) for game, edition, n in games)
    )
    (folder / "seen.txt").write_text(str(random_record("oriflamme", "en-2019", 3, 7, until=9).seen_from("A")))
    (folder / "bad.txt").write_text(f"{VIEW}\nA:Spy B:Nope\n{VIEW.replace('by B', 'by C')}\n{VIEW}\n")


def both(args: tuple[str, ...], address: str) -> tuple[list[Any], list[Any]]:
    """Return the outcomes of a command without a server and with one."""
    with_server = () if args[0] == "match" else ("--server", address)
    return outcome(args, "level-1", ()), outcome(args, f"server:{address},level=1", with_server)


def outcome(args: tuple[str, ...], player: str, more: tuple[str, ...]) -> list[Any]:
    """Run a command; return its exit code, its comparable output, its errors and the file that it wrote."""
    out = Path("out.html" if args[0] == "review" else "out.txt" if args[0] == "play" else "out.jsonl")
    out.unlink(missing_ok=True)
    replaced = [player if arg == "PLAYER,level=1" else str(out) if arg == "OUT" else arg for arg in args]
    typed = "hint\n" + "1\n" * 300 if args[0] == "play" else ""
    output = run(*replaced, *more, stdin=typed, COLUMNS="200")  # wide: times must not change line breaks
    content = out.read_text() if out.exists() else ""
    lines = sorted(content.splitlines()) if out.suffix == ".jsonl" else [content]  # rows come in any order
    return [output.code, comparable(output, player), sorted(output.err.splitlines()), lines]


def comparable(output: Output, player: str) -> Any:
    """Return the output without the parts that may differ."""
    try:
        lines = [json.loads(line) for line in output.out.splitlines()]
    except ValueError:
        return TIMES.sub("TIME", output.out)
    return [without(line, player) for line in lines]


def without(value: Any, player: str) -> Any:
    if isinstance(value, dict):
        return {key: without(inner, player) for key, inner in value.items() if key not in KEYS}
    if isinstance(value, list):
        return [without(inner, player) for inner in value]
    return "PLAYER" if value == player else value


@pytest.mark.parametrize("args", ANSWERED, ids=lambda args: " ".join(args)[:60])
def test_a_server_does_not_change_the_output(
    inputs: None, short_searches: None, running: Server, args: tuple[str, ...]
) -> None:
    local, remote = both(args, running.address)
    assert local == remote
    assert local[0] == (1 if "bad.txt" in args else 0)
    assert local[1]


@pytest.mark.parametrize("args", REFUSED, ids=lambda args: " ".join(args)[:60])
def test_a_server_does_not_change_the_words_of_a_refusal(inputs: None, running: Server, args: tuple[str, ...]) -> None:
    local, remote = both(args, running.address)
    assert local == remote
    assert (local[0], local[1]) in ((1, ""), (2, ""), (1, []), (2, []))
    assert local[2]


def test_every_command_with_a_server_option_is_compared() -> None:
    def has_server(name: str) -> bool:
        command = eminence.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        return any(parameter.name == "server" for parameter in command.params)

    compared = {args[0] for args in ANSWERED}
    assert {name for name in COMMANDS if has_server(name)} | {"match"} == compared
    assert {args[0] for args in REFUSED} <= compared

"""The engine reproduces every reference game: the legal moves, the table after each move, the result."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from reference import GAMES, move_text, reference_games, start_of, table_json

from engine_cy import Position
from engine_cy.perft import perft

FILES = sorted(GAMES.glob("*.jsonl.gz"))
PERFT = [entry for file in sorted((GAMES.parent / "perft").glob("*.json")) for entry in json.loads(file.read_text())]


def test_there_are_576_reference_games() -> None:
    assert sum(gzip.decompress(file.read_bytes()).count(b"\n") for file in FILES) == 576


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.split(".")[0])
def test_reference_games_are_reproduced(file: Path) -> None:
    for number, reference in enumerate(reference_games(file)):
        position = start_of(reference)
        for ply, step in enumerate(reference["steps"]):
            where = f"{file.name}, game {number}, step {ply}: {position}"
            legal = position.legal_actions()
            assert position.to_act == step["by"], where
            assert len(legal) == step["n_legal"], where
            if "legal" in step:
                assert {str(a) for a in legal} == {text_of(position, move) for move in step["legal"]}, where
            position = position.play(move_text(step["move"]))
            assert table_json(position) == step["then"], where
            assert position.fault is None, where
        check_result(position, reference)


def text_of(position: Position, move: dict[str, Any]) -> str:
    return str(position.game.action(move_text(move)))


def check_result(position: Position, reference: dict[str, Any]) -> None:
    result = reference["result"]
    assert position.is_over
    assert list(position.scores) == result["points"]
    share = 1 / len(result["winners"])
    assert position.payoffs == tuple(share if p in result["winners"] else 0 for p in range(reference["players"]))
    if "cards_in_queue" in result:
        in_queue = [slot.family for slot in position.table.slots for _ in slot.cards]
        assert [in_queue.count(p) for p in range(reference["players"])] == result["cards_in_queue"]


@pytest.mark.parametrize("entry", PERFT, ids=lambda e: f"{edition(e)}-{e['players']}p-after-{len(e['moves'])}")
def test_perft_counts_equal_those_of_the_reference(entry: dict[str, Any]) -> None:
    position = start_of(entry)
    for move in entry["moves"]:
        position = position.play(move_text(move))
    assert table_json(position) == entry["then"]
    depth = len(entry["leaves"])
    counts = [perft(position, d) for d in range(1, depth + 1)]
    split = {
        str(action): 1 if depth == 1 else perft(position.play(action), depth - 1) for action in position.legal_actions()
    }
    expected = {text_of(position, json.loads(move)): leaves for move, leaves in entry["split_at_last"].items()}
    shares = "\n".join(f"{move}: {split.get(move)}, not {leaves}" for move, leaves in expected.items())
    assert counts == entry["leaves"], f"in {position}\n{shares}"
    assert split == expected


def edition(entry: dict[str, Any]) -> str:
    return str(entry["ruleset"] if isinstance(entry["ruleset"], str) else entry["ruleset"]["edition"])

"""Installed games: their ids, their packages, and faults of packages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from foreign_game import ForeignGame

from engine_cy import (
    EngineError,
    GameFaultError,
    GameSource,
    InvalidRulesetError,
    game_ids,
    game_sources,
    new_game,
    registry,
)
from engine_cy.record import game_named
from engine_cy.registry import add_game_family, is_game_id, refused_games

BUILT_IN = ["oriflamme", "oriflamme_prototype", "castle_village_port", "kuhn_poker", "leduc_poker"]

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install packages into a folder of their own: a name and games, as `id="module:Class"`."""

    def install(package: str, /, version: str = "1.2", **games: str) -> None:
        folder = tmp_path / f"{package}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = [f"{game} = {value}\n" for game, value in games.items()]
        (folder / "entry_points.txt").write_text(f"[eminence.games]\n{''.join(lines)}")
        registry._plugins.cache_clear()

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(registry, "_loaded", {})
    yield install
    registry._plugins.cache_clear()


def test_an_installed_game_is_listed_without_an_import_and_played_by_its_id(install: Any, monkeypatch: Any) -> None:
    install("dice-games", liars_dice="liars_dice:LiarsDice")
    monkeypatch.delitem(sys.modules, "liars_dice", raising=False)
    assert game_ids() == [*BUILT_IN, "liars_dice"]
    assert game_sources()[0] == GameSource("oriflamme", None, False)
    assert game_sources()[-1] == GameSource("liars_dice", "dice-games 1.2", None)
    assert "liars_dice" not in sys.modules
    game = new_game("liars_dice", "2x6", 4)
    assert game_sources()[-1] == GameSource("liars_dice", "dice-games 1.2", True)
    assert repr(game) == "new_game('liars_dice', '2x6', players=4)"
    assert game is new_game(*game.spec)
    assert game.__reduce__() == (new_game, ("liars_dice", "2x6", 4))
    assert game.deal(1).play("roll 3").to_act == -1
    with pytest.raises(InvalidRulesetError, match=r"players: 6 is not possible in liars_dice \(2, 3, 4, 5\)"):
        new_game("liars_dice", players=6)


def test_a_compiled_game_runs_outside_python(install: Any) -> None:
    install("foreign", foreign="foreign_game:ForeignGame")
    new_game("foreign", "sound", 2)
    assert game_sources()[-1] == GameSource("foreign", "foreign 1.2", False)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("no_such_module:Game", "cannot be imported: ModuleNotFoundError: No module named 'no_such_module'"),
        ("broken:Game", "cannot be imported: ZeroDivisionError: division by zero"),
        ("liars_dice:NoDice", "cannot be imported: AttributeError: .*NoDice"),
        ("liars_dice:Table", "is not a game: liars_dice:Table is a subclass of neither GameRules nor Game"),
        ("liars_dice:UNKNOWN", "is not a game: liars_dice:UNKNOWN is a subclass of neither"),
    ],
)
def test_a_faulty_package_is_refused_by_name_and_other_games_work(
    install: Any, tmp_path: Any, value: Any, message: Any
) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    install("dice-games", dice=value, liars_dice="liars_dice:LiarsDice")
    for _ in range(2):
        with pytest.raises(GameFaultError, match=f"^game: 'dice' of dice-games 1.2 {message}"):
            new_game("dice", players=2)
    assert [new_game(game, players=3).id for game in ("liars_dice", "oriflamme")] == ["liars_dice", "oriflamme"]


def test_an_id_belongs_to_the_engine_then_to_the_first_package(install: Any) -> None:
    install("a-dice", liars_dice="liars_dice:LiarsDice", oriflamme="liars_dice:LiarsDice")
    install("b-dice", **{"liars_dice": "no_such_module:Game", "openspiel:dice": "liars_dice:LiarsDice"})
    assert refused_games() == [
        "game: 'oriflamme' of a-dice 1.2 is refused: it is the id of a built-in game",
        "game: 'liars_dice' of b-dice 1.2 is refused: it is the id of a game of a-dice 1.2",
        "game: 'openspiel:dice' of b-dice 1.2 is refused: it is not an id of letters, digits, '_', '-' and '.'",
    ]
    assert game_ids() == [*BUILT_IN, "liars_dice"]
    assert new_game("oriflamme").n_players == 3
    assert new_game("liars_dice").game_rules is not None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (
            "version",
            "it was built for version 5 of the interface with 128 and 64 bytes, not for version 4 with 128 and 64",
        ),
        ("shorter", "it was built for version 4 of the interface with 120 and 64 bytes, not for version 4 with 128"),
        (
            "longer",
            "it was built for version 4 of the interface with 128 and 72 bytes, not for version 4 with 128 and 64",
        ),
        ("size", "its states have 8 bytes, not a multiple of 16 up to 768"),
        ("large", "its states have 1024 bytes"),
        ("none", "it has no interface"),
    ],
)
def test_a_package_that_was_built_with_other_headers_is_refused(install: Any, fault: Any, message: Any) -> None:
    install("foreign", version="3", foreign="foreign_game:ForeignGame")
    with pytest.raises(GameFaultError, match=f"^game: 'foreign' of foreign 3 cannot be played: {message}"):
        new_game("foreign", fault, 2)
    assert ForeignGame("foreign", "sound", 2).interface_fault is None


def test_built_in_games_have_this_interface() -> None:
    assert [new_game(game, players=2 if "poker" in game else 3).interface_fault for game in BUILT_IN] == [None] * 5


def test_a_family_makes_the_games_of_its_prefix(monkeypatch: Any) -> None:
    monkeypatch.setattr(registry, "_families", {})
    assert not is_game_id("poker:kuhn")
    with pytest.raises(InvalidRulesetError, match="'poker:kuhn' is not a game"):
        new_game("poker:kuhn")
    add_game_family("poker", lambda name, ruleset, players: new_game(f"{name}_poker", ruleset, players or 2))
    assert new_game("poker:kuhn").id == "kuhn_poker"
    assert is_game_id("poker:kuhn")
    for game in ("poker", "poker:"):
        with pytest.raises(EngineError, match="is not a game"):
            new_game(game)


def test_a_process_may_keep_the_code_of_installed_games_out(install: Any, monkeypatch: Any) -> None:
    install("dice-games", liars_dice="liars_dice:LiarsDice")
    monkeypatch.delitem(sys.modules, "liars_dice", raising=False)
    monkeypatch.setattr(registry, "_kept_out", "")
    registry.keep_installed_out("workers run it")
    for call in (new_game, registry.editions_of, lambda id: registry.players_of(id, "1x4")):
        with pytest.raises(GameFaultError, match=r"'liars_dice' of dice-games 1\.2 cannot run here: workers run it"):
            call("liars_dice")
    assert "liars_dice" not in sys.modules
    assert is_game_id("liars_dice")
    assert registry.load_for_installed("eminence.adapters", "liars_dice") is None
    assert new_game("oriflamme").id == "oriflamme"


@pytest.mark.parametrize(
    ("text", "game"),
    [
        ("game dice\n", "dice"),
        ("# a\n version 1\n  game  dice # b\nA x", "dice"),
        ("players 2\nA x\n", None),
        ("", None),
    ],
)
def test_the_game_of_a_record_is_read_without_making_it(text: str, game: str | None) -> None:
    assert game_named(text) == game

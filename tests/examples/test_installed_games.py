"""Games of one's own in a clean environment: the wheel, and packages built with its headers alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from installation import clean_environment, make_environment
from program import ROOT

from benchmarks.install import build_wheel

GAMES = ROOT / "examples" / "games"
IDS = ("liars_dice", "liars_dice_cy")
SMALL = ("--ruleset", "1x4", "--players", "2")

pytestmark = pytest.mark.slow


class Installation(NamedTuple):
    """A virtual environment by the folder of its programs, and an empty folder to run them in."""

    programs: Path
    folder: Path

    def run(self, program: str, *args: object, stdin: str = "", rc: int = 0) -> str:
        """Run a program; return what it printed."""
        result = subprocess.run(
            [self.programs / program, *map(str, args)],
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=clean_environment(),
            timeout=300,
            check=False,
        )
        assert result.returncode == rc, result.stderr
        assert "Traceback" not in result.stderr
        return result.stdout or result.stderr

    @property
    def headers(self) -> Path:
        [packages] = self.programs.parent.glob("lib/python*/site-packages/engine_cy")
        return packages


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Build the wheel, and install it and both examples."""
    folder = tmp_path_factory.mktemp("installation")
    (folder / "here").mkdir()
    made = Installation(make_environment(folder / "venv"), folder / "here")
    made.run("pip", "install", build_wheel(folder))
    for name in IDS:
        made.run("pip", "install", copy_sources(name, folder / name))
    return made


def copy_sources(name: str, to: Path) -> Path:
    """Copy an example without anything that was built."""
    return Path(shutil.copytree(GAMES / name, to, ignore=shutil.ignore_patterns("*.so", "*.c", "build", "*.egg-info")))


def test_nothing_is_imported_from_the_tree(installation: Installation) -> None:
    code = "import engine_cy, eminence, liars_dice, liars_dice_cy as c; print(engine_cy.__file__, eminence, c.__file__)"
    printed = installation.run("python", "-c", code)
    assert str(ROOT) not in printed
    assert printed.count(str(installation.programs.parent)) == 3


@pytest.mark.parametrize("game", IDS)
def test_an_installed_game_is_listed_checked_and_played(installation: Installation, game: str) -> None:
    run = installation.run
    assert re.search(rf"{game} +.*2 to 5 +1x6, 2x6, 5x6, 1x4, 2x3", run("eminence", "rules"))
    assert "1x4, 2 players" in run("eminence", "rules", "--game", game, *SMALL)
    assert f"{game} keeps all laws" in run("eminence", "check-game", game, *SMALL, "--games", 5)

    view = "? 3 1x4 2x3, first B | seen by B"  # a higher bid, two fours, is lost
    suggestion = run("eminence", "suggest", view, "--game", game, *SMALL, "--iterations", 500, "--seed", 1)
    assert "Play: liar" in suggestion

    players = ("--seats", "me,level-1", "--seed", 1, "--save", f"{game}.txt")
    assert "The game is over" in run("eminence", "play", "--game", game, *SMALL, *players, stdin="bid 2x4\n" * 2)
    assert "own losses" in run("eminence", "review", f"{game}.txt", "--iterations", 20)

    match = ("plain", "random", "--game", game, *SMALL, "--deals", 2, "--iterations", 20)
    assert "plain against 1 x random: 4 games (2 deals)" in run("eminence", "match", *match)


@pytest.mark.parametrize(
    ("header", "text", "changed", "refusal"),
    [
        (
            "game_api.pxd",
            "INTERFACE_VERSION = 4",
            "INTERFACE_VERSION = 9",
            r"cannot be imported: ImportError: it was built for version 9 of the interface with \d+ and \d+ bytes, ",
        ),
        (
            "values.pxd",
            "    cdef readonly int n_players\n",
            "    cdef readonly int n_players\n    cdef readonly object more\n",
            "cannot be imported: ValueError: engine_cy.values.Game size changed",
        ),
    ],
)
def test_a_game_built_with_other_headers_is_refused_by_name(
    installation: Installation, tmp_path: Path, header: str, text: str, changed: str, refusal: str
) -> None:
    name = f"with_other_{header.removesuffix('.pxd')}"
    sources = copy_sources("liars_dice_cy", tmp_path / name)
    for file in (sources / "pyproject.toml", sources / "liars_dice_cy.pyx"):
        words = file.read_text().replace("liars_dice_cy", name).replace("eminence-liars-dice-cy", name)
        file.with_name(file.name.replace("liars_dice_cy", name)).write_text(words)
    path = installation.headers / header
    current = path.read_text()
    assert current.count(text) == 1
    path.write_text(current.replace(text, changed))
    try:
        installation.run("pip", "install", sources)
    finally:
        path.write_text(current)
    printed = installation.run("eminence", "suggest", "? 3, first B | seen by B", "--game", name, *SMALL, rc=1)
    assert re.search(rf"game: '{name}' of {name} 1.0 {refusal}", " ".join(printed.split()))
    # The other games work on.
    for game in IDS:
        other = ("--game", game, *SMALL, "--iterations", 10)
        assert "Play: " in installation.run("eminence", "suggest", "? 3, first B | seen by B", *other)

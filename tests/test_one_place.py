"""Code outside a game's folder and its adapter does not ask which game it has."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine_cy import game_ids
from server.games import adapters_with_messages

ROOT = Path(__file__).parents[1]
FOLDERS = [path.parent.name for path in sorted((ROOT / "engine_cy").glob("*/binding.pyx"))]
CLASSES = [
    name
    for path in (ROOT / "engine_cy").glob("*/binding.pyx")
    for name in re.findall(r"^cdef class (\w+)\((?:Table)?Game\)", path.read_text("utf-8"), re.M)
]
NAMES = sorted({*game_ids(), *FOLDERS, *CLASSES}, key=len, reverse=True)
NAME = re.compile(rf"(?<![a-z])({'|'.join(NAMES)})(?![a-z])", re.I)
# Places that name games: data of the signature, and training for each game.
ALLOWED = (
    "solver/expected_signature.py",
    "solver/training/",
    *(f"engine_cy/{folder}/" for folder in FOLDERS),
    *(f"server/games/{folder}/" for folder in FOLDERS),
)
# Text for people: a docstring, an example of a command.
EXAMPLE = re.compile(r"\s*(\.venv/bin/)?(eminence|python) ")
HELP = {
    "server/app.py": {"oriflamme"},  # the call that a new server suggests
    "server/client/__main__.py": {"oriflamme"},
}
CYTHON_TEXT = re.compile(r'("""|\'\'\').*?\1|#[^\n]*', re.DOTALL)


def names_in(path: str, source: str) -> set[str]:
    """Return the games, game folders and game classes that the code of a file names."""
    texts = _code_of(ast.parse(source)) if path.endswith(".py") else [CYTHON_TEXT.sub("", source)]
    return {name.lower() for text in texts for name in NAME.findall(text)}


def _code_of(tree: ast.Module) -> Iterator[str]:
    """Yield the names and the texts of a module, except for those for people."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in docstrings and not EXAMPLE.match(node.value):
                yield node.value
        elif isinstance(node, ast.Name | ast.Attribute):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "", *(alias.name for alias in node.names))
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_game_is_known_by_folder_and_class() -> None:
    assert len(FOLDERS) == len(CLASSES) == 3
    assert {"oriflamme", "castle_village_port"} == {adapter.member for adapter in adapters_with_messages()}


def test_no_code_outside_its_two_places_names_a_game() -> None:
    paths = [
        path
        for package in ("engine_cy", "solver", "server")
        for pattern in ("*.py", "*.pyx", "*.pxd")
        for path in (ROOT / package).rglob(pattern)
    ]
    named = {}
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(ALLOWED):
            named[name] = names_in(name, path.read_text("utf-8")) - HELP.get(name, set())
    assert len(named) > 100
    assert {name: games for name, games in named.items() if games} == {}


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("a.py", "if game.id == 'kuhn_poker': pass", {"kuhn_poker"}),
        ("a.py", "from engine_cy.oriflamme.binding import Oriflamme", {"oriflamme"}),
        ("a.py", "isinstance(game, CastleVillagePort)", {"castlevillageport"}),
        ("a.py", "message.castle_village_port.CopyFrom(x)", {"castle_village_port"}),
        ("a.py", "x = f'{oriflamme_pb2} eminence_leduc_poker'", {"oriflamme", "leduc_poker"}),
        ("a.py", "'''Oriflamme'''\nrun('eminence play --game oriflamme')  # oriflamme", set()),
        ("a.pyx", "'''Oriflamme'''\nx = 1  # kuhn_leduc", set()),
        ("a.pyx", "from engine_cy.kuhn_leduc.state cimport State", {"kuhn_leduc"}),
    ],
)
def test_the_check_finds_games(path: str, source: str, expected: set[str]) -> None:
    assert names_in(path, source) == expected


# Not logic: texts, imports, and the lists of functions of an interface.
SOURCES = {".py", ".pyx", ".pxd"}
NO_LOGIC = re.compile(
    r'("""|\'\'\').*?\1|#[^\n]*|^(from|import)\b[^\n(]*(\([^)]*\))?|^(API|KNOWLEDGE)\.\w+ = .*$', re.S | re.M
)
RUN = 6  # lines


def logic_of(path: Path) -> list[str]:
    text = NO_LOGIC.sub("", path.read_text("utf-8"))
    return [line.strip() for line in text.splitlines() if len(line.strip()) > 3]


def shared_lines(one: list[str], other: list[str]) -> int:
    """Count the lines of `one` in runs of six or more that `other` has, too."""
    runs = {tuple(other[i : i + RUN]) for i in range(len(other) - RUN + 1)}
    starts = [i for i in range(len(one) - RUN + 1) if tuple(one[i : i + RUN]) in runs]
    return len({line for start in starts for line in range(start, start + RUN)})


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(FOLDERS, 2)))
def test_no_two_games_share_more_than_fifteen_lines_of_logic(one: str, other: str) -> None:
    sources = [
        [logic_of(path) for path in sorted((ROOT / "engine_cy" / folder).iterdir()) if path.suffix in SOURCES]
        for folder in (one, other)
    ]
    shared = sum(max(shared_lines(mine, theirs) for theirs in sources[1]) for mine in sources[0])
    assert shared <= 15, f"{one} and {other} share {shared} lines in runs of {RUN}"

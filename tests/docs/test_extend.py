"""Extend a scratch copy of the project as docs/how_to/extend.md says, build it, and play it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.install import TOOLS
from server.languages import LANGUAGES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how_to" / "extend.md").read_text()
THIRD_GAME = Path(__file__).with_name("third_game.txt").read_text()
LEFT_OUT = (
    ".git",
    ".venv",
    "node_modules",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    "dist",
    "benchmarks",
    "tools",
)
# The changes of the page in their order: an edition, a card with a new word, a card with a new question.
EDITION, WORD, QUESTION = re.findall(r"```diff\n(.*?)```", PAGE, re.DOTALL)

pytestmark = pytest.mark.slow


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copy_project(tmp_path)


def copy_project(folder: Path) -> Path:
    """Copy the project and its built modules, so that only changed modules are built again."""
    shutil.copytree(
        ROOT, folder / "copy", ignore=shutil.ignore_patterns(*LEFT_OUT, "__pycache__", "tests"), symlinks=True
    )
    return folder / "copy"


def start(folder: Path, *command: str, python: Path = Path(sys.executable)) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(folder / "proto")])}
    return subprocess.run(
        [python, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1_200,
        check=False,
    )


def output_of(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def run(folder: Path, *command: str) -> str:
    """Run Python in a copy; return its output."""
    return output_of(start(folder, *command))


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    return start(folder, "setup.py", "--quiet", "build_stubs", "build_ext", "--inplace", python=TOOLS)


# --- the changes of the page -----------------------------------------------------------------------------------


def hunks_of(change: str) -> Iterator[tuple[str, str, str]]:
    """Yield the file, the text before and the text after of each part of a change."""
    for part in re.split(r"^--- ", change, flags=re.MULTILINE)[1:]:
        name, body = part.split("\n", 1)
        for hunk in re.split(r"^@@\n", body, flags=re.MULTILINE):
            lines = hunk.splitlines(keepends=True)
            before = "".join(line[1:] or line for line in lines if line[0] != "+")
            yield name, before, "".join(line[1:] or line for line in lines if line[0] != "-")


def apply(folder: Path, change: str) -> list[str]:
    """Apply a change; return the names of its files."""
    for name, before, after in hunks_of(change):
        text = (folder / name).read_text()
        assert text.count(before) == 1, f"{name}: not once in it:\n{before}"
        (folder / name).write_text(text.replace(before, after))
    return list(dict.fromkeys(name for name, _, _ in hunks_of(change)))


def without(folder: Path, change: str, file: str) -> None:
    """Take back the part of a change in one file."""
    for name, before, after in reversed(list(hunks_of(change))):
        if name == file:
            (folder / name).write_text((folder / name).read_text().replace(after, before))


PLAY = """
import sys
from collections import Counter
from random import Random
from engine_cy import new_game
from engine_cy.record import Record, read_record, write_record
from server.codec import records, views
from server.games import adapter_of
from server.games.narration import Reader
from server.languages import LANGUAGES
from solver import Budget, solve

edition, *verbs = sys.argv[1:]
game = new_game("oriflamme", edition, players=3)
adapter = adapter_of("oriflamme")
assert adapter.has_values(game)
done = Counter()
for seed in range(30):
    random, position = Random(seed), game.deal(seed)
    played = []
    start = position
    while position.to_act is not None:
        view = position.view(position.to_act)
        assert game.view(str(view)) == view and game.position(str(position)) == position
        assert views.read_view(views.write_view(view)) == view
        world = view.sample_world(seed=seed)
        assert world.view(position.to_act) == view
        action = random.choice(position.legal_actions())
        for possible in position.legal_actions():
            assert game.action(str(possible)) == possible
            assert views.read_action(game, views.write_action(possible), "action") == possible
            assert all(adapter.choice(view, str(possible), Reader(language)) for language in LANGUAGES)
        done[str(action).split()[0]] += 1
        played.append(str(action))
        after = position.play(action)
        for language in LANGUAGES:
            assert adapter.prompt(view, Reader(language))
            assert adapter.narrate(position, str(action), after, Reader(language))
        position = after
    record = Record(start, tuple(played))
    assert read_record(write_record(record)) == record == records.read(records.write(record))
    assert record.end == position
view = game.deal(1).view("A")
print(solve(view, Budget(iterations=300)).best)
assert all(done[verb] > 0 for verb in verbs), done
"""


def test_an_edition_is_a_change_of_one_file_without_a_build(copy: Path) -> None:
    assert apply(copy, EDITION) == ["engine_cy/oriflamme/editions.py"]
    run(copy, "-c", PLAY, "house", "target")
    assert "house" in run(copy, "-m", "eminence", "rules", "--game", "oriflamme")


CATALOGUES = [f"server/games/oriflamme/words/{language}.py" for language in LANGUAGES]
# The message of a build or an import that lacks the change of a file.
MISSING_WORD = {
    "engine_cy/oriflamme/words.pxd": "TAKE_TOKENS",
    "engine_cy/oriflamme/effects.pxd": "effects.pxd: Deed.TAKE_TOKENS has no meaning; `act` needs a branch",
    "engine_cy/oriflamme/cards.py": "NOUNS of server/games/oriflamme/words/en.py has collector, which the engine lacks",
    "proto/eminence/v1/oriflamme.proto": "OriflammeCard of oriflamme.proto lacks collector, which the engine has",
    **{file: f"{file} lacks deed.TAKE_TOKENS, which the engine has" for file in CATALOGUES},
}
MISSING_QUESTION = {
    "engine_cy/oriflamme/words.pxd": "HONOUR",
    "engine_cy/oriflamme/effects.pxd": "effects.pxd: Deed.HONOUR has no meaning; `act` needs a branch",
    "engine_cy/oriflamme/turn.pyx": "turn.pyx: ASK_HONOUR has no answers; `legal_choices` needs a branch",
    "engine_cy/oriflamme/actions.py": "actions.py: no verb answers ASK_HONOUR",
    "engine_cy/oriflamme/cards.py": "NOUNS of server/games/oriflamme/words/en.py has envoy, which the engine lacks",
    "proto/eminence/v1/oriflamme.proto": "OriflammeCard of oriflamme.proto lacks envoy, which the engine has",
    **{file: f"{file} lacks deed.HONOUR, which the engine has" for file in CATALOGUES},
}


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a copy with all changes of the page, and build it."""
    folder = copy_project(tmp_path_factory.mktemp("extended"))
    assert len(apply(folder, EDITION)) == 1
    assert apply(folder, WORD) == list(MISSING_WORD)
    assert set(apply(folder, QUESTION)) == set(MISSING_QUESTION)
    output_of(build(folder))
    return folder


def test_cards_with_new_words_and_questions_are_played_viewed_sampled_noted_sent_and_searched(extended: Path) -> None:
    run(extended, "-c", PLAY, "en-2019", "honour", "target")
    run(extended, "-c", PLAY, "house", "honour", "target")
    taken = """
from engine_cy import new_game
game = new_game("oriflamme", players=3)
table = game.position(">A:Collector B:Heir(2)").play("reveal").play("target 1")
assert table.scores == (3, 1, 1), table.scores
table = game.position(">A:Envoy B:Heir C:Lord").play("reveal").play("honour 2")
assert table.scores == (3, 1, 2), table.scores
"""
    run(extended, "-c", taken)
    for card in ("collector", "envoy"):
        assert card in run(extended, "-m", "eminence", "rules", "--game", "oriflamme", card).lower()
    run(extended, "-m", "eminence", "check-game", "oriflamme")


@pytest.mark.parametrize(
    ("change", "file", "said"),
    [
        *[pytest.param(WORD, file, said, id=f"word-{Path(file).name}") for file, said in MISSING_WORD.items()],
        *[pytest.param(QUESTION, f, said, id=f"question-{Path(f).name}") for f, said in MISSING_QUESTION.items()],
    ],
)
def test_a_forgotten_part_fails_to_build_or_to_import(
    extended: Path, tmp_path: Path, change: str, file: str, said: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(extended, folder, symlinks=True)
    without(folder, change, file)
    if not file.endswith(".py"):
        built = build(folder)
        if built.returncode:
            assert said in built.stdout + built.stderr
            return
    imported = start(folder, "-c", "import server.games")
    assert imported.returncode != 0
    assert said in imported.stderr


# --- a game ------------------------------------------------------------------------------------------------------


PLAY_THIRD_GAME = """
from engine_cy import game_ids, new_game
from eminence.v1 import solver_pb2, view_pb2
from google.protobuf.any_pb2 import Any
from server.client.local import LocalClient
from server.codec import views
from solver import Budget, solve

game = new_game("one_bid", players=2)
view = game.deal(1).play("bid 2").view(1)
assert game.view(str(view)) == view, view
assert str(solve(view, Budget(iterations=2000)).best) == "bid 3"

message = views.write_view(view)
assert message.typed.TypeName() == "eminence.v1.OneBidView", message
assert views.read_view(message) == view
with LocalClient() as client:
    answer = client.suggest(message, solver_pb2.Budget(iterations=2000))
assert answer.best.text == "bid 3", answer
assert answer.best.typed.TypeName() == "eminence.v1.OneBidAction", answer
print(game_ids())
"""


def test_a_third_typed_game_touches_its_folder_its_adapter_and_its_proto_file_only(copy: Path) -> None:
    files = dict(part.split("\n", 1) for part in re.split(r"^=== ", THIRD_GAME, flags=re.M)[1:])
    places = ("engine_cy/one_bid/", "server/games/one_bid", "proto/eminence/v1/one_bid.proto")
    for name, text in files.items():
        assert name.startswith(places)
        path = copy / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    output_of(build(copy))
    assert "'one_bid'" in run(copy, "-c", PLAY_THIRD_GAME)
    run(copy, "-m", "eminence", "check-game", "one_bid")

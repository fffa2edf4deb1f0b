"""Text is plain English: CONTRIBUTING.md ("English") has the rule, tests/support/language.py the patterns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest
import rich
from language import READERS, docstrings, pages, phrases, turns, turns_of
from program import ROOT

# Turns allowed in 10,000 words.
CHECKED = {
    "CHANGELOG.md": 0,
    "CODE_OF_CONDUCT.md": 0,
    "CONTRIBUTING.md": 0,
    "DECISIONS.md": 0,
    "README.md": 0,
    "SECURITY.md": 0,
    "*/README.md": 0,
    ".github/**/*": 0,
    "docs/**/*.md": 0,
    "examples/**/*.md": 0,
    "deploy/*": 0,
    "benchmarks/**/*": 0,
    "engine_cy/**/*": 0,
    "proto/eminence/**/*.proto": 0,
    "examples/**/*": 0,
    "server/**/*": 0,
    "solver/**/*": 0,
    # Input that commands refuse may hold any word.
    "tests/**/*": 2,
}
GENERATED = {"docs/contract.md", "docs/command_line.md"}
# These hold examples of the turns.
EXAMPLES = {"tests/docs/test_language.py", "tests/support/language.py", "tests/test_check_message.py"}
OLD = (Path(__file__).parent / "old_sentences.txt").read_text().splitlines()


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def files(glob: str) -> list[Path]:
    paths = [path for path in ROOT.glob(glob) if path.is_file() and path.suffix in READERS]
    return sorted(path for path in paths if "node_modules" not in path.parts and name(path) not in GENERATED | EXAMPLES)


@pytest.mark.parametrize("glob", CHECKED)
def test_text_is_plain(glob: str) -> None:
    results = [turns_of(path) for path in files(glob)]
    found = [turn for some, _ in results for turn in some]
    words = sum(count for _, count in results)
    assert words > 0
    rate = 10_000 * len(found) / words
    assert rate <= CHECKED[glob], "\n".join([f"{rate:.1f} turns in 10,000 words", *map(str, found)])


def test_most_sentences_of_the_old_style_are_found() -> None:
    missed = [sentence for sentence in OLD if not list(phrases(sentence))]
    assert len(missed) <= 0.2 * len(OLD), "\n".join(missed)


@pytest.mark.parametrize("library", [click, rich], ids=lambda library: library.__name__)
def test_nothing_is_found_in_a_library_that_is_well_written(library: ModuleType) -> None:
    def prose() -> Iterator[tuple[Path, str]]:
        for path in Path(str(library.__file__)).parent.rglob("*.py"):
            yield path, path.read_text()

    results = [turns(docstrings(text), str(path)) for path, text in prose()]
    assert [str(turn) for found, _ in results for turn in found] == []
    assert sum(words for _, words in results) > 10_000


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.py", '"""Return it."""\n\n\ndef f():\n    """Return it.\n\n    Nobody waits.\n    """\n', 7),
        ("a.py", "x = 1\n# Wait: the caller\n# is told later.\n", 3),
        ("a.py", 'raise ValueError(\n    "level: the caller has "\n    f"so many {x}"\n)\n', 3),
        ("a.pyx", "cdef int x  # nobody writes it\n", 1),
        ("a.proto", "message A {\n  // The seat.\n  // Whoever asks.\n}\n", 3),
        ("a.toml", '# One. So many calls.\nx = "nobody"\n', 1),
        ("a.md", "# Title\nText.\n\n```sh\necho nobody\n```\n\n- One.\n- Two: who asks.\n", 9),
        ("a.md", "| a | b |\n|---|---|\n| `x` | what a seat sees |\n", 3),
    ],
)
def test_each_kind_of_file_is_read(tmp_path: Path, name: str, text: str, line: int) -> None:
    (tmp_path / name).write_text(text)
    found, _ = turns_of(tmp_path / name)
    assert {turn.place for turn in found} == {f"{tmp_path / name}:{line}"}


def test_questions_and_names_may_hold_any_word() -> None:
    assert not list(phrases("What is a view? Set `is told` to one. See [it](nobody.md)."))
    assert not [turn for _, text in pages("```\nnobody\n```\n") for turn in phrases(text)]

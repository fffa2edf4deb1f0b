"""`.ci/check-message` accepts commit subjects of the form `area: imperative summary` with at most 72 characters."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from program import ROOT

CHECK = ROOT / ".ci" / "check-message"
GOOD = [
    "search: prefetch the next node",
    "server, solver: pass the seed of a game to its searches",
    "docs/how_to: process batches in one example",
    "tests: seed every world",
    "Merge branch 'main' of there",
    'Revert "search: prefetch the next node"',
    f"search: add {'x' * 60}",
]
BAD = [
    ("Memory is told ahead which node comes next", "is not of the form"),
    ("Search: prefetch the next node", "is not of the form"),
    ("search: prefetch", "is not of the form"),
    ("search: prefetched the next node", "'prefetched' is not an imperative"),
    ("search: prefetches the next node", "'prefetches' is not an imperative"),
    ("search: prefetching the next node", "'prefetching' is not an imperative"),
    ("search: Prefetch the next node", "'Prefetch' is not an imperative"),
    ("search: prefetch the next node.", "full stop"),
    (f"search: add {'x' * 61}", "has 73 characters; at most 72"),
]


def check(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(CHECK), *arguments], cwd=folder, capture_output=True, text=True, check=False)


def check_text(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "message").write_text(text)
    return check(folder, "message")


@pytest.mark.parametrize("subject", GOOD)
def test_a_good_subject_passes(tmp_path: Path, subject: str) -> None:
    process = check_text(tmp_path, f"# from a template\n\n{subject}\n\nThe body says Why. Anything goes.\n")
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.parametrize(("subject", "reason"), BAD)
def test_a_bad_subject_is_refused_with_the_reason(tmp_path: Path, subject: str, reason: str) -> None:
    process = check_text(tmp_path, f"{subject}\n")
    assert process.returncode == 1
    assert reason in process.stderr


def git(folder: Path, *arguments: str) -> None:
    identity = {f"GIT_{role}_{field}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for field in ("NAME", "EMAIL")}
    environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)


def commit(folder: Path, subject: str) -> None:
    git(folder, "commit", "--allow-empty", "--message", subject)


def test_only_commits_that_the_upstream_branch_lacks_are_checked(tmp_path: Path) -> None:
    upstream, clone = tmp_path / "upstream", tmp_path / "clone"
    git(tmp_path, "init", "--initial-branch", "main", str(upstream))
    commit(upstream, "An old subject")
    assert check(upstream).returncode == 1  # without an upstream branch, the last commit is checked
    git(tmp_path, "clone", str(upstream), str(clone))
    assert check(clone).returncode == 0
    commit(clone, "A new subject")
    commit(clone, "search: prefetch the next node")
    process = check(clone)
    assert process.returncode == 1
    assert process.stderr.startswith("A new subject\n")

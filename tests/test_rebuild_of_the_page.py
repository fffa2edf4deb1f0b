"""`.ci/web` compares the committed bundle with a build of its sources, and names a missing node."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from program import ROOT

PARTS = (".ci/web", "buf.yaml", "proto", "engine_cy/look.json", "server/web/board")


def run(
    *arguments: str, folder: Path = ROOT, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name != "CI"} | dict(environment or {})
    command = [str(folder / ".ci" / "web"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=variables, timeout=600)


@pytest.fixture
def without_node(tmp_path: Path) -> str:
    """Return a PATH with the programs of the script, except node."""
    for name in ("bash", "env", "dirname", "git"):
        program = shutil.which(name)
        assert program is not None
        (tmp_path / name).symlink_to(program)
    return str(tmp_path)


@pytest.mark.parametrize(("arguments", "variables", "code"), [([], {}, 0), ([], {"CI": "true"}, 1), (["write"], {}, 1)])
def test_missing_node_is_named(arguments: list[str], variables: dict[str, str], code: int, without_node: str) -> None:
    done = run(*arguments, environment={"PATH": without_node, **variables})
    assert done.returncode == code, done.stderr
    assert "node is missing (Debian: nodejs)" in done.stderr
    assert "nothing checks that server/web/static is what its sources give" in done.stderr


def test_an_old_node_is_named(without_node: str) -> None:
    old = Path(without_node) / "node"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo v18.1.0 || echo false\n')
    old.chmod(0o755)
    (Path(without_node) / "npm").symlink_to(old)
    assert (
        "node 20 or newer is needed, and this is v18.1.0"
        in run(environment={"PATH": without_node, "CI": "true"}).stderr
    )


@pytest.mark.slow
def test_a_bundle_of_other_sources_is_found(tmp_path: Path) -> None:
    """Change a word of the sources in a copy of the repository: the check names the files that differ."""
    if shutil.which("npm") is None:
        pytest.skip("the page is built by npm (Debian: npm)")
    tree = tmp_path / "tree"
    names = subprocess.check_output(["git", "ls-files", "-z", "--", *PARTS], cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    shutil.copytree(ROOT / "server" / "web" / "static", tree / "server" / "web" / "static")
    (tree / ".venv").symlink_to(ROOT / ".venv")
    subprocess.run(["git", "init", "-q", tree], check=True)
    words = tree / "server" / "web" / "board" / "src" / "words" / "en.ts"
    words.write_text(words.read_text("utf-8").replace('live: "Live analysis"', 'live: "Another word"'), "utf-8")
    other = run(folder=tree)
    assert other.returncode == 1, other.stderr
    assert "Only in server/web/static/assets: en-" in other.stdout
    assert "The bundle is not that of its sources; .ci/web write writes it." in other.stderr

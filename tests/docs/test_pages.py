"""Run the commands and programs in README.md and the pages of docs/, and compare their output with the pages.

A page is one session in one folder. bash runs a block of `sh`; a block without a language right after it is the
expected output. A block of `python` is run, too, and one of `js` by node; `prints` precedes an expected line. A block
that begins with `# app.py` is that file, for the blocks that follow. `EMINENCE_WRITE_DOCS=1 pytest tests/docs` writes
the output into the pages, after a change that changes answers.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest
from installation import OFFLINE, make_environment
from process import server
from program import ROOT, environment
from tables import mostly_slow

from engine_cy import GameRules, new_game
from engine_cy.record import Record
from server.rpc.auth import read_clients

DOCS = ROOT / "docs"
PAGES = (
    "tutorial.md",
    "http.md",
    "levels.md",
    "your_own_game.md",
    "explanation.md",
    "how_to/analyse.md",
    "how_to/extend.md",
    "how_to/from_your_state_to_a_view.md",
)
# The others take more than a second.
QUICK_PAGES = ("levels.md", "explanation.md", "how_to/extend.md", "how_to/from_your_state_to_a_view.md")
# Pages that other tests check, by test or reason.
ELSEWHERE = {
    "ARCHITECTURE.md": "no commands; test_every_file_on_a_page_exists",
    "GLOSSARY.md": "test_the_glossary_names_identifiers_that_exist",
    "README.md": "no commands",
    "RELEASING.md": "commands of releases; test_every_make_target_on_a_page_exists",
    "STABILITY.md": "no commands",
    "cluster.md": "tests/solver/test_ray_docs.py",
    "command_line.md": "tests/cli/test_program.py",
    "advice.md": "written by python -m benchmarks advice; tests/benchmarks/test_advice.py",
    "browser.md": "a page to click; tests/server/test_web.py serves it",
    "calibration.md": "written by python -m benchmarks calibration; tests/benchmarks/test_calibration_page.py",
    "contract.md": "tests/docs/test_contract_page.py",
    "how_to/game_in_cython.md": "tests/examples/test_installed_games.py",
    "how_to/serve_own_games.md": "tests/server/test_plugins.py",
    "install.md": "tests/test_install.py",
    "how_to/settings.md": "tests/docs/test_how_to.py",
    "how_to/troubleshooting.md": "tests/docs/test_how_to.py",
    "how_to/tuning.md": "tests/docs/test_how_to.py",
    "json_lines.md": "tests/server/test_json_lines.py",
    "notation.md": "tests/engine/test_docs.py",
    "records.md": "tests/cli/test_records.py",
    "strength.md": "written by python -m benchmarks ladder; tests/benchmarks/test_ladder.py",
    "reference/game_rules.md": "test_the_reference_of_game_rules_is_current",
    "training.md": "hours of computing; tests/solver/test_training.py runs the smallest",
    "service.md": "test_the_tokens_of_the_service_page_are_valid",
}
# Blocks that these tests skip, and why.
NOT_RUN = {
    "make build\n": "the tests run in a finished build",
    "python3 -m venv .venv\n.venv/bin/pip install eminence\n": "so does this session",
    "make serve\n": "the session has a server of its own, on a free port",
}
ADDRESS = "127.0.0.1:50051"
WEB = "http://127.0.0.1:8080"
BLOCK = re.compile(r"```(\w*)\n(.*?)```(?:\n\n```\n(.*?)```)?", re.DOTALL)
# Figures that differ from run to run.
TIMES = re.compile(r"\bin [\d.]+ m?s\b|\b[\d.]+ per second|engine [0-9a-f]{16}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with nothing but the programs of a build."""
    program = make_environment(tmp_path / ".venv") / "eminence"
    program.write_text(f'#!/bin/sh\nexec {program.with_name("python")} -m eminence "$@"\n')
    program.chmod(0o755)
    return tmp_path


def run(command: list[str], folder: Path) -> str:
    result = subprocess.run(
        command,
        cwd=folder,
        env=environment(PYTHONDONTWRITEBYTECODE="1", **OFFLINE),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, f"{command[-1]}\n{result.stderr}"
    return "".join(f"{line.rstrip()}\n" for line in result.stdout.splitlines())


def session(page: str, folder: Path, address: str, web: str = WEB) -> Iterator[tuple[re.Match[str], str]]:
    """Run the blocks of a page; yield each one that shows output, and its text with the output of this run."""
    for block in BLOCK.finditer(page):
        language, code, expected = block.groups()
        script = code.replace(ADDRESS, address).replace(WEB, web)
        if code in NOT_RUN or language not in ("sh", "python", "js") or (language == "js" and not which("node")):
            continue
        if language == "sh":
            output = run(["bash", "-euo", "pipefail", "-c", script], folder)
            if expected is not None:
                yield block, f"```sh\n{code}```\n\n```\n{output}```"
        elif file_name := re.match(r"# (\w+\.py)\n", code):
            (folder / file_name[1]).write_text(script)
        else:
            command = [sys.executable, "-c"] if language == "python" else ["node", "--input-type=module", "-e"]
            lines = run([*command, script], folder).splitlines()
            text, *rest = re.split(r"(?:(?<=# )|(?<=// ))prints .*", block.group())
            assert len(lines) == len(rest), lines
            yield block, text + "".join(f"prints {line}{more}" for line, more in zip(lines, rest, strict=True))


def comparable(text: str) -> str:
    """Remove times and line breaks."""
    return " ".join(TIMES.sub("", " ".join(text.split())).split())


@pytest.mark.parametrize("name", mostly_slow(PAGES, PAGES, QUICK_PAGES))
def test_the_output_on_a_page_is_that_of_its_commands(name: str, folder: Path) -> None:
    path = DOCS / name
    page = path.read_text()
    if ADDRESS in page:
        with server("--threads", "1", web=WEB in page) as running:
            blocks = list(session(page, folder, running.address, running.web))
    else:
        blocks = list(session(page, folder, ADDRESS))
    assert blocks
    if "EMINENCE_WRITE_DOCS" in os.environ:
        for block, printed in reversed(blocks):
            page = page[: block.start()] + printed + page[block.end() :]
        path.write_text(page)
        pytest.skip("written, not compared")
    for block, printed in blocks:
        assert comparable(block.group()) == comparable(printed)


def test_every_page_has_its_test() -> None:
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    rules = {page for page in pages if page.startswith("rules/")}
    assert pages - rules == {*PAGES, *ELSEWHERE}
    for place in ELSEWHERE.values():
        assert not place.startswith("tests/") or (ROOT / place).is_file()
    index = (DOCS / "README.md").read_text()
    assert {page for page in pages - rules if f"({page})" not in index} == {"README.md"}


WRITTEN = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md", *sorted(DOCS.rglob("*.md"))]


def anchors(path: Path) -> set[str]:
    """Return the anchors that GitHub makes from the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), link
        assert not anchor or anchor in anchors(path), link


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_make_target_on_a_page_exists(page: Path) -> None:
    """Check the targets with `make -n`, which runs nothing."""
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(), re.MULTILINE):
        result = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_on_a_page_exists(page: Path) -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in ("build", "dist")}
    for name in re.findall(r"`([\w.-]+/[\w./*-]*)`", page.read_text()):
        assert name.split("/")[0] not in folders or list(ROOT.glob(name.rstrip("/"))), name


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_on_a_page_exists(page: Path) -> None:
    for module in re.findall(r"python -m ([\w.]+)", page.read_text()):
        assert find_spec(module), module


def test_the_tokens_of_the_service_page_are_valid(tmp_path: Path) -> None:
    [tokens] = re.findall(r"```toml\n(.*?)```", (DOCS / "service.md").read_text(), re.DOTALL)
    (tmp_path / "tokens.toml").write_text(tokens)
    assert list(read_clients(str(tmp_path / "tokens.toml"))) == [hashlib.sha256(b"test").digest()]


def test_the_match_of_the_readme_runs(folder: Path) -> None:
    """Run it with a single deal and a millisecond for each decision."""
    [match] = re.findall(r"`(python -m benchmarks match [^`]*)`", (ROOT / "README.md").read_text())
    assert "--time-ms 10" in match
    shorter = match.replace("--time-ms 10", "--time-ms 1 --deals 1 --workers 1")
    assert "default against 2 x plain: 3 games" in run(["bash", "-c", f".venv/bin/{shorter}"], folder)


def test_the_commands_of_the_readme_run(folder: Path) -> None:
    """Run them on a short game and two positions, with few iterations."""
    start = new_game("oriflamme", "en-2019", players=3).deal(seed=1)
    (folder / "game.txt").write_text(str(Record(start).play(start.legal_actions()[0])))
    position = "A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B"
    (folder / "positions.txt").write_text(f"{position}\n{position.replace('2 3', '4 3')}\n")
    [block] = re.findall(r"```\n(\.venv/bin/eminence .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    *searches, play = [command.partition("  #")[0] for command in block.splitlines()]
    assert len(searches) == 3
    for command in searches:
        run(["bash", "-c", f"{command} --iterations 50"], folder)
    assert "</html>" in (folder / "report.html").read_text()
    assert (folder / "results.sqlite").exists()
    # The input ends at once, which ends the game.
    assert "Place the Ambush at the front" in run(["bash", "-c", f"{play} --seed 1"], folder)


def test_the_glossary_names_identifiers_that_exist() -> None:
    rows = re.findall(
        r"^\| (.+?) \| .+ \| `(\w+)` in `([\w./]+)` \|$", (DOCS / "GLOSSARY.md").read_text(), re.MULTILINE
    )
    assert len(rows) == (DOCS / "GLOSSARY.md").read_text().count("\n| ") - 3  # less the heads of its tables
    for term, identifier, place in rows:
        assert re.search(rf"\b{identifier}\b", (ROOT / place).read_text()), f"{term}: {place} has no {identifier}"


def test_the_picture_is_current(tmp_path: Path) -> None:
    new, current = tmp_path / "hint.svg", DOCS / "pictures" / "hint.svg"
    run([sys.executable, str(DOCS / "pictures" / "make.py"), str(new)], tmp_path)
    if "EMINENCE_WRITE_DOCS" in os.environ:
        current.write_text(new.read_text())
    assert new.read_text() == current.read_text(), "python docs/pictures/make.py"


def test_the_reference_of_game_rules_is_current(folder: Path) -> None:
    page = DOCS / "reference" / "game_rules.md"
    assert run([sys.executable, str(DOCS / "reference" / "make.py")], folder) == page.read_text(), (
        "python docs/reference/make.py > docs/reference/game_rules.md"
    )
    for method in GameRules.__abstractmethods__:
        assert f"\n### `{method}(" in page.read_text().split("## Optional methods")[0]


def test_pages_and_the_ci_runner_install_the_same_packages() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / ".github" / "workflows" / "ci.yml"]
    installed = [re.findall(r"apt-get install (?:--yes )?([\w. -]+\w)", page.read_text()) for page in pages]
    assert [len(commands) for commands in installed] == [1, 1, 1]
    assert len({command for commands in installed for command in commands}) == 1

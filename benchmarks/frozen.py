"""Earlier versions as opponents: a commit of this repository, built once into a folder, played by a process of its own.

`default-1` is such a version, by its commit and configuration; `frozen:commit=HASH,config=NAME` is any other. Nothing
of an old version stays in the search: the folder has its sources, weights and compiled modules, and frozen_worker.py
answers there, a line of JSON for a line. A clone with history builds the same folder again.
"""

from __future__ import annotations

import atexit
import fcntl
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from engine_cy import Action, View
from solver.config import Budget, InvalidQuestionError
from solver.match import Turn, with_settings

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "frozen"
WORKER = Path(__file__).with_name("frozen_worker.py")
PARTS = ("engine_cy", "solver", "proto", "setup.py", "pyproject.toml", "README.md", "tests/cases")
GameSpec = tuple[str, str | Mapping[str, bool | int | str] | None, int]

# The named versions. A shipped generation of weights adds the commit before it.
VERSIONS = {
    "default-1": "55e1e78c9cbfafcf3e6b0b10d86cc6d6d94869f4",
    "default-2": "09f7d65a98b096fb8ac7b0d45ffffa889892a017",
    "default-3": "2371b1707fa47d24dadfb2eccc7787612b9790ce",
}


class FrozenBuildError(RuntimeError):
    """A version cannot be built, or its process failed."""


# --- the folder of a version ------------------------------------------------------------------------------------


def folder_of(commit: str) -> Path:
    """Return the folder of a commit, built if necessary: it takes a minute or two, once."""
    resolve = ["git", "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    commit = _run(resolve, f"{commit} is not in the history").decode().strip()
    # A folder for each Python, as compiled modules serve only one.
    folder = FOLDER / f"{commit[:12]}-{sysconfig.get_config_var('SOABI')}"
    if folder.exists():
        return folder
    FOLDER.mkdir(parents=True, exist_ok=True)
    with _locked(FOLDER / "lock"):
        if not folder.exists():
            _build(commit, folder)
    return folder


def _build(commit: str, folder: Path) -> None:
    print(f"building {commit[:12]} in {folder}", file=sys.stderr, flush=True)
    # Built elsewhere and renamed, so that an interrupted build leaves nothing that looks complete.
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=FOLDER))
    try:
        archive = _run(["git", "archive", commit, "--", *PARTS], f"no sources of {commit[:12]}")
        with tarfile.open(fileobj=BytesIO(archive)) as tar:
            tar.extractall(partial, filter="data")
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
        _run(command, f"{commit[:12]} does not compile", partial)
        shutil.rmtree(partial / "build", ignore_errors=True)
        partial.rename(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _run(command: list[str], problem: str, folder: Path = ROOT) -> bytes:
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise FrozenBuildError(": ".join(["frozen", problem, *reason[-1:]]))
    return done.stdout


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


# --- its process ------------------------------------------------------------------------------------------------


class Version:
    """A process of an earlier version, which answers one question at a time."""

    def __init__(self, commit: str) -> None:
        folder = folder_of(commit)
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(folder)},
            cwd=folder,
        )
        atexit.register(self.close)

    def ask(
        self,
        game: GameSpec,
        view: View | str,
        budget: Budget,
        seed: int,
        config: str,
        record: str | None = None,
        **options: object,
    ) -> dict[str, Any]:
        """Search a view; return the best move, the mean payoffs of all seats, and the visits of all moves."""
        question = {
            "game": list(game),
            "view": str(view),
            "record": record,
            "config": config,
            "iterations": budget.iterations,
            "thread_time_ms": budget.thread_time_ms,
            "seed": seed,
            "options": options,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            raise FrozenBuildError(f"frozen: the process of {self.folder.name} ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise FrozenBuildError(f"frozen: {self.folder.name}: {answer['error']}")
        return answer

    def close(self) -> None:
        """End the process: it ends with its input."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


@cache
def version_of(commit: str) -> Version:
    """Return this process's own process of a version."""
    return Version(commit)


# --- as a player of matches -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FrozenPlayer:
    """A player of matches that an earlier version plays."""

    name: str
    commit: str = ""
    config: str = "default"

    def choose(self, turn: Turn, budget: Budget, seed: int) -> tuple[Action, int]:
        if budget.time_ms is not None:
            raise InvalidQuestionError("budget.time_ms", "frozen versions play by iterations or by CPU time")
        view, record = turn.view, _record_of(turn)
        answer = version_of(self.commit).ask(view.game.spec, view, budget, seed, self.config, record)
        return view.game.action(answer["best"]), answer["iterations"]


def _record_of(turn: Turn) -> str | None:
    return str(turn.seen) if turn.view.game.has_history else None


def read_frozen(text: str, settings: str) -> FrozenPlayer:
    """Read `default-1`, or `frozen:commit=HASH`, optionally with a configuration."""
    name = text.partition(":")[0]
    player: FrozenPlayer = with_settings(FrozenPlayer(text, VERSIONS.get(name, "")), text, settings)
    if not player.commit:
        raise InvalidQuestionError("player", f"{text!r} names no commit", accepted="frozen:commit=HASH")
    return player


GUESTS = dict.fromkeys([*VERSIONS, "frozen"], read_frozen)

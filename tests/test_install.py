"""Installations of the distribution, each in a clean environment, from the registry that pip is configured for."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from program import ROOT, VIEW, write_files

from benchmarks.install import TOOLS, make_environment
from solver.extras import EXTRAS

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
CLIENT: dict[str, Any] = tomllib.loads((ROOT / "server/client/pyproject.toml").read_text("utf-8"))["project"]
# The packages whose oldest and newest versions are tested.
WIRE = ("protobuf", "grpcio", "googleapis-common-protos")
OPENSPIEL = "import solver, eminence; print(eminence.new_game('openspiel:kuhn_poker').id)"
FEW = ("--iterations", "50", "--seed", "1")
LONG_S = 300.0  # of an installation on a busy machine


class Result(NamedTuple):
    code: int
    out: str
    error: str


class Installation(NamedTuple):
    """An environment, by the folder of its programs, and the folder to run them in."""

    programs: Path
    folder: Path

    def run(self, program: str, *args: str, stdin: str = "") -> Result:
        with self.start(program, *args) as process:
            out, error = process.communicate(stdin, timeout=LONG_S)
        return Result(process.returncode, out, error)

    def ok(self, program: str, *args: str, stdin: str = "") -> str:
        result = self.run(program, *args, stdin=stdin)
        assert result.code == 0, result.error
        return result.out

    def start(self, program: str, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.programs / program), *args],
            cwd=self.folder,
            env={name: text for name, text in os.environ.items() if not name.startswith("PYTHON")} | {"COLUMNS": "80"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @contextmanager
    def serving(self, *flags: str) -> Iterator[str]:
        """Run a server; yield its address."""
        with self.start("eminence", "serve", "--address", "127.0.0.1:0", "--no-self-test", *flags) as process:
            try:
                assert process.stdout is not None
                line = process.stdout.readline()
                if not line.startswith("listening on "):
                    pytest.fail(process.communicate(timeout=LONG_S)[1])
                yield line.removeprefix("listening on ").strip()
            finally:
                process.terminate()
                process.communicate(timeout=LONG_S)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the sdist beside the files and the list of files that earlier builds left."""
    folder = tmp_path_factory.mktemp("sdist")
    (folder / "eminence.egg-info").mkdir()
    built = [*(ROOT / "build").glob("cython-*/**/*.c"), *ROOT.glob("engine_cy/*.so"), *ROOT.glob("proto/**/*_pb2*.py")]
    assert len({path.suffix for path in built}) == 3
    names = "".join(f"{path.relative_to(ROOT)}\n" for path in built)
    (folder / "eminence.egg-info" / "SOURCES.txt").write_text(names)
    command = ["setup.py", "--quiet", "egg_info", "--egg-base", str(folder), "sdist", "--dist-dir", str(folder)]
    subprocess.run([TOOLS, *command], cwd=ROOT, check=True, capture_output=True, timeout=LONG_S)
    [archive] = folder.glob("*.tar.gz")
    return archive


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the sdist, as pip does on machines without a wheel; without optimization, to save time."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(sdist)]
    subprocess.run(command, cwd=folder, env={**os.environ, "EMINENCE_CFLAGS": "-O0"}, check=True, timeout=LONG_S)
    [wheel] = folder.glob("*.whl")
    return wheel


def install(folder: Path, wheel: Path, extras: str = "", *more: str) -> Installation:
    """Install a wheel with extras, and other packages."""
    (folder / "here").mkdir()
    name = wheel.name.partition("-")[0].replace("_", "-")
    return Installation(make_environment(folder / "venv", f"{name}{extras} @ {wheel.as_uri()}", *more), folder / "here")


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install(tmp_path_factory.mktemp("alone"), wheel)


def oldest(requirements: list[str]) -> list[str]:
    """Return the lower bounds of the packages of the wire, as exact requirements."""
    return [
        re.sub(r">=([\d.]+).*", r"==\1", requirement)
        for requirement in requirements
        if requirement.startswith("grpcio") or re.split("[>=]", requirement)[0] in WIRE
    ]


# --- the sdist and the wheel -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_sdist_has_the_sources_alone(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert not [name for name in names if re.search(r"(^|/)(build|tests)/|\.so$|\.c$|_pb2|training", name)]
    kinds = {".py", ".pyi", ".pyx", ".pxd", ".json", ".typed", ".html", ".css", ".js", ".svg", ".proto"}
    left_out = {"training", "board", "__pycache__"}
    sources = {
        path.relative_to(ROOT).as_posix()
        for package in ("engine_cy", "solver", "server", "proto")
        for path in (ROOT / package).rglob("*.*")
        if path.suffix in kinds and not left_out & set(path.parts) and "_pb2" not in path.name
    }
    assert sources - names == set()
    assert "server/web/static/index.html" in names
    about = {name for name in names - sources if not name.startswith("eminence.egg-info/")}
    others = {"LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml", "setup.cfg", "setup.py"}
    others.add("server/web/static/licenses.md")
    assert about <= others, about - others


@pytest.mark.slow
def test_a_wheel_of_the_sdist_runs_the_command_line(alone: Installation) -> None:
    version = PROJECT["version"]
    assert alone.ok("eminence", "--version") == f"eminence {version}\n"
    assert alone.ok("python", "-m", "eminence", "--version") == f"eminence {version}\n"
    assert alone.ok("python", "-c", "import eminence; print(eminence.__version__)") == f"{version}\n"
    assert "Play: " in alone.ok("eminence", "suggest", VIEW, *FEW)
    assert "Play: " in alone.ok("python", "-m", "eminence", "suggest", VIEW, *FEW)
    assert "oriflamme" in alone.ok("eminence", "rules")
    alone.ok("eminence", "analyze", "-", "--out", "results.sqlite", "--workers", "2", *FEW, stdin=f"{VIEW}\n")
    alone.ok("eminence", "match", "plain", "random", "--deals", "1", "--iterations", "20")


# --- extras ------------------------------------------------------------------------------------------------------

MISSING: dict[str, list[tuple[str, ...]]] = {
    "server": [
        ("eminence", "serve"),
        ("python", "-m", "server"),
        ("eminence", "suggest", VIEW, "--server", "127.0.0.1:1"),
        ("python", "-m", "server.client", "oriflamme", "en-2019", "3", VIEW),
        ("python", "-c", "import eminence; eminence.Client"),
        ("python", "-c", "from server.client import AsyncClient"),
    ],
    "ray": [
        ("eminence", "analyze", "-", "--out", "a.jsonl", "--ray-address", "local"),
        ("python", "-c", "import eminence; eminence.RayPool(1)"),
    ],
    "parquet": [("eminence", "analyze", "-", "--out", "a.parquet")],
    "plots": [("eminence", "review", "game.txt", "--plot", "a.svg")],
    "openspiel": [
        ("python", "-c", OPENSPIEL),
        ("python", "-c", "import solver.openspiel.openspiel_in_ours"),
        ("python", "-c", "import solver.openspiel.ours_in_openspiel"),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("extra", MISSING)
def test_what_is_missing_is_named_with_its_command(alone: Installation, extra: str) -> None:
    write_files(alone.folder)
    for program, *args in MISSING[extra]:
        result = alone.run(program, *args, stdin=f"{VIEW}\n")
        *before, last = result.error.splitlines()
        assert result.code == 1, args
        assert last.endswith(f" needs {EXTRAS[extra].title}: pip install 'eminence[{extra}]'"), args
        # An import in Python raises the same sentence.
        assert before == [] or args[0] == "-c", args


@pytest.mark.slow
def test_every_extra_is_an_extra_of_the_project() -> None:
    assert set(PROJECT["optional-dependencies"]) == {*EXTRAS, "all"}
    [everything] = PROJECT["optional-dependencies"]["all"]
    assert set(everything.removeprefix("eminence[").rstrip("]").split(",")) == set(EXTRAS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("extra", "command", "printed"),
    [
        ("openspiel", ("python", "-c", OPENSPIEL), "openspiel:kuhn_poker"),
        ("parquet", ("eminence", "analyze", "-", "--out", "a.parquet", *FEW), ""),
        ("plots", ("eminence", "review", "game.txt", "--plot", "a.svg", "--iterations", "5"), "own losses"),
        ("ray", ("eminence", "analyze", "-", "--out", "a.jsonl", "--ray-address", "local", "--workers", "1", *FEW), ""),
    ],
)
def test_an_extra_is_all_that_its_commands_need(
    wheel: Path, tmp_path: Path, extra: str, command: tuple[str, ...], printed: str
) -> None:
    installation = install(tmp_path, wheel, f"[{extra}]")
    write_files(installation.folder)
    assert printed in installation.ok(*command, stdin=f"{VIEW}\n")


@pytest.mark.slow
def test_traces_need_an_extra_of_their_own(wheel: Path, tmp_path: Path) -> None:
    installation = install(tmp_path, wheel, "[server]")
    result = installation.run("eminence", "serve", "--traces", "127.0.0.1:4317", "--address", "127.0.0.1:0")
    assert (result.code, result.error) == (1, missing("--traces", "telemetry"))
    result = installation.run("eminence", "serve", "--backend", "ray", "--address", "127.0.0.1:0")
    assert (result.code, result.error) == (1, missing("a search on Ray's workers", "ray"))
    shutil.rmtree(tmp_path / "here")
    shutil.rmtree(tmp_path / "venv")
    traced = install(tmp_path, wheel, "[telemetry]")
    with traced.serving("--traces", "127.0.0.1:4317") as address:
        assert "Play: " in traced.ok("eminence", "suggest", VIEW, *FEW, "--server", address)


def missing(user: str, extra: str) -> str:
    return f"eminence: {user} needs {EXTRAS[extra].title}: pip install 'eminence[{extra}]'\n"


# --- versions of protobuf and gRPC -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("client")
    subprocess.run([ROOT / ".ci" / "client", folder], check=True, timeout=LONG_S)
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.mark.slow
@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_client_and_server_run_with_all_accepted_versions(
    wheel: Path, client_wheel: Path, tmp_path: Path, age: str
) -> None:
    requirements = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["server"]]
    (tmp_path / "client").mkdir()
    (tmp_path / "server").mkdir()
    bounds = (oldest(CLIENT["dependencies"]), oldest(requirements)) if age == "oldest" else ([], [])
    client = install(tmp_path / "client", client_wheel, "", *bounds[0])
    server = install(tmp_path / "server", wheel, "[server]", *bounds[1])
    majors = {"oldest": "6", "newest": "7"}
    for installation in (client, server):
        code = "import google.protobuf, grpc; print(google.protobuf.__version__, grpc.__version__)"
        protobuf, grpc = installation.ok("python", "-W", "error", "-c", code).split()
        assert protobuf.split(".")[0] == majors[age]
        assert age == "newest" or (protobuf, grpc) == ("6.31.1", "1.76.0")
    with server.serving() as address:
        printed = client.ok(
            *("python", "-W", "error", "-m", "eminence_client", "--address", address, "--time-ms", "50"),
            *("oriflamme", "en-2019", "3", VIEW),
        )
        assert "iterations" in printed
        assert "Play: " in server.ok("eminence", "suggest", VIEW, *FEW, "--server", address)


# --- elsewhere ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_other_systems_are_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    import_module("setuptools.command.build_ext")  # asks for the platform
    monkeypatch.setattr(sys, "platform", platform)
    with pytest.raises(SystemExit, match=f"Eminence runs on Linux; this is {platform}"):
        runpy.run_path(str(ROOT / "setup.py"))

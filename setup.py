"""The build steps that pyproject.toml cannot express: extension modules, their flags, and the protobuf stubs.

    build/tools/bin/python setup.py build_stubs build_ext --inplace    for developers (`make build`)
    pip wheel .                                                        for everyone else

EMINENCE_CFLAGS adds compiler flags, for instance "-O1". Every set of flags has a build folder of its own.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zlib
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import ClassVar

from setuptools import Command, Extension, find_packages, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

if sys.platform != "linux":
    raise SystemExit(f"Eminence runs on Linux; this is {sys.platform}. On Windows, install it in WSL.")

SHIPPED = ["engine_cy", "solver", "server"]
# The wheel has no benchmarks, no tests, no examples, and no `solver.training`. Only these two commands, which never
# make a wheel, compile the extensions of the former.
FOR_DEVELOPER = not {"build", "build_ext"}.isdisjoint(sys.argv)
PACKAGES = [*SHIPPED, "benchmarks", "tests", "examples"] if FOR_DEVELOPER else SHIPPED

PROTO = Path("proto")
CORES = len(os.sched_getaffinity(0))

# Equal seeds give equal answers on every machine: no flag here may change a floating-point result.
# -ffp-contract=off is needed because gcc otherwise fuses a*b+c on processors that can.
EXTRA_CFLAGS = shlex.split(os.environ.get("EMINENCE_CFLAGS", ""))
CFLAGS = ["-O3", "-g0", "-ffp-contract=off", *EXTRA_CFLAGS]
FLAGS_NAME = f"flags-{zlib.crc32(' '.join(EXTRA_CFLAGS).encode()):08x}" if EXTRA_CFLAGS else "usual"
BUILD_BASE = f"build/{'developer' if FOR_DEVELOPER else 'wheel'}-{FLAGS_NAME}"


def extensions() -> list[Extension]:
    """Return an extension for each .pyx file, named after its path."""
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            depends=["setup.py"],
            extra_compile_args=CFLAGS,
            extra_link_args=EXTRA_CFLAGS,
        )
        for package in PACKAGES
        for source in sorted(Path(package).rglob("*.pyx"))
        if FOR_DEVELOPER or "training" not in source.parts
    ]


def stub_of(words: str) -> str:
    """Return the stub of the enumerations that a words.pxd has for Python."""
    lines = ["from enum import IntEnum, IntFlag"]
    for name, body in re.findall(r"^cpdef enum ?(\w*):\n((?: {4}.*\n|\n)+)", words, re.M):
        comment = re.search(r'""".*?"""', body, re.S)
        body = body.replace(comment.group(), "") if comment else body
        members = re.findall(r"^ {4}(\w+) *(?:=|#|$)", body, re.M)
        # An enumeration that gives each member its number is one of flags.
        kind = "IntFlag" if body.count(" = ") == len(members) else "IntEnum"
        lines += ["", f"class {name}({kind}):"] if name else [""]
        lines += [f"    {comment.group()}", ""] if comment else []
        lines += [f"    {member} = ..." if name else f"{member}: int" for member in members]
    return "\n".join(lines) + "\n"


class BuildStubs(Command):
    """Generate the stubs of words.pxd, and the protobuf and gRPC stubs beside their .proto files, if a file changed."""

    user_options: ClassVar[list[tuple[str, str, str]]] = []

    def initialize_options(self) -> None:
        pass

    def finalize_options(self) -> None:
        pass

    def run(self) -> None:
        for words in sorted(Path("engine_cy").glob("*/words.pyx")):
            stub = words.with_suffix(".pyi")
            text = stub_of(words.with_suffix(".pxd").read_text())
            if not stub.exists() or stub.read_text() != text:
                stub.write_text(text)
        # Another version of grpcio-tools writes other stubs, so the version is part of the name.
        stamp = Path("build", f"stubs-{version('grpcio-tools')}")
        # Not third_party: its stubs are in googleapis-common-protos.
        protos = sorted((PROTO / "eminence").rglob("*.proto"))
        stubs = [proto.with_name(f"{proto.stem}_pb2.py") for proto in protos]
        newest = max(path.stat().st_mtime for path in [*protos, Path("setup.py")])
        if stamp.exists() and newest <= stamp.stat().st_mtime and all(stub.exists() for stub in stubs):
            return
        print("generating the protobuf stubs")
        # protoc looks for protoc-gen-mypy on the PATH, which may lack the virtual environment.
        path = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
        subprocess.run(
            [
                *(sys.executable, "-m", "grpc_tools.protoc"),
                *(f"-I{PROTO}", f"-I{PROTO / 'third_party'}", f"-I{files('grpc_tools') / '_proto'}"),
                *(f"--python_out={PROTO}", f"--grpc_python_out={PROTO}"),
                # Not protoc's own --pyi_out: it types messages, but not services.
                *(f"--mypy_out=quiet:{PROTO}", f"--mypy_grpc_out=quiet:{PROTO}"),
                *map(str, protos),
            ],
            env={**os.environ, "PATH": path},
            check=True,
        )
        stamp.parent.mkdir(exist_ok=True)
        stamp.touch()


class BuildExt(build_ext):
    """Translate changed modules, and those that cimport a changed .pxd, with Cython; then compile in parallel."""

    def finalize_options(self) -> None:
        super().finalize_options()
        if self.inplace and EXTRA_CFLAGS:
            raise SystemExit(
                "EMINENCE_CFLAGS cannot be used with --inplace, where modules of different flags would mix."
            )
        self.parallel = self.parallel or CORES

    def build_extensions(self) -> None:
        from Cython.Build import cythonize
        from Cython.Compiler.Errors import CompileError

        # Cython compares file times only. With a folder for each version, a new Cython translates everything again.
        folder = f"build/cython-{version('cython')}"
        try:
            # binding=False: CPython's method objects check the type of `self`. Cython's own do not, and then read
            # foreign memory.
            translated = cythonize(
                self.extensions, build_dir=folder, nthreads=CORES, quiet=True, compiler_directives={"binding": False}
            )
        except CompileError as error:
            raise SystemExit(f"Cython cannot translate {error}") from None  # Cython has printed the reason
        for extension, in_c in zip(self.extensions, translated, strict=True):
            extension.sources = in_c.sources
        super().build_extensions()


class Build(build):
    """Make the stubs first, because the usual steps copy them."""

    sub_commands: ClassVar = [("build_stubs", None), *build.sub_commands]

    def run(self) -> None:
        # A wheel contains every file in this folder, so delete those of an earlier build.
        if not FOR_DEVELOPER:
            shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(
    packages=[
        *find_packages(include=[*PACKAGES, *(f"{name}.*" for name in PACKAGES)], exclude=["solver.training"]),
        "eminence",
        "eminence.v1",
    ],
    package_dir={"eminence": "proto/eminence"},
    ext_modules=extensions(),
    cmdclass={"build": Build, "build_ext": BuildExt, "build_stubs": BuildStubs},
    options={"build": {"build_base": BUILD_BASE}},
)

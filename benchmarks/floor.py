"""The plain-C stand-in of floor.c, compiled when it is needed."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
from pathlib import Path

from benchmarks.measure import Side

SOURCE = Path(__file__).with_name("floor.c")
LIBRARY = Path(__file__).parents[1] / "build" / "floor.so"
# For this very machine, which our engine is not compiled for: a floor should be low.
FLAGS = ["-O3", "-march=native", "-shared", "-fPIC"]
# A playout's cost depends on its start (14 to 18 ns a decision), so they start from several.
SEEDS = range(1, 12)


def build() -> ctypes.CDLL:
    """Compile the stand-in and load it."""
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed: another process may have the library of that name loaded.
    fresh = LIBRARY.with_suffix(f".{os.getpid()}.so")
    command = [*shlex.split(os.environ.get("CC", "gcc")), *FLAGS, "-o", str(fresh), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)} failed:\n{done.stderr}")
    fresh.replace(LIBRARY)
    library = ctypes.CDLL(str(LIBRARY))
    library.playouts.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    library.playouts.restype = ctypes.c_double
    return library


def playouts() -> Side:
    """Random playouts of the stand-in; a unit is a decision."""
    library = build()
    per_playout = library.decisions_per_playout()

    def run(n: int) -> float:
        for seed in SEEDS:
            library.playouts(n, seed)
        return float(n * len(SEEDS) * per_playout)

    return Side("floor", run)

"""Compile and load the plain-C stand-in of floor.c on demand."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
from pathlib import Path

from benchmarks.measure import Side

SOURCE = Path(__file__).with_name("floor.c")
LIBRARY = Path(__file__).parents[1] / "build" / "floor.so"
# For exactly this machine, unlike the engine: a lower bound should be low.
FLAGS = ["-O3", "-march=native", "-shared", "-fPIC"]
# The cost of a playout depends on its seed (14 to 18 ns per decision), so use several.
SEEDS = range(1, 12)


def build() -> ctypes.CDLL:
    """Compile the stand-in and load it."""
    LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    # Write to another name and rename: another process may have loaded the library.
    fresh = LIBRARY.with_suffix(f".{os.getpid()}.so")
    command = [*shlex.split(os.environ.get("CC", "gcc")), *FLAGS, "-o", str(fresh), str(SOURCE)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{shlex.join(command)} failed:\n{result.stderr}")
    fresh.replace(LIBRARY)
    library = ctypes.CDLL(str(LIBRARY))
    library.playouts.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
    library.playouts.restype = ctypes.c_double
    return library


def playouts() -> Side:
    """Make the side of the stand-in's random playouts; a unit is a decision."""
    library = build()
    per_playout = library.decisions_per_playout()

    def run(n: int) -> float:
        for seed in SEEDS:
            library.playouts(n, seed)
        return float(n * len(SEEDS) * per_playout)

    return Side("floor", run)

"""Files of the games' learned weights: whole thousandths in JSON, read at import.

A file has a version and the sizes of its tables, which must match the code that reads it. By the name of each set of
weights it has the tables of the set: a list of weights, or a list of such lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def thousandths(weights: Iterable[float]) -> list[int | str]:
    """Encode weights as in a file: whole thousandths, and a text with the length of each run of zeros."""
    encoded: list[int | str] = []
    zeros = 0
    for weight in [*weights, math.inf]:
        if weight == 0 or abs(weight) < 0.0005:
            zeros += 1
            continue
        if zeros:
            encoded.append(str(zeros))
            zeros = 0
        if weight != math.inf:
            encoded.append(round(weight * 1000))
    return encoded


def spread(sparse: list[int | str], n: int) -> list[float]:
    """Decode a list of a file into its `n` weights."""
    weights: list[float] = []
    for number in sparse:
        if isinstance(number, str):
            weights += [0.0] * int(number)
        else:
            weights.append(number / 1000)
    if len(weights) != n:
        raise ValueError(f"weights: {len(weights)}, not {n}")
    return weights


def read_weights(
    path: Path, version: int, sizes: Mapping[str, int]
) -> dict[str, tuple[list[float], list[list[float]]]]:
    """Read a file: for each set of weights, its marks and its rows of features."""
    content = json.loads(path.read_text())
    if content["version"] != version or content["sizes"] != sizes:
        raise ValueError(
            f"{path}: weights of version {content['version']} and sizes {content['sizes']}, not {version} and {sizes}"
        )
    return {
        name: (spread(tables["marks"], sizes["marks"]), [spread(row, sizes["features"]) for row in tables["features"]])
        for name, tables in content["sets"].items()
    }


def write_weights(
    path: Path,
    version: int,
    sizes: Mapping[str, int],
    name: str,
    marks: Iterable[float],
    features: Iterable[Iterable[float]],
) -> None:
    """Write the weights of a set to the file, and keep the other sets if the version and sizes match."""
    content: dict[str, Any] = {"version": version, "sizes": dict(sizes), "sets": {}}
    if path.exists():
        old = json.loads(path.read_text())
        if (old["version"], old["sizes"]) == (content["version"], content["sizes"]):
            content = old
    content["sets"][name] = {"marks": thousandths(marks), "features": [thousandths(row) for row in features]}
    content["sets"] = dict(sorted(content["sets"].items()))
    path.write_text(json.dumps(content, separators=(",", ":")).replace('"features":', '\n"features":') + "\n")

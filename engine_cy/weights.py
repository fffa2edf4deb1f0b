"""The weights of what games know of themselves, as files: whole thousandths in JSON, read at import.

A file has a version and the sizes of its tables, which have to be those of the code that reads it, and by the name of
each set its tables: one list of weights, or a list of such lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def thousandths(weights: Iterable[float]) -> list[int | str]:
    """Weights as in the file: whole thousandths; a text counts zeros in a row."""
    written: list[int | str] = []
    zeros = 0
    for weight in [*weights, math.inf]:
        if weight == 0 or abs(weight) < 0.0005:
            zeros += 1
            continue
        if zeros:
            written.append(str(zeros))
            zeros = 0
        if weight != math.inf:
            written.append(round(weight * 1000))
    return written


def spread(sparse: list[int | str], n: int) -> list[float]:
    """The `n` weights that a list in the file stands for."""
    weights: list[float] = []
    for number in sparse:
        if isinstance(number, str):
            weights += [0.0] * int(number)
        else:
            weights.append(number / 1000)
    if len(weights) != n:
        raise ValueError(f"weights: {len(weights)} where {n} belong")
    return weights


def read_weights(
    path: Path, version: int, sizes: Mapping[str, int]
) -> dict[str, tuple[list[float], list[list[float]]]]:
    """The marks and the rows of features of each set in a file."""
    content = json.loads(path.read_text())
    if content["version"] != version or content["sizes"] != sizes:
        raise ValueError(
            f"{path}: weights of version {content['version']} and sizes {content['sizes']}, not {version} and {sizes}"
        )
    return {
        name: (spread(kept["marks"], sizes["marks"]), [spread(row, sizes["features"]) for row in kept["features"]])
        for name, kept in content["sets"].items()
    }


def write_weights(
    path: Path,
    version: int,
    sizes: Mapping[str, int],
    name: str,
    marks: Iterable[float],
    features: Iterable[Iterable[float]],
) -> None:
    """Put the weights of a set into the file, beside those of the others."""
    content: dict[str, Any] = {"version": version, "sizes": dict(sizes), "sets": {}}
    if path.exists():
        old = json.loads(path.read_text())
        if (old["version"], old["sizes"]) == (content["version"], content["sizes"]):
            content = old
    content["sets"][name] = {"marks": thousandths(marks), "features": [thousandths(row) for row in features]}
    content["sets"] = dict(sorted(content["sets"].items()))
    path.write_text(json.dumps(content, separators=(",", ":")).replace('"features":', '\n"features":') + "\n")

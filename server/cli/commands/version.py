"""The version of the installed package or of the source tree."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path


def version() -> str:
    try:
        return installed_version("eminence")
    except PackageNotFoundError:
        metadata = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
        return f"{metadata['project']['version']} (from source)"

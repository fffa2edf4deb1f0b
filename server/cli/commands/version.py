"""Which version this is, installed or used where its source lies."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from pathlib import Path


def version() -> str:
    try:
        return installed_version("eminence")
    except PackageNotFoundError:
        said = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))
        return f"{said['project']['version']} (from source)"

"""Virtual environments with the packages that Eminence needs, but without Eminence itself."""

from __future__ import annotations

import os
import sysconfig
import venv
from pathlib import Path

# Packages are installed from files, and built with the tools of this environment.
OFFLINE = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_DEPS": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip reads the value as that of `build isolation`
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def make_environment(folder: Path) -> Path:
    """Make a virtual environment with the other packages of this one; return the folder of its programs."""
    venv.create(folder, symlinks=True)
    [packages] = folder.glob("lib/python*/site-packages")
    # This environment finds the tree by a .pth file in its folder, which Python does not read from there.
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("".join(f"{path}\n" for path in paths))
    programs = folder / "bin"
    (programs / "pip").write_text(f'#!/bin/sh\nexec {programs / "python"} -m pip "$@"\n')
    (programs / "pip").chmod(0o755)
    return programs


def clean_environment() -> dict[str, str]:
    """Return variables without the paths of the tree."""
    return {name: text for name, text in os.environ.items() if name != "PYTHONPATH"} | OFFLINE | {"COLUMNS": "80"}

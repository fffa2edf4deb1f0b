"""The pages of docs/how_to that other tests do not run: settings, troubleshooting, tuning."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from program import ROOT, environment

from eminence.v1.error_reason_pb2 import ErrorReason
from server.settings import Settings

PAGES = ROOT / "docs" / "how_to"
ROW = re.compile(r"^\| (`.+?`(?:, `.+?`)*) \| (.+?) \| (.+) \|$", re.MULTILINE)


def rows(page: str) -> dict[str, str]:
    """Return the second column of the tables of a page, by the names in the first."""
    return {
        name: cells[1] for cells in ROW.findall((PAGES / page).read_text()) for name in re.findall(r"`(\w+)`", cells[0])
    }


def test_every_setting_is_on_the_page_with_its_default() -> None:
    defaults = {True: "yes", False: "no", "": "empty"}
    settings = {
        setting.name: defaults[setting.default]
        if isinstance(setting.default, bool | str) and setting.default in defaults
        else str(setting.default)
        for setting in fields(Settings)
    }
    assert {name: default.strip("`") for name, default in rows("settings.md").items()} == settings


def test_every_reason_of_the_contract_has_an_entry() -> None:
    reasons = {value.name.removeprefix("ERROR_REASON_") for value in ErrorReason.DESCRIPTOR.values if value.number}
    assert set(rows("troubleshooting.md")) == reasons


def test_the_program_on_the_tuning_page_measures_every_game(tmp_path: Path) -> None:
    (block,) = re.findall(r"```python\n# sizing.py\n(.*?)```", (PAGES / "tuning.md").read_text(), re.DOTALL)
    for game, players in (("oriflamme", 3), ("castle_village_port", 3)):
        printed = subprocess.run(
            [sys.executable, "-c", block, game, str(players), "1", "2"],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert re.fullmatch(r"1 iterations: [\d.]+ ms, \d+ bytes an iteration\n2 iterations: .*\n", printed)

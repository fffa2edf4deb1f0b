"""The suite of the start-up times measures and prints every figure."""

from __future__ import annotations

import pytest

from benchmarks import startup
from benchmarks.report import as_json


@pytest.mark.slow
def test_the_suite_prints_every_figure():
    printed = as_json(startup.run(startup.QUICK))
    assert set(printed) == {"help_vs_python", "spread", "noisy", "raw", "load"}
    assert printed["raw"]["suggest_ms"] > printed["raw"]["help_ms"] > printed["raw"]["nothing_ms"] > 0
    assert "help_vs_python" in startup.as_text(startup.run(startup.QUICK))


@pytest.mark.timing
def test_help_does_not_load_the_engine():
    # With the engine, the ratio would be about 14.
    assert 1 < as_json(startup.run(startup.QUICK))["help_vs_python"] < 9

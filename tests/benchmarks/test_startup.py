"""The suite of the start prints what it promises."""

from __future__ import annotations

import pytest

from benchmarks import startup
from benchmarks.report import as_json


def test_the_suite_prints_what_it_promises():
    found = as_json(startup.run(startup.QUICK))
    assert set(found) == {"help_vs_python", "spread", "noisy", "raw", "load"}
    assert found["raw"]["suggest_ms"] > found["raw"]["help_ms"] > found["raw"]["nothing_ms"] > 0
    assert "help_vs_python" in startup.as_text(startup.run(startup.QUICK))


@pytest.mark.timing
def test_help_does_not_load_the_engine():
    # With it, the ratio would be about 14.
    assert 1 < as_json(startup.run(startup.QUICK))["help_vs_python"] < 9

"""The suite of the start prints what it promises."""

from __future__ import annotations

from benchmarks import startup
from benchmarks.report import as_json


def test_the_suite_prints_what_it_promises():
    found = as_json(startup.run(startup.QUICK))
    assert set(found) == {"help_vs_python", "spread", "noisy", "raw", "load"}
    # With the engine loaded, it would be about 14.
    assert 1 < found["help_vs_python"] < 9
    assert found["raw"]["suggest_ms"] > found["raw"]["help_ms"] > found["raw"]["nothing_ms"] > 0
    assert "help_vs_python" in startup.as_text(startup.run(startup.QUICK))

"""The suite of the backends prints what it promises."""

from __future__ import annotations

import json

import pytest

from benchmarks import backends
from benchmarks.report import as_json


@pytest.mark.slow
def test_the_suite_prints_what_it_promises() -> None:
    result = backends.run(backends.QUICK)
    found = json.loads(json.dumps(as_json(result)))
    assert set(found) == {*backends.GOALS, "spread", "noisy", "raw", "load"}
    assert set(backends.MEASURES) == set(backends.MEANINGS) == set(backends.GOALS)
    assert all(found[name] > 0 for name in backends.GOALS if name not in ("kill_delay_ms", "batch_growth_mib"))
    assert len(found["raw"]["kill_delays_ms"]) == backends.QUICK.kills
    assert all(name in backends.as_text(result) for name in backends.GOALS)

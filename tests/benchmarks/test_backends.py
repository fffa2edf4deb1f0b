"""The suite of the backends measures and prints every figure."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from program import ROOT

from benchmarks import backends

# In its own process: Ray keeps the first token that it saw, and other tests have other tokens.
CODE = """
import json
from benchmarks import backends
from benchmarks.report import as_json
result = backends.run(backends.QUICK)
text = backends.as_text(result)
assert all(name in text for name in backends.GOALS)
print(json.dumps(as_json(result)))
"""


@pytest.mark.slow
def test_the_suite_prints_every_figure() -> None:
    output = subprocess.check_output([sys.executable, "-c", CODE], cwd=ROOT, text=True, timeout=500)
    result = json.loads(output.splitlines()[-1])
    assert set(result) == {*backends.GOALS, "spread", "noisy", "raw", "load"}
    assert set(backends.MEASURES) == set(backends.MEANINGS) == set(backends.GOALS)
    assert all(result[name] > 0 for name in backends.GOALS if name not in ("kill_delay_ms", "batch_growth_mib"))
    assert len(result["raw"]["kill_delays_ms"]) == backends.QUICK.kills

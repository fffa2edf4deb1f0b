"""Only bytes and numbers go to workers and come back: nothing that crosses is unpickled into objects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
import ray
from engine_cy import new_game
from solver import Budget
from solver.backends import ray_actors
from solver.backends.wire import answered, decode_share, encode_job, pack, read_answer, unpack
from solver.solve import make_job

heard = []

def listen(event, what):
    if event == "pickle.find_class":
        heard.append(what)

class Listening(ray_actors.Worker):
    def begin(self):
        sys.addaudithook(lambda event, what: event == "pickle.find_class" and self.names.append(str(what)))
        self.names = []

    def told(self):
        return len(self.names)

    def control(self, evil):
        return len(self.names)

ray.init(address="local", num_cpus=1, include_dashboard=False, object_store_memory=80 * 2**20, logging_level=50)
options = {"num_cpus": 1, "concurrency_groups": {"search": 2, "control": 1}}
worker = ray.remote(**options)(Listening).remote()
ray.get(worker.begin.remote())
sys.addaudithook(listen)
position = new_game("oriflamme", "en-2019", 4).deal(3)
job = encode_job(make_job(position.view(position.to_act), Budget(iterations=100), workers=2))
head = ray_actors.CALL.pack(7, 1, 5)
share = decode_share(read_answer(ray.get(worker.search.remote(head + job))))
assert share.iterations == 50
for message in (job, b"nonsense", b"cos\\nsystem\\n(S'true'\\ntR."):
    answers = unpack(ray.get(worker.batch.remote(8, pack([message, message]))))
    assert len(answers) == 2 and (answers[0][0] == 0) == (message is job), answers
assert ray.get(worker.search.remote(head + b"nonsense"))[0] == 1
ray.get([worker.stop.remote(9), worker.peek.remote(9), worker.ready.remote()])
assert heard == [], heard
told = ray.get(worker.told.remote())
assert told == 0, told
# The ears are open: an object does make a noise.
from fractions import Fraction
assert ray.get(worker.control.remote(Fraction(1, 3))) > 0
"""


@pytest.mark.slow
def test_nothing_is_unpickled_on_either_side(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "RAY_AUTH_MODE": "token",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_AUTO_CONNECT": "0",
    }
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]

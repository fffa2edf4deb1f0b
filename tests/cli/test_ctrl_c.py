"""Ctrl-C: a terminal signals every process of a command, and only the command itself handles it."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import struct
import subprocess
import termios
import time
from contextlib import suppress

import pytest
from process import server
from program import VIEW, command, environment, processes_of, views
from waiting import HANG_S, wait_until


def test_a_suggestion_of_a_server_ends_with_the_answer_so_far():
    """Run on a terminal, which shows the answer so far."""
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 60, 200, 0, 0))
    output = b""
    with (
        server() as running,
        subprocess.Popen(
            command("suggest", VIEW, "--time-ms", "50000", "--server", running.address),
            env=environment(NO_COLOR="1", TERM="xterm", LINES="60"),
            stdout=terminal,
        ) as process,
    ):
        os.close(terminal)
        while b"still searching" not in output:
            output += os.read(screen, 4096)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # a closed terminal raises it
            while chunk := os.read(screen, 4096):
                output += chunk
        assert process.wait(HANG_S) == 0
    os.close(screen)
    times = re.findall(rb"iterations in ([0-9.]+) m?s: it was interrupted", output)
    assert float(times[-1]) > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("args", "lines"),
    [
        # After three of four equal positions, one worker has the fourth, and the others are idle.
        ("analyze positions.txt --time-ms 5000 --out out.jsonl --workers 3", 3),
        ("match plain plain --iterations 10000 --deals 3 --resume out.jsonl --workers 2", 1 + 2),
    ],
)
def test_busy_and_idle_workers_ignore_ctrl_c(tmp_path, args, lines):
    (tmp_path / "positions.txt").write_text("\n".join(views(4)) + "\n")
    out = tmp_path / "out.jsonl"
    with subprocess.Popen(
        command(*args.split()),
        env=environment(),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            wait_until(lambda: out.exists() and out.read_text().count("\n") >= lines)
            workers = processes_of(process.pid) - {process.pid}
            assert len(workers) >= 2
            # Signal the workers first: the end of the command would hide that the signal killed one.
            for worker in workers:
                os.kill(worker, signal.SIGINT)
            time.sleep(0.3)
            assert processes_of(process.pid) == {*workers, process.pid}
            process.send_signal(signal.SIGINT)
            output, err = process.communicate(timeout=HANG_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, output, err.strip()) == (130, "", "")

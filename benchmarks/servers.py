"""Start server processes to measure: the server itself, and an echo.

The *echo* is a server in the same mode (grpc.aio, the same options) that parses the request and serializes a stored
answer. It measures the cost of a call over loopback.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from eminence.v1 import solver_pb2 as pb
from eminence.v1 import solver_pb2_grpc

SUGGEST = "/eminence.v1.SolverService/Suggest"
OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]
SERVING = health_pb2.HealthCheckResponse.SERVING


class ServerProcess:
    """A server in a process of its own, which prints its address as the last word of its first line."""

    def __init__(self, command: list[str], stdin: bytes = b"") -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # The server sets it, too; neither process forks.
            env=os.environ | {"GRPC_ENABLE_FORK_SUPPORT": "0"},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(stdin)
        self.process.stdin.close()
        self.address = self.process.stdout.readline().decode().split()[-1]

    def channel(self) -> grpc.Channel:
        return grpc.insecure_channel(self.address, OWN_CONNECTION)

    def wait_until_serving(self) -> None:
        with self.channel() as channel:
            health: Any = health_pb2_grpc.HealthStub(channel)
            while health.Check(health_pb2.HealthCheckRequest(), timeout=30).status != SERVING:
                time.sleep(0.02)


@contextmanager
def serving(*flags: str, web: str = "127.0.0.1:0") -> Iterator[ServerProcess]:
    """Run the server, without its answer cache unless a flag enables it."""
    command = [sys.executable, "-m", "server", "--address", "127.0.0.1:0", "--web", web]
    command += ["--cache-mb", "0", "--log", "error", *flags]
    server = ServerProcess(command)
    try:
        server.wait_until_serving()
        yield server
    finally:
        server.process.kill()
        server.process.wait()


@contextmanager
def echoing(answers: Sequence[bytes]) -> Iterator[ServerProcess]:
    """Run an echo; the seed of a request is the index of its answer."""
    server = ServerProcess(
        [sys.executable, "-c", "from benchmarks.servers import echo; echo()"], pickle.dumps(list(answers))
    )
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


def echo() -> None:
    """Serve the answers from standard input until killed."""

    class Echo(solver_pb2_grpc.SolverServiceServicer):
        def __init__(self, answers: list[pb.SuggestResponse]) -> None:
            self._answers = answers

        async def Suggest(self, request: pb.SuggestRequest, context: Any) -> pb.SuggestResponse:
            return self._answers[request.options.seed]

    async def serve(answers: list[pb.SuggestResponse]) -> None:
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0), ("grpc.max_concurrent_streams", 100)])
        servicer: Any = Echo(answers)  # type: ignore[abstract]
        solver_pb2_grpc.add_SolverServiceServicer_to_server(servicer, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        print(f"127.0.0.1:{port}", flush=True)
        await server.wait_for_termination()

    asyncio.run(serve([pb.SuggestResponse.FromString(raw) for raw in pickle.load(sys.stdin.buffer)]))


# --- other processes ----------------------------------------------------------------------------------------------


@contextmanager
def processes(n: int, *command: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run `n` copies of a command; kill them at the end."""
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(n)]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


BUSY = python("while True: pass")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port

"""A server in place of this process: `--server` and what goes with it. Only this file of the command line and
`server/client` know gRPC."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from eminence.v1 import solver_pb2 as pb
from engine_cy import new_game
from server.cli.commands import files
from server.cli.failing import Failure
from server.codec.views import write_view

if TYPE_CHECKING:
    from server.client import Client

TOKEN = "EMINENCE_TOKEN"
GREETING_SECONDS = 10.0
ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:,/]+):(?P<port>[0-9]{1,5})|unix:[^\s,]+")
PORTS = range(1, 65_536)
NO_ADDRESS = f"no address such as 127.0.0.1:50051 (ports: {PORTS[0]} to {PORTS[-1]})"


@dataclass(frozen=True, slots=True)
class Remote:
    """Where a server is, and how to be let in."""

    address: str
    token: str = ""
    tls: bool = False
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def client(self) -> Client:
        """A way to it. gRPC is loaded here."""
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        import grpc

        from server.client import Client

        if bool(self.cert) != bool(self.key):
            raise Failure("tls-cert, tls-key: one does not go without the other")
        credentials = None
        if self.tls or self.ca or self.cert:
            read = {name: Path(path).read_bytes() if path else None for name, path in self._files().items()}
            credentials = grpc.ssl_channel_credentials(read["ca"], read["key"], read["cert"])
        return Client(self.address, token=self.token, credentials=credentials)

    def _files(self) -> dict[str, str | None]:
        return {"ca": self.ca, "key": self.key, "cert": self.cert}


def check_address(text: str, name: str) -> None:
    if not is_address(text):
        raise Failure(f"{name}: {text!r} is {NO_ADDRESS}")


def is_address(text: str) -> bool:
    """Ports out of range are none: gRPC would take 65537 for 1, and ask somebody else."""
    found = ADDRESS.fullmatch(text)
    return found is not None and (found["port"] is None or int(found["port"]) in PORTS)


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--server and how to be let in, handed on as `remote`: None if this process is to search."""

    @click.option("--server", metavar="HOST:PORT", help="Ask this server instead of searching here.")
    @click.option("--token", envvar=TOKEN, default="", help=f"Who asks; better told as the variable {TOKEN}.")
    @click.option("--tls", is_flag=True, help="Encrypt, and trust the authorities that this machine trusts.")
    @click.option("--tls-ca", metavar="FILE", shell_complete=files, help="Encrypt, and trust these authorities (PEM).")
    @click.option(
        "--tls-cert", metavar="FILE", shell_complete=files, help="The certificate to show (PEM), with --tls-key."
    )
    @click.option("--tls-key", metavar="FILE", shell_complete=files, help="Its key (PEM).")
    @wraps(command)
    def with_remote(
        *args: Any,
        server: str | None,
        token: str,
        tls: bool,
        tls_ca: str | None,
        tls_cert: str | None,
        tls_key: str | None,
        **options: Any,
    ) -> Any:
        if server is not None:
            check_address(server, "server")
        remote = Remote(server, token, tls, tls_ca, tls_cert, tls_key) if server else None
        said = {"tls": tls, "tls-ca": tls_ca, "tls-cert": tls_cert, "tls-key": tls_key}
        for flag, value in said.items():
            if value and not remote:
                raise Failure(f"{flag}: is how to reach a server, and --server names none")
        return command(*args, remote=remote, **options)

    return with_remote


def here_only(**said: object) -> None:
    """Refuse what a server does not let others choose."""
    for name, value in said.items():
        if value is not None:
            flag = name.replace("_", "-")
            raise Failure(f"{flag}: a server searches as it does; --{flag} is for this process")


def greet(client: Client, budget: pb.Budget | None = None, options: pb.Options | None = None) -> pb.Suggestion:
    """What a server says of itself: its engine, and what it grants of a budget. As it is asked about a game that is
    over, it searches nothing."""
    position = new_game("oriflamme", None, 3).deal(0)
    while not position.is_over:
        position = position.play(position.legal_actions()[0])
    with client.analyze(write_view(position.view(0)), budget, options, seconds=GREETING_SECONDS) as steps:
        return next(steps).suggestion


def rpc_error() -> type[Exception]:
    """What gRPC raises where a call fails."""
    import grpc

    return grpc.RpcError


class ServerFailure(Failure):
    """A server does not answer, or refuses."""


def server_failure(address: str, error: Exception, hint: str = "") -> ServerFailure:
    """What people are told of a call that failed."""
    reason, why = refused(error)
    if why is None:  # it is our mistake
        raise error
    return ServerFailure(f"{address}: {why}{hint}", reason)


def refused(error: Exception) -> tuple[str, str | None]:
    """What a server says of a call that failed: its reason and a sentence; None if the error is none of gRPC's."""
    import grpc
    from google.rpc import error_details_pb2
    from grpc_status import rpc_status

    if not isinstance(error, grpc.RpcError):
        return "", None
    call: Any = error
    status = rpc_status.from_call(call)
    info = error_details_pb2.ErrorInfo()
    reason = call.code().name
    if status is not None and any(detail.Unpack(info) for detail in status.details):
        reason = info.reason
    return reason, f"the server says {call.code().name}: {call.details()}"

"""Open the client that answers a command: of a server (`--server`), or of this process."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from eminence.v1 import solver_pb2 as pb
from engine_cy import Game, game_ids, new_game
from engine_cy.registry import is_installed
from server.cli.command import files
from server.cli.exit_codes import Failure
from server.client.refusals import Refused
from server.client.requests import PORT_MAX
from server.codec.views import write_view

if TYPE_CHECKING:
    from server.client import Client
    from server.client.local import LocalClient

AnyClient: TypeAlias = "Client | LocalClient"

TOKEN = "EMINENCE_TOKEN"
GREETING_SECONDS = 10.0
ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:,/]+):(?P<port>[0-9]{1,5})|unix:[^\s,]+")
PORTS = range(1, PORT_MAX + 1)
# Status codes of invalid requests.
ABOUT_REQUEST = ("INVALID_ARGUMENT", "FAILED_PRECONDITION")
NO_ADDRESS = f"not an address such as 127.0.0.1:50051 (ports: {PORTS[0]} to {PORTS[-1]})"


@dataclass(frozen=True, slots=True)
class Connection:
    """Address and credentials of a server; without an address, this process answers."""

    address: str = ""
    token: str = ""
    tls: bool = False
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def open(
        self, *, config: str | None = None, workers: int | None = None, ray_address: str | None = None
    ) -> AnyClient:
        """Return a client; raise Failure if an option is given with a server."""
        for flag, value in {"--config": config, "--workers": workers, "--ray-address": ray_address}.items():
            if value is not None:
                self.require_none(flag)
        return self._client() if self.address else _local(config or "default", workers, ray_address)

    def require_none(self, option: str) -> None:
        """Raise Failure if a server answers: `option` is for this process only."""
        if self.address:
            raise Failure(f"{option} cannot be used with --server")

    def failure(self, refused: Refused, hint: str = "") -> Failure:
        """Return the error to show for a refused call."""
        if not self.address or refused.code in ABOUT_REQUEST:
            return Failure(refused.message, refused.reason)
        text = f"{self.address}: the call failed with {refused.code}: {refused.message}{hint}"
        return ServerFailure(text, refused.reason or refused.code)

    def _client(self) -> Client:
        """Return a client of the server; imports gRPC."""
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        from solver.extras import importing

        with importing("server", "--server"):
            import grpc

            from server.client import Client

        if bool(self.cert) != bool(self.key):
            raise Failure("--tls-cert and --tls-key must be given together")
        credentials = None
        if self.tls or self.ca or self.cert:
            contents = {name: Path(path).read_bytes() if path else None for name, path in self._files().items()}
            credentials = grpc.ssl_channel_credentials(contents["ca"], contents["key"], contents["cert"])
        return Client(self.address, token=self.token, credentials=credentials)

    def _files(self) -> dict[str, str | None]:
        return {"ca": self.ca, "key": self.key, "cert": self.cert}


class ServerFailure(Failure):
    """A server does not answer, or refuses a call that it may accept later."""


def _local(config: str, workers: int | None, ray_address: str | None) -> LocalClient:
    from server.client.local import LocalClient

    if ray_address is None:
        return LocalClient(config=config, workers=workers, isolates=True)
    from solver.pool.ray_pool import RayUnavailableError

    try:
        return LocalClient(config=config, workers=workers, ray_address=ray_address)
    except RayUnavailableError as error:
        raise Failure(f"ray-address: {error}") from None


def check_address(text: str, name: str) -> None:
    if not is_address(text):
        raise Failure(f"{name}: {text!r} is {NO_ADDRESS}")


def is_address(text: str) -> bool:
    """Return whether a text is an address, with a valid port: gRPC would take 65537 for port 1."""
    address = ADDRESS.fullmatch(text)
    return address is not None and (address["port"] is None or int(address["port"]) in PORTS)


def server_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --server and its credentials, which the command gets as `connection`; turn Refused into Failure."""

    @click.option("--server", metavar="HOST:PORT", help="Send the question to this server instead of searching here.")
    @click.option("--token", envvar=TOKEN, default="", help=f"Token of the caller; safer in the variable {TOKEN}.")
    @click.option("--tls", is_flag=True, help="Encrypt; trust the certificate authorities of this machine.")
    @click.option(
        "--tls-ca", metavar="FILE", shell_complete=files, help="Encrypt; trust these certificate authorities (PEM)."
    )
    @click.option(
        "--tls-cert", metavar="FILE", shell_complete=files, help="Certificate of the caller (PEM), with --tls-key."
    )
    @click.option("--tls-key", metavar="FILE", shell_complete=files, help="Private key of that certificate (PEM).")
    @wraps(command)
    def with_connection(
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
        connection = Connection(server or "", token, tls, tls_ca, tls_cert, tls_key)
        values = {"tls": tls, "tls-ca": tls_ca, "tls-cert": tls_cert, "tls-key": tls_key}
        for flag, value in values.items():
            if value and not server:
                raise Failure(f"--{flag} needs --server")
        try:
            return command(*args, connection=connection, **options)
        except Refused as refused:
            raise connection.failure(refused) from None

    return with_connection


def greet(
    client: AnyClient, game: Game, budget: pb.Budget | None = None, options: pb.Options | None = None
) -> pb.Suggestion:
    """Return an answer that names the engine of a client and the budget that it grants.

    The question is a finished game, which needs no search. It is a built-in one, if the code of `game` could fail here.
    """
    if is_installed(game.id):
        game, options = new_game(game_ids()[0]), None
    position = game.deal(0)
    while not position.is_over:
        position = position.play(position.legal_actions()[0])
    with client.analyze(write_view(position.view(0)), budget, options, seconds=GREETING_SECONDS) as steps:
        return next(steps).suggestion

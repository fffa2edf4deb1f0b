"""The settings of the server, declared once: each is a flag, an environment variable and a line of one TOML file."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from server.client.requests import PORT_MAX
from solver.pool import cores
from solver.pool.ray_pool import RayUnavailableError, read_address

PREFIX = "EMINENCE"  # of the environment variables
TOML_TYPES = {int: "integer", bool: "boolean", str: "string"}


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it, its value and what is accepted."""


class Whole(click.IntRange):
    """An integer in a range."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is no integer in {self.min}..{self.max}", param, ctx)


class Place(click.ParamType[str]):
    """host:port, with a port in range: gRPC takes 65537 for 1."""

    name = "host:port"

    def __init__(self, least_port: int = 0, may_be_unix: bool = True) -> None:
        self._least_port, self._may_be_unix = least_port, may_be_unix

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value or (self._may_be_unix and value.startswith("unix:")):
            return value
        port = value.rpartition(":")[2]
        if not (port.isascii() and port.isdecimal()):
            self.fail(f"{value!r} is not like 127.0.0.1:50051", param, ctx)
        if not self._least_port <= int(port) <= PORT_MAX:
            self.fail(f"{value!r}: port {port} is not in {self._least_port}..{PORT_MAX}", param, ctx)
        return value


FILE = click.Path(readable=False)  # shells complete it; opening it says what is wrong


def _setting(default: Any, meaning: str, kind: click.ParamType[Any] = click.STRING) -> Any:
    return field(default=default, metadata={"meaning": meaning, "kind": kind})


@dataclass(frozen=True, slots=True)
class Settings:
    """A flag goes before the environment, that before the file, that before the default."""

    address: str = _setting("127.0.0.1:50051", "Address to listen on; port 0 takes a free one.", Place())
    threads: int = _setting(0, "Threads that search; 0: one for each core.", Whole(0, 1024))
    reserved: int = _setting(
        1, "Of these, threads for single calls alone, never for batches and reviews.", Whole(0, 1024)
    )
    backend: str = _setting(
        "threads", "Search on threads of this process, or on Ray.", click.Choice(["threads", "ray"])
    )
    ray_address: str = _setting(
        "", "host:port of a Ray cluster's head, or auto; empty: a Ray on this machine. RAY_ADDRESS sets it, too."
    )
    ray_workers: int = _setting(0, "Most workers on Ray; 0: one for each CPU.", Whole(0, 256))
    interactive_queue: int = _setting(32, "Most single calls that wait for a thread.", Whole(0, 100_000))
    bulk_queue: int = _setting(64, "Most positions of batches and reviews that wait for a thread.", Whole(1, 100_000))
    threads_for_others: int = _setting(
        1, "Threads that a caller leaves to others while several are active.", Whole(0, 1024)
    )
    connections: int = _setting(1000, "Most connections at a time.", Whole(1, 10**6))
    caller_calls: int = _setting(256, "Most calls of one caller at a time, streams included.", Whole(1, 10**6))
    caller_bytes: int = _setting(2**20, "Most bytes of one caller's requests that have no answer yet.", Whole(1, 2**40))
    caller_positions: int = _setting(
        1000, "Most positions of one caller's batches that have no answer yet.", Whole(1, 10**6)
    )
    network_ms: int = _setting(
        50, "Time a message takes to a client: answers leave this long before a deadline.", Whole(0, 60_000)
    )
    time_max_ms: int = _setting(60_000, "Cap of a budget's time.", Whole(1, 24 * 3600 * 1000))
    iterations_max: int = _setting(10**12, "Cap of a budget's iterations.", Whole(1, 10**12))
    memory_max_mb: int = _setting(256, "Cap of a budget's memory.", Whole(1, 65_536))
    memory_total_mb: int = _setting(
        0,
        "Memory of all searches that run; 0: memory_max_mb for each thread and for the next search.",
        Whole(0, 10**8),
    )
    cache_mb: int = _setting(64, "Memory for answers that are kept; 0: keep none.", Whole(0, 65_536))
    cache_file: str = _setting("", "SQLite file in which kept answers outlive the server; empty: none.", FILE)
    drain_ms: int = _setting(500, "Time that searches may go on after SIGTERM.", Whole(0, 600_000))
    self_test: bool = _setting(True, "Play fixed games before serving, and compare their signature.")
    reflection: bool = _setting(False, "Serve gRPC reflection: list services and messages.")
    insecure: bool = _setting(False, "Serve without TLS on an address that others can reach.")
    tls_cert: str = _setting("", "File of the server's certificate chain, PEM.", FILE)
    tls_key: str = _setting("", "File of its key, PEM.", FILE)
    client_ca: str = _setting("", "File of authorities, PEM: clients need a certificate of one of them.", FILE)
    tokens: str = _setting("", "TOML file of clients, their tokens' digests and quotas: calls need a token.", FILE)
    metrics: str = _setting(
        "", "Address to serve Prometheus metrics on, such as 127.0.0.1:9464; empty: none.", Place(may_be_unix=False)
    )
    traces: str = _setting(
        "",
        "Address to send OpenTelemetry traces to (OTLP, gRPC), such as 127.0.0.1:4317; empty: none.",
        Place(least_port=1),
    )
    log: str = _setting("info", "Least level to log.", click.Choice(["debug", "info", "warning", "error"]))

    @property
    def search_threads(self) -> int:
        return self.threads or cores()

    @property
    def memory_total_bytes(self) -> int | None:
        """None: no limit. On Ray, trees are in other processes."""
        if self.backend == "ray" and not self.memory_total_mb:
            return None
        return (self.memory_total_mb or (self.search_threads + 1) * self.memory_max_mb) * 2**20

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.address)


def is_loopback(place: str) -> bool:
    """Return whether only this machine can reach an address. A name that is not known may be anywhere."""
    if place.startswith("unix:"):
        return True
    host = place.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Option(click.Option):
    """An option whose errors name the source of the value: the flag, the variable or the key of the file."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        source = ctx.get_parameter_source(self.name) if ctx else None
        if source is ParameterSource.ENVIRONMENT:
            return f"{PREFIX}_{self.name.upper()}"
        return self.name if source is ParameterSource.DEFAULT_MAP else self.opts[0]


def _read_file(ctx: click.Context, _option: click.Parameter, path: str | None) -> None:
    """Make a file's lines the defaults. Their values pass as text, which the settings' types read strictly."""
    if not path:
        return
    try:
        values = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read: {error}") from None
    kinds = {setting.name: type(setting.default) for setting in fields(Settings)}
    for name, value in values.items():
        if name not in kinds:
            raise click.BadParameter(f"{path}: {name} is no setting ({', '.join(kinds)})")
        if type(value) is not kinds[name]:
            raise click.BadParameter(f"{path}: {name}: {value!r} is no {TOML_TYPES[kinds[name]]}")
    ctx.default_map = {name: str(value) for name, value in values.items()}


def options() -> list[click.Parameter]:
    """Return the options of the command that serves."""
    config = _Option(["--config"], type=FILE, is_eager=True, expose_value=False, callback=_read_file)
    config.help = "TOML file of settings, such as time_max_ms = 5000."
    made: list[click.Parameter] = [config]
    for setting in fields(Settings):
        flag = setting.name.replace("_", "-")
        is_switch = isinstance(setting.default, bool)
        made.append(
            _Option(
                [f"--{flag}/--no-{flag}" if is_switch else f"--{flag}"],
                type=click.BOOL if is_switch else setting.metadata["kind"],
                default=setting.default,
                show_default=setting.default != "",
                help=setting.metadata["meaning"],
            )
        )
    return made


def read_settings(ctx: click.Context) -> Settings:
    """Return the settings of a command line, its environment and its file."""
    values = dict(ctx.params)
    is_default = {name for name in values if ctx.get_parameter_source(name) is ParameterSource.DEFAULT}
    if "backend" in is_default or values["backend"] == "ray":
        if "ray_address" in is_default:
            values["ray_address"] = os.environ.get("RAY_ADDRESS", "")
        if values["ray_address"]:
            values["backend"] = "ray"
    settings = Settings(**values)
    _check_together(settings)
    return settings


def _check_together(settings: Settings) -> None:
    """Refuse settings that exclude each other."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise SettingsError("tls_cert, tls_key: one does not go without the other")
    if settings.client_ca and not settings.tls_cert:
        raise SettingsError("client_ca: clients' certificates need TLS: give tls_cert and tls_key")
    if 0 < settings.memory_total_mb < settings.memory_max_mb:
        raise SettingsError(
            f"memory_total_mb: {settings.memory_total_mb} is less than memory_max_mb ({settings.memory_max_mb}), which "
            "is for one search"
        )
    if settings.cache_file and not settings.cache_mb:
        raise SettingsError("cache_file: with cache_mb 0 no answer is kept")
    if not settings.tls_cert and not settings.is_loopback and not settings.insecure:
        raise SettingsError(
            f"address: others can reach {settings.address}, and nothing would be encrypted: give tls_cert and tls_key, "
            "listen on 127.0.0.1, or say --insecure"
        )
    if settings.metrics and not settings.insecure and not is_loopback(settings.metrics):
        raise SettingsError(
            f"metrics: others can reach {settings.metrics}, and metrics have neither TLS nor tokens: give an address "
            "such as 127.0.0.1:9464, or say --insecure"
        )
    if settings.ray_address and settings.backend != "ray":
        raise SettingsError(f"ray_address: {settings.ray_address} needs backend ray, not {settings.backend}")
    try:
        read_address(settings.ray_address)
    except RayUnavailableError as error:
        raise SettingsError(f"ray_{error}") from None

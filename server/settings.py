"""The settings of the server, declared once: each is a flag, an environment variable and a key of a TOML file."""

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
TOML_TYPES = {int: "an integer", bool: "a boolean", str: "a string"}


class SettingsError(ValueError):
    """A setting that cannot be used. The message names the setting, its value and the accepted values."""


class IntegerIn(click.IntRange):
    """An integer in a range."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is not an integer in {self.min}..{self.max}", param, ctx)


class HostPort(click.ParamType[str]):
    """An address host:port whose port is in range; gRPC would read port 65537 as 1."""

    name = "host:port"

    def __init__(self, least_port: int = 0, may_be_unix: bool = True) -> None:
        self._least_port, self._may_be_unix = least_port, may_be_unix

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value or (self._may_be_unix and value.startswith("unix:")):
            return value
        port = value.rpartition(":")[2]
        if not (port.isascii() and port.isdecimal()):
            self.fail(f"{value!r} is not host:port, such as 127.0.0.1:50051", param, ctx)
        if not self._least_port <= int(port) <= PORT_MAX:
            self.fail(f"{value!r}: port {port} is not in {self._least_port}..{PORT_MAX}", param, ctx)
        return value


# Settings of the ports. Without ports, those of the environment and the file are ignored.
FOR_PORTS = ("address", "web", "web_hosts", "tls_cert", "tls_key", "client_ca", "tokens", "reflection")
FILE = click.Path(readable=False)  # for shell completion; opening the file reports errors


def _setting(default: Any, meaning: str, kind: click.ParamType[Any] = click.STRING) -> Any:
    return field(default=default, metadata={"meaning": meaning, "kind": kind})


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings; a flag overrides the environment, which overrides the file, which overrides the default."""

    address: str = _setting("127.0.0.1:50051", "Address to listen on; port 0 chooses a free one.", HostPort())
    web: str = _setting(
        "127.0.0.1:8080",
        "Address to serve HTTP on: the page for browsers, and the contract as Connect, gRPC-Web and JSON; empty: none.",
        HostPort(may_be_unix=False),
    )
    web_hosts: str = _setting(
        "", "Further names by which HTTP clients may call this server, separated by commas, such as those of a proxy."
    )
    threads: int = _setting(0, "Search threads; 0: one for each core.", IntegerIn(0, 1024))
    reserved: int = _setting(
        1, "Search threads reserved for single calls: batches and reviews do not use them.", IntegerIn(0, 1024)
    )
    backend: str = _setting(
        "threads", "Search on threads of this process, or on Ray.", click.Choice(["threads", "ray"])
    )
    ray_address: str = _setting(
        "", "host:port of a Ray cluster's head, or auto; empty: Ray on this machine. RAY_ADDRESS also sets it."
    )
    ray_workers: int = _setting(0, "Maximum number of Ray workers; 0: one for each CPU.", IntegerIn(0, 256))
    interactive_queue: int = _setting(
        32, "Maximum number of single calls that wait for a thread.", IntegerIn(0, 100_000)
    )
    bulk_queue: int = _setting(
        64, "Maximum number of positions of batches and reviews that wait for a thread.", IntegerIn(1, 100_000)
    )
    threads_for_others: int = _setting(
        1, "Threads that a caller leaves to others while several are active.", IntegerIn(0, 1024)
    )
    connections: int = _setting(1000, "Maximum number of open connections.", IntegerIn(1, 10**6))
    caller_calls: int = _setting(
        256, "Maximum number of pending calls of one caller, with streams.", IntegerIn(1, 10**6)
    )
    caller_bytes: int = _setting(2**20, "Maximum size in bytes of one caller's pending requests.", IntegerIn(1, 2**40))
    caller_positions: int = _setting(
        1000, "Maximum number of pending positions of one caller's batches.", IntegerIn(1, 10**6)
    )
    network_ms: int = _setting(
        50, "Network latency to clients: answers are sent this long before a deadline.", IntegerIn(0, 60_000)
    )
    time_max_ms: int = _setting(60_000, "Cap of a budget's time.", IntegerIn(1, 24 * 3600 * 1000))
    iterations_max: int = _setting(10**12, "Cap of a budget's iterations.", IntegerIn(1, 10**12))
    memory_max_mb: int = _setting(256, "Cap of a budget's memory.", IntegerIn(1, 65_536))
    memory_total_mb: int = _setting(
        0,
        "Memory of all running searches; 0: memory_max_mb for each thread and for the next search.",
        IntegerIn(0, 10**8),
    )
    plugin_workers: int = _setting(
        2, "Worker processes for installed games; they start if there are such games.", IntegerIn(1, 256)
    )
    plugin_queue: int = _setting(
        32, "Maximum number of calls of installed games that wait for a worker process.", IntegerIn(0, 100_000)
    )
    plugin_bytes: int = _setting(
        2**20, "Maximum size in bytes of pending requests of installed games.", IntegerIn(1, 2**40)
    )
    plugin_memory_mb: int = _setting(
        1024, "Memory of one worker process; half of it is a cap of its searches.", IntegerIn(128, 2**20)
    )
    plugin_method_ms: int = _setting(
        5_000, "Time in which each method of an installed game must return.", IntegerIn(10, 3_600_000)
    )
    cache_mb: int = _setting(64, "Size of the answer cache in memory; 0: no cache.", IntegerIn(0, 65_536))
    cache_file: str = _setting("", "SQLite file that keeps the answer cache across restarts; empty: none.", FILE)
    tables: str = _setting("", "SQLite file that keeps the tables of people across restarts; empty: none.", FILE)
    tables_max: int = _setting(200, "Maximum number of tables.", IntegerIn(0, 100_000))
    caller_tables: int = _setting(20, "Maximum number of tables that one caller has opened.", IntegerIn(1, 100_000))
    table_hours: int = _setting(24, "Hours after which a table ends that no call names.", IntegerIn(1, 10_000))
    stdio: bool = _setting(
        False, "Answer JSON lines on standard input and output instead of listening (docs/json_lines.md)."
    )
    drain_ms: int = _setting(500, "Time that searches may continue after SIGTERM.", IntegerIn(0, 600_000))
    self_test: bool = _setting(True, "Play fixed games before serving, and compare their signature.")
    reflection: bool = _setting(False, "Serve gRPC reflection, which lists services and messages.")
    insecure: bool = _setting(False, "Allow an address without TLS that other machines can reach.")
    tls_cert: str = _setting("", "PEM file with the server's certificate chain.", FILE)
    tls_key: str = _setting("", "PEM file with the certificate's key.", FILE)
    client_ca: str = _setting(
        "", "PEM file of certificate authorities; clients then need a certificate from one of them.", FILE
    )
    tokens: str = _setting("", "TOML file with clients' token digests and quotas; calls then need a token.", FILE)
    metrics: str = _setting(
        "", "Address to serve Prometheus metrics on, such as 127.0.0.1:9464; empty: none.", HostPort(may_be_unix=False)
    )
    traces: str = _setting(
        "",
        "Address to send OpenTelemetry traces to (OTLP, gRPC), such as 127.0.0.1:4317; empty: none.",
        HostPort(least_port=1),
    )
    log: str = _setting("info", "Lowest level to log.", click.Choice(["debug", "info", "warning", "error"]))

    @property
    def search_threads(self) -> int:
        return self.threads or cores()

    @property
    def memory_total_bytes(self) -> int | None:
        """The memory limit of all running searches; None: no limit, because Ray's workers hold their own trees."""
        if self.backend == "ray" and not self.memory_total_mb:
            return None
        return (self.memory_total_mb or (self.search_threads + 1) * self.memory_max_mb) * 2**20

    @property
    def is_loopback(self) -> bool:
        return is_loopback(self.address)


def is_loopback(address: str) -> bool:
    """Return whether only this machine can reach an address. Host names other than localhost are not resolved."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class _Option(click.Option):
    """An option whose errors name the source of its value: the flag, the environment variable or the file's key."""

    def get_error_hint(self, ctx: click.Context | None) -> str:
        source = ctx.get_parameter_source(self.name) if ctx else None
        if source is ParameterSource.ENVIRONMENT:
            return f"{PREFIX}_{self.name.upper()}"
        return self.name if source is ParameterSource.DEFAULT_MAP else self.opts[0]


def _read_file(ctx: click.Context, _option: click.Parameter, path: str | None) -> None:
    """Make a file's values the defaults. They are passed as text, which the settings' types check."""
    if not path:
        return
    try:
        values = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read: {error}") from None
    kinds = {setting.name: type(setting.default) for setting in fields(Settings)}
    for name, value in values.items():
        if name not in kinds:
            raise click.BadParameter(f"{path}: {name} is not a setting ({', '.join(kinds)})")
        if type(value) is not kinds[name]:
            raise click.BadParameter(f"{path}: {name}: {value!r} is not {TOML_TYPES[kinds[name]]}")
    ctx.default_map = {name: str(value) for name, value in values.items()}


def options() -> list[click.Parameter]:
    """Return the options of the command `serve`."""
    config = _Option(["--config"], type=FILE, is_eager=True, expose_value=False, callback=_read_file)
    config.help = "TOML file of settings, such as time_max_ms = 5000."
    parameters: list[click.Parameter] = [config]
    for setting in fields(Settings):
        flag = setting.name.replace("_", "-")
        is_switch = isinstance(setting.default, bool)
        parameters.append(
            _Option(
                [f"--{flag}/--no-{flag}" if is_switch else f"--{flag}"],
                type=click.BOOL if is_switch else setting.metadata["kind"],
                default=setting.default,
                show_default=setting.default != "",
                help=setting.metadata["meaning"],
            )
        )
    return parameters


def read_settings(ctx: click.Context) -> Settings:
    """Return the settings of a command line, its environment and its file."""
    values = dict(ctx.params)
    is_default = {name for name in values if ctx.get_parameter_source(name) is ParameterSource.DEFAULT}
    if "backend" in is_default or values["backend"] == "ray":
        if "ray_address" in is_default:
            values["ray_address"] = os.environ.get("RAY_ADDRESS", "")
        if values["ray_address"]:
            values["backend"] = "ray"
    if values["stdio"]:
        if "reserved" in is_default:
            values["reserved"] = 0  # there is one caller
        for setting in fields(Settings):
            if setting.name in FOR_PORTS:
                if ctx.get_parameter_source(setting.name) is ParameterSource.COMMANDLINE:
                    raise SettingsError(f"{setting.name}: cannot be used with stdio, which does not listen")
                values[setting.name] = setting.default
    settings = Settings(**values)
    _check_combinations(settings)
    return settings


def _check_combinations(settings: Settings) -> None:
    """Refuse settings that exclude each other."""
    if bool(settings.tls_cert) != bool(settings.tls_key):
        raise SettingsError("tls_cert, tls_key: each needs the other")
    if settings.client_ca and not settings.tls_cert:
        raise SettingsError("client_ca: clients' certificates need TLS: set tls_cert and tls_key")
    if 0 < settings.memory_total_mb < settings.memory_max_mb:
        raise SettingsError(
            f"memory_total_mb: {settings.memory_total_mb} is less than memory_max_mb ({settings.memory_max_mb}), the "
            "limit of one search"
        )
    if settings.cache_file and not settings.cache_mb:
        raise SettingsError("cache_file: needs a cache, but cache_mb is 0")
    if not settings.tls_cert and not settings.is_loopback and not settings.insecure:
        raise SettingsError(
            f"address: other machines can reach {settings.address} without encryption: set tls_cert and tls_key, "
            "listen on 127.0.0.1, or pass --insecure"
        )
    if settings.web and not settings.tls_cert and not settings.insecure and not is_loopback(settings.web):
        raise SettingsError(
            f"web: other machines can reach {settings.web} without encryption: set tls_cert and tls_key, use an "
            "address such as 127.0.0.1:8080, or pass --insecure"
        )
    if settings.metrics and not settings.insecure and not is_loopback(settings.metrics):
        raise SettingsError(
            f"metrics: other machines can reach {settings.metrics}, and metrics have neither TLS nor tokens: use an "
            "address such as 127.0.0.1:9464, or pass --insecure"
        )
    if settings.ray_address and settings.backend != "ray":
        raise SettingsError(f"ray_address: {settings.ray_address} needs backend ray, not {settings.backend}")
    try:
        read_address(settings.ray_address)
    except RayUnavailableError as error:
        raise SettingsError(f"ray_{error}") from None

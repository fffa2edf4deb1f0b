"""What can be set: by a flag, a variable of the environment or a line of one TOML file, all from the fields below."""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, get_type_hints

from solver.pool.ray_pool import RayUnavailableError, read_address

PREFIX = "EMINENCE_"
PORT_MAX = 65_535


class SettingsError(ValueError):
    """A setting that makes no sense; the message says which, where it came from and what was possible."""


def _setting(default: Any, meaning: str, least: float | None = None, most: float | None = None) -> Any:
    return field(default=default, metadata={"meaning": meaning, "least": least, "most": most})


@dataclass(frozen=True, slots=True)
class Settings:
    """A flag goes before the environment, that before the file, that before the default."""

    address: str = _setting("127.0.0.1:50051", "where to listen; port 0 takes a free one")
    threads: int = _setting(0, "threads that search; 0: as many as there are cores", 0, 1024)
    reserved: int = _setting(1, "of these, threads that only single calls may use, never batches and reviews", 0, 1024)
    backend: str = _setting("threads", "who searches: threads of this process, or ray")
    ray_address: str = _setting(
        "", "host:port of a Ray cluster's head, or auto; empty: a Ray on this machine. RAY_ADDRESS does, too"
    )
    ray_workers: int = _setting(0, "workers on Ray at most; 0: one for each CPU", 0, 256)
    interactive_queue: int = _setting(32, "single calls that may wait for a thread", 0, 100_000)
    bulk_queue: int = _setting(64, "positions of batches and reviews that may wait for a thread", 1, 100_000)
    network_ms: int = _setting(
        50, "what a message may take to a client: answers leave so much before the call's deadline", 0, 60_000
    )
    time_max_ms: int = _setting(60_000, "cap of a budget's time", 1, 24 * 3600 * 1000)
    iterations_max: int = _setting(10**12, "cap of a budget's iterations", 1, 10**12)
    memory_max_mb: int = _setting(256, "cap of a budget's memory", 1, 65_536)
    memory_total_mb: int = _setting(
        0, "memory of all searches at a time; 0: memory_max_mb for each thread, and for the next search", 0, 10**8
    )
    cache_mb: int = _setting(64, "room for answers that are kept; 0: keep none", 0, 65_536)
    cache_file: str = _setting("", "SQLite file in which they outlive the server; empty: none")
    drain_ms: int = _setting(500, "when told to stop: how long searches may go on", 0, 600_000)
    self_test: bool = _setting(True, "play fixed games before serving, and compare their signature")
    reflection: bool = _setting(False, "tell clients what services there are")
    insecure: bool = _setting(False, "serve without TLS on an address that others can reach")
    tls_cert: str = _setting("", "file of the server's certificate chain, PEM")
    tls_key: str = _setting("", "file of its key, PEM")
    client_ca: str = _setting("", "file of the authorities whose clients are let in, PEM: clients need a certificate")
    tokens: str = _setting("", "TOML file of clients, their tokens' digests and quotas: calls need a token")
    metrics: str = _setting("", "where to serve metrics for Prometheus, such as 127.0.0.1:9464; empty: nowhere")
    traces: str = _setting(
        "", "where to send OpenTelemetry traces (OTLP, gRPC), such as 127.0.0.1:4317; empty: nowhere"
    )
    log: str = _setting("info", "how much to log: debug, info, warning or error")

    @property
    def search_threads(self) -> int:
        return self.threads or len(os.sched_getaffinity(0))

    @property
    def memory_total_bytes(self) -> int | None:
        """None: no limit. On Ray, trees are in other processes."""
        if self.backend == "ray" and not self.memory_total_mb:
            return None
        return (self.memory_total_mb or (self.search_threads + 1) * self.memory_max_mb) * 2**20

    @property
    def is_loopback(self) -> bool:
        host = self.address.rpartition(":")[0].strip("[]")
        return host in ("localhost", "::1") or host.startswith(("127.", "unix"))


def read_settings(argv: Sequence[str], environment: Mapping[str, str], program: str = "python -m server") -> Settings:
    """The settings that a command line, its environment and perhaps a file come to."""
    parser = argparse.ArgumentParser(
        prog=program,
        description="Serve the adviser over gRPC.",
        epilog=f"Each flag is a variable too ({PREFIX}TIME_MAX_MS), and a line of the file (time_max_ms = 5000).",
        allow_abbrev=False,
    )
    parser.add_argument("--config", metavar="FILE", help="a TOML file with settings")
    for setting in fields(Settings):
        flag = "--" + setting.name.replace("_", "-")
        meaning = f"{setting.metadata['meaning']} (default: {_as_said(setting.default)})"
        if setting.type == "bool":
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=meaning)
        else:
            parser.add_argument(flag, metavar=setting.type.upper(), default=None, help=meaning)
    flags = vars(parser.parse_args(argv))
    file = flags.pop("config") or environment.get(f"{PREFIX}CONFIG")
    names = [setting.name for setting in fields(Settings)]
    variables = {name: environment[PREFIX + name.upper()] for name in names if PREFIX + name.upper() in environment}
    sources = [
        ("", _read_file(file, names) if file else {}),
        (PREFIX, variables),
        ("--", {name: value for name, value in flags.items() if value is not None}),
    ]
    chosen: dict[str, Any] = {}
    for where, values in sources:
        for name, value in values.items():
            chosen[name] = _checked(name, value, where + (name.replace("_", "-") if where == "--" else name))
    if chosen.get("backend") != "threads":
        chosen.setdefault("ray_address", environment.get("RAY_ADDRESS", ""))
        if chosen["ray_address"]:
            chosen.setdefault("backend", "ray")
    return _consistent(Settings(**chosen))


def _as_said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value == "" else str(value)


def _read_file(path: str, names: Sequence[str]) -> dict[str, Any]:
    try:
        values = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"config: {path} cannot be read: {error}") from None
    for name in values:
        if name not in names:
            raise SettingsError(f"{name}: is no setting ({', '.join(names)})")
    return values


def _checked(name: str, value: Any, said: str) -> Any:
    """The value in the type of its field, and in its range. Flags and variables come as text."""
    setting = next(setting for setting in fields(Settings) if setting.name == name)
    kind = get_type_hints(Settings)[name]
    if kind is bool and isinstance(value, str):
        words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
        if value.lower() not in words:
            raise SettingsError(f"{said}: {value!r} is neither yes nor no")
        return words[value.lower()]
    if kind is int and isinstance(value, str):
        try:
            value = int(value)
        except ValueError:
            raise SettingsError(f"{said}: {value!r} is no whole number") from None
    if type(value) is not kind:
        raise SettingsError(f"{said}: {value!r} is not of type {kind.__name__}")
    least, most = setting.metadata["least"], setting.metadata["most"]
    if least is not None and not least <= value <= most:
        raise SettingsError(f"{said}: {value} is not in {least}..{most}")
    return value


def _check_place(where: str, name: str, least_port: int = 0, may_be_unix: bool = True) -> None:
    """Ports out of range are refused here: gRPC takes 65537 for 1."""
    if not where or (may_be_unix and where.startswith("unix:")):
        return
    port = where.rpartition(":")[2]
    if not (port.isascii() and port.isdecimal()):
        raise SettingsError(f"{name}: {where!r} is not like 127.0.0.1:50051")
    if not least_port <= int(port) <= PORT_MAX:
        raise SettingsError(f"{name}: {where!r}: port {port} is not in {least_port}..{PORT_MAX}")


def _consistent(settings: Settings) -> Settings:
    _check_place(settings.address, "address")
    _check_place(settings.metrics, "metrics", may_be_unix=False)
    _check_place(settings.traces, "traces", least_port=1)  # nobody listens at 0
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
    if settings.backend not in ("threads", "ray"):
        raise SettingsError(f"backend: {settings.backend!r} is none of threads, ray")
    if settings.ray_address and settings.backend != "ray":
        raise SettingsError(f"ray_address: {settings.ray_address} is of no use to the backend {settings.backend}")
    try:
        read_address(settings.ray_address)
    except RayUnavailableError as error:
        raise SettingsError(f"ray_{error}") from None
    if settings.log not in ("debug", "info", "warning", "error"):
        raise SettingsError(f"log: {settings.log!r} is none of debug, info, warning, error")
    return settings

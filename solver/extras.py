"""The extras of the distribution: optional packages, and the sentence that names the command when one is missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import NamedTuple


class Extra(NamedTuple):
    """An extra of pyproject.toml: its name in sentences, and the top-level modules of its packages."""

    title: str
    modules: tuple[str, ...]


EXTRAS = {
    "server": Extra(
        "gRPC", ("grpc", "grpc_health", "grpc_reflection", "grpc_status", "prometheus_client", "connectrpc", "uvicorn")
    ),
    "ray": Extra("Ray", ("ray",)),
    "parquet": Extra("pyarrow", ("pyarrow",)),
    "plots": Extra("matplotlib", ("matplotlib",)),
    "telemetry": Extra("OpenTelemetry", ("opentelemetry",)),
    "openspiel": Extra("OpenSpiel", ("pyspiel", "open_spiel")),
}


class MissingExtraError(ImportError):
    """An extra is not installed. The message has the command that installs it."""

    def __init__(self, extra: str, user: str) -> None:
        super().__init__(f"{user} needs {EXTRAS[extra].title}: pip install 'eminence[{extra}]'")


@contextmanager
def importing(extra: str, user: str) -> Iterator[None]:
    """Raise MissingExtraError if an import fails because an extra is missing; `user` is what needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in EXTRAS[extra].modules:
            raise
        raise MissingExtraError(extra, user) from None


def require(extra: str, user: str) -> None:
    """Raise MissingExtraError if an extra is missing; import nothing."""
    if any(find_spec(module) is None for module in EXTRAS[extra].modules):
        raise MissingExtraError(extra, user)

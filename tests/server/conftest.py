"""Servers of the services, and a file of tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from sockets import serving
from tokens import client_lines

from eminence.v1 import rules_pb2
from server.services import referee, rules
from server.services.referee import RefereeService
from server.services.rules import RulesService


class Faulty(RulesService):
    """A service with a bug."""

    def ListGames(self, request: rules_pb2.ListGamesRequest) -> rules_pb2.ListGamesResponse:
        raise KeyError("B holds the Ambush")


@pytest.fixture(scope="session")
def channel() -> Iterator[grpc.Channel]:
    """Return a channel to a server with RulesService and RefereeService."""
    with serving([(rules.SERVICE, RulesService()), (referee.SERVICE, RefereeService())]) as channel:
        yield channel


@pytest.fixture(scope="session")
def faulty_channel() -> Iterator[grpc.Channel]:
    """Return a channel to a server whose ListGames has a bug."""
    with serving([(rules.SERVICE, Faulty())]) as channel:
        yield channel


@pytest.fixture
def tokens(tmp_path: Path) -> str:
    """Write a file of tokens: alice may run one search at a time, bob make three calls a minute. Return its path."""
    path = tmp_path / "tokens.toml"
    alice = client_lines("alice", "a-secret") + "searches_at_once = 1\n"
    bob = client_lines("bob", "b-secret") + "calls_per_minute = 3\n"
    path.write_text(alice + bob, "utf-8")
    return str(path)

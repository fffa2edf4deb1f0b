"""Servers for the tests of services."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from sockets import serving

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
    """A client's way to a server with RulesService and RefereeService."""
    with serving([(rules.SERVICE, RulesService()), (referee.SERVICE, RefereeService())]) as channel:
        yield channel


@pytest.fixture(scope="session")
def faulty_channel() -> Iterator[grpc.Channel]:
    """The same, where ListGames has a bug."""
    with serving([(rules.SERVICE, Faulty())]) as channel:
        yield channel

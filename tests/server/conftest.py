"""Servers for the tests of services."""

from __future__ import annotations

from collections.abc import Iterator

import grpc
import pytest
from sockets import serving

from eminence.v1 import rules_pb2
from server import referee_service, rules_service
from server.referee_service import RefereeService
from server.rpc.callers import Context
from server.rules_service import RulesService


class Faulty(RulesService):
    """A service with a bug."""

    async def ListGames(self, request: rules_pb2.ListGamesRequest, context: Context) -> rules_pb2.ListGamesResponse:
        raise KeyError("B holds the Ambush")


@pytest.fixture(scope="session")
def channel() -> Iterator[grpc.Channel]:
    """A client's way to a server with RulesService and RefereeService."""
    with serving([(rules_service.SERVICE, RulesService()), (referee_service.SERVICE, RefereeService())]) as channel:
        yield channel


@pytest.fixture(scope="session")
def faulty_channel() -> Iterator[grpc.Channel]:
    """The same, where ListGames has a bug."""
    with serving([(rules_service.SERVICE, Faulty())]) as channel:
        yield channel

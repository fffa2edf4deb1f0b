"""An invented edition of twelve kinds, two of them twice in a family, is sent as messages and text, and reviewed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from expansions import EXPANSIONS
from process import stub
from program import run
from sockets import serving
from tables import random_game

from eminence.v1 import solver_pb2 as pb
from engine_cy import Position, new_game
from engine_cy.oriflamme.editions import EDITIONS
from engine_cy.record import Record
from server.client.requests import text_view
from server.codec import positions, records, views
from server.games import adapter_of
from server.services import solver as solver_service
from server.services.solver import SolverService
from server.settings import Settings
from server.telemetry import Telemetry


@pytest.fixture(autouse=True)
def _expansions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, edition in EXPANSIONS.items():
        monkeypatch.setitem(EDITIONS, name, edition)


def random_record(edition: str, game_id: str = "oriflamme", players: int = 3) -> Record:
    played = list(random_game(new_game(game_id, edition, players), 8))
    return Record(played[0][0], tuple(str(action) for _, action in played if action is not None)).ended()


@pytest.mark.parametrize("edition", ["twelve", "sixteen"])
def test_records_and_text_are_read_back_from_messages(edition: str) -> None:
    record = random_record(edition)
    for version in (record, *(record.seen_from(seat) for seat in range(3))):
        assert records.read(records.write(version)) == version


def test_views_of_published_cards_are_read_back_from_typed_messages() -> None:
    record = random_record("threes")
    for position in record.tables():
        assert isinstance(position, Position)
        assert positions.read(positions.write(position), "position") == position
        assert views.read_view(views.write_view(position.view(0))) == position.view(0)


def test_the_service_suggests_moves_for_text() -> None:
    service = SolverService(Settings(cache_mb=0), Telemetry())
    service.open()
    with serving([(solver_service.SERVICE, service)]) as channel:
        for players, game_id, edition in ((3, "oriflamme", "twelve"), (2, "oriflamme_prototype", "twelve_prototype")):
            for position in list(random_record(edition, game_id, players).tables())[:-1:9]:
                assert isinstance(position, Position)
                view = position.view(position.to_act or 0)
                message = text_view(game_id, edition, players, str(view))
                request = pb.SuggestRequest(view=message, budget=pb.Budget(iterations=50))
                answer: Any = stub(channel).Suggest(request, timeout=20).suggestion
                assert answer.best.text in {str(action) for action in position.legal_actions()}


def test_each_card_is_listed_with_its_copies() -> None:
    game = new_game("oriflamme", "twelve", 3)
    copies = {card.names.en: card.copies for card in adapter_of("oriflamme").cards(game)}
    assert {name: n for name, n in copies.items() if n > 1} == {"Spy": 2, "Herald": 2}
    assert len(copies) == 12


def test_the_command_line_reviews_a_game(tmp_path: Path) -> None:
    (tmp_path / "game.txt").write_text(str(random_record("twelve")))
    review = run("review", tmp_path / "game.txt", "--iterations", 10)
    assert review.code == 0, review.err

"""Complaints about impossible drafts: the editor has a place for each, in every game.

Node runs the page's own code: it changes positions as people do in the editor, and places the server's complaints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.protobuf import json_format
from tables import random_game

from eminence.v1 import rules_pb2, view_pb2
from engine_cy import CHANCE, new_game
from server.codec import views
from server.services.rules import RulesService

Code = Callable[..., list[Any]]
RULES = RulesService()
GAMES: list[tuple[str, Any, int]] = [
    ("oriflamme", "en-2019", 3),
    ("oriflamme_prototype", None, 2),
    ("oriflamme_prototype", None, 4),
    ("castle_village_port", "house", 3),
    ("castle_village_port", {"hidden_gold": True}, 5),
]
every_game = pytest.mark.parametrize("spec", GAMES, ids=str)


def positions(spec: tuple[str, Any, int], each: int) -> Iterator[dict[str, Any]]:
    """Yield requests for drafts: `each` changes of some views of a random game."""
    game = new_game(*spec)
    message = views.write_view(game.deal(1).view(0)).game
    cards = RULES.ListCards(rules_pb2.ListCardsRequest(game=message)).cards
    kinds = [str(info.card.castle_village_port or name_of(info.card)) for info in cards]
    for number, (position, _) in enumerate(random_game(game, 1)):
        if number % 5 or position.to_act == CHANCE:
            continue
        view = views.write_view(position.view(number % game.n_players))
        for seed in range(each):
            yield {"view": json_format.MessageToDict(view), "kinds": kinds, "seed": 1000 * number + seed}


def name_of(card: view_pb2.Card) -> str:
    """Return the id of a card of Oriflamme, as the page writes it."""
    return str(json_format.MessageToDict(card).get("oriflamme", "")).removeprefix("ORIFLAMME_CARD_").lower()


def complaints(view: dict[str, Any]) -> list[str]:
    """Return the fields of the server's complaints about a draft."""
    request = rules_pb2.CheckDraftRequest(view=json_format.ParseDict(view, view_pb2.View()), fill_in=True)
    return [problem.field.split(".", 2)[2] for problem in RULES.CheckDraft(request).problems]


def unplaced(spec: tuple[str, Any, int], page_code: Code, each: int, *arguments: str) -> tuple[list[str], int]:
    """Return the complaints without a place, and the number of impossible drafts."""
    drafts = page_code("drafts.ts", positions(spec, each))
    asked = [
        {"game": spec[0], "players": spec[2], "draft": draft["draft"], "fields": fields}
        for draft in drafts
        if (fields := complaints(draft["view"]))
    ]
    places = page_code("drafts.ts", asked, *arguments)
    pairs = [pair for ask, found in zip(asked, places, strict=True) for pair in zip(ask["fields"], found, strict=True)]
    return [field for field, place in pairs if not place], len(asked)


@every_game
def test_every_complaint_about_a_draft_has_a_place(spec: tuple[str, Any, int], page_code: Code) -> None:
    nowhere, n_impossible = unplaced(spec, page_code, 30)
    assert n_impossible > 100
    assert sorted(set(nowhere)) == []


def test_complaints_without_a_place_are_found(page_code: Code) -> None:
    """Twin of the test above: it can fail."""
    nowhere, n_impossible = unplaced(GAMES[3], page_code, 5, "nowhere")
    assert len(nowhere) >= n_impossible > 0

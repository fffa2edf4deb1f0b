"""The Analyse page of the board, with an effort that does not depend on the machine, through Playwright."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from web import enveloped, envelopes

from engine_cy import new_game

ITERATIONS, SEED = 3000, 11
VIEWS = {
    "oriflamme": "C:Lord* >A:Ambush(1) B:Soldier* A:Lord(1) C:?(2) | round 4 | points 7 7 7 | seen by A",
    "castle_village_port": "castle 15A | village 11B | port 2C | round 1 | turn 2 | seen by A",
}


def link_to(game_id: str, text: str, players: int = 3) -> str:
    edition = new_game(game_id, None, players).ruleset.edition
    return "#/analyse?" + urlencode({"game": game_id, "edition": edition, "players": players, "view": text})


def with_effort(page: Any, iterations: int = ITERATIONS, seed: int = SEED, method: str = "Analyze") -> None:
    """Give every live analysis of a page, or every comparison, a fixed effort and seed instead of a time."""

    def change(route: Any) -> None:
        [(_, body)] = envelopes(route.request.post_data_buffer)
        message = json.loads(body)
        request = message["compare"] if method == "CompareStream" else message
        request["budget"] = {"iterations": str(iterations)}
        request["options"] = {**request.get("options", {}), "seed": str(seed)}
        route.continue_(post_data=enveloped(json.dumps(message).encode()))

    page.route(f"**/{method}", change)


def analysed(page: Any, address: str) -> Any:
    """Open a position, and wait until its analysis has done all iterations."""
    page.evaluate("address => { location.hash = address }", address)
    page.get_by_text("all iterations done").wait_for()
    return page


def compact(text: str) -> str:
    return " ".join(text.split())

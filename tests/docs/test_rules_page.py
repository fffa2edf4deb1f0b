"""The table of docs/rules/README.md lists the editions, the default one first, and the numbers of players."""

from __future__ import annotations

import re

import pytest
from program import ROOT

from engine_cy import new_game
from engine_cy.castle_village_port import editions as castle
from engine_cy.oriflamme import editions as oriflamme

PAGE = (ROOT / "docs" / "rules" / "README.md").read_text()
EDITIONS = {
    "oriflamme": oriflamme.editions_of("oriflamme"),
    "oriflamme_prototype": oriflamme.editions_of("oriflamme_prototype"),
    "castle_village_port": list(castle.EDITIONS),
}


@pytest.mark.parametrize("game_id", EDITIONS)
def test_the_default_edition_comes_first_and_is_marked(game_id: str) -> None:
    [(editions, least, most)] = re.findall(rf"^\| `{game_id}` \|.*\| (.*) \| (\d)-(\d) \|$", PAGE, re.MULTILINE)
    first, *others = EDITIONS[game_id]
    assert editions.startswith(f"**`{first}`**")
    assert re.findall("`(.*?)`", editions) == [first, *others]
    for players in range(int(least), int(most) + 1):
        game = new_game(game_id, players=players)
        assert game == new_game(game_id, first, players=players)

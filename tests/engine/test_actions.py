"""Declared actions: their texts, fields and steps, for every verb of both games."""

from __future__ import annotations

from typing import Any

import pytest
from tables import random_game

from engine_cy import Game, NotationError, new_game
from engine_cy.actions import Actions
from engine_cy.castle_village_port.actions import ACTIONS as CASTLE_ACTIONS
from engine_cy.oriflamme.actions import ACTIONS as QUEUE_ACTIONS

DECLARED = {
    "oriflamme": (QUEUE_ACTIONS, ("oriflamme", "en-2019", 5)),
    "oriflamme_prototype": (QUEUE_ACTIONS, ("oriflamme_prototype", "prototype", 2)),
    "castle_village_port": (CASTLE_ACTIONS, ("castle_village_port", "house", 4)),
}


def declared(game_id: str) -> tuple[Actions, Game, Any]:
    """Return the declared actions of a game, the game, and its shape."""
    actions, spec = DECLARED[game_id]
    game: Any = new_game(*spec)
    return actions, game, game.shape


@pytest.mark.parametrize("game_id", DECLARED)
def test_every_action_is_read_back_from_its_text_and_from_its_steps(game_id: str) -> None:
    actions, game, shape = declared(game_id)
    verbs_seen = set()
    steps_seen = set()
    texts = list(actions.texts(shape, *actions.verbs))
    for text in texts:
        fields = actions.read(text, shape)
        steps = actions.pack(fields, shape)
        assert actions.write(fields, shape) == text
        assert actions.unpack(steps, shape) == fields
        assert game.action(text).fields == fields
        assert game.action(text).code == steps
        verbs_seen.add(fields["type"])
        steps_seen.add(steps)
    assert verbs_seen == set(actions.verbs)
    assert len(steps_seen) == len(set(texts)) == len(texts) > 500


@pytest.mark.parametrize("game_id", DECLARED)
def test_the_list_of_actions_has_every_legal_one(game_id: str) -> None:
    actions, game, shape = declared(game_id)
    texts = set(actions.texts(shape, *actions.verbs))
    verbs_seen: set[str] = set()
    for seed in range(8):
        for position, _ in random_game(game, seed):
            legal = [] if position.is_over else position.legal_actions()
            assert {str(action) for action in legal} <= texts
            verbs_seen.update(action.fields["type"] for action in legal)
    assert len(verbs_seen) > 5


@pytest.mark.parametrize(("game_id", "text"), [("oriflamme", "place ? front"), ("castle_village_port", "select ?")])
def test_a_hidden_card_is_read_back_but_not_listed(game_id: str, text: str) -> None:
    actions, _, shape = declared(game_id)
    fields = actions.read(text, shape)
    assert fields["card"] == "?"
    assert actions.write(fields, shape) == text
    assert actions.unpack(actions.pack(fields, shape), shape) == fields
    assert text not in set(actions.texts(shape, *actions.verbs))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("place Spy front", {"type": "place", "card": "spy", "at": "front"}),
        ("place Spy on 2", {"type": "place", "card": "spy", "on": 2}),
        ("move 2 to 5", {"type": "move", "slot": 2, "to": 5}),
        ("move 2 on 0", {"type": "move", "slot": 2, "on": 0}),
        ("pair 0 1", {"type": "pair", "slot": 0, "other": 1}),
        ("pair 1 0", {"type": "pair", "slot": 0, "other": 1}),
        ("rob B", {"type": "rob", "player": 1}),
        ("keep", {"type": "keep"}),
    ],
)
def test_the_fields_of_actions_have_the_names_of_the_contract(text: str, fields: dict[str, Any]) -> None:
    actions, _, shape = declared("oriflamme")
    assert actions.unpack(actions.pack(actions.read(text, shape), shape), shape) == fields


@pytest.mark.parametrize(
    ("game_id", "text", "message"),
    [
        ("oriflamme", "", "action: '' is not one of place CARD front|back, place CARD on SLOT, reveal, keep,"),
        ("oriflamme", "keep 1", "action: 'keep 1' is not one of"),
        ("oriflamme", "place Spy middle", "action: 'place Spy middle' is not one of"),
        ("oriflamme", "target 31", "action: '31' in 'target 31' is not a slot or gap (0 to 30)"),
        ("oriflamme", "move 1 at 2", "action: 'move 1 at 2' is not one of"),
        ("oriflamme", "rob F", "action: 'F' in 'rob F' is not a seat (A, B, C, D, E)"),
        ("oriflamme", "rob AB", "action: 'AB' in 'rob AB' is not a seat"),
        ("castle_village_port", "select 0", "action: '0' in 'select 0' is not a card's value (1 to 15)"),
        ("castle_village_port", "order B tavern", "'tavern' in 'order B tavern' is not a location (castle, village,"),
        ("castle_village_port", "copy 16A", "action: '16A' in 'copy 16A' is not a card in a row, such as 12B"),
    ],
)
def test_refused_words_are_named_with_what_is_accepted(game_id: str, text: str, message: str) -> None:
    actions, _, shape = declared(game_id)
    with pytest.raises(NotationError) as refusal:
        actions.read(text, shape)
    assert message in str(refusal.value)


@pytest.mark.parametrize("game_id", DECLARED)
def test_unknown_steps_are_refused(game_id: str) -> None:
    actions, _, shape = declared(game_id)
    steps = actions.pack(actions.read(next(actions.texts(shape, "move")), shape), shape)
    for unknown in ((0xFF << 24,), (0,), (*steps, *steps), (*reversed(steps), steps[0])):
        with pytest.raises(NotationError, match="are not an action"):
            actions.unpack(unknown, shape)


def test_fields_that_no_form_has_are_refused() -> None:
    actions, _, shape = declared("oriflamme")
    for fields in ({"type": "place", "card": "spy"}, {"type": "dance"}, {"type": "move", "slot": 1, "to": 2, "on": 3}):
        with pytest.raises(NotationError, match="are not the fields of an action"):
            actions.write(fields, shape)

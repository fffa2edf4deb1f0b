"""A catalogue of rule breaks: each is refused with the field, the value and the accepted values."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from tables import random_game

from engine_cy import (
    CHANCE,
    EngineError,
    HiddenCardError,
    IllegalActionError,
    InvalidPositionError,
    InvalidRulesetError,
    InvalidViewError,
    NotationError,
    NoWorldError,
    Position,
    new_game,
)

EN = ("oriflamme", "en-2019", 3)
CASTLE = ("castle_village_port", "house", 3)
PROTOTYPE = ("oriflamme_prototype", "prototype", 3)
SIX_BY_TWO: Any = ("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2)

# A whole position to damage.
WHOLE = (
    "A1:Spy* >B1:Heir C1:Lord(1) | round 1 | first A | ask B reveal | points 1 2 3"
    " | hands Archer,Soldier,Heir,Lord,Decree,Ambush Archer,Soldier,Spy,Lord,Decree,Ambush"
    " Archer,Soldier,Spy,Heir,Decree,Ambush | piles - - -"
)
# One round later, with a card in A's pile that lies in the queue too.
PILED = (
    "A1:Spy* >B1:Heir C1:Lord(1) | round 2 | ask B reveal | piles Spy Archer Archer"
    " | hands Archer,Soldier,Heir,Lord,Decree Soldier,Spy,Lord,Decree,Ambush Soldier,Spy,Heir,Decree,Ambush"
)
VIEW = (
    "A1:Spy* >B1:? C1:?(1) | round 1 | first A | ask B reveal | points 1 2 3"
    " | hands Archer,Soldier,Heir,Lord,Decree,Ambush ? ? | piles - - - | seen by A"
)


def damaged(old: str, new: str, whole: str = WHOLE) -> str:
    assert old in whole
    return whole.replace(old, new, 1)


POSITIONS: dict[str, tuple[Any, str, str]] = {
    "a card twice in the queue": (
        EN,
        "A:Spy >A:Spy B:Heir | round 2",
        "position.table: 2 copies of A's spy; a family has 1",
    ),
    "a card in queue and hand": (EN, damaged("Archer,Soldier,Heir", "Spy,Soldier,Heir"), "table: 2 copies of A's spy"),
    "a card in queue and pile": (EN, PILED, "table: 2 copies of A's spy"),
    "a card three times in the prototype for two": (
        ("oriflamme_prototype", "prototype", 2),
        "A:Spy A:Spy >A:Spy | round 3",
        "position.table: 3 copies of A's spy; a family has 2",
    ),
    "a card of another edition": (EN, "A:Queen >B:Heir", "'Queen' is no card of this edition (Archer, Soldier,"),
    "a one-shot of the published game in the prototype": (PROTOTYPE, ">A:Decree B:Heir", "'Decree' is no card"),
    "a family that is not at the table": (EN, "A:Spy >D:Heir", "slots[1].family: 'D' is not at this table (A, B, C)"),
    "a stack of two families": (EN, ">A:Spy/B:Heir C:Lord", "slots[0].cards[1]: 'B' lies in a stack of A"),
    "an unknown card in a position": (
        EN,
        ">A:Spy B:?",
        "position.secrets[B].face_down[0]: '?' is only for views; a position names every",
    ),
    "absurd tokens": (EN, damaged("Lord(1)", "Lord(99)"), "table.slots[2].cards[0].tokens: 99 is not in 0..20"),
    "negative tokens": (EN, damaged("Lord(1)", "Lord(-1)"), "slots[2]: 'C1:Lord(-1)' is no card in the queue"),
    "tokens in the prototype": (PROTOTYPE, ">A:Spy(1) B:Heir", "table.slots[0].cards[0].tokens: 1 is not in 0..0"),
    "tokens on a face-up card": (
        EN,
        damaged("A1:Spy*", "A1:Spy*(1)"),
        "table.slots[0].cards[0].tokens: 1 lie on a face-up card",
    ),
    "tokens that were paid before the card acts": (
        EN,
        "A:Lord >B:Soldier*(2) C:Heir | ask B target",
        "table.slots[1].cards[0].tokens: 2 lie on a card that was paid before it acts",
    ),
    "a one-shot card that stays face up": (
        EN,
        damaged("Spy*", "Conspiracy*"),
        "table.slots[0].cards[0].card: 'conspiracy' cannot stay face up in the queue",
    ),
    "an ambush that stays face up": (
        PROTOTYPE,
        "A:Ambush* >B:Heir C:Lord",
        "table.slots[0].cards[0].card: 'ambush' cannot stay face up",
    ),
    "a cursor on two slots": (EN, damaged("C1:Lord", ">C1:Lord"), "slots[2]: '>' stands before two slots"),
    "a cursor during placement": (
        EN,
        damaged("B reveal", "B place"),
        "table.cursor: 1 is not possible with the question place",
    ),
    "a resolution without a cursor": (EN, damaged(">", ""), "cursor: None is not one of the 3 slots"),
    "a cursor on an empty queue": (EN, "- | ask A reveal", "cursor: None is not one of the 0 slots"),
    "the wrong owner asked": (
        EN,
        damaged("B reveal", "C reveal"),
        "to_act: 'C' is not the owner of the card at the cursor, B",
    ),
    "a reveal of a face-up card": (EN, damaged("B1:Heir", "B1:Heir*"), "table.ask: 'reveal' does not fit the card"),
    "a target for a face-down card": (EN, damaged("B reveal", "B target"), "table.ask: 'target' does not fit the card"),
    "an ability that asks something else": (
        EN,
        damaged("B reveal", "B target").replace("B1:Heir", "B1:Lord*").replace("Spy,Lord", "Spy,Heir"),
        "table.ask: 'target' is not a question of this ability (lord)",
    ),
    "an ability that only a copy could have": (
        EN,
        ">A:Archer* B:Soldier* C:Heir | ask A target as Soldier",
        "acting: 'soldier' is not the ability of the card at the cursor",
    ),
    "a target where there is none": (
        EN,
        ">A:Soldier* | ask A target",
        "table.ask: 'target' is not possible: this ability (soldier) has no target",
    ),
    "round zero": (EN, damaged("round 1", "round 0"), "round: 0 is not in 1..6"),
    "a seventh round": (EN, damaged("round 1", "round 7"), "round: 7 is not in 1..6"),
    "a round that is no number": (EN, damaged("round 1", "round one"), "round: 'one' is not a number"),
    "a round with too few cards": (
        EN,
        damaged("round 1", "round 2"),
        "piles[A]: 0 cards and 1 in the queue, but A has placed 2",
    ),
    "a card too many for the round": (
        EN,
        damaged("A1:Spy*", "A1:Spy* A2:Heir"),
        "piles[A]: 0 cards and 2 in the queue",
    ),
    "the game over too soon": (
        EN,
        damaged("ask B reveal", "ask over").replace(">", ""),
        "the game is over after round 6",
    ),
    "a placement out of turn": (
        EN,
        "A1:Spy | round 1 | first A | ask C place | piles - - -",
        "piles[B]: 0 cards and 0 in the queue, but B has placed 1",
    ),
    "a hand too large": (
        EN,
        damaged("Archer,Soldier,Heir", "Archer,Soldier,Heir,Shapeshifter"),
        "position.secrets[A].hand: 7 cards; A has 6",
    ),
    "a hand too small": (EN, damaged("Archer,Soldier,Heir", "Archer,Heir"), "secrets[A].hand: 5 cards; A has 6 left"),
    "an unknown hand in a position": (
        EN,
        damaged("Archer,Soldier,Heir,Lord,Decree,Ambush", "?"),
        "hands[A]: '?' must be known",
    ),
    "a hand for each of two players only": (
        EN,
        damaged(" Archer,Soldier,Spy,Heir,Decree,Ambush", ""),
        "hands: 2 entries",
    ),
    "points for each of two players only": (
        EN,
        damaged("points 1 2 3", "points 1 2"),
        "points: 2 entries, not one for each",
    ),
    "negative points": (EN, damaged("points 1 2 3", "points 1 -2 3"), "points[B]: -2 is not in 0..250"),
    "absurd points": (EN, damaged("points 1 2 3", "points 1 2 999"), "points[C]: 999 is not in 0..250"),
    "a first player who is not there": (EN, damaged("first A", "first E"), "first: 'E' is not at this table (A, B, C)"),
    "a card numbered beyond what was placed": (
        EN,
        damaged("C1:", "C2:"),
        "table.slots: 2 is not in 1..1, the numbers of the cards that C has placed",
    ),
    "a number for two cards": (
        EN,
        "A1:Spy >A1:Heir B:Lord | round 2",
        "table.slots: 1 is the number of two cards of A",
    ),
    "a number zero": (EN, damaged("C1:", "C0:"), "slots[2].nth: '0' in 'C0:Lord(1)' is not 1 or more"),
    "a field twice": (EN, WHOLE + " | round 1", "field: 'round' occurs twice"),
    "a field that does not exist": (EN, WHOLE + " | weather fine", "field: 'weather' is not one of round, first, ask"),
    "a question that does not exist": (
        EN,
        damaged("B reveal", "B ponder"),
        "ask: 'B ponder' is neither 'over' nor like 'A reveal'",
    ),
    "a card that cannot be read": (EN, damaged("C1:Lord(1)", "C1-Lord"), "slots[2]: 'C1-Lord' is no card in the queue"),
    "an unfinished double turn": (
        SIX_BY_TWO,
        "A1:Spy A2:Heir A3:Lord | ask A place | first A | round 1",
        "A has placed",
    ),
    "a view taken for a position": (EN, VIEW, "seen: this is a view, not a position"),
}

VIEWS = {
    "a view without an observer": (EN, WHOLE, "seen: a view names its observer"),
    "an observer who is not there": (EN, damaged("seen by A", "seen by D", VIEW), "seen by: 'D' is not at this table"),
    "an own card that is unknown": (
        EN,
        damaged("A1:Spy*", "A1:?", VIEW),
        "view.own.face_down[0]: '?' is a card that the observer knows; name it",
    ),
    "a face-up card that is unknown": (
        EN,
        damaged("B1:?", "B1:?*", VIEW),
        "slots[1].card: 'B1:?*' is a face-up card without a name",
    ),
    "a face-down card of another that is known": (
        EN,
        damaged("B1:?", "B1:Heir", VIEW),
        "view.table.slots[1].cards[0].card: 'heir' lies face down and is B's: the observer cannot know it",
    ),
    "a hand of another that is known": (
        EN,
        damaged("? ?", "Archer,Soldier,Spy,Lord,Decree,Ambush ?", VIEW),
        "hands[B]",
    ),
    "an own hand that is unknown": (
        EN,
        damaged("Archer,Soldier,Heir,Lord,Decree,Ambush", "?", VIEW),
        "hands[A]: '?' must",
    ),
    "an own face-down card that is in hand too": (
        EN,
        damaged("A1:Spy*", "A1:Heir", VIEW),
        "table: 2 copies of A's heir",
    ),
    "a card of another that is face up twice": (
        EN,
        "A:Spy B:Heir* >B:Heir* C:? | round 2 | seen by A",
        "view.table: 2 copies of B's heir; a family has 1",
    ),
}

ACTIONS = {
    "a reveal during placement": (EN, "-", "reveal", "A must place a card (legal:"),
    "a card that is not in hand": (EN, "-", "place Conspiracy front", "A holds no Conspiracy (legal:"),
    "a hidden card where the cards are known": (EN, "-", "place ? front", "A holds no ? (legal: place Archer front"),
    "a hidden card of the prototype": (PROTOTYPE, "-", "place ? front", "A holds no ? (legal:"),
    "a hidden card of a table in rows": (CASTLE, "castle -", "select ?", "A holds no ? (legal:"),
    "a place between two slots": (
        EN,
        "A:Spy B:Heir C:Lord | round 2",
        "place Archer on 1",
        "or on a slot of A's (legal:",
    ),
    "a back of an empty queue": (EN, "-", "place Archer back", "(legal: place Archer front"),
    "a slot of another family": (
        EN,
        "A:Spy B:Heir C:Lord | round 2",
        "place Archer on 2",
        "or on a slot of A's (legal:",
    ),
    "a target beyond the neighbours": (
        EN,
        ">A:Soldier* B:Spy C:Heir",
        "target 2",
        "a Soldier reaches only slot 1 (legal: target 1)",
    ),
    "a soldier that targets itself": (
        EN,
        "C:Spy >A:Soldier* B:Spy",
        "target 1",
        "reaches only slot 0 or 2 (legal: target 0, target 2)",
    ),
    "an archer that shoots into the middle": (
        EN,
        "C:Spy >A:Archer* B:Spy",
        "target 1",
        "reaches only slot 0 or 2 (legal: target 0, target 2)",
    ),
    "a spy that robs its owner": (
        EN,
        "C:Spy >A:Spy* B:Heir",
        "rob A",
        "only C or B owns a neighbour (legal: rob C, rob B)",
    ),
    "a spy that robs a player who is not adjacent": (EN, "C:Spy B:Heir >A:Spy*", "rob C", "(legal: rob B)"),
    "a copy of a face-down card": (EN, "C:Spy >A:Shapeshifter* B:Heir*", "copy 0", "(legal: copy 2)"),
    "a decree that moves itself": (EN, "C:Spy >A:Decree* B:Heir*", "move 1 to 0", "a Decree moves another top card"),
    "a decree that changes nothing": (EN, "C:Spy >A:Decree* B:Heir*", "move 0 to 1", "so that the queue changes"),
    "a decree onto another family": (EN, "C:Spy >A:Decree* B:Heir*", "move 0 on 2", "on its family"),
    "a keep of a face-up card": (
        EN,
        ">A:Soldier* B:Spy C:Heir",
        "keep",
        "A must choose a slot to hit (legal: target 1)",
    ),
    "an own card where an opponent's could be hit": (
        PROTOTYPE,
        "A:Heir >A:Soldier* B:Lord | round 2",
        "target 0",
        "(legal: t",
    ),
    "a prototype ambush revealed": (
        PROTOTYPE,
        ">A:Ambush B:Lord",
        "reveal",
        "this card cannot be revealed, only kept (legal: keep)",
    ),
    "a pair with the assassin in it": (
        PROTOTYPE,
        ">A:Assassin* B:Lord C:Lord",
        "pair 0 1",
        "an Assassin names two different slots, not its own (legal: pair 1 2)",
    ),
    "a pair of one slot": (PROTOTYPE, ">A:Assassin* B:Lord C:Lord", "pair 1 1", "(legal: pair 1 2)"),
    "anything when the game is over": (EN, "A:Spy* | round 6 | ask over", "keep", "the game is over"),
}

TEXTS = {
    "no action": ("", "action: '' is not one of place CARD front"),
    "an unknown verb": ("dance", "action: 'dance' is not one of"),
    "a slot that is no number": ("target x", "action: 'x' in 'target x' is not a slot or gap (0 to 30)"),
    "a slot out of all bounds": ("target 99", "action: '99' in 'target 99' is not a slot or gap"),
    "a seat that does not exist": ("rob Z", "action: 'Z' in 'rob Z' is not a seat (A, B, C, D, E)"),
    "a card that does not exist": ("place Joker front", "card: 'Joker' is no card of this edition (Archer,"),
    "a place without a card": ("place front", "action: 'place front' is not one of"),
}

RULESETS: dict[str, tuple[Any, str]] = {
    "an unknown game": (("chess", None, 3), "game: 'chess' is not a game (oriflamme,"),
    "an unknown edition": (("oriflamme", "es-2019", 3), "ruleset.edition: 'es-2019' is not an edition of oriflamme"),
    "an edition of the other game": (("oriflamme", "prototype", 3), "ruleset.edition: 'prototype' is not an edition"),
    "an unknown switch": (("oriflamme", {"dragons": True}, 3), "ruleset.dragons: oriflamme has no such switch"),
    "a switch of the other game": (("oriflamme", {"ambush_gain": 3}, 3), "it is a switch of oriflamme_prototype"),
    "a number instead of a boolean": (
        ("oriflamme", {"decree_onto_stack": 1}, 3),
        "ruleset.decree_onto_stack: 1 is not one of",
    ),
    "a boolean instead of a number": (
        ("oriflamme", {"ambush_own_gain": True}, 3),
        "ruleset.ambush_own_gain: True is not one of 0,",
    ),
    "a number out of range": (("oriflamme", {"ambush_own_gain": 10}, 3), "ruleset.ambush_own_gain: 10 is not one of"),
    "an unknown word": (("oriflamme", {"uncovered_resolves": "none"}, 3), "'none' is not one of 'any', 'one-shot'"),
    "a ruleset of another type": (("oriflamme", 2019, 3), "ruleset: 2019 is neither an edition's name nor switches"),
    "two players": (("oriflamme", "en-2019", 2), "players: 2 is not possible in en-2019 (3, 4, 5)"),
    "five players of the prototype": (
        ("oriflamme_prototype", "prototype", 5),
        "players: 5 is not possible in prototype",
    ),
    "players that are no number": (("oriflamme", "en-2019", "3"), "players: '3' is not possible in en-2019 (3, 4, 5)"),
    "two cards a turn in seven rounds": (("oriflamme_prototype", {"cards_per_turn": 2}, 2), "cards_per_turn: 2 needs"),
    "two cards a turn for three": (
        ("oriflamme_prototype", {"cards_per_turn": 2, "two_player_rounds": 6}, 3),
        "ruleset.cards_per_turn: 2 needs two_player_rounds 6 and 2 players, not two_player_rounds 6 and 3 players",
    ),
    "eight rounds for two": (("oriflamme_prototype", {"two_player_rounds": 8}, 2), "8 is not one of 6, 7"),
}


def test_the_catalogue_names_at_least_forty_rule_breaks() -> None:
    assert len(POSITIONS) + len(VIEWS) + len(ACTIONS) >= 40


@pytest.mark.parametrize("name", POSITIONS)
def test_impossible_positions_are_refused(name: str) -> None:
    spec, text, message = POSITIONS[name]
    with pytest.raises((InvalidPositionError, NotationError)) as refusal:
        new_game(*spec).position(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize("name", VIEWS)
def test_impossible_views_are_refused(name: str) -> None:
    spec, text, message = VIEWS[name]
    with pytest.raises((InvalidViewError, NotationError)) as refusal:
        new_game(*spec).view(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize("name", ACTIONS)
def test_illegal_actions_are_refused_with_the_legal_ones(name: str) -> None:
    spec, text, action, message = ACTIONS[name]
    position = new_game(*spec).position(text)
    with pytest.raises(IllegalActionError) as refusal:
        position.play(action)
    assert message in str(refusal.value)
    assert f"'{action}'" in str(refusal.value)
    if not position.is_over:
        assert str(position.view(position.to_act or 0)) in str(refusal.value)


@pytest.mark.parametrize("spec", [EN, PROTOTYPE, CASTLE], ids=lambda spec: spec[0])
def test_a_refusal_shows_only_what_the_player_to_act_sees(spec: tuple[str, str, int]) -> None:
    """A client may show the refusal to the player who chose the action."""
    refused = differing = 0
    for position, _ in random_game(new_game(*spec), 5):
        seat = position.to_act
        for action in ("keep", "target 1", "rob A", "select 3", "place castle 0"):
            with suppress(NotationError):
                texts = [refusal_text(alike, action) for alike in alike_positions(position, seat)]
                refused += texts[0] != ""
                assert len(set(texts)) == 1
        if seat is not None and seat >= 0:
            differing += len({str(alike) for alike in alike_positions(position, seat)}) > 1
    assert refused > 20
    assert differing > 5  # the texts of the positions, which a refusal must not quote


def alike_positions(position: Position, seat: int | None) -> list[Position]:
    """Return positions that look the same to the player to act; the position alone if chance is to act."""
    if seat is None or seat < 0:
        return [position]
    return [position, *(position.view(seat).sample_world(seed) for seed in range(4))]


def refusal_text(position: Position, action: str) -> str:
    try:
        position.play(action)
    except IllegalActionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("spec", "text"), [(CASTLE, None), (("leduc_poker", None, 2), "Ka -")])
def test_a_refusal_while_chance_is_to_act_shows_no_position(
    spec: tuple[str, str | None, int], text: str | None
) -> None:
    game = new_game(*spec)
    if text is None:
        position = next(at for at, _ in random_game(game, 1) if at.to_act == CHANCE)
    else:
        position = game.position(text)
    illegal = next(action for at, action in random_game(game, 1) if at.to_act != CHANCE and action is not None)
    with pytest.raises(IllegalActionError) as refusal:
        position.play(illegal)
    assert str(refusal.value) == f"action: '{illegal}': chance is to act, and this is not one of its actions"


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_action_is_refused(name: str) -> None:
    text, message = TEXTS[name]
    with pytest.raises(NotationError) as refusal:
        new_game(*EN).deal().play(text)
    assert message in str(refusal.value)


@pytest.mark.parametrize("name", RULESETS)
def test_contradictory_rulesets_are_refused(name: str) -> None:
    spec, message = RULESETS[name]
    with pytest.raises(InvalidRulesetError) as refusal:
        new_game(*spec)
    assert message in str(refusal.value)


def test_the_undamaged_examples_are_accepted() -> None:
    game = new_game(*EN)
    assert str(game.position(WHOLE)) == WHOLE
    assert str(game.view(VIEW)) == VIEW
    assert game.position(WHOLE).view("A") == game.view(VIEW)


CASTLE_VIEW = (
    "castle 15A | village - | port - | round 1 | turn 1 | first A | ask B place | gold 3 3 3 | selected - ? ?"
    " | hands 10,9,3,2,1 ? ? | decks ? ? ? | piles - - - | seen by A"
)


@pytest.mark.parametrize(
    ("spec", "text", "old", "new", "error"),
    [
        (EN, VIEW, "B1:?", "B1:Heir", HiddenCardError),
        (EN, VIEW, "Ambush ? ?", "Ambush ? Spy,Heir", HiddenCardError),
        (EN, VIEW, "Archer,Soldier", "Archer,Archer", NoWorldError),
        (EN, VIEW, "piles - -", "piles - Spy", NoWorldError),
        (EN, VIEW, "Archer,Soldier,", "Archer,", NoWorldError),
        (CASTLE, CASTLE_VIEW, "selected - ?", "selected - 9", HiddenCardError),
        (CASTLE, CASTLE_VIEW, "2,1 ? ?", "2,1 ? 1,2,3,4,5", HiddenCardError),
        (CASTLE, CASTLE_VIEW, "decks ? ?", "decks ? 1,2,3,4,5,6,7,8,9", HiddenCardError),
        (CASTLE, CASTLE_VIEW, "10,9", "15,9", NoWorldError),
        (CASTLE, CASTLE_VIEW, "10,9", "9", NoWorldError),
        (CASTLE, CASTLE_VIEW, "piles -", "piles 2", NoWorldError),
    ],
)
def test_views_that_show_hidden_cards_or_fit_no_position_have_their_own_errors(
    spec: Any, text: str, old: str, new: str, error: type[InvalidViewError]
) -> None:
    game = new_game(*spec)
    game.view(text)
    with pytest.raises(InvalidViewError) as refusal:
        game.view(damaged(old, new, text))
    assert type(refusal.value) is error


def test_wrong_deals_are_refused() -> None:
    game = new_game(*EN)
    with pytest.raises(InvalidPositionError, match="aside: 2 lists, not one for each of 3 players"):
        game.start([["Spy", "Heir", "Lord"]] * 2)
    with pytest.raises(InvalidPositionError, match=r"aside\[B\]: spy, heir are 2 cards, not 3"):
        game.start([["Spy", "Heir", "Lord"], ["Spy", "Heir"], ["Spy", "Heir", "Lord"]])
    with pytest.raises(InvalidPositionError, match=r"aside\[A\]: spy, spy, lord: a family has spy 1x"):
        game.start([["Spy", "Spy", "Lord"]] * 3)
    with pytest.raises(EngineError, match="first: 'F' is not at this table"):
        game.deal(first="F")


def test_wrong_bytes_and_foreign_actions_are_refused() -> None:
    game = new_game(*EN)
    with pytest.raises(InvalidPositionError, match="bytes: 3 bytes, but a state of oriflamme has 208"):
        game.position_from_bytes(b"abc")
    with pytest.raises(InvalidPositionError, match="round: 0 is not in"):
        game.position_from_bytes(bytes(208))
    with pytest.raises(IllegalActionError, match="is an action of oriflamme_prototype, not of oriflamme"):
        game.deal().play(new_game(*PROTOTYPE).action("keep"))
    with pytest.raises(IllegalActionError, match="42 is neither an Action nor text"):
        game.deal().play(42)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="player: 'D' is not at this table"):
        game.deal().view("D")
    with pytest.raises(EngineError, match="the game is not over"):
        _ = game.deal().payoffs
    with pytest.raises(TypeError, match="positions come from"):
        type(game.deal())(game)  # type: ignore[call-arg]


def test_part_of_a_decision_is_not_an_action() -> None:
    position = new_game(*EN).position("C:Spy >A:Decree* B:Heir*")
    lift, drop = position.game.action("move 0 to 2").code
    for steps in ((lift,), (drop,), (lift, lift), (drop, lift), (), (-1,), (2**40,)):
        with pytest.raises(NotationError, match="are not an action"):
            position.game.action_from_steps(steps)
    assert position.play(position.game.action_from_steps((lift, drop))) == position.play("move 0 to 2")


def test_bytes_in_the_middle_of_a_decision_are_neither_position_nor_view() -> None:
    """A Decree that has lifted a card and not dropped it is a state that only the engine may hold."""
    game = new_game(*EN)
    position = game.position("C:Spy >A:Decree* B:Heir*")
    view_bytes = bytes(position.view("A"))
    ask, chosen = 194, 197
    assert (view_bytes[ask], view_bytes[chosen]) == (5, 255)
    for raw, read in (
        (bytes(position), lambda raw: game.position_from_bytes(raw)),
        (view_bytes, lambda raw: game.view_from_bytes(raw, 0)),
    ):
        midway = bytearray(raw)
        midway[ask], midway[chosen] = 6, 0
        with pytest.raises(InvalidPositionError, match="in the middle of a decision"):
            read(bytes(midway))

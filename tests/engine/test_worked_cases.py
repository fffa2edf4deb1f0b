"""Oriflamme: the worked cases of the rules pages, each for every edition that it names."""

from __future__ import annotations

import re
from itertools import product

import pytest
from scenes import gains, play

from engine_cy import InvalidPositionError, Position, new_game
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from engine_cy.oriflamme.table import kinds_in_queue

FR_EN = ("fr-2019", "en-2019")
PUBLISHED_EDITIONS = (*FR_EN, "de-2019", "revised")


def scene(text: str, edition: str, players: int = 3) -> Position:
    game = "oriflamme_prototype" if edition == "prototype" else "oriflamme"
    return new_game(game, edition, players).position(text)


def scenes(text: str, edition: str, players: int = 3) -> list[Position]:
    """Return the position with each `?` replaced by each card but an Ambush that its family may have there."""
    cards = PROTOTYPE if edition == "prototype" else PUBLISHED
    names = [card.name for card in cards if card.id != "ambush"]
    parts = text.split("?")
    positions = []
    for choice in product(names, repeat=len(parts) - 1):
        filled = parts[0] + "".join(name + part for name, part in zip(choice, parts[1:], strict=True))
        try:
            positions.append(scene(filled, edition, players))
        except InvalidPositionError as error:
            # A card that this family has elsewhere.
            assert re.search(r"\d copies of [A-E]'s \w+; a family has \d$", str(error))  # noqa: PT017
    assert len(positions) > 5
    return positions


def question(position: Position) -> str:
    """Return the seat to act, the question and the slot at the cursor, as in `C reveal at 1`."""
    table = position.table
    at = "" if table.cursor is None else f" at {table.cursor}"
    return f"{'ABCDE'[table.to_act]} {table.ask}{at}"


def queue(position: Position) -> str:
    """Return the queue as text, each card as family and name."""
    slots = zip(position.table.slots, kinds_in_queue(position.parts), strict=True)
    return " ".join("/".join(f"{'ABCDE'[slot.family]}:{kind}" for kind in kinds) for slot, kinds in slots)


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_a_card_carried_ahead_of_the_cursor_acts_again(edition: str) -> None:  # case 1
    for table in scenes("B:Heir* >A:Decree C:?", edition):
        after = play(table, "reveal", "move 0 to 2")
        assert gains(table.scores, after) == {"B": 2}
        assert question(after) == "C reveal at 1"
        assert after.table.piles[0] == ("royal_decree",)


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_a_card_carried_behind_the_cursor_is_skipped(edition: str) -> None:  # case 2
    for table in scenes(">A:Decree B:Spy* C:?", edition):
        after = play(table, "reveal", "move 1 to 0")
        assert gains(table.scores, after) == {}
        assert question(after) == "C reveal at 1"


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_the_card_below_a_decree_is_next_after_the_decree_moves_another_card(edition: str) -> None:  # case 3
    for table in scenes(">A:Decree/A:Lord B:? | round 2 | first B", edition):
        after = play(table, "reveal", "move 1 to 0")
        assert question(after) == "A reveal at 1"
        assert queue(after).endswith("A:lord")
        assert question(play(after, "keep")) == "C place"


@pytest.mark.parametrize(("edition", "points"), [("fr-2019", 3), ("en-2019", 3), ("revised", 3), ("de-2019", 1)])
def test_an_archer_alone_takes_itself(edition: str, points: int) -> None:  # case 4
    table = scene(">A:Archer(2)", edition)
    after = play(table, "reveal", "target 0")
    assert gains(table.scores, after) == {"A": points}
    assert queue(after) == ""
    places = {str(action.fields["at"]) for action in after.legal_actions()}
    assert places == {"front"}


@pytest.mark.parametrize(
    ("edition", "next_question"),
    [
        ("fr-2019", "A reveal at 0"),
        ("en-2019", "A reveal at 0"),
        ("revised", "A reveal at 0"),
        ("de-2019", "B reveal at 1"),
    ],
)
def test_the_card_below_an_archer_that_took_itself_is_next_except_in_de_2019(
    edition: str, next_question: str
) -> None:  # case 5
    for table in scenes(">A:Archer/A:Heir B:? | round 2", edition):
        after = play(table, "reveal", "target 0")
        assert gains(table.scores, after) == {"A": 1}
        assert question(after) == next_question


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_an_ambush_strikes_an_opponents_soldier(edition: str) -> None:  # case 6
    table = scene(">A:Soldier/A:Spy B:Ambush(3) | round 2 | first C", edition)
    after = play(table, "reveal", "target 1")
    assert gains(table.scores, after) == {"A": 1, "B": 4}
    if edition == "de-2019":
        assert queue(after) == "A:soldier/A:spy"
        assert question(after) == "A place"
    else:
        assert queue(after) == "A:spy"
        assert question(after) == "A reveal at 0"
        alone = play(after, "reveal")
        assert gains(after.scores, alone) == {}
        assert question(alone) == "A place"


@pytest.mark.parametrize(
    ("edition", "points", "left"),
    [("fr-2019", 2, ""), ("en-2019", 2, ""), ("de-2019", 2, "A:soldier"), ("revised", 1, "A:soldier")],
)
def test_a_soldier_eliminates_an_own_ambush(edition: str, points: int, left: str) -> None:  # case 7
    table = scene(">A:Soldier A:Ambush(1) | round 2", edition)
    after = play(table, "reveal", "target 1")
    assert gains(table.scores, after) == {"A": points}
    assert queue(after) == left


@pytest.mark.parametrize(("edition", "points"), [("fr-2019", 4), ("en-2019", 4), ("de-2019", 3), ("revised", 3)])
def test_a_lord_counts_its_neighbours(edition: str, points: int) -> None:  # case 8
    for table in scenes("A:?/A:? >A:Lord A:? | round 4", edition):
        assert gains(table.scores, play(table, "reveal")) == {"A": points}


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_a_shapeshifter_that_copies_an_heir_counts_other_shapeshifters_only(edition: str) -> None:  # case 9
    table = scene("B:Heir* >A:Shapeshifter C:Heir*", edition)
    for slot in (0, 2):
        # The Heir on the right acts too and finds another Heir face up.
        assert gains(table.scores, play(table, "reveal", f"copy {slot}")) == {"A": 2}
    table = scene("B:Heir* >A:Shapeshifter C:Heir* B:Shapeshifter*", edition)
    after = play(table, "reveal", "copy 0")
    assert gains(table.scores, after) == {}


def test_a_prototype_shapeshifter_that_copies_an_heir_counts_heirs_only() -> None:  # case 9
    table = scene("B:Heir* >A:Shapeshifter C:Heir*", "prototype")
    assert gains(table.scores, play(table, "reveal", "copy 0")) == {}
    for others in ("C:Spy*", "C:Spy* B:Shapeshifter*"):
        table = scene(f"B:Heir* >A:Shapeshifter {others}", "prototype")
        after = play(table, "reveal", "copy 0")
        assert gains(table.scores, after) == {"A": 2}


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_copying_a_shapeshifter_does_nothing(edition: str) -> None:  # case 10
    table = scene(">A:Shapeshifter B:Shapeshifter*", edition)
    after = play(table, "reveal", "copy 1")
    assert gains(table.scores, after) == {}
    # B's Shapeshifter must act too: A's, now face up, is the one to copy.
    assert question(after) == "B copy at 1"
    assert gains(table.scores, play(after, "copy 0")) == {}


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_a_card_uncovered_ahead_of_the_cursor_is_resolved(edition: str) -> None:  # case 11
    for table in scenes(">A:Soldier B:?/B:? | round 2", edition):
        after = play(table, "reveal", "target 1")
        assert gains(table.scores, after) == {"A": 1}
        assert question(after) == "B reveal at 1"
    for table in scenes("B:?/B:? >A:Soldier | round 2", edition):
        after = play(table, "reveal", "target 0")
        assert gains(table.scores, after) == {"A": 1}
        assert question(after) == "B place"


@pytest.mark.parametrize("tokens", [0, 1, 4])
@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_an_assassination_alone_takes_itself(edition: str, tokens: int) -> None:  # case 12
    table = scene(f">A:Assassination({tokens})", edition)
    after = play(table, "reveal", "target 0")
    assert gains(table.scores, after) == {"A": 1 if edition == "de-2019" else tokens + 1}
    assert queue(after) == ""
    assert after.table.piles[0] == ("assassination",)


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_a_conspiracy_pays_twice_and_uncovers(edition: str) -> None:  # case 13
    for table in scenes(">A:Conspiracy(3)/A:Soldier* B:? | round 2", edition):
        after = play(table, "reveal")
        assert gains(table.scores, after) == {"A": 6}
        assert question(after) == "A target at 0"
        hit = play(after, "target 1")
        assert gains(after.scores, hit) == {"A": 1}
        assert queue(hit) == "A:soldier"


def test_a_prototype_ambush_takes_the_soldier_along() -> None:  # case 14
    table = scene(">A:Soldier B:Ambush", "prototype")
    after = play(table, "reveal", "target 1")
    assert gains(table.scores, after) == {"B": 3}
    assert queue(after) == ""


@pytest.mark.parametrize(("text", "cursor"), [(">A:Queen B:?/B:? | round 2", 0), ("B:?/B:? >A:Queen | round 2", 1)])
def test_a_queen_beside_a_stack_is_eliminated(text: str, cursor: int) -> None:  # case 15
    for table in scenes(text, "prototype"):
        assert table.table.cursor == cursor
        after = play(table, "reveal")
        assert gains(table.scores, after) == {}
        assert after.table.piles[0].count("queen") == 1


# --- rulings of the pages that the worked cases do not cover ----------------------------------------------------


@pytest.mark.parametrize("edition", PUBLISHED_EDITIONS)
def test_a_decree_may_be_covered_only_if_the_switch_allows_it(edition: str) -> None:
    table = scene(">A:Decree/A:Lord A:Spy B:Heir | round 3", edition).play("reveal")
    legal = {str(action) for action in table.legal_actions()}
    assert ("move 1 on 0" in legal) == (edition != "revised")


def test_a_card_laid_on_the_decree_is_resolved_next() -> None:
    table = scene(">A:Decree(2)/A:Lord A:Spy B:Heir | round 3", "de-2019")
    after = play(table, "reveal", "move 1 on 0")
    assert gains(table.scores, after) == {"A": 2}
    assert queue(after) == "A:spy/A:lord B:heir"
    assert question(after) == "A reveal at 0"


def test_a_decree_must_change_the_queue() -> None:
    table = scene("B:Heir >A:Decree C:Spy B:Lord/B:Archer | round 3", "en-2019").play("reveal")
    legal = {str(action) for action in table.legal_actions()}
    assert {"move 0 to 0", "move 0 to 1", "move 2 to 2", "move 2 to 3"}.isdisjoint(legal)
    assert {"move 3 to 3", "move 3 to 4", "move 0 on 3", "move 3 on 0"} <= legal


def test_a_spy_needs_an_opponent_and_may_rob_one_without_points() -> None:
    table = scene("A:Heir >A:Spy A:Lord | round 3", "en-2019")
    assert gains(table.scores, play(table, "reveal")) == {}
    table = scene("B:Heir >A:Spy C:Lord | points 1 0 4", "en-2019")
    assert gains(table.scores, play(table, "reveal", "rob B")) == {}
    assert gains(table.scores, play(table, "reveal", "rob C")) == {"A": 1, "C": -1}


def test_two_neighbours_of_one_opponent_are_one_option_for_a_spy() -> None:
    table = scene("B:Heir >A:Spy B:Lord | round 2", "en-2019").play("reveal")
    assert [str(action) for action in table.legal_actions()] == ["rob B"]


def test_an_ambush_revealed_by_its_owner_pays_one_and_no_tokens() -> None:
    table = scene(">A:Ambush(3) B:Lord", "en-2019")
    after = play(table, "reveal")
    assert gains(table.scores, after) == {"A": 1}
    assert queue(after) == "B:lord"


def test_an_ambush_strikes_a_shapeshifter_that_copied_a_soldier() -> None:
    table = scene("B:Soldier* >A:Shapeshifter/A:Spy C:Ambush | round 2", "en-2019")
    after = play(table, "reveal", "copy 0", "target 2")
    assert gains(table.scores, after) == {"A": 1, "C": 4}
    assert queue(after) == "B:soldier A:spy"


def test_covered_cards_count_in_a_tie() -> None:
    table = scene("A:Heir/A:Spy >B:Lord | round 6 | points 5 5 1", "en-2019")
    after = play(table, "keep")
    assert after.is_over
    assert after.payoffs == (1, 0, 0)


def test_a_prototype_tie_is_shared() -> None:
    table = scene("A:Heir/A:Spy >B:Lord | round 7 | points 5 5 1", "prototype")
    assert play(table, "keep").payoffs == (0.5, 0.5, 0)


def test_prototype_soldiers_must_hit_opponents_if_they_can() -> None:
    table = scene("A:Heir >A:Soldier B:Lord | round 2", "prototype").play("reveal")
    assert [str(action) for action in table.legal_actions()] == ["target 2"]
    table = scene("A:Heir >A:Soldier A:Lord B:Spy | round 3", "prototype").play("reveal")
    assert [str(action) for action in table.legal_actions()] == ["target 0", "target 2"]


def test_a_prototype_assassin_hits_a_pair_of_one_name_only() -> None:
    table = scene(">A:Assassin B:Lord C:Lord A:Spy* | round 2", "prototype")
    hit = play(table, "reveal", "pair 1 2")
    assert gains(table.scores, hit) == {"A": 2}
    missed = play(table, "reveal", "pair 1 3")
    assert queue(missed).startswith("A:assassin B:lord C:lord")
    assert missed.table.slots[1].cards[0].card


def test_of_two_ambushes_before_an_assassin_the_nearer_pays() -> None:
    table = scene("B:Ambush >A:Assassin C:Ambush", "prototype")
    after = play(table, "reveal", "pair 0 2")
    assert gains(table.scores, after) == {"B": 3}
    assert queue(after) == ""


def test_an_assassin_that_finds_one_ambush_leaves_the_other_card_turned_up() -> None:
    table = scene("B:Lord >A:Assassin C:Ambush", "prototype")
    after = play(table, "reveal", "pair 0 2")
    assert gains(table.scores, after) == {"C": 3}
    assert queue(after) == "B:lord"
    assert after.table.slots[0].cards[0].card


def test_mercenaries_leave_whether_or_not_they_hit() -> None:
    alone = scene(">A:Mercenaries/A:Spy | round 2", "prototype")
    assert queue(play(alone, "reveal")) == "A:spy"
    table = scene(">A:Mercenaries B:Lord", "prototype")
    after = play(table, "reveal", "target 1")
    assert gains(table.scores, after) == {"A": 1}
    assert queue(after) == ""


def test_a_shapeshifter_that_copies_a_queen_or_mercenaries_leaves_the_queue() -> None:
    table = scene("B:Queen* >A:Shapeshifter C:Lord/C:Spy | round 2", "prototype")
    assert "A:shapeshifter" not in queue(play(table, "reveal", "copy 0"))
    table = scene("B:Mercenaries* >A:Shapeshifter C:Lord | round 2", "prototype")
    after = play(table, "reveal", "copy 0", "target 2")
    assert gains(table.scores, after) == {"A": 1}
    assert queue(after) == "B:mercenaries"


def test_a_prototype_ambush_may_only_be_kept_and_gets_nothing() -> None:
    table = scene(">A:Ambush B:Lord", "prototype")
    assert [str(action) for action in table.legal_actions()] == ["keep"]
    after = play(table, "keep")
    assert after.table.slots[0].cards[0].tokens == 0
    assert gains(table.scores, after) == {}


def test_an_own_prototype_ambush_pays_nothing() -> None:
    table = scene(">A:Soldier A:Ambush | round 2", "prototype")
    after = play(table, "reveal", "target 1")
    assert gains(table.scores, after) == {}
    assert queue(after) == ""


def test_two_placements_in_succession_may_cover_each_other() -> None:
    game = new_game("oriflamme_prototype", {"two_player_rounds": 6, "cards_per_turn": 2}, 2)
    start = game.deal(seed=1)
    first = start.play(start.legal_actions()[0])
    assert first.to_act == 0
    assert any(str(action).endswith("on 0") for action in first.legal_actions())
    assert first.play(first.legal_actions()[-1]).to_act == 1

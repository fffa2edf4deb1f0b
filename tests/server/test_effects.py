"""The effects of actions: gains and lost cards, in records, at the referee and at tables."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tables import ALL_IDS, ALL_SPECS, mostly_slow, random_game

from eminence.v1 import referee_pb2, rules_pb2, view_pb2
from engine_cy import Position, new_game
from engine_cy.record import Record
from server.codec import records, views
from server.codec.fields import write_seat
from server.games import adapter_of
from server.services.referee import RefereeService
from server.services.rules import RulesService
from server.services.table_steps import write_seen
from server.tables.table import Sitter, Table, continued

RULES, REFEREE = RulesService(), RefereeService()
AMBUSH = ">A:Soldier*/A:Spy B:Ambush(3) | round 4 | points 1 1 1"
SPY = "B:Heir* >A:Spy* C:Lord* | round 6 | ask A rob | points 11 12 9"
every_spec = pytest.mark.parametrize("spec", mostly_slow(ALL_SPECS, ALL_IDS))


def effects_of(before: Position, action: str) -> view_pb2.Effects:
    effects = adapter_of(before.game.id).effects(before, action, before.play(action))
    return views.write_effects(before.game, effects)


def gains(effects: view_pb2.Effects) -> dict[int, int]:
    return {gain.seat: gain.amount for gain in effects.gains}


def losses(effects: view_pb2.Effects) -> list[tuple[int, str]]:
    return [(lost.seat, lost.card.name) for lost in effects.discarded]


# --- what an action did ----------------------------------------------------------------------------------------


def test_an_ambush_that_went_off_is_named_as_the_source_of_its_gain() -> None:
    effects = effects_of(new_game("oriflamme", "en-2019", 3).position(AMBUSH), "target 1")
    assert gains(effects) == {1: 1, 2: 4}
    assert [[card.name for card in gain.by] for gain in effects.gains] == [[], ["Ambush"]]
    assert losses(effects) == [(1, "Soldier"), (2, "Ambush")]


def test_a_robbery_is_a_loss_of_its_victim() -> None:
    effects = effects_of(new_game("oriflamme", "en-2019", 3).position(SPY), "rob B")
    assert gains(effects) == {1: 1, 2: -1, 3: 1}
    assert [[card.name for card in gain.by] for gain in effects.gains] == [[], [], ["Lord"]]
    assert losses(effects) == []


@every_spec
def test_effects_add_up_and_are_public(spec: Any) -> None:
    """Over a game, gains lead to the last points, and lost cards to the last piles, in the eyes of every seat."""
    game = new_game(*spec)
    adapter = adapter_of(game.id)
    for seed in range(2):
        before: Position | None = None
        played = ""
        owned, piles = Counter[int](), Counter[tuple[int, str]]()
        for position, action in random_game(game, seed):
            if before is None:
                start = adapter.owned(position)
            else:
                effects = adapter.effects(before, played, position)
                owned.update(effects.gains)
                piles.update(effects.discarded)
                for seat in range(game.n_players):
                    seen = before.seen(played, seat)
                    assert adapter.effects(before.view(seat), seen, position.view(seat)) == effects
            before, played = position, str(action)
        assert before is not None
        assert [then + owned[seat] for seat, then in enumerate(start)] == list(adapter.owned(before))
        named = {card: adapter.spell_card(game, str(card), "") for pile in before.table.piles for card in pile}
        assert piles == Counter((seat, named[card]) for seat, pile in enumerate(before.table.piles) for card in pile)


# --- in messages -----------------------------------------------------------------------------------------------


def a_record(spec: Any, seed: int = 2) -> Record:
    *played, (_, end) = random_game(new_game(*spec), seed)
    assert end is None
    return Record(played[0][0], tuple(str(action) for _, action in played))


def replayed(record: Record, **fields: Any) -> list[rules_pb2.Ply]:
    request = rules_pb2.ReplayRecordRequest(record=records.write(record), **fields)
    return list(RULES.ReplayRecord(request).plies)


def test_plies_have_effects_where_they_have_words() -> None:
    record = a_record(ALL_SPECS[0])
    told = replayed(record, words=True)
    assert not told[0].HasField("effects")
    assert all(ply.HasField("effects") == ply.HasField("words") for ply in told)
    total = Counter[int]()
    for ply in told:
        total.update(gains(ply.effects))
    points = zip(told[0].points, told[-1].points, strict=True)
    assert {seat: total[seat] for seat in (1, 2, 3)} == {
        seat: now - then for seat, (then, now) in enumerate(points, start=1)
    }
    assert not any(ply.HasField("effects") for ply in replayed(record))


def test_the_referee_says_what_an_action_did() -> None:
    record = a_record(ALL_SPECS[0])
    plies = replayed(record, words=True)
    for number in range(0, len(record.actions), 3):
        so_far = records.write(Record(record.start, record.actions[:number]))
        standing = referee_pb2.Standing(record=so_far)
        action = view_pb2.Action(text=record.actions[number])
        answer = REFEREE.Play(referee_pb2.PlayRequest(standing=standing, action=action))
        assert answer.effects == plies[number + 1].effects


def test_a_game_without_messages_has_gains_alone() -> None:
    tables = list(random_game(new_game("kuhn_poker", None, 2), 1))
    total = Counter[int]()
    for position, action in tables[:-1]:
        effects = effects_of(position, str(action))
        assert not effects.discarded
        total.update(gains(effects))
    scores = zip(tables[0][0].scores, tables[-1][0].scores, strict=True)
    assert [total[1], total[2]] == [now - then for then, now in scores] != [0, 0]


@every_spec
def test_a_table_tells_a_seat_what_happened_since_its_last_choice(spec: Any) -> None:
    record = a_record(spec)
    people = [Sitter("Ann"), *[Sitter("", 1)] * (record.game.n_players - 1)]
    for length in (0, 4, 17, len(record.actions)):
        so_far = Record(record.start, record.actions[:length])
        table = continued(so_far, people, seed=1)
        actors = [position.to_act for position in so_far.tables()][:length]
        for seat in range(record.game.n_players):
            events = write_seen(table.see(seat)).events
            first = max((number for number, actor in enumerate(actors) if actor == seat), default=0)
            plies = replayed(record, seats=[write_seat(seat)], words=True)[first + 1 : length + 1]
            assert [event.action for event in events] == [ply.seen[0] for ply in plies]
            assert [event.effects for event in events] == [ply.effects for ply in plies]
            assert all((event.words.en, event.words.fr, event.words.de) for event in events)
            by_ann = [event for event in events if event.action.seat == write_seat(0)]
            named = ("place", "reveal", "keep", "select")
            assert all("Ann" in event.words.de for event in by_ann if event.action.action.text.startswith(named))


def test_a_game_without_histories_has_no_events() -> None:
    table = Table(new_game("kuhn_poker", None, 2).deal(1), [Sitter("Ann"), Sitter("Bea")], 1, deal_known=False)
    table.advance()
    assert table.actions
    assert not write_seen(table.see(0)).events

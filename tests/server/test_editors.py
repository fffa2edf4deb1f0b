"""Methods for editors and viewers of games: drafts with all faults, plies of records, steps from a view, words."""

from __future__ import annotations

from typing import Any

import pytest
from process import server
from reference import GAMES, move_text, reference_games, start_of
from tables import ALL_IDS, ALL_SPECS, mostly_slow, random_game

from eminence import __version__
from eminence.v1 import castle_village_port_pb2 as castle_pb2
from eminence.v1 import record_pb2, referee_pb2, rules_pb2, seat_pb2, view_pb2
from eminence.v1 import solver_pb2 as pb
from engine_cy import CHANCE, Position, View, game_ids, new_game
from engine_cy.oriflamme.editions import SWITCHES
from engine_cy.record import Record
from server.client import Client
from server.client.local import LocalClient
from server.client.refusals import Refused
from server.codec import records, views
from server.codec.fields import write_seat
from server.games.adapter import as_text
from server.games.castle_village_port.messages import TABLES, from_contract
from server.languages import LANGUAGES
from server.refusals import Refusal
from server.services.referee import RefereeService
from server.services.rules import RulesService
from solver.config import LEVELS
from solver.expected_signature import SIGNATURE

RULES = RulesService()
VIEW = "C:Lord* >A:Ambush(1) B:Soldier* C:?(2) | round 4 | points 7 7 7 | seen by A"
every_spec = pytest.mark.parametrize("spec", mostly_slow(ALL_SPECS, ALL_IDS))


def a_view(text: str = VIEW) -> view_pb2.View:
    return views.write_view(new_game("oriflamme", "en-2019", 3).view(text))


def check(view: view_pb2.View, fill_in: bool = False) -> rules_pb2.CheckDraftResponse:
    return RULES.CheckDraft(rules_pb2.CheckDraftRequest(view=view, fill_in=fill_in))


# --- drafts ----------------------------------------------------------------------------------------------------


@every_spec
def test_a_possible_view_is_a_draft_without_faults(spec: Any) -> None:
    for position, _ in list(random_game(new_game(*spec), 5))[::7]:
        for seat in range(position.game.n_players):
            view = position.view(seat)
            response = check(views.write_view(view))
            assert not response.problems
            assert response.view == views.write_view(view)
            assert response.text == str(view)
            assert response.worlds == float(view.count_worlds())


def fields_of(view: view_pb2.View) -> list[str]:
    return [problem.field.removeprefix("view.").split(".", 1)[1] for problem in check(view).problems]


def test_a_number_that_no_card_has_yet_is_a_fault_of_its_card() -> None:
    draft = a_view("C1:Lord* >A:Ambush(1) B:Soldier* C4:?(2) | round 4 | points 7 7 7 | seen by A")
    draft.oriflamme.table.slots[3].cards[0].nth = 5
    assert fields_of(draft) == ["table.slots[3].cards[0].nth"]


def test_a_seat_that_cannot_have_selected_a_card_is_named_by_its_place_in_the_list() -> None:
    text = (
        "castle 13A 11B 6B 2A 2B | village 15C 1A | port 9A 8C 5A | round 2 | turn 3 | first A | ask B rob by 11B | "
        "gold 12 14 3 | selected - - ? | hands 14,11,8 ? ? | piles 12,3 13,10,4,1 14,11,2,1 | seen by A"
    )
    draft = views.write_view(new_game("castle_village_port", "house", 3).view(text))
    table = draft.castle_village_port.table
    table.ClearField("hand_sizes")
    table.selected[:] = [seat_pb2.SEAT_C, seat_pb2.SEAT_B]
    assert "table.selected[0]" in fields_of(draft)  # in the order of seats
    # The sizes of hands, which were left out, contradict nothing.
    table.selected[:] = [seat_pb2.SEAT_C]
    draft.castle_village_port.own.selected = 8
    assert fields_of(draft) == ["own.selected", "table.selected"]


def test_all_faults_of_a_draft_stand_at_their_places() -> None:
    draft = a_view()
    table = draft.oriflamme.table
    table.slots[0].cards[0].tokens = 3
    table.slots[3].family = seat_pb2.SEAT_B
    table.points[2] = -1
    response = check(draft)
    places = [problem.field for problem in response.problems]
    assert "view.oriflamme.table.slots[0].cards[0].tokens" in places
    assert len(places) > 2
    assert all(place.startswith("view.oriflamme.") for place in places)
    assert all(problem.reason and problem.description for problem in response.problems)
    assert not response.text
    with pytest.raises(Refusal) as refused:
        RULES.ValidateView(rules_pb2.ValidateViewRequest(view=draft))
    assert refused.value.field == places[0]


def test_a_card_that_is_there_twice_is_named_with_its_family() -> None:
    draft = a_view()
    draft.oriflamme.table.slots[3].cards[0].card = draft.oriflamme.table.slots[0].cards[0].card
    draft.oriflamme.table.slots[3].cards[0].tokens = 0
    problems = [problem for problem in check(draft).problems if "copies" in problem.description]
    assert {problem.description for problem in problems} == {"2 copies of C's lord; a family has 1"}
    assert {problem.reason for problem in problems} == {"NO_WORLD_FITS"}
    # Each copy is named: of a face-down card, the observer's list of these.
    places = [f"view.oriflamme.table.slots[{at}].cards[0].card" for at in (0, 3)]
    assert [problem.field for problem in problems] == places
    own = a_view()
    own.oriflamme.own.face_down[0] = own.oriflamme.own.hand[0]
    fields = [problem.field for problem in check(own).problems if "copies" in problem.description]
    assert fields == ["view.oriflamme.own.face_down[0]", "view.oriflamme.own.hand"]


def test_a_card_of_castle_that_is_there_twice_is_named_at_each_place() -> None:
    game = new_game("castle_village_port", None, 3)
    draft = views.write_view(game.view("castle 15A | village 11B | port 2C | round 1 | turn 2 | seen by A"))
    table = draft.castle_village_port
    table.own.hand[0] = 15
    fields = [problem.field for problem in check(draft).problems if "copies" in problem.description]
    assert fields == ["view.castle_village_port.table.castle[0]", "view.castle_village_port.own.hand"]


def test_what_a_draft_leaves_out_is_filled_in() -> None:
    draft = a_view("A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B")
    whole = a_view("A:? >B:Heir C:? | round 2 | points 1 2 3 | seen by B")
    table = draft.oriflamme.table
    for name in ("points", "piles", "hand_sizes"):
        table.ClearField(name)
    draft.oriflamme.own.ClearField("hand")
    table.ClearField("ask")
    table.ClearField("to_act")
    assert check(draft).problems  # as it is, it is incomplete
    text = "A:? >B:Heir C:? | round 2 | seen by B"
    response = check(draft, fill_in=True)
    from_text = check(view_pb2.View(game=whole.game, text=text))
    assert not from_text.problems
    assert response.view.oriflamme.table.to_act == whole.oriflamme.table.to_act
    assert len(response.view.oriflamme.table.points) == 3
    filled = check(response.view)
    assert filled.view == response.view


@pytest.mark.parametrize("game_id", ["oriflamme", "oriflamme_prototype", "castle_village_port"])
def test_an_empty_draft_is_filled_in_to_the_start_of_a_game(game_id: str) -> None:
    start = new_game(game_id, None, 3).deal(1).view(0)
    draft = views.write_view(start)
    case = draft.WhichOneof("table")
    assert case is not None
    table = getattr(draft, case)
    table.ClearField("table")
    table.table.SetInParent()
    table.ClearField("own")
    response = check(draft, fill_in=True)
    assert not response.problems
    assert getattr(response.view, case).table.round == 1


def test_an_impossible_draft_is_filled_in_as_far_as_it_can_be() -> None:
    draft = a_view()
    draft.oriflamme.table.ClearField("hand_sizes")
    draft.oriflamme.table.slots[0].cards[0].tokens = 3
    response = check(draft, fill_in=True)
    assert response.problems
    assert list(response.view.oriflamme.table.hand_sizes) == list(a_view().oriflamme.table.hand_sizes)


@pytest.mark.parametrize(
    ("view", "field", "reason"),
    [
        (view_pb2.View(game=a_view().game, text="A:Spy("), "view.text", "INVALID_NOTATION"),
        (view_pb2.View(game=a_view().game), "view.table", "MISSING_FIELD"),
        (view_pb2.View(text=VIEW), "view.game", "MISSING_FIELD"),
    ],
)
def test_a_draft_that_cannot_be_read_has_one_problem(view: view_pb2.View, field: str, reason: str) -> None:
    [problem] = check(view).problems
    assert (problem.field, problem.reason) == (field, reason)


def test_drafts_of_games_with_text_only_are_checked() -> None:
    for game_id in game_ids():
        game = new_game(game_id)
        position = game.deal(1)
        while position.to_act == CHANCE:
            position = position.play(position.legal_actions()[0])
        view = position.view(position.to_act or 0)
        response = check(view_pb2.View(game=views.write_view(view).game, text=str(view)))
        assert response.text == str(view)


# --- plies -----------------------------------------------------------------------------------------------------


def whole_record(spec: Any, seed: int = 3) -> Record:
    played = list(random_game(new_game(*spec), seed))
    return Record(played[0][0], tuple(str(action) for _, action in played[:-1])).ended()


@every_spec
def test_the_plies_of_a_record_are_the_views_of_the_referee(spec: Any) -> None:
    record = whole_record(spec)
    replayed = RULES.ReplayRecord(rules_pb2.ReplayRecordRequest(record=records.write(record)))
    tables = list(record.tables())
    assert len(replayed.plies) == len(tables)
    for ply, table in zip(replayed.plies, tables, strict=True):
        assert isinstance(table, Position)
        assert list(ply.views) == [views.write_view(table.view(seat)) for seat in range(table.game.n_players)]
        assert (ply.to_act, ply.over) == (write_seat(table.to_act), table.is_over)
    seen = [record.seen_from(seat).actions for seat in range(record.game.n_players)]
    for ply in replayed.plies[1:]:
        texts = [views.read_seen(record.game, action, "seen")[1] for action in ply.seen]
        assert texts == [actions[ply.index - 1] for actions in seen]
    last = Record(record.start, record.actions[:-1])
    standing = referee_pb2.Standing(record=records.write(last))
    expected = RefereeService().GetViews(referee_pb2.GetViewsRequest(standing=standing)).views
    for view, ply_view in zip(expected, replayed.plies[-2].views, strict=True):
        view.ClearField("history")
        assert view == ply_view


def test_the_record_of_a_seat_has_the_views_of_that_seat() -> None:
    record = whole_record(ALL_SPECS[0]).seen_from("B")
    replayed = RULES.ReplayRecord(rules_pb2.ReplayRecordRequest(record=records.write(record)))
    assert list(replayed.seats) == [write_seat(1)]
    for ply, table in zip(replayed.plies, record.tables(), strict=True):
        assert list(ply.views) == [views.write_view(table)]  # type: ignore[arg-type]
    with pytest.raises(Refusal) as refused:
        RULES.ReplayRecord(rules_pb2.ReplayRecordRequest(record=records.write(record), seats=[write_seat(0)]))
    assert (refused.value.reason, refused.value.field) == ("CONTRADICTION", "seats")


def test_with_named_seats_nothing_else_is_told() -> None:
    message = records.write(whole_record(ALL_SPECS[0]))
    replayed = RULES.ReplayRecord(rules_pb2.ReplayRecordRequest(record=message, seats=[write_seat(2)]))
    assert all(len(ply.views) == 1 and not ply.HasField("action") for ply in replayed.plies)
    broken = record_pb2.Record()
    broken.CopyFrom(message)
    broken.whole.actions[5].action.CopyFrom(view_pb2.Action(text="target 3"))
    with pytest.raises(Refusal) as refused:
        RULES.ReplayRecord(rules_pb2.ReplayRecordRequest(record=broken, seats=[write_seat(2)]))
    assert refused.value.why == "is not possible; `GetRecord` without a seat says why"


@pytest.mark.slow
def test_the_reference_games_step_through() -> None:
    """Replay all of them: each ply has the views of the engine."""
    n_games = 0
    for path in sorted(GAMES.glob("*.jsonl.gz")):
        for reference in reference_games(path):
            record = Record(start_of(reference), tuple(move_text(step["move"]) for step in reference["steps"]))
            replayed = RULES.ReplayRecord(rules_pb2.ReplayRecordRequest(record=records.write(record)))
            assert replayed.plies[-1].over
            for ply, table in zip(replayed.plies, record.tables(), strict=True):
                assert isinstance(table, Position)
                for view, seat in zip(ply.views, replayed.seats, strict=True):
                    assert view == views.write_view(table.view(seat - 1))
            n_games += 1
    assert n_games == 576


# --- steps -----------------------------------------------------------------------------------------------------


@every_spec
def test_steps_from_a_view_follow_the_game(spec: Any) -> None:
    record = whole_record(spec)
    for seat in range(record.game.n_players):
        seen = record.seen_from(seat)
        message = views.write_view(seen.start)  # type: ignore[arg-type]
        for action in seen.actions[:20]:
            step = RULES.PlaySeen(
                rules_pb2.PlaySeenRequest(
                    view=message, action=view_pb2.SeenAction(action=view_pb2.Action(text=action.partition(" =")[0]))
                )
            )
            if "=" in action:
                if step.possible_shown:
                    names = {card.name for card in step.possible_shown}
                    assert action.partition("= ")[2].split(",")[0] in names
                full = views.write_seen(record.game, None, action)
                step = RULES.PlaySeen(rules_pb2.PlaySeenRequest(view=message, action=full))
            assert not step.possible_shown
            message = step.view
        *_, table = Record(seen.start, seen.actions[:20]).tables()
        assert isinstance(table, View)
        end, history = views.read_view_and_history(message)
        assert end == table
        assert history is not None


def test_an_impossible_step_is_refused_by_its_field() -> None:
    with pytest.raises(Refusal) as refused:
        RULES.PlaySeen(
            rules_pb2.PlaySeenRequest(
                view=a_view(), action=view_pb2.SeenAction(action=view_pb2.Action(text="target 0"))
            )
        )
    assert (refused.value.field, refused.value.reason) == ("action", "ILLEGAL_ACTION")


# --- words and the server --------------------------------------------------------------------------------------


def test_cards_editions_and_switches_have_words_in_three_languages() -> None:
    for game_id in ("oriflamme", "oriflamme_prototype", "castle_village_port"):
        rulesets = RULES.ListRulesets(rules_pb2.ListRulesetsRequest(game_id=game_id)).rulesets
        for info in rulesets:
            assert info.names.en != info.ruleset.edition
            spec = view_pb2.GameSpec(game_id=game_id, players=info.players[0], ruleset=info.ruleset)
            for card in RULES.ListCards(rules_pb2.ListCardsRequest(game=spec)).cards:
                sentences = {card.meaning.en, card.meaning.fr, card.meaning.de}
                assert len(sentences) == 3
                assert all(sentence.endswith(".") and sentence[0].isupper() for sentence in sentences)
        for switch in RULES.ListSwitches(rules_pb2.ListSwitchesRequest(game_id=game_id)).switches:
            assert len({switch.meanings.en, switch.meanings.fr, switch.meanings.de}) == 3
            assert all((switch.names.en, switch.names.fr, switch.names.de))
            assert switch.meanings.en == switch.meaning


def _cards(game_id: str, ruleset: Any = None) -> rules_pb2.ListCardsResponse:
    game = new_game(game_id, ruleset, 3)
    spec = views.write_view(game.deal(1).view(0)).game
    return RULES.ListCards(rules_pb2.ListCardsRequest(game=spec))


def test_cards_say_whether_they_leave_after_they_acted() -> None:
    def leaving(game_id: str) -> list[str]:
        return [info.card.name for info in _cards(game_id).cards if info.one_shot]

    assert leaving("oriflamme") == ["Assassination", "Decree", "Conspiracy", "Ambush"]
    assert leaving("oriflamme_prototype") == ["Mercenaries"]
    assert leaving("castle_village_port") == []


def test_the_parts_of_a_meaning_are_in_it() -> None:
    for game_id in ("oriflamme", "oriflamme_prototype", "castle_village_port"):
        for info in _cards(game_id).cards:
            for language in LANGUAGES:
                meaning, effect = (getattr(names, language) for names in (info.meaning, info.effect))
                assert effect[1:] in meaning
                when = getattr(info.when, language)
                assert bool(when) == (game_id == "castle_village_port")
                never = info.castle_village_port.when == castle_pb2.CASTLE_VILLAGE_PORT_WHEN_NEVER
                assert never or when[1:] in meaning


@pytest.mark.parametrize("cards", [None, [{"value": 7, "name": "Zo", "when": "end", "effect": "discard_highest"}]])
def test_a_card_of_castle_has_its_row_of_the_tables(cards: list[dict[str, Any]] | None) -> None:
    own = {"cards": cards, "rounds": 1, "turns_per_round": 1} if cards else "house"
    rows = new_game("castle_village_port", own, 3).ruleset.spelled_out()["cards"]
    infos = _cards("castle_village_port", own).cards
    written = castle_pb2.CastleVillagePortTables(cards=[info.castle_village_port for info in infos])
    assert from_contract(TABLES.read(written, 0))["cards"] == rows


def test_locations_have_names_and_the_rewards_of_these_rules() -> None:
    locations = _cards("castle_village_port").locations
    assert [location.name for location in locations] == ["castle", "village", "port"]
    assert [location.names.fr for location in locations] == ["Château", "Village", "Port"]
    assert [names.en for names in locations[0].rewards] == ["+4", "+3", "+1"]
    assert locations[0].meaning.de.endswith(": +4; +3; +1.")
    own = _cards("castle_village_port", {"rewards": {"castle": [7, "per_card"], "port": []}}).locations
    assert [names.de for names in own[0].rewards] == ["+7", "1 je Karte dort"]
    assert own[1].meaning == locations[1].meaning
    assert (list(own[2].rewards), own[2].meaning.en) == ([], "The cards here earn nothing.")
    assert not _cards("oriflamme").locations


def test_every_switch_of_the_engine_is_described_with_its_values() -> None:
    for game_id, switches in SWITCHES.items():
        described = RULES.ListSwitches(rules_pb2.ListSwitchesRequest(game_id=game_id)).switches
        assert {switch.name: list(switch.values) for switch in described} == {
            name: list(map(as_text, values)) for name, values in switches.items()
        }


def test_the_meaning_of_a_card_follows_the_switches() -> None:
    def ambush(edition: str) -> str:
        game = new_game("oriflamme", edition, 3)
        cards = RULES.ListCards(rules_pb2.ListCardsRequest(game=views.write_view(game.deal(1).view(0)).game)).cards
        return next(card.meaning.en for card in cards if card.names.en == "Ambush")

    assert "4" in ambush("en-2019")


def test_the_server_describes_itself() -> None:
    info = RULES.GetServer(rules_pb2.GetServerRequest())
    assert (info.version, info.engine_signature, info.needs_token) == (__version__, SIGNATURE, False)
    assert [level.level for level in info.levels] == list(LEVELS)
    assert [level.iterations for level in info.levels] == [config.iterations for config in LEVELS.values()]
    assert info.shares_useful > 0
    assert info.time_max.ToMilliseconds() > 0


# --- reviews ---------------------------------------------------------------------------------------------------


def test_judged_decisions_have_seats_and_beliefs_on_request() -> None:
    record = whole_record(ALL_SPECS[0])
    message = records.write(Record(record.start, record.actions[:8]))
    budget = pb.Budget(iterations=40)
    with LocalClient() as client:
        plain = list(client.review(message, budget))
        request = pb.ReviewRequest(record=message, budget=budget, details=True)
        detailed: list[Any] = list(client._answers("Review", request, None))
        decisions = [step.decision for step in detailed if step.HasField("decision")]
        begun = detailed.pop(0).begun
        assert begun.decisions == len(decisions)
        assert all(len(decision.seats) == 3 for decision in decisions if not decision.forced)
        assert all(decision.beliefs for decision in decisions[3:])
        for decision in decisions:
            decision.ClearField("seats")
            decision.ClearField("beliefs")
            decision.ClearField("candidates")
        for step in (*plain, *detailed):
            for move in (step.decision.played, step.decision.best) if step.HasField("decision") else ():
                move.ClearField("principal_variation")  # with details, more moves have one
        assert detailed == plain  # nothing else changes
        with pytest.raises(Refused):
            list(client.review(record_pb2.Record()))


# --- comparisons -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [pb.Budget(iterations=6_000), pb.Budget(confidence=0.9, iterations=6_000)])
def test_a_growing_comparison_ends_with_the_answer_of_compare(budget: pb.Budget) -> None:
    view = a_view()
    moves = [view_pb2.Action(text="keep"), view_pb2.Action(text="reveal")]
    with (
        server("--threads", "2", "--cache-mb", "0") as running,
        Client(running.address) as remote,
        LocalClient() as local,
    ):
        clients: list[Any] = [remote, local]
        for client in clients:
            *growing, last = client.compare_stream(view, moves, budget, pb.Options(seed=3), 50)
            assert last.last
            assert not any(answer.last for answer in growing)
            worlds = [answer.comparison.worlds for answer in growing]
            assert worlds == sorted(worlds)
            expected = client.compare(view, moves, budget, pb.Options(seed=3))
            for comparison in (last.comparison, expected):
                comparison.ClearField("elapsed")
            assert last.comparison == expected


def test_a_comparison_grows() -> None:
    view = a_view()
    moves = [view_pb2.Action(text="keep"), view_pb2.Action(text="reveal")]
    with LocalClient() as client:
        answers = client.compare_stream(view, moves, pb.Budget(iterations=10**9), pb.Options(seed=3), 50)
        first = later = next(answers)
        while later.comparison.worlds == first.comparison.worlds:  # one move may be ahead for a while
            later = next(answers)
        answers.cancel()
    assert not first.last
    assert 0 < first.comparison.worlds < later.comparison.worlds
    assert len(first.comparison.actions) == 2
    assert first.comparison.stop_reason == pb.STOP_REASON_UNSPECIFIED


def test_a_refused_growing_comparison_names_its_field() -> None:
    with LocalClient() as client, pytest.raises(Refused) as refused:
        list(client.compare_stream(a_view(), [view_pb2.Action(text="keep")], None))
    assert refused.value.field == "compare.actions"


# --- words -----------------------------------------------------------------------------------------------------


def told(record: record_pb2.Record, *seats: int) -> list[str]:
    request = rules_pb2.ReplayRecordRequest(record=record, seats=map(write_seat, seats), words=True)
    return [ply.words.en for ply in RULES.ReplayRecord(request).plies[1:]]


def test_a_record_is_told_as_its_reader_saw_it() -> None:
    start = new_game("oriflamme", "en-2019", 3).deal(1)
    cards = [str(start.play(str(start.legal_actions()[0])).legal_actions()[0]), str(start.legal_actions()[0])]
    record = Record(start, tuple(reversed(cards)))
    whole, seen = records.write(record), records.write(record.seen_from(1))
    for message in (whole, seen):
        message.names.extend(["Ann", "", "Cy"])
    first, second = told(whole, 1)
    assert first == "Ann places a card at the front"
    assert second.startswith("B places the ")
    assert told(seen) == [first, second]
    assert told(whole)[0].startswith("Ann places the ")
    plies = RULES.ReplayRecord(rules_pb2.ReplayRecordRequest(record=whole, words=True)).plies
    assert len({plies[1].words.en, plies[1].words.fr, plies[1].words.de}) == 3
    assert not plies[0].HasField("words")
    silent = RULES.ReplayRecord(rules_pb2.ReplayRecordRequest(record=whole)).plies
    assert not any(ply.HasField("words") for ply in silent)


@every_spec
def test_every_game_is_told_to_its_end(spec: Any) -> None:
    record = whole_record(spec)
    message = records.write(record)
    assert all(told(message))
    for seat in range(record.game.n_players) if record.game.has_history else ():
        assert all(told(message, seat))
        assert told(message, seat) == told(records.write(record.seen_from(seat)))


def test_choices_are_told_with_their_question_in_three_languages() -> None:
    request = rules_pb2.ListLegalActionsRequest(view=a_view(), words=True, names=["Ann", "", ""])
    response = RULES.ListLegalActions(request)
    assert [names.en for names in response.words] == ["Reveal the Ambush", "Leave the Ambush face down"]
    assert len({response.question.en, response.question.fr, response.question.de}) == 3
    assert not RULES.ListLegalActions(rules_pb2.ListLegalActionsRequest(view=a_view())).words
    with pytest.raises(Refusal) as refused:
        RULES.ListLegalActions(rules_pb2.ListLegalActionsRequest(view=a_view(), words=True, names=["Ann"]))
    assert (refused.value.reason, refused.value.field) == ("OUT_OF_RANGE", "names")
    request = rules_pb2.ListLegalActionsRequest(view=a_view(), words=True, names=["", "x" * 101, ""])
    with pytest.raises(Refusal) as refused:
        RULES.ListLegalActions(request)
    assert (refused.value.reason, refused.value.field) == ("TOO_LONG", "names[1]")

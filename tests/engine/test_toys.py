"""Kuhn and Leduc poker, compared with OpenSpiel's history by history, and the laws of views, worlds and text."""

from __future__ import annotations

import pickle
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pyspiel
import pytest
from laws import check_random_games

from engine_cy import (
    EngineError,
    Game,
    IllegalActionError,
    InvalidPositionError,
    InvalidRulesetError,
    InvalidViewError,
    NotationError,
    Position,
    Rng,
    View,
    game_ids,
    new_game,
)
from engine_cy.kuhn_leduc.binding import Poker
from engine_cy.kuhn_leduc.table import Parts, Table
from engine_cy.perft import perft
from engine_cy.record import Record, read_record

Path = tuple[str, ...]  # the actions from the start, in words

CHANCE = -1
KUHN = new_game("kuhn_poker", None, 2)
LEDUC = new_game("leduc_poker", None, 2)

# OpenSpiel numbers the actions in this order.
CARDS = {"kuhn_poker": ("J", "Q", "K"), "leduc_poker": ("Ja", "Jb", "Qa", "Qb", "Ka", "Kb")}
MOVES = {"kuhn_poker": ("pass", "bet"), "leduc_poker": ("fold", "call", "raise")}

# The 99.9th percentile of chi-square by degrees of freedom.
RARE = {0: 0.001, 1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 29: 58.30}


class Tree(NamedTuple):
    """A game and all its positions, seat A first."""

    game: Game
    id: str
    histories: list[tuple[Position, Path]]
    positions: list[Position]


def all_histories(game: Game, first: str = "A") -> list[tuple[Position, Path]]:
    """Return every reachable position with the actions that lead to it."""
    histories: list[tuple[Position, Path]] = [(game.deal(first=first), ())]
    for position, path in histories:
        histories += [(position.play(action), (*path, str(action))) for action in position.legal_actions()]
    return histories


def chi_square(drawn: Counter[Position], shares: dict[Position, Fraction]) -> float:
    n = sum(drawn.values())
    assert drawn.keys() <= shares.keys()
    return sum(float((drawn[x] - n * share) ** 2 / (n * share)) for x, share in shares.items())


@pytest.fixture(scope="module", params=[KUHN, LEDUC], ids=lambda game: game.id)
def tree(request: pytest.FixtureRequest) -> Tree:
    game: Game = request.param
    histories = all_histories(game)
    return Tree(game, game.id, histories, [position for position, _ in histories])


@pytest.fixture(scope="module")
def spiel(tree: Tree) -> dict[Path, Any]:
    """Return OpenSpiel's state after each of the tree's histories."""
    states: dict[Path, Any] = {(): pyspiel.load_game(tree.id).new_initial_state()}
    for _, path in tree.histories[1:]:
        before, word = states[path[:-1]], path[-1]
        names = [f"deal {card}" for card in CARDS[tree.id]] if before.is_chance_node() else MOVES[tree.id]
        assert word in names, path
        assert names.index(word) in before.legal_actions(), path
        states[path] = before.child(names.index(word))
    return states


# --- the same game as OpenSpiel's ------------------------------------------------------------------------------


def test_the_same_player_is_to_act_after_every_history_as_in_openspiel(tree: Tree, spiel: dict[Path, Any]) -> None:
    for position, path in tree.histories:
        theirs = spiel[path].current_player()
        ours = position.to_act
        assert theirs == {None: pyspiel.PlayerId.TERMINAL, CHANCE: pyspiel.PlayerId.CHANCE}.get(ours, ours), path


def test_the_same_actions_are_legal_after_every_history_as_in_openspiel(tree: Tree, spiel: dict[Path, Any]) -> None:
    for position, path in tree.histories:
        names = [f"deal {card}" for card in CARDS[tree.id]] if position.to_act == CHANCE else MOVES[tree.id]
        assert [str(a) for a in position.legal_actions()] == [names[a] for a in spiel[path].legal_actions()], path


def test_chance_deals_each_card_with_equal_probability_as_in_openspiel(tree: Tree, spiel: dict[Path, Any]) -> None:
    n_chance = 0
    for position, path in tree.histories:
        if position.to_act == CHANCE:
            n_chance += 1
            share = 1 / len(position.legal_actions())
            assert [p for _, p in spiel[path].chance_outcomes()] == pytest.approx([share] * round(1 / share)), path
    assert n_chance == {"kuhn_poker": 1 + 3, "leduc_poker": 1 + 6 + 6 * 5 * 5}[tree.id]


def test_payoffs_equal_openspiels_returns(tree: Tree, spiel: dict[Path, Any]) -> None:
    n_ends = 0
    for position, path in tree.histories:
        assert position.is_over == spiel[path].is_terminal(), path
        if position.is_over:
            n_ends += 1
            assert list(position.payoffs) == spiel[path].returns(), path
            assert position.scores == position.payoffs, path
    assert n_ends == {"kuhn_poker": 30, "leduc_poker": 5520}[tree.id]


def test_there_are_as_many_histories_as_in_openspiel(tree: Tree) -> None:
    def count(state: Any) -> int:
        return 1 + sum(count(state.child(action)) for action in state.legal_actions())

    theirs = count(pyspiel.load_game(tree.id).new_initial_state())
    assert len(tree.histories) == len(set(tree.positions)) == theirs == {"kuhn_poker": 58, "leduc_poker": 9457}[tree.id]


def test_information_sets_are_those_of_openspiel(tree: Tree, spiel: dict[Path, Any]) -> None:
    for player in (0, 1):
        decisions = [(position, path) for position, path in tree.histories if position.to_act == player]
        pairs = {
            (position.view(player).key, spiel[path].information_state_string(player)) for position, path in decisions
        }
        keys, strings = zip(*pairs, strict=True)
        assert len(pairs) == len(set(keys)) == len(set(strings)) == {"kuhn_poker": 6, "leduc_poker": 468}[tree.id]


def test_random_play_has_the_value_that_openspiel_computes(tree: Tree, spiel: dict[Path, Any]) -> None:
    def worth(position: Position) -> Fraction:
        if position.is_over:
            return Fraction(position.payoffs[0])
        actions = position.legal_actions()
        return sum((worth(position.play(action)) for action in actions), Fraction(0)) / len(actions)

    ours = worth(tree.game.deal())
    assert ours == {"kuhn_poker": Fraction(1, 8), "leduc_poker": Fraction(-5, 64)}[tree.id]
    at_random = pyspiel.UniformRandomPolicy(pyspiel.load_game(tree.id))
    assert pyspiel.expected_returns(spiel[()], at_random, -1, True) == pytest.approx([float(ours), -float(ours)])


def test_perft_counts_the_histories_of_each_length(tree: Tree, spiel: dict[Path, Any]) -> None:
    theirs = Counter(state.move_number() for state in spiel.values())
    lengths = Counter(len(path) for _, path in tree.histories)
    expected = {
        "kuhn_poker": [1, 3, 6, 12, 24, 12],
        "leduc_poker": [1, 6, 30, 60, 150, 390, 780, 1800, 2640, 2280, 1080, 240],
    }[tree.id]
    assert [lengths[n] for n in range(len(lengths))] == [theirs[n] for n in range(len(theirs))] == expected
    assert [perft(tree.game.deal(), depth) for depth in range(1, len(expected))] == expected[1:]


# --- rules beyond OpenSpiel's ----------------------------------------------------------------------------------


def test_the_game_is_the_same_if_the_other_seat_begins(tree: Tree) -> None:
    twins = {path: position for position, path in tree.histories}
    others = all_histories(tree.game, "B")
    assert len(others) == len(twins)
    for position, path in others:
        if len(path) < 2:
            continue  # A gets the first card even if B begins
        twin = twins[path[1], path[0], *path[2:]]
        assert position.scores == twin.scores[::-1], path
        assert (position.to_act, twin.to_act) in ((0, 1), (1, 0), (CHANCE, CHANCE), (None, None)), path
        assert position.legal_actions() == twin.legal_actions(), path


def test_chips_in_the_pot_count_as_lost_until_a_player_wins_them() -> None:
    texts = ("Ka Qb", "Ka Qb | raise", "Ka Qb | raise raise", "Ka Qb | raise raise call")
    assert [LEDUC.position(text).scores for text in texts] == [(-1, -1), (-3, -1), (-3, -5), (-5, -5)]
    assert LEDUC.position("Ka Qb | raise raise call | Qa | raise call").scores == (-9, 9)
    assert LEDUC.position("Ka Qb | raise raise call | Qa | raise fold").scores == (5, -5)
    assert LEDUC.position("Ka Kb | raise raise call | Qa | raise call").scores == (0, 0)


def test_a_new_table_waits_for_chance_for_every_seed(tree: Tree) -> None:
    assert tree.game.deal(1) == tree.game.deal(2) == tree.game.position("- -")
    assert tree.game.deal(1, "B") == tree.game.position("- - | first B")
    assert tree.game.deal().to_act == CHANCE


@pytest.mark.parametrize("first", ["A", "B"])
def test_the_first_player_begins_every_round(first: str) -> None:
    table = LEDUC.position(f"Ka Qb | first {first}")
    assert table.to_act == "AB".index(first)
    table = table.play("call").play("call")
    assert table.to_act == CHANCE
    assert table.play("deal Qa").to_act == "AB".index(first)


def test_playouts_reach_each_end_as_often_as_uniform_play_does() -> None:
    shares: dict[Position, Fraction] = {}

    def spread(position: Position, share: Fraction) -> None:
        if position.is_over:
            shares[position] = share
        for action in position.legal_actions():
            spread(position.play(action), share / len(position.legal_actions()))

    spread(KUHN.deal(), Fraction(1))
    rng = Rng(11)
    drawn = Counter(KUHN.deal().play_out(rng) for _ in range(6000))
    assert len(shares) == 30
    assert chi_square(drawn, shares) < RARE[29]


def test_playouts_reach_an_end_and_are_zero_sum(tree: Tree) -> None:
    ends = {position for position in tree.positions if position.is_over}
    rng = Rng(5)
    for position in tree.positions:
        end = position.play_out(rng)
        assert end in ends
        assert sum(end.payoffs) == sum(end.scores) == 0


def test_random_games_keep_the_laws_of_all_games(tree: Tree) -> None:
    assert check_random_games(tree.game, 500, seed=1) > 500


# --- views and worlds ------------------------------------------------------------------------------------------


def test_the_worlds_of_a_view_are_exactly_the_positions_with_that_view(tree: Tree) -> None:
    for player in (0, 1):
        alike: dict[View, list[Position]] = defaultdict(list)
        for position in tree.positions:
            alike[position.view(player)].append(position)
        for view, positions in alike.items():
            worlds = list(view.worlds())
            assert view.fault is None
            assert len(worlds) == view.count_worlds() == len(positions), str(view)
            assert set(worlds) == set(positions), str(view)


def test_different_views_have_different_keys(tree: Tree) -> None:
    views = {position.view(player) for position in tree.positions for player in (0, 1)}
    assert len({view.key for view in views}) == len(views)


def test_a_sampled_world_looks_the_same_to_its_observer(tree: Tree) -> None:
    rng = Rng(2)
    for position in tree.positions:
        for player in (0, 1):
            view = position.view(player)
            world = view.sample_world(rng)
            assert world.fault is None
            assert world.view(player) == view
            assert world.view(player).key == view.key


@pytest.mark.parametrize(
    ("game", "text", "n_worlds"),
    [
        (KUHN, "K ? | pass | seen by A", 2),
        (KUHN, "? - | seen by B", 3),
        (LEDUC, "Ka ? | call | seen by A", 5),
        (LEDUC, "? Qb | raise call | Kb | seen by B", 4),
        (LEDUC, "? Qb | raise fold | seen by B", 5),
        (LEDUC, "Ka Qb | call call | Qa | call call | seen by A", 1),
        (LEDUC, "- - | seen by A", 1),
        (LEDUC, "Ja - | seen by A", 1),
        (LEDUC, "? - | seen by B", 6),
    ],
)
def test_worlds_are_sampled_uniformly(game: Game, text: str, n_worlds: int) -> None:
    rng = Rng(3)
    view = game.view(text)
    drawn = Counter(view.sample_world(rng) for _ in range(1000))
    worlds = list(view.worlds())
    assert len(worlds) == n_worlds
    assert drawn.keys() == set(worlds)
    assert chi_square(drawn, dict.fromkeys(worlds, Fraction(1, n_worlds))) < RARE[n_worlds - 1]


@pytest.mark.parametrize(
    ("text", "for_a", "for_b"),
    [
        ("- -", "- -", "- -"),
        ("Qa -", "Qa -", "? -"),
        ("Qa Kb | call", "Qa ? | call", "? Kb | call"),
        ("Qa Kb | raise fold", "Qa ? | raise fold", "? Kb | raise fold"),
        ("Qa Kb | call call | Qb", "Qa ? | call call | Qb", "? Kb | call call | Qb"),
        # A showdown.
        (
            "Qa Kb | call call | Qb | call call",
            "Qa Kb | call call | Qb | call call",
            "Qa Kb | call call | Qb | call call",
        ),
    ],
)
def test_a_player_sees_all_but_the_others_card_before_a_showdown(text: str, for_a: str, for_b: str) -> None:
    position = LEDUC.position(text)
    assert str(position.view("A")) == f"{for_a} | seen by A"
    assert str(position.view("B")) == f"{for_b} | seen by B"


def test_every_view_shows_scores_and_payoffs(tree: Tree) -> None:
    for position in tree.positions:
        for player in (0, 1):
            view = position.view(player)
            assert view.scores == position.scores
            assert not position.is_over or view.payoffs == position.payoffs


def test_a_view_has_legal_actions_only_if_its_observer_is_to_act(tree: Tree) -> None:
    for position in tree.positions:
        for player in (0, 1):
            expected = position.legal_actions() if position.to_act == player else []
            assert position.view(player).legal_actions() == expected


# --- text and bytes --------------------------------------------------------------------------------------------


def test_positions_and_views_survive_text_bytes_and_pickling(tree: Tree) -> None:
    game = tree.game
    for position in tree.positions + [position for position, _ in all_histories(game, "B")][::7]:
        assert position.fault is None
        assert game.position(str(position)) == position
        assert game.position_from_bytes(bytes(position)) == position
        assert pickle.loads(pickle.dumps(position)) == position
        for player in (0, 1):
            view = position.view(player)
            assert game.view(str(view)) == view
            assert game.view_from_bytes(bytes(view), player) == view
            assert pickle.loads(pickle.dumps(view)) == view


def test_different_positions_have_different_texts(tree: Tree) -> None:
    everything = tree.positions + [position for position, _ in all_histories(tree.game, "B")]
    assert len({str(position) for position in everything}) == 2 * len(tree.positions)


def test_actions_survive_text_and_pickling(tree: Tree) -> None:
    actions = {action for position in tree.positions for action in position.legal_actions()}
    deals = [f"deal {card}" for card in CARDS[tree.id]]
    assert sorted(map(str, actions)) == sorted([*deals, *MOVES[tree.id]])
    for action in actions:
        assert tree.game.action(str(action)) == action
        assert pickle.loads(pickle.dumps(action)) == action
    assert tree.game.action(deals[0]).fields == {"type": "deal", "card": CARDS[tree.id][0]}
    assert tree.game.action(MOVES[tree.id][0]).fields == {"type": MOVES[tree.id][0]}


def test_a_table_has_cards_moves_and_stakes() -> None:
    view = LEDUC.view("? Qb | call call | Qa | raise | first B | seen by B")
    table = Table(
        public_card="Qa",
        moves=(("call", "call"), ("raise",)),
        stakes=(1, 5),
        first=1,
        to_act=0,
    )
    assert view.parts == Parts(table, cards=("?", "Qb"), observer=1)
    dealing = Table(None, ((), ()), (1, 1), first=0, to_act=CHANCE)
    assert KUHN.position("K -").parts == Parts(dealing, ("K", None))
    passed = Table(None, (("pass", "pass"), ()), (1, 1), 0, None)
    assert KUHN.position("K Q | pass pass").parts == Parts(passed, ("K", "Q"))


def test_a_record_of_a_game_holds_the_deals_and_replays() -> None:
    actions = ("deal Ka", "deal Qb", "raise", "call", "deal Qa", "call", "raise", "fold")
    record = Record(LEDUC.deal(first="B"), actions).ended()
    assert record.result == (3, -3)
    assert read_record(str(record)) == record


def test_spaces_and_the_default_first_player_are_optional_in_texts() -> None:
    position = LEDUC.deal().play("deal Ka").play("deal Qb").play("call")
    assert LEDUC.position("  Ka   Qb|call ") == position
    assert LEDUC.position("Ka Qb | call | first A") == position
    assert LEDUC.position("Ka Qb | call | first B") != position
    assert str(LEDUC.position("Ka Qb | first B | call")) == "Ka Qb | call | first B"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "text: '' must be '- -'"),
        ("Ka Qb call", "text: 'Ka Qb call' must be 'Ka Qb | call'"),
        ("Ka Qb | ", "text: 'Ka Qb | ' must be 'Ka Qb'"),
        ("- Ka", "text: '- Ka' must be 'Ka -'"),
        ("Ka Ka", "words[1]: 'Ka' is not possible after 'Ka' (Ja, Jb, Qa, Qb, Kb)"),
        ("Ka K", "words[1]: 'K' is not possible after 'Ka' (Ja, Jb, Qa, Qb, Kb)"),
        ("? Qb", "words[0]: '?' is not possible at the start (Ja, Jb, Qa, Qb, Ka, Kb)"),
        ("Ka Qb | fold", "words[2]: 'fold' is not possible after 'Ka Qb' (call, raise)"),
        ("Ka Qb | raise raise raise", "words[4]: 'raise' is not possible after 'Ka Qb raise raise' (fold, call)"),
        ("Ka Qb | raise | Qa", "words[3]: 'Qa' is not possible after 'Ka Qb raise' (fold, call, raise)"),
        ("Ka Qb | raise fold | Qa", "words[4]: 'Qa' is not possible after 'Ka Qb raise fold' (nothing)"),
        ("Ka Qb | call call | Qb", "words[4]: 'Qb' is not possible after 'Ka Qb call call' (Ja, Jb, Qa, Kb)"),
        ("Ka Qb | first C", "first: 'first C' is not one of first A, first B"),
        ("Ka Qb | first A | first A", "first: occurs 2 times"),
        ("Ka ? | seen by A", "seen: this is a view, not a position"),
    ],
)
def test_text_that_is_no_position_is_refused_with_the_possible_words(text: str, message: str) -> None:
    with pytest.raises(NotationError) as refusal:
        LEDUC.position(text)
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("Ka ?", NotationError, "words[1]: '?' is not possible"),
        ("Ka Qb", NotationError, "seen: a view names its observer"),
        ("Ka ? | seen by C", NotationError, "seen: 'seen by C' is not one of seen by A, seen by B"),
        ("Ka ? | seen", NotationError, "seen: 'seen' is not one of seen by A, seen by B"),
        ("? ? | seen by A", InvalidViewError, "cards: this card cannot be unknown here"),
        ("? Qb | seen by A", InvalidViewError, "cards: this card cannot be unknown here"),
        ("Ka Qb | seen by A", InvalidViewError, "cards: the observer does not see this card"),
        ("Ka ? | call call | ? | seen by A", InvalidViewError, "public_card: no such card"),
        ("Ka ? | call call | Qa | call call | seen by A", InvalidViewError, "cards: this card cannot be unknown here"),
    ],
)
def test_text_that_is_no_view_is_refused(text: str, error: type[EngineError], message: str) -> None:
    with pytest.raises(error) as refusal:
        LEDUC.view(text)
    assert type(refusal.value) is error
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize("text", ["", "pass", "Ka", "deal", "deal X", "deal ?", "deal call", "call call", "CALL"])
def test_text_that_is_no_action_is_refused_with_all_actions(text: str) -> None:
    with pytest.raises(NotationError) as refusal:
        LEDUC.action(text)
    assert str(refusal.value) == (
        f"action: {text!r} is not one of fold, call, raise, deal Ja, deal Jb, deal Qa, deal Qb, deal Ka, deal Kb"
    )


@pytest.mark.parametrize("steps", [(999,), (4,), (16 + 7,), (2, 2)])
def test_steps_that_are_no_action_are_refused(steps: tuple[int, ...]) -> None:
    position = LEDUC.position("Ka Qb")
    with pytest.raises(EngineError):
        position.play(LEDUC.action_from_steps(steps))


@pytest.mark.parametrize(
    ("text", "action", "why"),
    [
        ("- -", "call", "chance is to act, and this is not one of its actions"),
        ("Ka -", "deal Ka", "chance is to act, and this is not one of its actions"),
        ("Ka Qb", "deal Ja", "A is to act, not chance (legal: call, raise)"),
        ("Ka Qb", "fold", "there is nothing to call (legal: call, raise)"),
        ("Ka Qb | raise raise", "raise", "a round has 2 raises at most (legal: fold, call)"),
        ("Ka Qb | raise fold", "call", "the game is over"),
    ],
)
def test_an_illegal_action_is_refused_with_the_reason(text: str, action: str, why: str) -> None:
    with pytest.raises(IllegalActionError) as refusal:
        LEDUC.position(text).play(action)
    assert str(refusal.value).startswith(f"action: '{action}': {why}")


# The offsets of fields in the bytes of a state.
FIELDS = {"cards": 0, "public_card": 2, "first": 3, "moves": 4, "stakes": 12, "raises": 14, "to_act": 15}
CALL, RAISE = LEDUC.action("call").code[0], LEDUC.action("raise").code[0]


@pytest.mark.parametrize(
    ("text", "changes", "fault"),
    [
        ("Ka Qb", {"cards": 7}, "cards: no such card"),
        ("Ka Qb", {"cards": 4}, "cards: both players have the same card"),
        ("Ka Qb", {"cards": 0}, "cards: dealt out of turn"),
        ("Ka Qb", {"cards": 15}, "cards: this card cannot be unknown here"),
        ("Ka Qb", {"public_card": 1}, "public_card: dealt too early"),
        ("Ka Qb | call call | Qa", {"public_card": 7}, "public_card: no such card"),
        ("Ka Qb | call call | Qa", {"public_card": 15}, "public_card: no such card"),
        ("Ka Qb | call call | Qa", {"public_card": 4}, "public_card: a player has this card"),
        ("Ka Qb", {"first": 2}, "first: no such seat"),
        ("Ka Qb", {"first": 1}, "to_act: not the seat to act"),
        ("- -", {"moves": CALL}, "moves: an illegal move"),
        ("Ka Qb", {"moves": 200}, "moves: an illegal move"),
        ("Ka Qb | raise raise call", {"moves": CALL}, "stakes: do not follow from the moves"),
        ("Ka Qb | raise raise call", {"moves": 0}, "moves: made out of turn"),
        ("Ka Qb", {"stakes": 2}, "stakes: do not follow from the moves"),
        ("Ka Qb | raise", {"raises": 0}, "raises: not the number of raises in this round"),
        ("Ka Qb | raise", {"to_act": 0}, "to_act: not the seat to act"),
        ("Ka Qb | raise", {"to_act": 254}, "to_act: not the seat to act"),
        ("Ka Qb | raise", {"to_act": 100}, "to_act: not the seat to act"),
    ],
)
def test_contradictory_bytes_are_refused_with_the_first_fault(text: str, changes: dict[str, int], fault: str) -> None:
    raw = bytearray(bytes(LEDUC.position(text)))
    for field, value in changes.items():
        raw[FIELDS[field]] = value
    with pytest.raises(InvalidPositionError) as refusal:
        LEDUC.position_from_bytes(bytes(raw))
    assert str(refusal.value) == fault


def scrambled(tables: Sequence[Position | View], n: int) -> Iterator[bytes]:
    """Yield `n` times the bytes of a random table, some or all of them replaced by random ones."""
    draw = random.Random(20)
    for _ in range(n):
        raw = bytearray(bytes(draw.choice(tables)))
        most = draw.choice((3, 15, 255))
        for at in range(16) if draw.random() < 0.2 else draw.sample(range(16), draw.choice((1, 1, 2, 3))):
            raw[at] = draw.randint(0, most)
        yield bytes(raw)


def test_random_bytes_are_accepted_only_if_they_are_a_reachable_position(tree: Tree) -> None:
    everything = tree.positions + [position for position, _ in all_histories(tree.game, "B")]
    possible = set(everything)
    n_accepted = 0
    for raw in scrambled(everything, 20_000):
        try:
            position = tree.game.position_from_bytes(raw)
        except InvalidPositionError:
            continue
        n_accepted += 1
        assert position in possible
        assert sum(position.play_out(1).payoffs) == 0
        assert tree.game.position(str(position)) == position
    assert n_accepted > 100


def test_random_bytes_are_accepted_only_if_they_are_a_reachable_view(tree: Tree) -> None:
    everything = tree.positions + [position for position, _ in all_histories(tree.game, "B")]
    possible = {position.view(0) for position in everything}
    n_accepted = 0
    for raw in scrambled(sorted(possible, key=str), 20_000):
        try:
            view = tree.game.view_from_bytes(raw, 0)
        except InvalidViewError:
            continue
        n_accepted += 1
        assert view in possible
        assert sum(view.sample_world(1).play_out(1).payoffs) == 0
        assert tree.game.view(str(view)) == view
    assert n_accepted > 100


# --- new games ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=lambda game: game.id)
def test_a_toy_is_created_by_its_id_and_survives_pickling(game: Game) -> None:
    assert game.id in game_ids()
    assert new_game(game.id, "standard", 2) == game
    assert pickle.loads(pickle.dumps(game)) == game
    assert (game.n_players, game.ruleset, game.state_size) == (2, "standard", 16)
    assert isinstance(game, Poker)
    assert game.cards == CARDS[game.id]
    assert KUHN != LEDUC


@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
@pytest.mark.parametrize(
    ("ruleset", "players", "message"),
    [
        ("open", 2, "ruleset: 'open' is not possible in {} (standard)"),
        ({}, 2, "ruleset: {{}} is not possible in {} (standard)"),
        (None, 3, "players: 3 is not possible in {} (2)"),
        (None, 1, "players: 1 is not possible in {} (2)"),
        (None, True, "players: True is not possible in {} (2)"),
        ("standard", 2.0, "players: 2.0 is not possible in {} (2)"),
    ],
)
def test_other_rulesets_and_numbers_of_players_are_refused(game: str, ruleset: Any, players: Any, message: str) -> None:
    with pytest.raises(InvalidRulesetError) as refusal:
        new_game(game, ruleset, players)
    assert str(refusal.value) == message.format(game)


def test_an_action_of_one_toy_is_refused_at_another() -> None:
    with pytest.raises(IllegalActionError, match="an action of kuhn_poker, not of leduc_poker"):
        LEDUC.position("Ka Qb").play(KUHN.action("pass"))

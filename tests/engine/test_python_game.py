"""Games in Python: their constants, their limits, and errors of every kind in their methods."""

from __future__ import annotations

import pickle
import threading
from collections import Counter
from random import Random
from types import FunctionType
from typing import Any

import pytest
from liars_dice import LiarsDice, Table

from engine_cy import CHANCE, EngineError, GameRules, InvalidRulesetError, NotationError, Rng, python_game
from engine_cy.python_game import PythonGame
from engine_cy.support.world_random import WorldRandom

START = "1 2, first A"


def liars_dice(**methods: Any) -> PythonGame:
    """Make Liar's Dice for two with one die of four sides, and other methods."""
    return python_game(type("Faulty", (LiarsDice,), {"__module__": "dice", **methods}), "1x4", 2)


def fail(*arguments: Any) -> Any:
    raise KeyError("joker")


def failing(name: str) -> FunctionType:
    """Return `fail` as a method with a name."""
    return FunctionType(fail.__code__.replace(co_name=name), globals())


# --- constants ------------------------------------------------------------------------------------------------------


def test_the_ruleset_and_the_number_of_players_have_defaults_and_are_checked() -> None:
    game = python_game(LiarsDice)
    assert (game.id, game.ruleset, game.n_players) == ("liars_dice:LiarsDice", "1x6", 3)
    assert game == pickle.loads(pickle.dumps(game)) != python_game(LiarsDice, players=4)
    with pytest.raises(InvalidRulesetError, match=r"ruleset: '9x9' is not possible in liars_dice:LiarsDice \(1x6, "):
        python_game(LiarsDice, "9x9")
    with pytest.raises(InvalidRulesetError, match=r"players: 6 is not possible in liars_dice:LiarsDice \(2, 3, 4, 5\)"):
        python_game(LiarsDice, players=6)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"write": GameRules.write}, "Can't instantiate abstract class Faulty .*write"),
        ({"__init__": fail}, r"Faulty\('1x4', 2\): KeyError: 'joker'"),
        ({"players": range(1, 3)}, "Faulty.players: 1, 2 are not within 2 to 5"),
        ({"payoff_range": (1, 1)}, r"Faulty.payoff_range: \(1, 1\) is not a range"),
        ({"text_bytes": 753}, r"Faulty.text_bytes: 753 is not in 1..752"),
    ],
)
def test_classes_that_are_no_game_are_refused(members: Any, message: Any) -> None:
    with pytest.raises(InvalidRulesetError, match=message):
        liars_dice(**members)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([], "0 texts"),
        (["a", "b", "a"], "3 texts, of which 2 differ"),
        ([str(number) for number in range(65_537)], "1 to 65536"),
        (["a", 7], "7 is not a line"),
        (["a", "two\nlines"], "is not a line"),
        (["a", "b # c"], "is not a line"),
    ],
)
def test_lists_of_actions_are_checked(actions: Any, message: Any) -> None:
    def init(self: Any, ruleset: str, players: int) -> None:
        self.actions = actions

    with pytest.raises(InvalidRulesetError, match=f"Faulty.actions: .*{message}"):
        liars_dice(__init__=init)


def test_only_subclasses_of_game_rules_are_games() -> None:
    for value in (dict, LiarsDice("1x4", 2)):
        with pytest.raises(InvalidRulesetError, match="not a subclass of GameRules"):
            python_game(value)  # type: ignore[arg-type]


# --- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("start", lambda game: game.deal()),
        ("to_act", lambda game: game.deal()),
        ("legal_actions", lambda game: game.position(START).legal_actions()),
        ("legal_actions", lambda game: game.position(START).play_out()),
        ("apply", lambda game: game.position(START).play("bid 1x1")),
        ("apply", lambda game: game.position(START).play_out()),
        ("payoffs", lambda game: game.position("1 2 1x1 liar, first A").payoffs),
        ("observe", lambda game: game.position(START).view(0)),
        ("sample_world", lambda game: game.position(START).view(0).sample_world()),
        ("worlds", lambda game: game.position(START).view(0).count_worlds()),
        ("information", lambda game: game.position(START).view(0).key),
        ("scores", lambda game: game.position("1 2 1x1 liar, first A").scores),
        ("chances", lambda game: game.deal().legal_actions()),
    ],
)
def test_an_error_in_a_method_names_game_class_method_line_and_message(method: Any, call: Any) -> None:
    game = liars_dice(**{method: failing(method)})
    line = fail.__code__.co_firstlineno + 1
    with pytest.raises(
        EngineError, match=rf"^dice:Faulty: Faulty.{method} \(test_python_game.py, line {line}\): KeyError: 'joker'$"
    ):
        call(game)
    # The error has left nothing behind.
    assert game.check() == 0


@pytest.mark.parametrize(
    ("methods", "call", "message"),
    [
        ({"legal_actions": lambda *_: []}, "position.legal_actions()", "legal_actions: none, and the game is not over"),
        ({"legal_actions": lambda *_: ["jump"]}, "position.legal_actions()", "'jump' is not in `actions`, in '1 2, "),
        ({"legal_actions": lambda *_: ["liar"] * 2}, "position.legal_actions()", "an action occurs twice: liar, liar"),
        ({"legal_actions": lambda *_: ["liar"] * 513}, "position.legal_actions()", "513 actions, more than 512"),
        ({"payoffs": lambda *_: ["1", 0]}, "end.payoffs", "must be real number, not str"),
        ({"payoffs": lambda *_: [1, float("nan")]}, "end.payoffs", r"nan is not in `payoff_range`, -1.0 to 1.0"),
        ({"payoffs": lambda *_: [1, 2]}, "end.payoffs", r"2 is not in `payoff_range`"),
        ({"payoffs": lambda *_: [1]}, "end.payoffs", "1 payoffs of 2 players"),
        ({"scores": lambda *_: [1]}, "end.scores", "1 scores of 2 players"),
        ({"write": lambda *_: 7}, "game.deal()", "write: 7 is not a line of text"),
        ({"write": lambda *_: "a\nb"}, "game.deal()", r"write: 'a\\nb' is not a line of text"),
        ({"write": lambda *_: "x" * 800}, "game.deal()", "write: 800 bytes, more than `text_bytes`, 752"),
        ({"pack": lambda *_: "x"}, "game.deal()", "pack: 'x' is not bytes"),
        (
            {"sample_world": lambda self, *_: self.read("2 2, first A")},
            "view.sample_world()",
            "player 0 can distinguish",
        ),
        ({"observe": lambda self, state, _: state._replace(first=1 - state.first)}, "view", "another player is to act"),
        ({"information": lambda *_: 3}, "view.key", "information: 3 is not text"),
        ({"worlds": lambda *_: []}, "view.count_worlds()", "worlds: none, or one occurs twice"),
        ({"worlds": lambda self, view, _: [self.read("1 2, first A")] * 2}, "view.count_worlds()", "one occurs twice"),
        ({"worlds": lambda self, view, _: [self.read("2 2, first A")]}, "view.count_worlds()", "can distinguish"),
        ({"chances": lambda *_: [0.5]}, "game.deal().legal_actions()", "chances: 1 probabilities of 4 actions"),
        (
            {"chances": lambda *_: [0.5, 0.1, 0.1, 0.1]},
            "game.deal().legal_actions()",
            "no probabilities that add up to",
        ),
        ({"chances": lambda *_: [1.5, -0.5, 0, 0]}, "game.deal().legal_actions()", "no probabilities that add up to"),
    ],
)
def test_values_of_the_wrong_kind_are_errors(methods: Any, call: Any, message: Any) -> None:
    game = liars_dice(**methods)
    values: dict[str, Any] = {"game": game}
    if "game" not in call:
        values |= {"position": game.position(START), "end": game.position("1 2 1x1 liar, first A")}
    with pytest.raises(EngineError, match=message) as error:
        eval(call.replace("view", "position.view(0)"), values)
    assert f"{game.id}: " in str(error.value)
    assert game.check() == 0


@pytest.mark.parametrize("seat", ["A", 2, -2, True])
def test_only_seats_chance_and_none_may_be_to_act(seat: Any) -> None:
    with pytest.raises(EngineError, match=rf"Faulty.to_act: {seat!r} is neither a seat \(0 to 1\), CHANCE nor None"):
        liars_dice(to_act=lambda *_: seat).deal()


def test_a_game_without_end_is_an_error() -> None:
    with pytest.raises(EngineError, match="the game is not over after 100000 more actions"):
        liars_dice(apply=lambda self, state, action: state).deal().play_out()


def test_a_text_that_reads_back_as_another_is_an_error() -> None:
    game = liars_dice(states_cached=2, read=lambda self, text: LiarsDice.read(self, text.replace("1x1", "1x2")))
    position = game.position(START).play("bid 1x1")
    for bid in ("bid 1x2", "bid 1x3", "bid 1x4"):
        game.position(START).play(bid)  # these states replace the other one in the cache
    with pytest.raises(EngineError, match=r"Faulty.read: b'1 2 1x1, first A' reads back as b'1 2 1x2, first A'"):
        position.play("bid 2x1")


def test_an_action_that_is_legal_only_in_the_view_is_an_error() -> None:
    class Bold(LiarsDice):
        def legal_actions(self, state: Table) -> list[str]:
            return super().legal_actions(state)[: None if (0,) in state.dice else -1]

    view = python_game(Bold, "1x4", 2).position("1 2 1x1, first A").view(1)
    assert "liar" in map(str, view.legal_actions())
    with pytest.raises(EngineError, match="action: 'liar': not possible here"):
        view.sample_world().play("liar")


def test_an_interrupt_inside_a_method_is_raised_as_it_is() -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    position = liars_dice(apply=interrupt).position(START)
    with pytest.raises(KeyboardInterrupt):
        position.play("bid 1x1")


def test_errors_of_one_thread_do_not_reach_another() -> None:
    game = liars_dice(apply=fail)
    barrier, errors = threading.Barrier(4), Counter[str]()

    def play(seed: int) -> None:
        for _ in range(50):
            barrier.wait(60)
            try:
                game.position(START).play("bid 1x1") if seed % 2 else game.position(START).view(0).sample_world(seed)
            except EngineError:
                errors[f"thread {seed % 2}"] += 1

    threads = [threading.Thread(target=play, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == {"thread 1": 100}


# --- chance ---------------------------------------------------------------------------------------------------------


class Loaded(LiarsDice):
    """Liar's Dice with dice that show a one half of the time."""

    def chances(self, state: Table) -> list[float]:
        return [0.5, 0.25, 0.125, 0.125]


def test_outcomes_of_chance_are_as_frequent_as_the_rules_say() -> None:
    start = python_game(Loaded, "1x4", 2).deal()
    rng, counts, n = Rng(5), Counter[str](), 4000
    for _ in range(n):
        position = start
        while "- -" in str(position) or "~" in str(position):
            actions = position.legal_actions()
            assert actions[0].type == "draw"
            position = position.play(actions[rng.below(len(actions))])
        counts[str(position)[0]] += 1
    ends = Counter(str(start.play_out(seed))[0] for seed in range(n))
    for face, chance in zip("1234", (0.5, 0.25, 0.125, 0.125), strict=True):
        for frequency in (counts[face] / n, ends[face] / n):
            assert frequency == pytest.approx(chance, abs=4 * (chance * (1 - chance) / n) ** 0.5)


class Third(LiarsDice):
    """A die whose parts of 0..1 end within a digit."""

    def chances(self, state: Table) -> list[float]:
        return [1 / 3, 1 / 3, 1 / 6, 1 / 6]


def test_digits_drawn_for_an_outcome_are_part_of_the_text() -> None:
    game = python_game(Third, "1x4", 2)
    positions = (game.deal().play(action) for action in game.deal().legal_actions())
    halfway = next(position for position in positions if position.to_act == CHANCE and "~" in str(position))
    assert str(halfway) == "- -, first A ~170"
    assert game.position(str(halfway)) == pickle.loads(pickle.dumps(halfway)) == halfway
    assert game.view(str(halfway.view(1))) == halfway.view(1)
    assert str(game.action("~3")) == "~3"
    for text, message in [
        ("- -, first A ~512", "~512 is not possible"),
        ("- -, first A ~3", "the digits determine an outcome"),
        ("1 2, first A ~170", "~170 is not possible"),
    ]:
        with pytest.raises(NotationError, match=message):
            game.position(text)


def test_world_random_draws_like_pythons_random() -> None:
    generator = WorldRandom()
    draws = Counter(generator.choice("abc") for _ in range(3000))
    assert all(900 < count < 1100 for count in draws.values())
    assert all(0 <= generator.random() < 1 for _ in range(100))
    assert 0 < max(generator.getrandbits(200) for _ in range(50)) >> 195 < 32
    assert generator.getrandbits(0) == 0
    hand = list(range(20))
    generator.shuffle(hand)
    assert sorted(hand) == list(range(20)) != hand


def test_a_sampler_may_use_every_method_of_random() -> None:
    class Shuffled(LiarsDice):
        def sample_world(self, view: Table, player: int, rng: Random) -> Table:
            faces = rng.sample(range(1, 5), 2)
            return view._replace(
                dice=tuple(hand if hand[0] else (face,) for hand, face in zip(view.dice, faces, strict=True))
            )

    view = python_game(Shuffled, "1x4", 2).position(START).view(0)
    assert [view.sample_world(seed) for seed in range(20)] == [view.sample_world(seed) for seed in range(20)]
    assert len({view.sample_world(seed) for seed in range(40)}) == 4

"""The search cannot peek: for tables that differ only in hidden cards, the answers are the same bytes.

The same checks must fail for games whose functions leak hidden cards on purpose.
"""

from __future__ import annotations

import os
import pickle
import random
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from game_interface import SPECTATOR, GameInterface, state_at, write_state
from hidden_cards import shuffle_hidden
from searches import timeless
from tables import ALL_SPECS, random_game

from engine_cy import Game, Position, View, new_game
from solver import Answer, Beliefs, Budget, solve
from solver.search import CHECKED

PAIRS = 200
QUICK_PAIRS = 30
ITERATIONS = 200
SHORT_CASTLE = {
    "cards": [
        {"value": 12, "name": "Abbot", "when": "end", "effect": "leave_if_present", "who": "Thief"},
        {"value": 9, "name": "Thief", "when": "immediate", "effect": "rob_neighbour", "amount": 1},
        {"value": 7, "name": "Bailiff", "when": "immediate", "effect": "move_neighbour"},
        {"value": 6, "name": "Page", "when": "immediate", "effect": "swap_selected"},
        {"value": 4, "name": "Smuggler", "when": "end", "effect": "double_reward", "where": "castle", "factor": 3},
        {"value": 2, "name": "Beggar", "when": "immediate", "effect": "order_location"},
    ],
    "hand_size": 4,
    "rounds": 2,
    "turns_per_round": 3,
    "starting_gold": 5,
}

# Every ruleset with its numbers of players.
GAMES: dict[str, list[Any]] = {}
for _id, _ruleset, _players in ALL_SPECS:
    _name = _ruleset if isinstance(_ruleset, str) else "prototype, two cards a turn"
    GAMES.setdefault(_name, []).append((_id, _ruleset, _players))
GAMES["castle, hidden gold"] = [("castle_village_port", {"hidden_gold": True}, players) for players in (3, 5)]
GAMES["castle, a short table"] = [("castle_village_port", SHORT_CASTLE, players) for players in (3, 4)]
GAMES["kuhn"] = [("kuhn_poker", None, 2)]
GAMES["leduc"] = [("leduc_poker", None, 2)]


class Pair(NamedTuple):
    """Two tables that look the same to the player to act."""

    truth: Position
    other: Position

    @property
    def player(self) -> int:
        assert self.truth.to_act is not None
        return self.truth.to_act

    @property
    def views(self) -> tuple[View, View]:
        return self.truth.view(self.player), self.other.view(self.player)


def decisions(game: Game, draw: random.Random) -> Iterator[Position]:
    """Yield tables of random games at which a player has a choice, up to five of each game."""
    while True:
        played = [position for position, _ in random_game(game, draw.getrandbits(32)) if (position.to_act or 0) >= 0]
        choices = [position for position in played if len(position.legal_actions()) > 1]
        yield from draw.sample(choices, min(5, len(choices)))


def pairs(specs: list[Any], number: int, seed: int) -> Iterator[Pair]:
    """Yield `number` pairs, the same number for each spec: half with sampled worlds, half with shuffled cards."""
    draw = random.Random(seed)
    sources = [decisions(new_game(*spec), draw) for spec in specs]
    for i in range(number):
        truth = next(sources[i % len(sources)])
        if i // len(sources) % 2:
            yield Pair(truth, truth.view(truth.to_act or 0).sample_world(draw.getrandbits(32)))
        else:
            yield Pair(truth, shuffle_hidden(truth, truth.to_act or 0, draw))


def configs(game: Game) -> list[str]:
    """Return all kinds of search, and one of the levels of strength, which choose at random among moves."""
    return [*["greedy"] * game.has_knowledge, "flat", "pimc", "plain", "default", "level-3"]


def timeless_answer(view: View, config: str, lines: int = 1) -> tuple[Answer, Beliefs | None]:
    """Return an answer and its beliefs without the duration."""
    result = solve(view, Budget(iterations=ITERATIONS), config=config, seed=7, lines=lines)
    return timeless(result), result.beliefs


def differences(pair: Pair) -> list[str]:
    """Return `view` if the views differ, and the configurations whose answers differ."""
    one, other = pair.views
    names = [] if bytes(one) == bytes(other) else ["view"]
    return names + [name for name in configs(one.game) if timeless_answer(one, name) != timeless_answer(other, name)]


@pytest.mark.parametrize("number", [QUICK_PAIRS, pytest.param(PAIRS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", GAMES)
def test_an_answer_does_not_depend_on_hidden_cards(name: str, number: int) -> None:
    n_different = 0
    for pair in pairs(GAMES[name], number, seed=4):
        assert differences(pair) == [], f"{pair.truth} | {pair.other}"
        n_different += pair.truth != pair.other
    # With few cards, the shuffle often deals the same ones.
    assert n_different > number / 4


@pytest.mark.parametrize("number", [5, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", GAMES)
def test_a_view_that_was_text_bytes_or_a_pickle_has_the_same_answer(name: str, number: int) -> None:
    for pair in pairs(GAMES[name], number, seed=5):
        view, _ = pair.views
        game = view.game
        copies = [
            game.view(str(view)),
            game.view_from_bytes(bytes(view), pair.player),
            pickle.loads(pickle.dumps(view)),
        ]
        for config in configs(game):
            expected = timeless_answer(view, config)
            assert all(timeless_answer(copy, config) == expected for copy in copies)


def test_the_key_of_a_table_is_the_key_of_its_view() -> None:
    """A search computes keys of worlds, in which `observe` has erased nothing."""
    for specs in GAMES.values():
        for pair in pairs(specs, 60, seed=6):
            game = pair.truth.game
            interface = GameInterface(game)
            for player in range(game.n_players):
                assert interface.key_of(pair.truth, player) == pair.truth.view(player).key
            assert interface.key_of(pair.truth, pair.player) == interface.key_of(pair.other, pair.player)
            assert interface.key_of(pair.truth, SPECTATOR) == interface.key_of(pair.other, SPECTATOR)


# --- leaks ----------------------------------------------------------------------------------------------------
#
# Possible mistakes in a game's view.pyx or worlds.pyx.

PEEKED_GAMES: list[Any] = [
    ("oriflamme", "en-2019", 3),
    ("oriflamme_prototype", "prototype", 2),
    ("castle_village_port", "house", 3),
    ("leduc_poker", None, 2),
]


def observe_everything(interface: GameInterface) -> dict[str, Any]:
    """Return an `observe` whose view is the whole table."""

    def observe(rules: int, state: int, observer: int, view: int) -> None:
        write_state(view, state_at(state, interface.game))

    return {"observe": observe}


def leak_one_byte(interface: GameInterface) -> dict[str, Any]:
    """Return an `observe` that leaves a sum of the erased bytes in the last byte, which has no other use."""
    original = interface.observe

    def observe(rules: int, state: int, observer: int, view: int) -> None:
        truth = state_at(state, interface.game)
        original(rules, state, observer, view)
        visible = state_at(view, interface.game)
        erased = sum(a for a, b in zip(truth, visible, strict=True) if a != b)
        write_state(view, visible[:-1] + bytes([erased % 256]))

    return {"observe": observe}


def sample_the_truth(interface: GameInterface, truth: list[bytes], every: int) -> dict[str, Any]:
    """Return a `sample` that returns the true table, as if it were left in memory, in each `every`-th call."""
    original = interface.sample
    draws = 0

    def sample(rules: int, view: int, observer: int, world: int, rng: int) -> None:
        nonlocal draws
        draws += 1
        original(rules, view, observer, world, rng)
        if draws % every == 0:
            write_state(world, truth[-1])

    return {"sample": sample}


def hash_hidden_cards(interface: GameInterface) -> dict[str, Any]:
    """Return a `key` that depends on cards that the observer does not see."""
    original = interface.key

    def key(rules: int, state: int, observer: int) -> int:
        return int(original(rules, state, observer)) ^ sum(state_at(state, interface.game))

    return {"key": key}


EVERY_PEEKED_GAME = pytest.mark.parametrize("spec", PEEKED_GAMES, ids=lambda spec: spec[0])


def pairs_that_differ(spec: Any, number: int) -> list[Pair]:
    return [pair for pair in pairs([spec], number, seed=8) if pair.truth != pair.other]


# Every byte of the toys has a use.
VIEWS_DAMAGED = [
    *[(spec, observe_everything) for spec in PEEKED_GAMES],
    *[(spec, leak_one_byte) for spec in PEEKED_GAMES if spec[0] != "leduc_poker"],
]


@pytest.mark.parametrize(("spec", "damage"), VIEWS_DAMAGED)
def test_a_view_that_leaks_hidden_cards_is_detected(spec: Any, damage: Any) -> None:
    sample_pairs = pairs_that_differ(spec, 60)
    interface = GameInterface(new_game(*spec))
    with interface.replaced(**damage(interface)):
        detections = [bytes(pair.views[0]) != bytes(pair.views[1]) for pair in sample_pairs]
    assert sum(detections) > len(sample_pairs) / 2


def answers_differ(pair: Pair, truth: list[bytes]) -> bool:
    """Return whether the answers for the two tables differ, with each table in turn as the last item of `truth`."""
    answers = []
    for table in (pair.truth, pair.other):
        truth.append(bytes(table))
        answers.append(timeless_answer(table.view(pair.player), "plain"))
    return answers[0] != answers[1]


@EVERY_PEEKED_GAME
@pytest.mark.parametrize("every", [1, 16])
def test_a_search_that_samples_the_true_table_is_detected(spec: Any, every: int) -> None:
    sample_pairs = pairs_that_differ(spec, 60)
    interface = GameInterface(new_game(*spec))
    truth: list[bytes] = []
    with interface.replaced(**sample_the_truth(interface, truth, every)):
        detections = [answers_differ(pair, truth) for pair in sample_pairs]
    # Equivalent tables, which differ only in suits for instance, have the same answer.
    assert sum(detections) > len(sample_pairs) / 4
    assert not any(answers_differ(pair, truth) for pair in sample_pairs)


@EVERY_PEEKED_GAME
def test_a_key_that_depends_on_hidden_cards_is_detected(spec: Any) -> None:
    """Answers do not show it, since their worlds are the same; but in each world all players act on hidden cards."""
    interface = GameInterface(new_game(*spec))
    with interface.replaced(**hash_hidden_cards(interface)):
        detections = [
            interface.key_of(pair.truth, pair.player) != pair.truth.view(pair.player).key
            for pair in pairs_that_differ(spec, 20)
        ]
    assert sum(detections) > len(detections) / 2


def abort_message(function: Callable[[], object], errors: Path) -> str | None:
    """Call a function in a forked process; return its error output if it aborts, else None."""
    child = os.fork()
    if not child:
        try:
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
            function()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGABRT
        return errors.read_text()
    assert os.WEXITSTATUS(status) == 0
    return None


DIFFERENT_VIEW = "a sampled world does not look like the root to its observer"
REVEALING_KEY = "a key depends on what its observer does not see"


@pytest.mark.parametrize(
    ("spec", "damage", "message"),
    [
        *[(spec, damage, DIFFERENT_VIEW) for spec, damage in VIEWS_DAMAGED],
        *[(spec, hash_hidden_cards, REVEALING_KEY) for spec in PEEKED_GAMES],
    ],
)
def test_a_checked_build_aborts_a_search_that_peeks(spec: Any, damage: Any, message: str, tmp_path: Path) -> None:
    """The usual build has no such checks, for speed."""
    interface = GameInterface(new_game(*spec))
    texts = []
    for i, pair in enumerate(pairs_that_differ(spec, 12 if CHECKED else 2)):
        with interface.replaced(**damage(interface)):
            # Without lines of play: these refuse a damaged world.
            texts.append(abort_message(partial(timeless_answer, pair.views[0], "plain", lines=0), tmp_path / str(i)))
    if CHECKED:
        assert any(text and message in text for text in texts)
    else:
        assert texts == [None] * len(texts)


@EVERY_PEEKED_GAME
def test_a_checked_build_does_not_abort_other_searches(spec: Any, tmp_path: Path) -> None:
    for i, pair in enumerate(pairs_that_differ(spec, 12)):
        assert abort_message(partial(timeless_answer, pair.views[0], "plain"), tmp_path / str(i)) is None

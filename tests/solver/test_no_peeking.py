"""The search does not know what its player does not see: whatever is hidden, the answers are the same bytes.

The same checks are then made of games that were damaged on purpose, and have to fail.
"""

from __future__ import annotations

import dataclasses
import os
import pickle
import random
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from door import SPECTATOR, Door, state_at, write_state
from tables import ALL_SPECS, random_game
from test_views_and_worlds import permuted, permuted_castle

from engine_cy import Game, Position, View, new_game
from solver import Answer, Beliefs, Budget, solve
from solver.search import CHECKED

PAIRS = 200
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

# Every ruleset, with the numbers of players that it is played by.
GAMES: dict[str, list[Any]] = {}
for _id, _ruleset, _players in ALL_SPECS:
    _name = _ruleset if isinstance(_ruleset, str) else "prototype, two cards a turn"
    GAMES.setdefault(_name, []).append((_id, _ruleset, _players))
GAMES["castle, hidden gold"] = [("castle_village_port", {"hidden_gold": True}, players) for players in (3, 5)]
GAMES["castle, a short table"] = [("castle_village_port", SHORT_CASTLE, players) for players in (3, 4)]
GAMES["kuhn"] = [("kuhn_poker", None, 2)]
GAMES["leduc"] = [("leduc_poker", None, 2)]


class Pair(NamedTuple):
    """Two tables that the player to act cannot tell apart."""

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
    """Tables of random games at which a player has a choice, some of each game."""
    while True:
        played = [position for position, _ in random_game(game, draw.getrandbits(32)) if (position.to_act or 0) >= 0]
        choices = [position for position in played if len(position.legal_actions()) > 1]
        yield from draw.sample(choices, min(5, len(choices)))


def shuffled(position: Position, draw: random.Random) -> Position:
    """The table with what is hidden from the player to act dealt anew, without the engine's own idea of worlds."""
    player = position.to_act or 0
    if position.game.id == "castle_village_port":
        return permuted_castle(position, player, draw)
    elif position.game.id in ("kuhn_poker", "leduc_poker"):
        cards, *rest = str(position).split(" | ")
        words = cards.split()
        seen = [words[player], *rest]
        words[1 - player] = draw.choice([card for card in position.game.cards if card not in seen])  # type: ignore[attr-defined]
        return position.game.position(" | ".join([" ".join(words), *rest]))
    return permuted(position, player, draw)


def pairs(specs: list[Any], number: int, seed: int) -> Iterator[Pair]:
    """So many pairs, as many of each number of players."""
    draw = random.Random(seed)
    sources = [decisions(new_game(*spec), draw) for spec in specs]
    for i in range(number):
        truth = next(sources[i % len(sources)])
        if i // len(sources) % 2:
            yield Pair(truth, truth.view(truth.to_act or 0).sample_world(draw.getrandbits(32)))
        else:
            yield Pair(truth, shuffled(truth, draw))


def configs(game: Game) -> list[str]:
    """All kinds of search; of the levels of strength, which draw lots in the end, one."""
    return [*["greedy"] * game.has_knowledge, "flat", "pimc", "plain", "default", "level-3"]


def answer(view: View, config: str, lines: int = 1) -> tuple[Answer, Beliefs | None]:
    """Everything about an answer but the time it took."""
    found = solve(view, Budget(iterations=ITERATIONS), config=config, seed=7, lines=lines)
    return dataclasses.replace(found, elapsed_ms=0.0), found.beliefs


def differences(pair: Pair) -> list[str]:
    """What of one table's view or answers tells it from the other."""
    one, other = pair.views
    found = [] if bytes(one) == bytes(other) else ["view"]
    return found + [name for name in configs(one.game) if answer(one, name) != answer(other, name)]


@pytest.mark.parametrize("name", GAMES)
def test_an_answer_does_not_depend_on_what_is_hidden(name: str) -> None:
    hidden = 0
    for pair in pairs(GAMES[name], PAIRS, seed=4):
        assert differences(pair) == [], f"{pair.truth} | {pair.other}"
        hidden += pair.truth != pair.other
    # Where there are few cards, the same is often dealt again.
    assert hidden > PAIRS / 4


@pytest.mark.parametrize("name", GAMES)
def test_an_answer_is_that_of_the_view_however_it_came_here(name: str) -> None:
    """As text, as bytes, from another process."""
    for pair in pairs(GAMES[name], 20, seed=5):
        view, _ = pair.views
        game = view.game
        sent = [game.view(str(view)), game.view_from_bytes(bytes(view), pair.player), pickle.loads(pickle.dumps(view))]
        for config in configs(game):
            expected = answer(view, config)
            assert all(answer(copy, config) == expected for copy in sent)


def test_the_key_of_a_table_is_the_key_of_its_view() -> None:
    """A search asks for keys of worlds, in which nothing is blotted out."""
    for specs in GAMES.values():
        for pair in pairs(specs, 60, seed=6):
            game = pair.truth.game
            door = Door(game)
            for player in range(game.n_players):
                assert door.key_of(pair.truth, player) == pair.truth.view(player).key
            assert door.key_of(pair.truth, pair.player) == door.key_of(pair.other, pair.player)
            assert door.key_of(pair.truth, SPECTATOR) == door.key_of(pair.other, SPECTATOR)


# --- peeking is caught ----------------------------------------------------------------------------------------
#
# Each of these is a mistake that somebody could make in a game's view.pyx or worlds.pyx.

PEEKED_AT: list[Any] = [
    ("oriflamme", "en-2019", 3),
    ("oriflamme_prototype", "prototype", 2),
    ("castle_village_port", "house", 3),
    ("leduc_poker", None, 2),
]


def forgets_to_blot(door: Door) -> dict[str, Any]:
    """A view is the whole table."""

    def observe(rules: int, state: int, observer: int, view: int) -> None:
        write_state(view, state_at(state, door.game))

    return {"observe": observe}


def leaves_one_byte(door: Door) -> dict[str, Any]:
    """A byte that has no use, the last one, depends on what was there before everything was blotted out."""
    observed = door.observe

    def observe(rules: int, state: int, observer: int, view: int) -> None:
        truth = state_at(state, door.game)
        observed(rules, state, observer, view)
        seen = state_at(view, door.game)
        blotted = sum(a for a, b in zip(truth, seen, strict=True) if a != b)
        write_state(view, seen[:-1] + bytes([blotted % 256]))

    return {"observe": observe}


def draws_the_truth(door: Door, truth: list[bytes], every: int) -> dict[str, Any]:
    """The view is right, but the table that it is of has stayed behind in memory, and now and then it is what is drawn
    for a world."""
    sampled = door.sample
    draws = 0

    def sample(rules: int, view: int, observer: int, world: int, rng: int) -> None:
        nonlocal draws
        draws += 1
        sampled(rules, view, observer, world, rng)
        if draws % every == 0:
            write_state(world, truth[-1])

    return {"sample": sample}


def holds_a_hidden_card(door: Door) -> dict[str, Any]:
    """What nodes are found by depends on what their player does not see."""
    asked = door.key

    def key(rules: int, state: int, observer: int) -> int:
        return int(asked(rules, state, observer)) ^ sum(state_at(state, door.game))

    return {"key": key}


MANY = pytest.mark.parametrize("spec", PEEKED_AT, ids=lambda spec: spec[0])


def pairs_that_differ(spec: Any, number: int) -> list[Pair]:
    return [pair for pair in pairs([spec], number, seed=8) if pair.truth != pair.other]


# The toys have no byte without use.
VIEWS_DAMAGED = [
    *[(spec, forgets_to_blot) for spec in PEEKED_AT],
    *[(spec, leaves_one_byte) for spec in PEEKED_AT if spec[0] != "leduc_poker"],
]


@pytest.mark.parametrize(("spec", "damage"), VIEWS_DAMAGED)
def test_a_view_that_shows_too_much_is_caught(spec: Any, damage: Any) -> None:
    several = pairs_that_differ(spec, 60)
    door = Door(new_game(*spec))
    with door.replaced(**damage(door)):
        caught = [bytes(pair.views[0]) != bytes(pair.views[1]) for pair in several]
    assert sum(caught) > len(several) / 2


def answers_differ(pair: Pair, truth: list[bytes]) -> bool:
    """Whether the answers are others where `truth`, for those who peek, is one table of the pair and then the other."""
    found = []
    for table in (pair.truth, pair.other):
        truth.append(bytes(table))
        found.append(answer(table.view(pair.player), "plain"))
    return found[0] != found[1]


@MANY
@pytest.mark.parametrize("every", [1, 16])
def test_a_search_of_the_true_table_is_caught(spec: Any, every: int) -> None:
    several = pairs_that_differ(spec, 60)
    door = Door(new_game(*spec))
    truth: list[bytes] = []
    with door.replaced(**draws_the_truth(door, truth, every)):
        caught = [answers_differ(pair, truth) for pair in several]
    # A pair that comes to the same, such as two suits, is not caught.
    assert sum(caught) > len(several) / 4
    assert not any(answers_differ(pair, truth) for pair in several)


@MANY
def test_a_key_that_holds_a_hidden_card_is_caught(spec: Any) -> None:
    """Answers do not tell: worlds are the same. But in each of them everybody plays as if he saw it."""
    door = Door(new_game(*spec))
    with door.replaced(**holds_a_hidden_card(door)):
        caught = [
            door.key_of(pair.truth, pair.player) != pair.truth.view(pair.player).key
            for pair in pairs_that_differ(spec, 20)
        ]
    assert sum(caught) > len(caught) / 2


def aborted(work: Callable[[], object], errors: Path) -> str | None:
    """What a process of its own says when it aborts at `work`, or None if it lives."""
    child = os.fork()
    if not child:
        try:
            os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT), 2)
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGABRT
        return errors.read_text()
    assert os.WEXITSTATUS(status) == 0
    return None


LOOKS_OTHERWISE = "a sampled world does not look like the root to its observer"
HOLDS_TOO_MUCH = "a key depends on what its observer does not see"


@pytest.mark.parametrize(
    ("spec", "damage", "says"),
    [
        *[(spec, damage, LOOKS_OTHERWISE) for spec, damage in VIEWS_DAMAGED],
        *[(spec, holds_a_hidden_card, HOLDS_TOO_MUCH) for spec in PEEKED_AT],
    ],
)
def test_a_checked_build_aborts_a_search_that_peeks(spec: Any, damage: Any, says: str, tmp_path: Path) -> None:
    """The usual build, whose speed counts, does not notice."""
    door = Door(new_game(*spec))
    found = []
    for i, pair in enumerate(pairs_that_differ(spec, 12)):
        with door.replaced(**damage(door)):
            # A line shows a world, and a damaged one is refused there.
            found.append(aborted(partial(answer, pair.views[0], "plain", lines=0), tmp_path / str(i)))
    if CHECKED:
        assert any(said and says in said for said in found)
    else:
        assert found == [None] * len(found)


@MANY
def test_a_checked_build_lets_others_search(spec: Any, tmp_path: Path) -> None:
    for i, pair in enumerate(pairs_that_differ(spec, 12)):
        assert aborted(partial(answer, pair.views[0], "plain"), tmp_path / str(i)) is None

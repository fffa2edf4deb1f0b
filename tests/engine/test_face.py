"""Games, positions, views and actions as Python values."""

from __future__ import annotations

import copy
import importlib
import pickle
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MethodDescriptorType

import pytest
from mutations import damaged_bytes
from tables import SPEC_IDS, SPECS, random_game

import engine_cy
from eminence.v1 import error_reason_pb2
from engine_cy import EngineError, Game, Rng, game_ids, new_game
from engine_cy.oriflamme.editions import EDITIONS, SWITCHES


@pytest.mark.parametrize("spec", SPECS, ids=SPEC_IDS)
def test_games_positions_views_and_actions_survive_pickling(spec: tuple[str, str, int]) -> None:
    game = new_game(*spec)
    for position, action in list(random_game(game, 3))[::7]:
        for value in (game, position, position.view(0), action):
            copied = pickle.loads(pickle.dumps(value))
            assert copied == value
            assert hash(copied) == hash(value)
            assert str(copied) == str(value)
            assert copy.deepcopy(value) == copy.copy(value) == value


def test_a_pickle_of_damaged_bytes_is_refused() -> None:
    position = new_game("oriflamme").deal()
    pickled = pickle.dumps(position)
    assert bytes(position) in pickled
    with pytest.raises(EngineError, match=r"position\.table\.round: 0 is not in 1\.\.6"):
        pickle.loads(pickled.replace(bytes(position), bytes(len(bytes(position)))))


def test_positions_with_equal_bytes_of_different_games_differ() -> None:
    by_name = {name: new_game("oriflamme", name, 3).deal(seed=1) for name in ("fr-2019", "en-2019", "de-2019")}
    assert len({bytes(position) for position in by_name.values()}) == 1
    assert len(set(by_name.values())) == 3
    assert by_name["en-2019"] != by_name["fr-2019"]
    assert by_name["en-2019"].view(0) != by_name["en-2019"].view(1)
    others: list[object] = [by_name["en-2019"].view(0), str(by_name["en-2019"]), bytes(by_name["en-2019"])]
    assert by_name["en-2019"] not in others


def test_games_compare_by_their_rules() -> None:
    assert new_game("oriflamme", "en-2019", 3) == new_game("oriflamme", None, 3) == new_game("oriflamme")
    assert new_game("oriflamme", {"edition": "de-2019"}, 3) == new_game("oriflamme", "de-2019", 3)
    default = EDITIONS["de-2019"].switches["decree_onto_stack"]
    assert new_game("oriflamme", {"edition": "de-2019", "decree_onto_stack": default}) == new_game(
        "oriflamme", "de-2019"
    )
    assert new_game("oriflamme", {"decree_onto_stack": False}) != new_game("oriflamme")
    assert new_game("oriflamme", players=4) != new_game("oriflamme", players=3)
    assert repr(new_game("oriflamme")) == "new_game('oriflamme', 'en-2019', players=3)"
    assert eval(repr(new_game("oriflamme", {"ambush_own_gain": 5}, 4)), {"new_game": new_game}).n_players == 4


ROOT = Path(__file__).parents[2]


def compiled_classes() -> Iterator[type]:
    for package in ("engine_cy", "solver"):
        for source in (ROOT / package).rglob("*.pyx"):
            name = ".".join(source.relative_to(ROOT).with_suffix("").parts)
            values = vars(importlib.import_module(name)).values()
            yield from [kind for kind in values if isinstance(kind, type) and kind.__module__ == name]


def test_methods_of_compiled_classes_check_the_type_of_self() -> None:
    """Without the check, `Game.position_from_bytes(None, b"")` would read memory that belongs to no game."""
    methods = [method for kind in compiled_classes() for method in vars(kind).values()]
    assert sum(isinstance(method, MethodDescriptorType) for method in methods) > 100
    assert [method for method in methods if type(method).__name__ == "cython_function_or_method"] == []
    for stranger in (None, 42, new_game("oriflamme").deal()):
        with pytest.raises(TypeError, match="position_from_bytes"):
            Game.position_from_bytes(stranger, b"")  # type: ignore[arg-type]


def test_games_survive_their_eviction_from_the_cache() -> None:
    first = new_game("oriflamme", "en-2019", 3).deal(seed=5)
    actions = first.legal_actions()
    for gain in range(10):
        for tokens in (False, True):
            for rule in ("any", "one-shot"):
                for lord in (False, True):
                    switches: dict[str, bool | int | str] = {"ambush_own_gain": gain, "tokens_before_ability": tokens}
                    switches |= {"uncovered_resolves": rule, "lord_counts_covered": lord}
                    new_game("oriflamme", switches).deal().play_out()
    recreated = new_game("oriflamme", "en-2019", 3).deal(seed=5)
    assert recreated == first
    assert recreated.legal_actions() == actions
    assert recreated.play(actions[0]) == first.play(recreated.legal_actions()[0])


def test_actions_have_a_type_fields_and_a_code() -> None:
    game = new_game("oriflamme")
    assert game.action("place Spy on 2").fields == {"type": "place", "card": "spy", "on": 2}
    assert game.action("move 2 to 5").fields == {"type": "move", "slot": 2, "to": 5}
    assert game.action("rob B").type == "rob"
    assert len(game.action("move 2 to 5").code) == 2
    assert game.action("keep") == new_game("oriflamme", "de-2019", 5).action("keep")
    assert game.action("keep") != game.action("reveal")


def test_seats_are_letters_or_numbers() -> None:
    position = new_game("oriflamme", players=4).deal(first="C")
    assert position.to_act == 2
    assert position.view("d") == position.view(3)


def test_many_threads_may_share_one_game() -> None:
    game = new_game("oriflamme", "en-2019", 4)

    def play(seed: int) -> tuple[int, ...]:
        return [position for position, _ in random_game(game, seed)][-1].scores

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(play, range(40))) == [play(seed) for seed in range(40)]


def test_each_edition_sets_every_switch_and_every_value_can_be_played() -> None:
    for name, edition in EDITIONS.items():
        assert set(edition.switches) == set(SWITCHES[edition.game])
        for switch, values in SWITCHES[edition.game].items():
            assert edition.switches[switch] in values
            for value in values:
                switches: dict[str, bool | int | str] = {"edition": name, switch: value}
                if switch == "cards_per_turn" and value == 2:
                    switches["two_player_rounds"] = 6
                players = 2 if "two_player_rounds" in switches else 3
                game = new_game(edition.game, switches, players)
                assert game.ruleset.switches[switch] == value
                assert game.deal(seed=1).play_out().is_over


def test_every_switch_changes_some_of_300_games() -> None:
    for switch, values in SWITCHES["oriflamme"].items():
        default = EDITIONS["en-2019"].switches[switch]
        other = next(value for value in reversed(values) if value != default)
        games = [new_game("oriflamme", {switch: value}, 3) for value in (default, other)]
        ends = [[bytes(game.deal(seed).play_out(seed)) for seed in range(300)] for game in games]
        assert ends[0] != ends[1], switch


def test_damaged_bytes_are_refused_for_many_different_reasons() -> None:
    draw = random.Random(1)
    reasons = set()
    for spec in SPECS:
        for position, _ in list(random_game(new_game(*spec), 9))[::5]:
            for _ in range(120):
                try:
                    position.game.position_from_bytes(damaged_bytes(bytes(position), draw))
                except EngineError as error:
                    reasons.add(str(error))
    assert len(reasons) >= 30


def test_each_error_class_has_its_reason_in_the_contract() -> None:
    errors = [getattr(engine_cy, name) for name in engine_cy.__all__ if name.endswith("Error")]
    reasons = {f"ERROR_REASON_{error.reason}" for error in errors}
    assert reasons <= set(error_reason_pb2.ErrorReason.keys())


def test_game_ids_lists_all_games() -> None:
    assert game_ids() == ["oriflamme", "oriflamme_prototype", "castle_village_port", "kuhn_poker", "leduc_poker"]


# --- the generator ---------------------------------------------------------------------------------------------


def test_the_generator_gives_the_same_numbers_on_every_machine() -> None:
    """The expected numbers are those of xoshiro256++ seeded by splitmix64, in plain Python."""
    mask = 2**64 - 1

    def splitmix(x: int) -> tuple[int, int]:
        x = (x + 0x9E3779B97F4A7C15) & mask
        z = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        return x, z ^ z >> 31

    def rotate(x: int, k: int) -> int:
        return (x << k | x >> 64 - k) & mask

    for seed, stream in ((0, 0), (1, 0), (2**64 - 1, 7)):
        x = seed ^ splitmix(stream)[1]
        s = []
        for _ in range(4):
            x, z = splitmix(x)
            s.append(z)
        rng = Rng(seed, stream)
        for _ in range(50):
            expected = (rotate((s[0] + s[3]) & mask, 23) + s[0]) & mask
            t = s[1] << 17 & mask
            s[2] ^= s[0]
            s[3] ^= s[1]
            s[1] ^= s[2]
            s[0] ^= s[3]
            s[2] ^= t
            s[3] = rotate(s[3], 45)
            assert rng.bits() == expected


def test_numbers_below_a_bound_are_uniform() -> None:
    rng = Rng(3)
    for bound in (1, 2, 7, 10):
        counts = [0] * bound
        for _ in range(20_000):
            counts[rng.below(bound)] += 1
        assert max(abs(count - 20_000 / bound) for count in counts) < 5 * (20_000 / bound) ** 0.5
    assert all(rng.below(2**63 + 1) <= 2**63 for _ in range(100))
    with pytest.raises(ValueError, match="n: 0 is not in"):
        rng.below(0)

"""Check that a game keeps the laws on which every search relies.

`check_game` plays random games and checks all laws at their tables. The author of a game runs it, for instance in CI:
`eminence check-game ID`.
"""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from engine_cy.errors import EngineError, IllegalActionError
from engine_cy.record import Record, read_record
from engine_cy.registry import game_ids
from engine_cy.seats import CHANCE, SEATS
from engine_cy.values import Action, Game, Position, View

# The largest sets of worlds that are enumerated, and of which every world must be drawn.
ENUMERATED_MAX = 300
ALL_DRAWN_MAX = 12
DRAWS_PER_WORLD = 200


class BrokenLawError(Exception):
    """A game breaks a law: which one, in which game of the check, at which position, and how."""

    def __init__(self, law: str, seed: int, position: str, details: str) -> None:
        super().__init__(f"{law}: {details}, in game {seed}, at '{position}'")
        self.law, self.seed, self.position, self.details = law, seed, position, details


class GameCheck(NamedTuple):
    """The extent of a check that found no fault."""

    games: int
    positions: int
    enumerated_views: int  # views with an enumeration of their worlds that was compared with samples


@dataclass(slots=True)
class _Place:
    """A table of a random game, and the sources that laws may use."""

    position: Position
    draw: random.Random
    other_actions: set[Action]  # legal at earlier tables of the game
    enumerated_views: int = 0


class _LawBroken(Exception):
    """The details of a broken law."""


def check_game(game: Game, games: int = 20, seed: int = 0) -> GameCheck:
    """Play random games and check every law at each table; raise BrokenLawError at the first fault."""
    n_positions = n_enumerated = 0
    with _law("a game can be made again", seed, repr(game)):
        _check_identity(game)
    for number in range(seed, seed + games):
        draw = random.Random(number)
        with _law("equal seeds deal equal games", number, repr(game)):
            position = _deal(game, number)
        actions: list[str] = []
        start, legal_before = position, set[Action]()
        while True:
            place = _Place(position, draw, legal_before)
            for law, check in LAWS.items():
                with _law(law, number, str(position)):
                    check(place)
            n_positions += 1
            n_enumerated += place.enumerated_views
            if position.is_over:
                break
            legal = position.legal_actions()
            legal_before.update(legal)
            action = draw.choice(legal)
            actions.append(str(action))
            position = position.play(action)
        if game.id in game_ids():  # a record names its game by its id
            with _law("a record reads back", number, str(start)):
                _check_record(Record(start, tuple(actions)).ended())
    return GameCheck(games, n_positions, n_enumerated)


@contextmanager
def _law(law: str, seed: int, position: str) -> Iterator[None]:
    try:
        yield
    except (_LawBroken, EngineError) as error:
        raise BrokenLawError(law, seed, position, str(error)) from error


def _require(holds: bool, details: str) -> None:
    if not holds:
        raise _LawBroken(details)


# --- the game and its records ----------------------------------------------------------------------------------


def _check_identity(game: Game) -> None:
    _require(pickle.loads(pickle.dumps(game)) == game, "a pickle of the game is another game")


def _deal(game: Game, seed: int) -> Position:
    first = 0 if game.has_fixed_first else seed % game.n_players
    position = game.deal(seed, first)
    _require(game.deal(seed, first) == position, "two deals of the same seed differ")
    return position


def _check_record(record: Record) -> None:
    text = str(record)
    again = read_record(text)
    _require(again.end == record.end and str(again) == text, "the record does not read back as it was written")
    if record.game.has_history:
        for seat in range(record.game.n_players):
            seen = record.seen_from(seat)
            _require(read_record(str(seen)).end == seen.end, f"the record as {SEATS[seat]} saw it does not read back")
            whole = record.end
            assert isinstance(whole, Position)
            _require(seen.end == whole.view(seat), f"the record as {SEATS[seat]} saw it ends at another view")


# --- laws of every table ---------------------------------------------------------------------------------------


def _check_copies(place: _Place) -> None:
    position = place.position
    copies = {
        "a clone": position.clone(),
        "a pickle": pickle.loads(pickle.dumps(position)),
        "its bytes": position.game.position_from_bytes(bytes(position)),
    }
    for name, copy in copies.items():
        _require(copy == position and hash(copy) == hash(position), f"{name} gives another position")
        _require(copy.legal_actions() == position.legal_actions(), f"{name} gives other legal actions")


def _check_text(place: _Place) -> None:
    position = place.position
    again = position.game.position(str(position))
    _require(again == position, f"its text reads back as '{again}'")


def _check_turn(place: _Place) -> None:
    position = place.position
    legal = position.legal_actions()
    _require(position.to_act in (None, CHANCE, *range(position.game.n_players)), f"{position.to_act} is to act")
    _require(bool(legal) != position.is_over, "there are legal actions after the end, or none before it")


def _check_actions(place: _Place) -> None:
    position, before = place.position, bytes(place.position)
    legal = position.legal_actions()
    _require(len({str(action) for action in legal}) == len(legal), "two legal actions have the same text")
    for action in legal:
        _require(position.game.action(str(action)) == action, f"'{action}' reads back as another action")
        _require(position.game.action_from_steps(action.code) == action, f"the code of '{action}' is another action's")
        after = position.play(action)
        _require(position.play(str(action)) == after, f"'{action}' leads to two different positions")
    _require(bytes(position) == before, "playing an action changes the position")


def _check_illegal_actions(place: _Place) -> None:
    legal = set(place.position.legal_actions())
    for action in sorted(place.other_actions - legal, key=str)[:50]:
        try:
            place.position.play(action)
        except IllegalActionError:
            continue
        raise _LawBroken(f"'{action}' is accepted, and is not among the legal actions")


def _check_end(place: _Place) -> None:
    game = place.position.game
    end = place.position if place.position.is_over else place.position.play_out(place.draw.randrange(2**32))
    _require(end.is_over, "a game played out is not over")
    payoffs = end.payoffs
    _require(len(payoffs) == game.n_players and all(map(math.isfinite, payoffs)), f"the payoffs are {payoffs}")


def _check_views(place: _Place) -> None:
    position, game = place.position, place.position.game
    for seat in range(game.n_players):
        view = position.view(seat)
        name = f"the view of {SEATS[seat]}"
        _require(view.to_act == position.to_act, f"{name} says that {view.to_act} is to act")
        _require(game.view(str(view)) == view, f"{name} does not read back from its text '{view}'")
        _require(game.view_from_bytes(bytes(view), seat) == view, f"{name} does not read back from its bytes")
        expected = position.legal_actions() if position.to_act == seat else []
        _require(view.legal_actions() == expected, f"{name} has other legal actions than the position")
        forced = view.forced_action
        _require(forced is None or [forced] == expected, f"{name} forces '{forced}', which is not the only action")


def _check_worlds(place: _Place) -> None:
    for seat in range(place.position.game.n_players):
        view = place.position.view(seat)
        for _ in range(3):
            _check_world(view, view.sample_world(place.draw.randrange(2**32)), seat)
        _require(view.sample_world(1) == view.sample_world(1), f"equal seeds draw {SEATS[seat]} different worlds")


def _check_world(view: View, world: Position, seat: int) -> None:
    name = f"the world '{world}' for {SEATS[seat]}"
    _require(world.fault is None, f"{name} has a fault: {world.fault}")
    _require(world.to_act == view.to_act, f"{name} has another seat to act")
    seen = world.view(seat)
    _require(seen == view, f"{name} shows its observer '{seen}', not '{view}'")
    _require(seen.key == view.key, f"{name} has another key for its observer")
    if world.to_act == seat:
        _require(world.legal_actions() == view.legal_actions(), f"{name} gives its observer other legal actions")


def _check_enumeration(place: _Place) -> None:
    """Compare the sampler with the enumeration, at one view in five."""
    if place.draw.random() > 0.2:
        return
    seat = place.draw.randrange(place.position.game.n_players)
    view = place.position.view(seat)
    try:
        n_worlds = view.count_worlds()
    except EngineError:
        return  # this game draws worlds and does not count them
    if n_worlds > ENUMERATED_MAX:
        return
    place.enumerated_views += 1
    worlds = list(view.worlds())
    name = f"of the {n_worlds} worlds for {SEATS[seat]}"
    _require(len(set(worlds)) == len(worlds) == n_worlds, f"{name}, {len(set(worlds))} are listed")
    _require(place.position in worlds, f"{name}, none is the true position")
    for world in worlds:
        _check_world(view, world, seat)
    n_draws = n_worlds * DRAWS_PER_WORLD if n_worlds <= ALL_DRAWN_MAX else 50
    drawn = {view.sample_world(seed) for seed in range(n_draws)}
    _require(drawn <= set(worlds), f"{name}, none is '{next(iter(drawn - set(worlds)), None)}', which was drawn")
    if n_worlds <= ALL_DRAWN_MAX:
        _require(len(drawn) == n_worlds, f"{name}, {n_draws} draws found only {len(drawn)}")


LAWS: dict[str, Callable[[_Place], None]] = {
    "a copy is equal": _check_copies,
    "text reads back": _check_text,
    "at most one seat is to act": _check_turn,
    "legal actions are accepted": _check_actions,
    "other actions are refused": _check_illegal_actions,
    "a game ends with payoffs": _check_end,
    "a view has what its seat may know": _check_views,
    "a world looks the same to its observer": _check_worlds,
    "drawn worlds are those that are listed": _check_enumeration,
}

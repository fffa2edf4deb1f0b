"""The conversion between GameSpec and Game. Games are cached, because most requests are about few of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eminence.v1 import view_pb2 as pb
from engine_cy import Game, InvalidRulesetError, game_ids, new_game, record
from engine_cy.errors import listed
from server.codec.fields import RULESET_TEXT_MAX, check_text, required, under
from server.games import adapter_of
from server.refusals import Refusal, missing, split

NAME_MAX = 64

# Games by the bytes of their messages.
_known: dict[bytes, Game] = {}
_KEPT = 256


def read_game(spec: pb.GameSpec, field: str) -> Game:
    """Return the game of a message, from the cache if possible."""
    key = spec.SerializeToString(deterministic=True)
    game = _known.get(key)
    if game is None:
        game = _new_game(spec, field)
        if len(_known) >= _KEPT:
            _known.clear()
        _known[key] = game
    return game


def write_game(game: Game) -> pb.GameSpec:
    game_id, ruleset, players = game.spec
    spec = pb.GameSpec(game_id=game_id, players=players)
    if not adapter_of(game_id).member:
        ruleset = record.write_ruleset(game)
    spec.ruleset.CopyFrom(write_ruleset(game_id, ruleset))
    return spec


def write_ruleset(game_id: str, ruleset: str | Mapping[str, Any] | None) -> pb.Ruleset:
    """Write a ruleset: the name of an edition, and changes to it."""
    if ruleset is None or isinstance(ruleset, str):
        return pb.Ruleset(edition=ruleset or "")
    changes = dict(ruleset)
    message = pb.Ruleset(edition=changes.pop("edition", ""))
    adapter_of(game_id).write_changes(getattr(message, game_id), changes)
    return message


def check_game_id(game_id: str, field: str) -> str:
    if not game_id:
        raise missing(field, f"a game is required ({listed(game_ids())})")
    if game_id not in game_ids():
        raise Refusal("INVALID_RULESET", field, f"{game_id[:NAME_MAX]!r} is not a game ({listed(game_ids())})")
    return game_id


def _new_game(spec: pb.GameSpec, field: str) -> Game:
    game_id = check_game_id(spec.game_id, f"{field}.game_id")
    if not spec.players:
        raise missing(f"{field}.players")
    try:
        return new_game(game_id, _read_ruleset(spec.ruleset, game_id, f"{field}.ruleset"), spec.players)
    except InvalidRulesetError as error:
        path, why = split(error)
        raise Refusal(error.reason, f"{field}.{_field_of(path, game_id)}", why) from None


def _field_of(path: str, game_id: str) -> str:
    """Return the message's field for a path of the engine."""
    top, dot, name = path.partition(".")
    adapter = adapter_of(game_id)
    if top != "ruleset" or not dot or name == "edition" or not adapter.member:
        return path
    return f"ruleset.{game_id}.{adapter.changes_field(name)}"


def _read_ruleset(ruleset: pb.Ruleset, game_id: str, field: str) -> str | Mapping[str, Any] | None:
    changes = ruleset.WhichOneof("changes")
    if changes not in (None, game_id):
        raise Refusal("CONTRADICTION", f"{field}.{changes}", f"is for another game than {game_id}")
    adapter = adapter_of(game_id)
    if not adapter.member:
        return record.read_ruleset(check_text(ruleset.edition, RULESET_TEXT_MAX, f"{field}.edition"))
    values: dict[str, Any] = {"edition": ruleset.edition} if ruleset.edition else {}
    if changes is not None:
        values |= adapter.read_changes(getattr(ruleset, changes), f"{field}.{changes}")
    return values or None


def read_required_game(message: Any, field: str) -> Game:
    """Read the game of a message with a field `game`; refuse a message without one."""
    required(message, "game", field)
    return read_game(message.game, under(field, "game"))

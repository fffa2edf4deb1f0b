"""The conversion between GameSpec and Game. Games are cached, because most requests are about few of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eminence.v1 import view_pb2 as pb
from engine_cy import Game, InvalidRulesetError, game_ids, new_game, record
from engine_cy.errors import listed
from engine_cy.registry import is_game_id
from server.codec.fields import RULESET_TEXT_MAX, check_text, path_in, required
from server.codec.members import read_member, write_member
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
    if adapter_of(game_id).changes is None:
        ruleset = record.write_ruleset(game)
    spec.ruleset.CopyFrom(write_ruleset(game_id, ruleset))
    return spec


def write_ruleset(game_id: str, ruleset: str | Mapping[str, Any] | None) -> pb.Ruleset:
    """Write a ruleset: the name of an edition, and changes to it."""
    if ruleset is None or isinstance(ruleset, str):
        return pb.Ruleset(edition=ruleset or "")
    changes = dict(ruleset)
    message = pb.Ruleset(edition=changes.pop("edition", ""))
    adapter = adapter_of(game_id)
    write_member(message, adapter, adapter.write_changes(changes), adapter.changes_member)
    return message


def check_game_id(game_id: str, field: str) -> str:
    if not game_id:
        raise missing(field, f"a game is required ({listed(game_ids())})")
    if len(game_id) > NAME_MAX or not is_game_id(game_id):
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
    if top != "ruleset" or not dot or name == "edition" or adapter.changes is None:
        return path
    return f"ruleset.{adapter.changes_member}.{adapter.changes_field(name)}"


def _read_ruleset(ruleset: pb.Ruleset, game_id: str, field: str) -> str | Mapping[str, Any] | None:
    adapter = adapter_of(game_id)
    if ruleset.WhichOneof("changes") is None:
        if adapter.changes is None:
            return record.read_ruleset(check_text(ruleset.edition, RULESET_TEXT_MAX, f"{field}.edition"))
        return ruleset.edition or None
    expected = adapter.changes and adapter.changes.message
    part, path = read_member(ruleset, "changes", adapter, expected, field, adapter.changes_member)
    edition: dict[str, Any] = {"edition": ruleset.edition} if ruleset.edition else {}
    return {**edition, **adapter.read_changes(part, path)} or None


def read_required_game(message: Any, field: str) -> Game:
    """Read the game of a message with a field `game`; refuse a message without one."""
    required(message, "game", field)
    return read_game(message.game, path_in(field, "game"))

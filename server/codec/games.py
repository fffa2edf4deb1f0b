"""The conversion between GameSpec and Game. Games are cached, because most requests are about few of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eminence.v1 import castle_village_port_pb2 as castle_pb
from eminence.v1 import oriflamme_pb2 as oriflamme_pb
from eminence.v1 import view_pb2 as pb
from engine_cy import Game, InvalidRulesetError, new_game
from engine_cy.errors import listed
from server.codec.fields import EFFECTS, LOCATIONS, REWARDS, UNCOVERED, WHEN, check_length, required, under, which
from server.refusals import Refusal, missing, split

# The games with messages; the engine's toy games have none.
GAME_IDS = ("oriflamme", "oriflamme_prototype", "castle_village_port")
NAME_MAX = 64

# Games by the bytes of their messages.
_known: dict[bytes, Game] = {}
_KEPT = 256
_GROUPS = {"3-4": "for_three_or_four", "5": "for_five"}


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
    spec.ruleset.CopyFrom(write_ruleset(game_id, ruleset))
    return spec


def check_game_id(game_id: str, field: str) -> str:
    if not game_id:
        raise missing(field, f"a game is required ({listed(GAME_IDS)})")
    if game_id not in GAME_IDS:
        raise Refusal("INVALID_RULESET", field, f"{game_id[:NAME_MAX]!r} is not a game ({listed(GAME_IDS)})")
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
    if not path.startswith("ruleset.") or path == "ruleset.edition":
        return path
    for group, name in _GROUPS.items():
        path = re.sub(rf"\.{group}(\[\d+\])?$", rf".{name}.rewards\1", path)
    return path.replace("ruleset.", f"ruleset.{game_id}.", 1)


# --- reading ---------------------------------------------------------------------------------------------------


def _read_ruleset(ruleset: pb.Ruleset, game_id: str, field: str) -> Mapping[str, Any] | None:
    given: dict[str, Any] = {"edition": ruleset.edition} if ruleset.edition else {}
    changes = ruleset.WhichOneof("changes")
    if changes is None:
        return given or None
    if changes != game_id:
        raise Refusal("CONTRADICTION", f"{field}.{changes}", f"is for another game than {game_id}")
    if changes == "castle_village_port":
        given |= _read_tables(ruleset.castle_village_port, f"{field}.{changes}")
        return given
    for switch, value in getattr(ruleset, changes).ListFields():
        given[switch.name] = value
    if "uncovered_resolves" in given:
        given["uncovered_resolves"] = UNCOVERED.read(
            given["uncovered_resolves"], f"{field}.{changes}.uncovered_resolves"
        )
    return given


def _read_tables(tables: castle_pb.CastleVillagePortTables, field: str) -> dict[str, Any]:
    check_length(tables.cards, 15, f"{field}.cards")
    given: dict[str, Any] = {}
    if tables.cards:
        given["cards"] = [_read_card(card, f"{field}.cards[{c}]") for c, card in enumerate(tables.cards)]
    if tables.HasField("rewards"):
        given["rewards"] = {
            location.name: {
                group: _read_ranks(getattr(by_group, name), f"{field}.rewards.{location.name}.{name}")
                for group, name in _GROUPS.items()
                if by_group.HasField(name)
            }
            for location, by_group in tables.rewards.ListFields()
        }
    for name in ("hand_size", "rounds", "turns_per_round", "starting_gold", "hidden_gold"):
        if tables.HasField(name):
            given[name] = getattr(tables, name)
    return given


def _read_card(card: castle_pb.CastleVillagePortCard, field: str) -> dict[str, Any]:
    given: dict[str, Any] = {
        "value": card.value,
        "name": card.name,
        "when": WHEN.read(card.when, f"{field}.when"),
        "effect": EFFECTS.read(card.effect, f"{field}.effect"),
    }
    for name in ("amount", "below", "factor"):
        if card.HasField(name):
            given[name] = getattr(card, name)
    if card.who:
        given["who"] = card.who
    if card.where:
        given["where"] = LOCATIONS.read(card.where, f"{field}.where")
    return given


def _read_ranks(ranks: castle_pb.CastleVillagePortRanks, field: str) -> list[int | str]:
    check_length(ranks.rewards, 8, f"{field}.rewards")
    return [_read_reward(reward, f"{field}.rewards[{rank}]") for rank, reward in enumerate(ranks.rewards)]


def _read_reward(reward: castle_pb.CastleVillagePortReward, field: str) -> int | str:
    if which(reward, "reward", field) == "kind":
        return REWARDS.read(reward.kind, f"{field}.kind")
    return reward.gold


# --- writing ---------------------------------------------------------------------------------------------------


def write_ruleset(game_id: str, ruleset: str | Mapping[str, Any] | None) -> pb.Ruleset:
    """Write a ruleset: the name of an edition, and changes to it."""
    if ruleset is None or isinstance(ruleset, str):
        return pb.Ruleset(edition=ruleset or "")
    given = dict(ruleset)
    message = pb.Ruleset(edition=given.pop("edition", ""))
    if game_id == "oriflamme":
        if "uncovered_resolves" in given:
            given["uncovered_resolves"] = UNCOVERED.write(given["uncovered_resolves"])
        message.oriflamme.CopyFrom(oriflamme_pb.OriflammeSwitches(**given))
    elif game_id == "oriflamme_prototype":
        message.oriflamme_prototype.CopyFrom(oriflamme_pb.OriflammePrototypeSwitches(**given))
    else:
        message.castle_village_port.CopyFrom(_write_tables(given))
    return message


def _write_tables(given: dict[str, Any]) -> castle_pb.CastleVillagePortTables:
    cards, rewards = given.pop("cards", ()), given.pop("rewards", {})
    tables = castle_pb.CastleVillagePortTables(**given)
    for card in cards:
        words = {"when": WHEN.write(card["when"]), "effect": EFFECTS.write(card["effect"])}
        if "where" in card:
            words["where"] = LOCATIONS.write(card["where"])
        tables.cards.add(**{**card, **words})
    for location, by_group in rewards.items():
        for group, entries in by_group.items():
            ranks = getattr(getattr(tables.rewards, location), _GROUPS[group])
            ranks.SetInParent()
            for entry in entries:
                if isinstance(entry, int):
                    ranks.rewards.add(gold=entry)
                else:
                    ranks.rewards.add(kind=REWARDS.write(entry))
    return tables


def read_required_game(message: Any, field: str) -> Game:
    """Read the game of a message with a field `game`; refuse a message without one."""
    required(message, "game", field)
    return read_game(message.game, under(field, "game"))

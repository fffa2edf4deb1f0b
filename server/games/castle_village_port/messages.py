"""The messages of Castle, Village, Port: plans from the tables and actions of the engine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eminence.v1 import castle_village_port_pb2 as pb
from engine_cy.castle_village_port.actions import ACTIONS
from engine_cy.castle_village_port.editions import EFFECTS, WHEN
from engine_cy.castle_village_port.table import ASKS, Deal, SeenTable, WholeTable
from server.codec.action_plans import ActionPlans
from server.codec.fields import check_complete, words_of
from server.codec.plans import Plan
from server.games.message_adapter import Plans

_MOST = {
    **dict.fromkeys(("castle", "village", "port", "due", "ranked"), 75),
    **dict.fromkeys(("hand", "values", "cards"), 15),
    **dict.fromkeys(("gold", "remembered_gold", "orders", "piles", "hand_sizes", "deck_sizes", "selected"), 5),
    **dict.fromkeys(("secrets", "decks"), 5),
    "rewards": 8,
}
_REQUIRED = ("round", "turn", "first", "ask", "secrets", "decks")

PLANS = Plans(
    Plan(pb.CastleVillagePortView, SeenTable, required=_REQUIRED, most=_MOST),
    Plan(pb.CastleVillagePortPosition, WholeTable, required=_REQUIRED, most=_MOST),
    Plan(pb.CastleVillagePortDeal, Deal, required=_REQUIRED, most=_MOST),
    ActionPlans(pb.CastleVillagePortAction, ACTIONS),
    Plan(pb.CastleVillagePortView, SeenTable, most=_MOST),
)
TABLES = Plan(pb.CastleVillagePortTables, required=("when", "effect"), most=_MOST)

for enum, words in (
    (pb.CastleVillagePortEffect, EFFECTS),
    (pb.CastleVillagePortWhen, WHEN),
    (pb.CastleVillagePortAsk, set(ASKS) - {"walk"}),
):
    name = enum.DESCRIPTOR.name
    check_complete(f"{name} of castle_village_port.proto", words_of(enum.DESCRIPTOR).words.values(), words)

# The engine's names of the numbers of players for which rewards differ, and the contract's.
_GROUPS = {"3-4": "for_three_or_four", "5": "for_five"}


def renamed_groups(changes: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Rename the groups of players in changes to an edition."""
    if "rewards" not in changes:
        return dict(changes)
    rewards = {
        location: {names.get(group, group): list(ranks) for group, ranks in by_group.items()}
        for location, by_group in changes["rewards"].items()
    }
    return {**changes, "rewards": rewards}


def from_contract(changes: Mapping[str, Any]) -> dict[str, Any]:
    tables = renamed_groups(changes, {name: group for group, name in _GROUPS.items()})
    if "cards" in tables:
        # An empty name is one, but a message does not distinguish it from none.
        tables["cards"] = [{"name": "", **card} for card in tables["cards"]]
    return tables


def to_contract(changes: Mapping[str, Any]) -> dict[str, Any]:
    return renamed_groups(changes, _GROUPS)


def changes_field(path: str) -> str:
    """Return the field of the tables for a path of the engine."""
    for group, name in _GROUPS.items():
        path = re.sub(rf"\.{group}(\[\d+\])?$", rf".{name}.rewards\1", path)
    return path

"""The messages of Oriflamme and its prototype: plans from the tables and actions of the engine."""

from __future__ import annotations

from eminence.v1 import oriflamme_pb2 as pb
from engine_cy.oriflamme.actions import ACTIONS
from engine_cy.oriflamme.cards import PROTOTYPE, PUBLISHED
from engine_cy.oriflamme.table import ASKS, Deal, SeenTable, WholeTable
from server.codec.action_plans import ActionPlans
from server.codec.fields import Words, check_complete, words_of
from server.codec.plans import Plan
from server.games.message_adapter import Plans

CARDS = words_of(pb.OriflammeCard.DESCRIPTOR)
check_complete("OriflammeCard of oriflamme.proto", CARDS.words.values(), [card.id for card in (*PUBLISHED, *PROTOTYPE)])
check_complete("OriflammeAsk of oriflamme.proto", words_of(pb.OriflammeAsk.DESCRIPTOR).words.values(), ASKS)
# Ends of the queue are words of the engine; values of a switch have a hyphen.
WORDS = {"OriflammeUncovered": Words(pb.OriflammeUncovered, {"one_shot": "one-shot"})}

_MOST = {
    "slots": 64,
    "cards": 32,
    "hand": 32,
    "face_down": 32,
    **dict.fromkeys(("points", "piles", "hand_sizes", "secrets", "aside"), 5),
}
_REQUIRED = ("round", "first", "ask", "points", "secrets", "aside")

PLANS = Plans(
    Plan(pb.OriflammeView, SeenTable, required=_REQUIRED, most=_MOST),
    Plan(pb.OriflammePosition, WholeTable, required=_REQUIRED, most=_MOST),
    Plan(pb.OriflammeDeal, Deal, required=_REQUIRED, most=_MOST),
    ActionPlans(pb.OriflammeAction, ACTIONS),
    Plan(pb.OriflammeView, SeenTable, most=_MOST),
)
SWITCHES = Plan(pb.OriflammeSwitches, words=WORDS)
PROTOTYPE_SWITCHES = Plan(pb.OriflammePrototypeSwitches)

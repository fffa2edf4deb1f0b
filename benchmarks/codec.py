"""Measure how an action becomes a message: by the generic codec, and by code written by hand for one game.

    python -m benchmarks.codec

Neither side uses the cache of `write_action`. The goal is at most 1.2x the time of the code by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.measure import Effort, Side, alone, alternate
from eminence.v1 import view_pb2 as pb
from engine_cy import Action, new_game
from engine_cy.oriflamme.cards import write_card
from engine_cy.seats import SEATS
from server.codec.fields import write_seat
from server.games import adapter_of
from server.games.oriflamme.messages import CARDS

ENDS = {"front": 1, "back": 2}
GOAL = 1.2


def actions_of_games(n: int = 4) -> list[Action]:
    """Return the actions of whole games of Oriflamme, each once."""
    game = new_game("oriflamme", players=3)
    actions: dict[str, Action] = {}
    for seed in range(n):
        position = game.deal(seed)
        while position.to_act is not None:
            legal = position.legal_actions()
            actions |= {str(action): action for action in legal}
            position = position.play(legal[seed % len(legal)])
    return list(actions.values())


def write_by_hand(action: Action) -> pb.Action:
    """Write the same message as the codec."""
    fields = action.fields
    verb = fields["type"]
    message = pb.Action(text=_text(verb, fields, action.game.cards))  # type: ignore[attr-defined]
    nested: Any = getattr(message.oriflamme, verb)
    nested.SetInParent()
    if verb == "place":
        if fields["card"] != "?":
            nested.card = CARDS.write(fields["card"])
        if "on" in fields:
            nested.on = fields["on"]
        else:
            nested.at = ENDS[fields["at"]]
    elif verb == "rob":
        nested.player = write_seat(fields["player"])
    elif verb == "pair":
        nested.slot, nested.other = fields["slot"], fields["other"]
    elif verb in ("target", "copy", "move"):
        nested.slot = fields["slot"]
    if verb == "move":
        if "on" in fields:
            nested.on = fields["on"]
        else:
            nested.to = fields["to"]
    return message


def _text(verb: str, fields: Any, cards: Any) -> str:
    if verb == "place":
        place = f"on {fields['on']}" if "on" in fields else fields["at"]
        return f"place {write_card(fields['card'], cards)} {place}"
    elif verb == "rob":
        return f"rob {SEATS[fields['player']]}"
    elif verb == "move":
        place = f"on {fields['on']}" if "on" in fields else f"to {fields['to']}"
        return f"move {fields['slot']} {place}"
    elif verb == "pair":
        return f"pair {fields['slot']} {fields['other']}"
    return f"{verb} {fields['slot']}" if "slot" in fields else verb


def write_by_codec(action: Action) -> pb.Action:
    message = pb.Action()
    adapter_of(action.game.id).write_action(action, message)
    return message


def side(name: str, write: Callable[[Action], pb.Action], actions: list[Action]) -> Side:
    def run(n: int) -> float:
        for _ in range(n):
            for action in actions:
                write(action)
        return n * len(actions)

    return Side(name, run)


def main() -> None:
    actions = actions_of_games()
    assert all(write_by_codec(action) == write_by_hand(action) for action in actions)
    with alone():
        rounds = alternate(
            [side("codec", write_by_codec, actions), side("by hand", write_by_hand, actions)], Effort(rounds=7)
        )
    ratio = rounds.times_as_fast("by hand", "codec")
    codec_us, hand_us = rounds.ns("codec") / 1000, rounds.ns("by hand") / 1000
    print(f"{len(actions)} actions: codec {codec_us:.2f} us, by hand {hand_us:.2f} us")
    print(f"write_action: {ratio.value:.2f}x the time of code by hand (spread {ratio.spread:.0%}; goal {GOAL})")


if __name__ == "__main__":
    main()

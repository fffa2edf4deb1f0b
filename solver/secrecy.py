"""The worth of a card that the other players do not know, and how likely they are to guess it."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from solver.answer import Estimate, estimate
from solver.merge import Share, why_ended
from solver.numbers import sum_differences
from solver.question import InformationQuestion


@dataclass(frozen=True, slots=True)
class Information:
    """About one of the observer's own face-down cards.

    `worth` is the observer's win if no other player knows the card less the win if all know it, in the same worlds:
    what turning it up would give away. `guessed` is, for each opponent, the probability that they give the card's true
    kind, from what they see and with the same model of beliefs.
    """

    place: dict[str, int | str]
    card: str
    worth: Estimate
    guessed: dict[int, float]


def information_of(question: InformationQuestion, shares: Sequence[Share]) -> tuple[Information, ...]:
    """Return the answer made of all parts, a secret and a known card in turn; nothing if a part did not end."""
    if shares and why_ended(shares) != "iterations":
        return ()
    view = question.view
    others = [seat for seat in range(view.game.n_players) if seat != view.observer]
    found = []
    for number, (spot, kind) in enumerate(question.spots):
        secret, known = (array("d", share.payoffs) for share in shares[2 * number : 2 * number + 2])
        learned = len(secret) // 2
        total, squares = sum_differences(secret, known, learned, len(secret))
        guessed = question.secret(number).guessed
        found.append(
            Information(
                place=view.place_of(spot),
                card=view.game.name_of(kind),
                worth=estimate(len(secret) - learned, total, squares),
                # The own cards of another player say nothing about this one.
                guessed=dict.fromkeys(others, guessed),
            )
        )
    return tuple(found)

"""Compute the value of keeping a card secret, and the probability that the other players guess it."""

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
    """Hold the value of one of the observer's face-down cards as a secret.

    `worth` is the observer's win if no other player knows the card minus the win if all know it, in the same worlds:
    the loss from turning it up. `guessed` is each opponent's probability of the card's true kind, given their view and
    the same belief model.
    """

    place: dict[str, int | str]
    card: str
    worth: Estimate
    guessed: dict[int, float]


def information_of(question: InformationQuestion, shares: Sequence[Share]) -> tuple[Information, ...]:
    """Return the answer made of all parts, a secret and a known arm for each card; empty if a part did not finish."""
    if shares and why_ended(shares) != "iterations":
        return ()
    view = question.view
    others = [seat for seat in range(view.game.n_players) if seat != view.observer]
    result = []
    for number, (spot, kind) in enumerate(question.spots):
        secret, known = (array("d", share.payoffs) for share in shares[2 * number : 2 * number + 2])
        learned = len(secret) // 2
        total, squares = sum_differences(secret, known, learned, len(secret))
        guessed = question.secret(number).guessed
        result.append(
            Information(
                place=view.place_of(spot),
                card=view.game.name_of(kind),
                worth=estimate(len(secret) - learned, total, squares),
                # All opponents have one probability, as their own cards are no evidence about this one.
                guessed=dict.fromkeys(others, guessed),
            )
        )
    return tuple(result)

"""The variants of poker, one row each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """The cards and the betting limits of a variant."""

    cards: tuple[str, ...]  # weakest first
    suits: int  # cards of each rank, which are adjacent in `cards`
    raise_sizes: tuple[int, ...]  # chips, for each round of betting; the public card is dealt before the second
    raises_max: int  # in a round
    pass_or_bet: bool  # `pass` and `bet` replace fold, call and raise


VARIANTS = {
    # Kuhn, "A simplified two-person poker", 1950.
    "kuhn_poker": Variant(("J", "Q", "K"), suits=1, raise_sizes=(1,), raises_max=1, pass_or_bet=True),
    # Southey and others, "Bayes' bluff: opponent modelling in poker", 2005.
    "leduc_poker": Variant(
        ("Ja", "Jb", "Qa", "Qb", "Ka", "Kb"), suits=2, raise_sizes=(2, 4), raises_max=2, pass_or_bet=False
    ),
}

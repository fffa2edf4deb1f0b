"""Measure playing strength by matches of one A against n-1 copies of B.

The same deal is played with A in each seat, so games = deals x n. The *score* is A's mean share of the win. The games
of a deal are not independent, so each deal's mean is one observation for the 95 % interval. A fair share (1/n) is 0
Elo. All random numbers, of deals, chance and searches, are derived from the seed and the deal's number. The games of a
deal share them, so A against itself scores exactly a fair share. With an iteration budget, a match repeats to the last
digit with any pool and any number of workers.

A match appends each deal to a file as soon as it is over, and can be resumed from there. A sequential test (SPRT) stops
a match early: a generalized one on the deals' means, taken as normally distributed, with error probabilities of 5 %.
"""

from solver.match.book import Book, OtherMatchError
from solver.match.elo import MatchScore, Sprt, elo_of, llr_of, score_of, share_of
from solver.match.play import Match, Outcome, PlayedDeal, choose, play_deal, play_game
from solver.match.players import Guest, Turn, read_player, with_settings
from solver.match.report import Report, as_json, as_text, elo_text, per_decision
from solver.match.runner import run

__all__ = [
    "Book",
    "Guest",
    "Match",
    "MatchScore",
    "OtherMatchError",
    "Outcome",
    "PlayedDeal",
    "Report",
    "Sprt",
    "Turn",
    "as_json",
    "as_text",
    "choose",
    "elo_of",
    "elo_text",
    "llr_of",
    "per_decision",
    "play_deal",
    "play_game",
    "read_player",
    "run",
    "score_of",
    "share_of",
    "with_settings",
]

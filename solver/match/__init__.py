"""How strong a way to play is: matches of one A against n-1 copies of B.

The same deal is played with A in each seat, so that games = deals x n. The *score* is A's mean share of the win. As the
games of a deal are not independent, each deal's mean is one observation for the 95 % interval. In Elo, a fair share
(1/n) is 0. All random numbers, of deals, chance and searches, follow from the seed and the deal's number: the games of
a deal have them in common, so A against itself scores exactly a fair share, and with a budget of iterations a match
repeats to the last digit, whatever the pool and the number of its workers.

A file to resume has each deal as soon as it is over. A sequential test stops as soon as one of two strengths is the
likelier one: a generalized one on the deals' means, taken as normally distributed, both errors 5 %.
"""

from solver.match.book import Book, OtherMatchError
from solver.match.elo import MatchScore, Sprt, elo_of, llr_of, score_of, share_of
from solver.match.play import Deal, Match, Outcome, choose, play_deal, play_game
from solver.match.players import Guest, Turn, read_player, with_settings
from solver.match.report import Report, as_json, as_text, elo_text, per_decision
from solver.match.runner import run

__all__ = [
    "Book",
    "Deal",
    "Guest",
    "Match",
    "MatchScore",
    "OtherMatchError",
    "Outcome",
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

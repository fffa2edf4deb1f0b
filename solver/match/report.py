"""Write the result of a match as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal, NamedTuple

from solver.match.elo import LLR_BOUND, MatchScore, Sprt, score_of
from solver.match.play import Match, PlayedDeal


class Report(NamedTuple):
    """Hold the deals of a match, and the speed of play."""

    match: Match
    deals: list[PlayedDeal]
    sprt: Sprt | None
    workers: int
    moves_per_s: float | None  # None: all deals came from the file

    @property
    def score(self) -> MatchScore:
        return score_of([deal.mean for deal in self.deals], self.match.players)


def per_decision(report: Report, side: Literal[0, 1]) -> float:
    """Return the mean iterations of a side for each decision with two options or more."""
    decisions = sum(deal.decisions[side] for deal in report.deals)
    return sum(deal.iterations[side] for deal in report.deals) / max(decisions, 1)


def as_json(report: Report) -> dict[str, Any]:
    match, score = report.match, report.score
    game, ruleset, players = match.game
    values = {
        "a": match.a.name,
        "b": match.b.name,
        "game": game,
        "ruleset": ruleset,
        "players": players,
        "budget": {name: value for name, value in asdict(match.budget).items() if value is not None},
        "seed": match.seed,
        "games": score.games,
        "deals": len(report.deals),
        "score": round(score.mean, 5),
        "score_low": round(score.low, 5),
        "score_high": round(score.high, 5),
        # + 0.0: a fair share has Elo 0.0, never -0.0.
        "elo": round(score.elo(score.mean), 1) + 0.0,
        "low": round(score.elo(score.low), 1) + 0.0,
        "high": round(score.elo(score.high), 1) + 0.0,
        "decisions": sum(sum(deal.decisions) for deal in report.deals),
        "iterations_per_decision": {"a": round(per_decision(report, 0), 1), "b": round(per_decision(report, 1), 1)},
    }
    if report.sprt:
        llr = report.sprt.llr(report.deals, players)
        values["sprt"] = {**report.sprt._asdict(), "llr": round(llr, 3), "verdict": report.sprt.verdict(llr)}
    moves_per_s = None if report.moves_per_s is None else round(report.moves_per_s, 1)
    return {**values, "workers": report.workers, "moves_per_s": moves_per_s}


def as_text(report: Report) -> str:
    match, score = report.match, report.score
    speed = "all deals are from the file" if report.moves_per_s is None else f"{report.moves_per_s:.0f} moves/s"
    deals = counted(len(report.deals), "deal")
    lines = [
        f"{match.a.name} against {match.players - 1} x {match.b.name}: {score.games} games ({deals})",
        elo_text(score),
        f"iterations per decision: {per_decision(report, 0):.0f} against {per_decision(report, 1):.0f}",
        f"{speed}, {counted(report.workers, 'worker')}",
    ]
    if report.sprt:
        llr = report.sprt.llr(report.deals, match.players)
        lines.insert(2, f"LLR {llr:.2f} (decided at ±{LLR_BOUND:.2f}): {report.sprt.verdict(llr)}")
    return "\n".join(lines)


def elo_text(score: MatchScore) -> str:
    elo, low, high = (score.elo(share) for share in (score.mean, score.low, score.high))
    return f"score {score.mean:.3f}, Elo {round(elo):+d} [{round(low):+d}, {round(high):+d}]"


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

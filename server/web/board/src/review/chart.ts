// The graph of win chances: the points of the HTML report's graph, with their errors.

import type { ReviewedDecision } from "../../generated/eminence/v1/solver_pb";
import { indexOf } from "../games/game";
import type { SeatIndex } from "../table/drawing";
import { isBad, nameOfGrade, type GradeName } from "./grades";
import type { ReviewedGame } from "./game.svelte";

/** A seat's expected share of the win after `at` actions. */
export interface Point {
  at: number;
  share: number;
  error: number;
}

/** A decision that lost something. */
export interface Mark extends Point {
  grade: GradeName;
}

export interface Line {
  seat: SeatIndex;
  points: Point[];
  marks: Mark[];
}

/** Return the seat's share of the win after its decision; at least 0, although the loss is measured in other worlds. */
export function shareAfter({ best, winLoss }: ReviewedDecision): number | null {
  return best?.win === undefined ? null : Math.max(best.win.mean - (winLoss?.mean ?? 0), 0);
}

/**
 * Return a line for each graded seat, from an even share to the outcome. A drop at one action is the loss of the seat's
 * own decision; a change between two actions is luck.
 */
export function linesOf(game: ReviewedGame): Line[] {
  const players = game.spec?.players ?? 2;
  return game.seats.map((seat) => {
    const points: Point[] = [{ at: 0, share: 1 / players, error: 0 }];
    const marks: Mark[] = [];
    for (const decision of game.decisions.values()) {
      if (indexOf(decision.seat) !== seat || decision.best?.win === undefined) continue;
      const { mean, standardError: error = 0 } = decision.best.win;
      const after = { at: decision.index, share: shareAfter(decision)!, error: error + (decision.winLoss?.standardError ?? 0) };
      points.push({ at: decision.index, share: mean, error });
      if (decision.winLoss?.mean) points.push(after);
      const grade = nameOfGrade(decision.grade);
      if (!decision.forced && isBad(grade)) marks.push({ ...after, grade });
    }
    const outcome = game.summary?.seats.find((review) => indexOf(review.seat) === seat)?.outcome;
    const end = game.plies.at(-1);
    if (outcome !== undefined && end?.over) points.push({ at: end.index, share: outcome, error: 0 });
    return { seat, points, marks };
  });
}

/** Return the least and the most of the graph: 0 and 1, unless payoffs are no shares of a win. */
export function scaleOf(lines: Line[]): [number, number] {
  const shares = lines.flatMap((line) => line.points.map((point) => point.share));
  return [Math.min(0, ...shares), Math.max(1, ...shares)];
}


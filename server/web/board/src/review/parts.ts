// The way of a seat from an even share of the win to its outcome.

import type { SeatReview } from "../../generated/eminence/v1/solver_pb";

export type PartName = "fair" | "chance" | "opponents" | "hidden" | "own" | "outcome";

/** A part, in tenths of a percent. */
export interface Part {
  name: PartName;
  share: number;
}

/** Return the parts in tenths of a percent, which add up: `hidden` takes the rounding of all. Empty if luck is unknown. */
export function partsOf({ luckParts, winLoss, outcome }: SeatReview, players: number): Part[] {
  if (luckParts === undefined || outcome === undefined) return [];
  const tenths = (share: number) => Math.round(1000 * share);
  const fair = tenths(1 / players);
  const chance = tenths(luckParts.chance);
  const opponents = luckParts.opponents === undefined ? null : tenths(luckParts.opponents);
  const own = tenths(-(winLoss?.mean ?? 0));
  const end = tenths(outcome);
  const hidden = end - fair - chance - own - (opponents ?? 0);
  return [
    { name: "fair", share: fair },
    { name: "chance", share: chance },
    ...(opponents === null ? [] : [{ name: "opponents", share: opponents } as const]),
    { name: "hidden", share: hidden },
    { name: "own", share: own },
    { name: "outcome", share: end },
  ];
}

// The end of a game, when every card may be shown: the last table as each seat saw it.

import type { View } from "../../generated/eminence/v1/view_pb";
import { drawingOf } from "../games";
import type { Card, Drawing, SeatIndex } from "../table/drawing";

/** Return the cards of a seat that lay face down at the end. */
export function hiddenCards(finals: readonly View[], seat: SeatIndex): Card[] {
  const view = finals[seat];
  const rows = (view && drawingOf(view)?.rows) ?? [];
  return rows.flatMap((row) =>
    row.stacks.flatMap((stack) => stack.cards.filter((card) => card.owner === seat && card.face === "known")),
  );
}

/** Return a drawing of the last table with every card shown. */
export function turnedUp(drawing: Drawing, finals: readonly View[]): Drawing {
  const kinds = new Map(finals.flatMap((_, seat) => hiddenCards(finals, seat)).map((card) => [card.key, card.kind]));
  const shown = (card: Card): Card =>
    card.face === "back" && kinds.has(card.key) ? { ...card, face: "known", kind: kinds.get(card.key)! } : card;
  const rows = drawing.rows.map((row) => ({
    ...row,
    stacks: row.stacks.map((stack) => ({ ...stack, cards: stack.cards.map(shown) })),
  }));
  return { ...drawing, rows };
}

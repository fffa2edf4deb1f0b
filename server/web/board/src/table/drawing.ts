// What a table looks like, for every game: rows of stacks, hands, and a line for each seat.

import type { Thing } from "../games/picks";

/** A seat as an index: 0 is A. */
export type SeatIndex = number;

export const LETTERS = "ABCDE";

/** A card on the table, as the observer sees it. */
export interface Card {
  /** Equal for one card in two drawings, so that its move can be animated. */
  key: string;
  owner: SeatIndex;
  /** Its kind as `kindOf` of the game names it; null if the observer does not know the card. */
  kind: string | null;
  /** `known`: face down, but the observer knows it. */
  face: "up" | "known" | "back";
  tokens: number;
  isActing: boolean;
}

/** The cards at one place, top card first. */
export interface Stack {
  thing: Thing;
  /** The number of the place in notation. */
  number: number;
  cards: Card[];
}

/** Places beside each other. Gap i is in front of stack i; the last gap is behind the last stack. */
export interface Row {
  id: string;
  stacks: Stack[];
  gaps: Thing[];
}

/** The public facts about a seat. */
export interface SeatLine {
  seat: SeatIndex;
  owned: number | null;
  handSize: number;
  deckSize: number | null;
  pile: string[];
  hasSelected: boolean;
  /** The row in which the seat must place its card. */
  order: string | null;
}

export interface Drawing {
  observer: SeatIndex;
  /** The seat to act; null for chance, and when the game is over. */
  toAct: SeatIndex | null;
  round: number;
  /** The question to the seat to act: "place", "reveal", ..., "over". */
  ask: string;
  /** What the seats collect. */
  unit: "points" | "gold";
  rows: Row[];
  /** The observer's hand, and the selected card, which lies face down on the table. */
  hand: { thing: Thing; kind: string; isSelected: boolean }[];
  seats: SeatLine[];
}

/** Return a drawing with the hidden cards that other seats see: what nobody saw alone. */
export function withTruth(drawing: Drawing, others: readonly Drawing[]): Drawing {
  const kinds = new Map<string, string>();
  for (const other of others) {
    for (const card of other.rows.flatMap((row) => row.stacks).flatMap((stack) => stack.cards)) {
      if (card.kind !== null) kinds.set(card.key, card.kind);
    }
  }
  const uncovered = (card: Card): Card =>
    card.kind === null && kinds.has(card.key) ? { ...card, kind: kinds.get(card.key)!, face: "known" } : card;
  const rows = drawing.rows.map((row) => ({
    ...row,
    stacks: row.stacks.map((stack) => ({ ...stack, cards: stack.cards.map(uncovered) })),
  }));
  return { ...drawing, rows };
}

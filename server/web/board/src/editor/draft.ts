// A position that is being set up. It may be incomplete or impossible: only the server knows the rules, and names faults.

import type { GameSpec, View } from "../../generated/eminence/v1/view_pb";
import type { SeatIndex } from "../table/drawing";

/** A card on the table. `kind` is null for a card that the observer does not know. */
export interface DraftCard {
  owner: SeatIndex;
  kind: string | null;
  isUp: boolean;
  tokens: number;
  /** Its number among the cards of its owner, in the order of placement; 0 if that is left to the server. */
  nth: number;
}

/** The cards at one place, top card first. */
export interface DraftStack {
  key: number;
  cards: DraftCard[];
  isActing: boolean;
}

/** What a draft holds. Values are text, as in fields; the empty text is left out, and the server fills it in. */
export interface Draft {
  observer: SeatIndex;
  rows: DraftStack[][];
  values: Record<string, string>;
  /** Lists of cards: kinds, or the cards of rows by their names. */
  lists: Record<string, string[]>;
}

/** A place to which a complaint belongs: "value:round", "list:hand", "card:0:3:1" (row, stack, depth); "" for all. */
export type Place = string;

export const cardPlace = (row: number, stack: number, depth: number): Place => `card:${row}:${stack}:${depth}`;

/** Return the place of the card that acts; that of the question if no card does. */
export function actingPlace({ rows }: Draft): Place {
  const row = rows.findIndex((stacks) => stacks.some(({ isActing }) => isActing));
  return row < 0 ? "value:ask" : cardPlace(row, rows[row]!.findIndex(({ isActing }) => isActing), 0);
}

/** A value of the table. `id` with a seat is that of one seat: "owned:2". */
export interface ValueField {
  id: string;
  kind: "number" | "seat" | "choice" | "card" | "rowCard" | "flag";
  choices?: readonly string[];
  /** The key of its name, if that is not its id. */
  name?: string;
}

/** The part of a game in its editor. */
export interface EditedGame {
  rows: readonly string[];
  /** Whether cards lie on each other, face down, and with tokens. */
  hasStacks: boolean;
  values: readonly ValueField[];
  seatValues: readonly ValueField[];
  /** Lists of cards of the table, beside the hand and the piles of seats. */
  lists: readonly string[];
  read(table: View["table"]): Draft | null;
  write(draft: Draft, spec: GameSpec): View["table"];
  /** Return the place of a field of the message, such as "table.slots[2].cards[0].tokens". */
  placeOf(field: string, draft: Draft, players: number): Place;
}

export const emptyDraft = ({ rows }: EditedGame): Draft => ({ observer: 0, rows: rows.map(() => []), values: {}, lists: {} });

let lastKey = 0;
export const newKey = () => ++lastKey;

export const stackOf = (cards: DraftCard[], isActing = false): DraftStack => ({ key: newKey(), cards, isActing });

/** Return the number of a value; 0 if it is left out, or no number that a field can hold. */
export function numberOf(text: string | undefined): number {
  const number = Number(text ?? "");
  return Number.isInteger(number) && Math.abs(number) < 2 ** 31 ? number : 0;
}

export const seatIds = (id: string, players: number) => Array.from({ length: players }, (_, seat) => `${id}:${seat}`);

/** Return the values of all seats; an empty list if all are left out, because the server then fills them in. */
export function seatValues(draft: Draft, id: string, players: number): string[] {
  const values = seatIds(id, players).map((each) => draft.values[each] ?? "");
  return values.every((value) => value === "") ? [] : values;
}

/** Return the numbers in brackets of a field: "slots[2].cards[0]" has 2 and 0. */
export const indicesOf = (field: string) => [...field.matchAll(/\[(\d+)\]/g)].map((found) => Number(found[1]));

// A game that the page can draw. Another game needs nothing here: its view is shown as text, its actions as buttons.

import { Seat } from "../../generated/eminence/v1/seat_pb";
import type { Action, View } from "../../generated/eminence/v1/view_pb";
import { LETTERS, type Drawing, type SeatIndex } from "../table/drawing";
import type { Pick } from "./picks";

type Table = NonNullable<View["table"]>;
type Move = NonNullable<Action["action"]>;

/** The ids of the games that have messages of their own. */
export type TypedId = "oriflamme" | "castleVillagePort";

type ViewOf<Id extends TypedId> = Extract<Table, { case: Id }>["value"];
type ActionOf<Id extends TypedId> = Extract<Move, { case: Id }>["value"];

/** The functions of a game with messages of its own. */
export interface TypedGame<Id extends TypedId> {
  draw(view: ViewOf<Id>): Drawing;
  picksOf(action: ActionOf<Id>, view: ViewOf<Id>): Pick[];
}

/** Return the index of a seat; null for a seat that is not set. */
export const indexOf = (seat: Seat): SeatIndex | null => (seat === Seat.UNSPECIFIED ? null : seat - Seat.A);

export const letterOf = (seat: SeatIndex): string => LETTERS[seat] ?? "?";

// Oriflamme and its prototype in the editor.

import { create } from "@bufbuild/protobuf";
import {
  OriflammeAsk,
  OriflammeCard,
  OriflammeViewSchema,
  type OriflammeSlot,
} from "../../generated/eminence/v1/oriflamme_pb";
import { Seat } from "../../generated/eminence/v1/seat_pb";
import { indexOf } from "../games/game";
import { idOf } from "../games/oriflamme";
import type { SeatIndex } from "../table/drawing";
import {
  actingPlace,
  cardPlace,
  indicesOf,
  numberOf,
  seatIds,
  seatValues,
  stackOf,
  type Draft,
  type DraftCard,
  type EditedGame,
} from "./draft";

const ASKS = Object.values(OriflammeAsk)
  .filter((value): value is OriflammeAsk => typeof value === "number" && value > 0)
  .map((ask) => OriflammeAsk[ask].toLowerCase());

const cardOf = (kind: string | null): OriflammeCard =>
  OriflammeCard[(kind ?? "").toUpperCase() as keyof typeof OriflammeCard] ?? OriflammeCard.UNSPECIFIED;
export const seatOf = (index: SeatIndex): Seat => Seat.A + index;
export const seatIn = (value: string | undefined): Seat => (value ? seatOf(numberOf(value)) : Seat.UNSPECIFIED);
export const valueOf = (seat: Seat) => String(indexOf(seat) ?? "");

/** Return the face-down cards of the observer, in the order of the message, with their places. */
function ownFaceDown(draft: Draft): { card: DraftCard; place: string }[] {
  return draft.rows[0]!.flatMap(({ cards }, stack) =>
    cards.flatMap((card, depth) =>
      card.owner === draft.observer && !card.isUp ? [{ card, place: cardPlace(0, stack, depth) }] : [],
    ),
  );
}

function readSlot(slot: OriflammeSlot, known: OriflammeCard[], observer: SeatIndex, isActing: boolean) {
  const owner = indexOf(slot.family) ?? 0;
  const cards = slot.cards.map(({ card, tokens, nth }): DraftCard => {
    const kind = card || (owner === observer ? known.shift() : undefined);
    return { owner, kind: kind ? idOf(kind) : null, isUp: card !== OriflammeCard.UNSPECIFIED, tokens, nth };
  });
  return stackOf(cards, isActing);
}

export const oriflamme: EditedGame = {
  rows: ["queue"],
  hasStacks: true,
  values: [
    { id: "round", kind: "number" },
    { id: "first", kind: "seat" },
    { id: "ask", kind: "choice", choices: ASKS },
    { id: "toAct", kind: "seat" },
    { id: "effect", kind: "card" },
  ],
  seatValues: [{ id: "owned", kind: "number" }],
  lists: [],

  read(message) {
    if (message.case !== "oriflamme") return null;
    const { table, own, observer: seat } = message.value;
    if (table === undefined) return null;
    const observer = indexOf(seat) ?? 0;
    const known = [...(own?.faceDown ?? [])];
    const draft: Draft = {
      observer,
      rows: [table.slots.map((slot, number) => readSlot(slot, known, observer, number === table.cursor))],
      values: {
        round: String(table.round || ""),
        first: valueOf(table.first),
        ask: table.ask ? OriflammeAsk[table.ask].toLowerCase() : "",
        toAct: valueOf(table.toAct),
        effect: table.acting ? idOf(table.acting) : "",
      },
      lists: { hand: (own?.hand ?? []).map(idOf) },
    };
    table.points.forEach((points, player) => (draft.values[`owned:${player}`] = String(points)));
    table.piles.forEach(({ cards }, player) => (draft.lists[`pile:${player}`] = cards.map(idOf)));
    return draft;
  },

  write(draft, { players }) {
    const queue = draft.rows[0]!;
    const cursor = queue.findIndex((stack) => stack.isActing);
    const { round, first, ask, toAct, effect } = draft.values;
    const piles = seatIds("pile", players).map((id) => draft.lists[id] ?? []);
    // The server numbers all cards of a family or none.
    const unnumbered = new Set(queue.flatMap(({ cards }) => cards).flatMap(({ owner, nth }) => (nth === 0 ? [owner] : [])));
    const value = create(OriflammeViewSchema, {
      observer: seatOf(draft.observer),
      table: {
        slots: queue.map(({ cards }) => ({
          family: seatOf(cards[0]!.owner),
          cards: cards.map(({ kind, isUp, tokens, owner, nth }) => ({
            card: isUp ? cardOf(kind) : OriflammeCard.UNSPECIFIED,
            tokens,
            nth: unnumbered.has(owner) ? 0 : nth,
          })),
        })),
        round: numberOf(round),
        first: seatIn(first),
        ask: OriflammeAsk[(ask ?? "").toUpperCase() as keyof typeof OriflammeAsk] ?? OriflammeAsk.UNSPECIFIED,
        toAct: seatIn(toAct),
        acting: cardOf(effect ?? null),
        ...(cursor < 0 ? {} : { cursor }),
        points: seatValues(draft, "owned", players).map(numberOf),
        piles: piles.some((pile) => pile.length > 0) ? piles.map((kinds) => ({ cards: kinds.map(cardOf) })) : [],
      },
      own: { hand: (draft.lists.hand ?? []).map(cardOf), faceDown: ownFaceDown(draft).map(({ card }) => cardOf(card.kind)) },
    });
    return { case: "oriflamme", value };
  },

  placeOf(field, draft) {
    const [first = 0, second = 0] = indicesOf(field);
    if (field.startsWith("table.slots[")) return cardPlace(0, first, second);
    if (field === "table.cursor") return actingPlace(draft);
    if (field.startsWith("own.face_down")) return ownFaceDown(draft)[first]?.place ?? "list:hand";
    if (field.startsWith("own.")) return "list:hand";
    if (field.startsWith("table.piles[")) return `list:pile:${first}`;
    if (field.startsWith("table.points[")) return `value:owned:${first}`;
    const name = /^table\.(round|first|ask|to_act|acting)$/.exec(field)?.[1];
    if (name === undefined) return "";
    return `value:${{ to_act: "toAct", acting: "effect" }[name] ?? name}`;
  },
};

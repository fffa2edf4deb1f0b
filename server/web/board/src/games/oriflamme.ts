// Oriflamme and its prototype: the queue as one row of stacks.

import {
  OriflammeAsk,
  OriflammeCard,
  OriflammeEnd,
  type OriflammeAction,
  type OriflammePlayedCard,
  type OriflammeView,
} from "../../generated/eminence/v1/oriflamme_pb";
import type { Card, Drawing } from "../table/drawing";
import { indexOf, letterOf, type TypedGame } from "./game";
import { card, place, type Pick } from "./picks";

/** Return the name of an enum's value without the prefix of its type, in lower case: ORIFLAMME_CARD_SPY is "spy". */
export const idOf = (value: OriflammeCard) => OriflammeCard[value].toLowerCase();

function drawCard(card: OriflammePlayedCard, owner: number, known: OriflammeCard | undefined, isActing: boolean): Card {
  const kind = card.card || known;
  return {
    key: `${letterOf(owner)}${card.nth}`,
    owner,
    kind: kind ? idOf(kind) : null,
    face: card.card ? "up" : kind ? "known" : "back",
    tokens: card.tokens,
    isActing,
  };
}

function draw(view: OriflammeView): Drawing {
  const table = view.table!;
  const observer = indexOf(view.observer)!;
  const known = [...view.own!.faceDown];
  const stacks = table.slots.map((slot, number) => {
    const owner = indexOf(slot.family)!;
    const cards = slot.cards.map((card, depth) => {
      const own = owner === observer && !card.card ? known.shift() : undefined;
      return drawCard(card, owner, own, number === table.cursor && depth === 0);
    });
    return { thing: `slot:${number}`, number, cards };
  });
  return {
    observer,
    toAct: indexOf(table.toAct),
    round: table.round,
    ask: OriflammeAsk[table.ask].toLowerCase(),
    unit: "points",
    rows: [{ id: "queue", stacks, gaps: gapsOf(stacks.length) }],
    hand: view.own!.hand.map((kind) => ({ thing: `hand:${idOf(kind)}`, kind: idOf(kind), isSelected: false })),
    seats: table.points.map((points, seat) => ({
      seat,
      owned: points,
      handSize: table.handSizes[seat] ?? 0,
      deckSize: null,
      pile: (table.piles[seat]?.cards ?? []).map(idOf),
      hasSelected: false,
      order: null,
    })),
  };
}

const gapsOf = (slots: number) => Array.from({ length: slots + 1 }, (_, gap) => `gap:queue:${gap}`);

function picksOf({ action }: OriflammeAction, slots: number): Pick[] {
  switch (action.case) {
    case "place": {
      const { card: kind, place: where } = action.value;
      const thing =
        where.case === "on"
          ? `slot:${where.value}`
          : `gap:queue:${where.value === OriflammeEnd.FRONT ? 0 : slots}`;
      return [card(`hand:${idOf(kind)}`), place(thing)];
    }
    case "reveal":
    case "keep":
      return [card(`button:${action.case}`)];
    case "target":
    case "copy":
      return [card(`slot:${action.value.slot}`)];
    case "rob":
      return [card(`seat:${indexOf(action.value.player)}`)];
    case "move": {
      const { slot, place: where } = action.value;
      return [card(`slot:${slot}`), place(where.case === "on" ? `slot:${where.value}` : `gap:queue:${where.value}`)];
    }
    case "pair":
      return [card(`slot:${action.value.slot}`), card(`slot:${action.value.other}`)];
    case undefined:
      return [];
  }
}

export const oriflamme: TypedGame<"oriflamme"> = {
  draw,
  picksOf: (action, view) => picksOf(action, view.table!.slots.length),
};

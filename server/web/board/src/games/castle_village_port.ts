// Castle, Village, Port: three rows of single cards.

import {
  CastleVillagePortAsk,
  CastleVillagePortLocation,
  type CastleVillagePortAction,
  type CastleVillagePortRowCard,
  type CastleVillagePortView,
} from "../../generated/eminence/v1/castle_village_port_pb";
import type { Drawing, Row } from "../table/drawing";
import { indexOf, letterOf, type TypedGame } from "./game";
import { card, place, type Pick } from "./picks";

const ROWS = ["castle", "village", "port"] as const;

const rowOf = (location: CastleVillagePortLocation) => CastleVillagePortLocation[location].toLowerCase();

/** Value and owner identify a card: "12B". */
const keyOf = (card: CastleVillagePortRowCard) => `${card.value}${letterOf(indexOf(card.owner)!)}`;

function draw(view: CastleVillagePortView): Drawing {
  const table = view.table!;
  const own = view.own!;
  const acting = table.acting && keyOf(table.acting);
  const rowWith = (id: (typeof ROWS)[number]): Row => ({
    id,
    stacks: table[id].map((card, number) => ({
      thing: `card:${keyOf(card)}`,
      number,
      cards: [
        {
          key: keyOf(card),
          owner: indexOf(card.owner)!,
          kind: String(card.value),
          face: "up" as const,
          tokens: 0,
          isActing: keyOf(card) === acting,
        },
      ],
    })),
    gaps: Array.from({ length: table[id].length + 1 }, (_, gap) => `gap:${id}:${gap}`),
  });
  const gold = table.gold.length > 0 ? table.gold : table.rememberedGold;
  const hand = own.hand.map((value) => ({ thing: `hand:${value}`, kind: String(value), isSelected: false }));
  if (own.selected) hand.push({ thing: "hand:selected", kind: String(own.selected), isSelected: true });
  return {
    observer: indexOf(view.observer)!,
    toAct: indexOf(table.toAct),
    round: table.round,
    ask: CastleVillagePortAsk[table.ask].toLowerCase(),
    unit: "gold",
    rows: ROWS.map(rowWith),
    hand,
    seats: table.handSizes.map((handSize, seat) => {
      const order = table.orders[seat] ?? CastleVillagePortLocation.UNSPECIFIED;
      return {
        seat,
        owned: gold[seat] ?? null,
        handSize,
        deckSize: table.deckSizes[seat] ?? null,
        pile: (table.piles[seat]?.values ?? []).map(String),
        hasSelected: table.selected.some((other) => indexOf(other) === seat),
        order: order === CastleVillagePortLocation.UNSPECIFIED ? null : rowOf(order),
      };
    }),
  };
}

function picksOf({ action }: CastleVillagePortAction): Pick[] {
  switch (action.case) {
    case "select":
    case "replace":
      return [card(`hand:${action.value.card}`)];
    case "place":
      return [place(`gap:${rowOf(action.value.location)}:${action.value.index}`)];
    case "move":
      return [card(`card:${keyOf(action.value.card!)}`), place(`gap:${rowOf(action.value.to)}:${action.value.index}`)];
    case "rob":
    case "swap":
      return [card(`seat:${indexOf(action.value.player)}`)];
    case "copy":
    case "discard":
      return [card(`card:${keyOf(action.value.card!)}`)];
    case "order":
      return [card(`seat:${indexOf(action.value.player)}`), place(`row:${rowOf(action.value.location)}`)];
    case undefined:
      return [];
  }
}

export const castleVillagePort: TypedGame<"castleVillagePort"> = { draw, picksOf };

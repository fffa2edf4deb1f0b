// Castle, Village, Port in the editor.

import { create } from "@bufbuild/protobuf";
import {
  CastleVillagePortAsk,
  CastleVillagePortLocation,
  CastleVillagePortViewSchema,
  type CastleVillagePortRowCard,
} from "../../generated/eminence/v1/castle_village_port_pb";
import { indexOf, letterOf } from "../games/game";
import { LETTERS } from "../table/drawing";
import { actingPlace, cardPlace, indicesOf, numberOf, seatIds, seatValues, stackOf, type Draft, type EditedGame, type Place } from "./draft";
import { seatIn, seatOf, valueOf } from "./oriflamme";

const ROWS = ["castle", "village", "port"] as const;
const ASKS = Object.values(CastleVillagePortAsk)
  .filter((value): value is CastleVillagePortAsk => typeof value === "number" && value > 0)
  .map((ask) => CastleVillagePortAsk[ask].toLowerCase());

const locationOf = (row: string | undefined): CastleVillagePortLocation =>
  CastleVillagePortLocation[(row ?? "").toUpperCase() as keyof typeof CastleVillagePortLocation] ??
  CastleVillagePortLocation.UNSPECIFIED;
const rowOf = (location: CastleVillagePortLocation) => (location ? CastleVillagePortLocation[location].toLowerCase() : "");
const nameOf = ({ value, owner }: CastleVillagePortRowCard) => `${value}${letterOf(indexOf(owner) ?? 0)}`;
const isSame = (one: CastleVillagePortRowCard, other: CastleVillagePortRowCard | undefined) =>
  other !== undefined && nameOf(one) === nameOf(other);
/** Return the card of a row with a name such as "12B". */
const named = (name: string) => ({ value: numberOf(name.slice(0, -1)), owner: seatOf(LETTERS.indexOf(name.slice(-1))) });

/** Return the place of an entry of the seats that have selected, or of the first seat that is missing there. */
function selectedPlace(field: string, { values }: Draft, players: number): Place {
  const boxes = seatIds("hasSelected", players);
  const ticked = boxes.filter((id) => values[id]);
  const [index = 0] = indicesOf(field);
  return `value:${(field.includes("[") ? ticked[index] : boxes.find((id) => !values[id])) ?? boxes[0]}`;
}

export const castleVillagePort: EditedGame = {
  rows: ROWS,
  hasStacks: false,
  values: [
    { id: "round", kind: "number" },
    { id: "turn", kind: "number" },
    { id: "first", kind: "seat" },
    { id: "ask", kind: "choice", choices: ASKS },
    { id: "toAct", kind: "seat" },
    { id: "effect", kind: "card" },
    { id: "victim", kind: "seat" },
    { id: "walk", kind: "choice", choices: ROWS },
    { id: "fromRight", kind: "flag" },
    { id: "selected", kind: "card" },
  ],
  seatValues: [
    { id: "owned", kind: "number", name: "gold" },
    { id: "order", kind: "choice", choices: ROWS },
    { id: "hasSelected", kind: "flag" },
  ],
  lists: ["due", "ranked"],

  read(message) {
    if (message.case !== "castleVillagePort") return null;
    const { table, own, observer } = message.value;
    if (table === undefined) return null;
    const draft: Draft = {
      observer: indexOf(observer) ?? 0,
      rows: ROWS.map((row) =>
        table[row].map((card) => {
          const owner = indexOf(card.owner) ?? 0;
          return stackOf([{ owner, kind: String(card.value), isUp: true, tokens: 0, nth: 0 }], isSame(card, table.acting));
        }),
      ),
      values: {
        round: String(table.round || ""),
        turn: String(table.turn || ""),
        first: valueOf(table.first),
        ask: table.ask ? CastleVillagePortAsk[table.ask].toLowerCase() : "",
        toAct: valueOf(table.toAct),
        effect: String(table.effect ?? ""),
        victim: valueOf(table.victim),
        walk: rowOf(table.walk?.location ?? CastleVillagePortLocation.UNSPECIFIED),
        fromRight: table.walk?.fromRight ? "yes" : "",
        selected: String(own?.selected || ""),
      },
      lists: {
        hand: (own?.hand ?? []).map(String),
        due: (table.walk?.due ?? []).map(nameOf),
        ranked: (table.walk?.ranked ?? []).map(nameOf),
      },
    };
    const gold = table.gold.length > 0 ? table.gold : table.rememberedGold;
    gold.forEach((owned, player) => (draft.values[`owned:${player}`] = String(owned)));
    table.orders.forEach((order, player) => (draft.values[`order:${player}`] = rowOf(order)));
    table.selected.forEach((seat) => (draft.values[`hasSelected:${indexOf(seat)}`] = "yes"));
    table.piles.forEach(({ values }, player) => (draft.lists[`pile:${player}`] = values.map(String)));
    return draft;
  },

  write(draft, { players, ruleset }) {
    const { round, turn, first, ask, toAct, effect, victim, walk, fromRight, selected } = draft.values;
    const cardsOf = (row: number) =>
      draft.rows[row]!.map(({ cards: [card] }) => ({ value: numberOf(card!.kind ?? ""), owner: seatOf(card!.owner) }));
    const [acting] = draft.rows.flatMap((row) => row.filter((stack) => stack.isActing)).map(({ cards: [card] }) => card!);
    const piles = seatIds("pile", players).map((id) => draft.lists[id] ?? []);
    const isGoldHidden = ruleset?.changes.case === "castleVillagePort" && ruleset.changes.value.hiddenGold === true;
    const hasWalk = walk !== "" && walk !== undefined;
    const value = create(CastleVillagePortViewSchema, {
      observer: seatOf(draft.observer),
      table: {
        castle: cardsOf(0),
        village: cardsOf(1),
        port: cardsOf(2),
        round: numberOf(round),
        turn: numberOf(turn),
        first: seatIn(first),
        ask: CastleVillagePortAsk[(ask ?? "").toUpperCase() as keyof typeof CastleVillagePortAsk] ?? 0,
        toAct: seatIn(toAct),
        ...(acting === undefined ? {} : { acting: { value: numberOf(acting.kind ?? ""), owner: seatOf(acting.owner) } }),
        ...(effect ? { effect: numberOf(effect) } : {}),
        victim: seatIn(victim),
        [isGoldHidden ? "rememberedGold" : "gold"]: seatValues(draft, "owned", players).map(numberOf),
        orders: seatValues(draft, "order", players).map(locationOf),
        selected: seatIds("hasSelected", players).flatMap((id, seat) => (draft.values[id] ? [seatOf(seat)] : [])),
        piles: piles.some((pile) => pile.length > 0) ? piles.map((kinds) => ({ values: kinds.map(numberOf) })) : [],
        ...(hasWalk
          ? {
              walk: {
                location: locationOf(walk),
                fromRight: fromRight === "yes",
                due: (draft.lists.due ?? []).map(named),
                ranked: (draft.lists.ranked ?? []).map(named),
              },
            }
          : {}),
      },
      own: { hand: (draft.lists.hand ?? []).map(numberOf), selected: numberOf(selected) },
    });
    return { case: "castleVillagePort", value };
  },

  placeOf(field, draft, players) {
    const [index = 0] = indicesOf(field);
    const row = ROWS.findIndex((each) => field.startsWith(`table.${each}[`));
    if (row >= 0) return cardPlace(row, index, 0);
    if (field.startsWith("table.acting")) return actingPlace(draft);
    if (field === "own.selected") return "value:selected";
    if (field.startsWith("own.")) return "list:hand";
    if (field.startsWith("table.piles[")) return `list:pile:${index}`;
    if (/^table\.(remembered_)?gold\[/.test(field)) return `value:owned:${index}`;
    if (field.startsWith("table.orders[")) return `value:order:${index}`;
    if (field.startsWith("table.walk.due")) return "list:due";
    if (field.startsWith("table.walk.ranked")) return "list:ranked";
    if (field.startsWith("table.walk")) return "value:walk";
    if (field.startsWith("table.selected")) return selectedPlace(field, draft, players);
    const name = /^table\.(round|turn|first|ask|to_act|effect|victim)$/.exec(field)?.[1];
    return name === undefined ? "" : `value:${name === "to_act" ? "toAct" : name}`;
  },
};

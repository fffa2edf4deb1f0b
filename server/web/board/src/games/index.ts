// The games that the page draws, and the one way to ask about any game.

import type { Action, Card, View } from "../../generated/eminence/v1/view_pb";
import type { Record as GameRecord } from "../../generated/eminence/v1/record_pb";
import type { Drawing } from "../table/drawing";
import { castleVillagePort } from "./castle_village_port";
import { oriflamme, idOf } from "./oriflamme";
import { card, type Pick } from "./picks";

/** Return the drawing of a view; null for a game that is shown as text. */
export function drawingOf(view: View): Drawing | null {
  switch (view.table.case) {
    case "oriflamme":
      return oriflamme.draw(view.table.value);
    case "castleVillagePort":
      return castleVillagePort.draw(view.table.value);
    default:
      return null;
  }
}

/** Return the picks of an action. In a game that is shown as text, each action is a button of its own. */
export function picksOf(action: Action, view: View): Pick[] {
  if (view.table.case === "oriflamme" && action.action.case === "oriflamme") {
    return oriflamme.picksOf(action.action.value, view.table.value);
  }
  if (view.table.case === "castleVillagePort" && action.action.case === "castleVillagePort") {
    return castleVillagePort.picksOf(action.action.value, view.table.value);
  }
  return [card(`button:${action.text}`)];
}

/** Return the kind of a card, as drawings name it. */
export function kindOf(kind: Card): string {
  switch (kind.card.case) {
    case "oriflamme":
      return idOf(kind.card.value);
    case "castleVillagePort":
      return String(kind.card.value);
    default:
      return kind.name;
  }
}

/** Return the kinds that each seat set aside before a whole game; empty where no card is set aside. */
export function asideOf(record: GameRecord): string[][] {
  const deal = record.contents.case === "whole" ? record.contents.value.deal : undefined;
  return deal?.case === "oriflamme" ? deal.value.aside.map(({ cards }) => cards.map(idOf)) : [];
}

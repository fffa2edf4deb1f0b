// The games that the page draws, and the one way to ask about any game.

import type { Action, Card, View } from "../../generated/eminence/v1/view_pb";
import type { Record as GameRecord } from "../../generated/eminence/v1/record_pb";
import type { Drawing } from "../table/drawing";
import type { CardProbability, SeatBelief } from "../../generated/eminence/v1/solver_pb";
import { indexOf, letterOf } from "./game";
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

/** Return what hidden cards on the table may be, likeliest first, by the key of the card in drawings. */
export function beliefsByCard(beliefs: readonly SeatBelief[], view: View): Map<string, CardProbability[]> {
  const found = new Map<string, CardProbability[]>();
  if (view.table.case !== "oriflamme") return found;
  for (const { seat, faceDown } of beliefs) {
    for (const { spot, cards } of faceDown) {
      if (spot?.spot.case !== "oriflamme") continue;
      const likeliest = [...cards].sort((one, other) => other.probability - one.probability);
      found.set(`${letterOf(indexOf(seat)!)}${spot.spot.value.nth}`, likeliest);
    }
  }
  return found;
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

// The beliefs of a seat about hidden cards, and the places of these cards.

import { create } from "@bufbuild/protobuf";
import { drawingOf, kindOf, picksOf } from ".";
import { rules, solver } from "../api";
import type { CardProbability, Options, SeatBelief } from "../../generated/eminence/v1/solver_pb";
import type { Seat } from "../../generated/eminence/v1/seat_pb";
import { SeenActionSchema, type Card, type SeenAction, type Spot, type View } from "../../generated/eminence/v1/view_pb";
import type { Words } from "../words/en";
import { indexOf, letterOf } from "./game";

/** Return the key of a seat's hidden card: that of its drawing; its letter for the only one that is not drawn. */
export const keyOf = (seat: Seat, spot: Spot | undefined): string =>
  `${letterOf(indexOf(seat)!)}${spot?.spot.case === "oriflamme" ? spot.spot.value.nth : ""}`;

/** Return the name of a place in the language of the page. */
export function placeName(spot: Spot | undefined, w: Words): string {
  if (spot?.spot.case === "oriflamme") {
    const { slot, under } = spot.spot.value;
    return under === 0 ? w.slot(slot) : `${w.slot(slot)}, ${w.under(under)}`;
  }
  return spot?.text === "selected" ? w.editing.values["selected"]! : (spot?.text ?? "");
}

/** Return the probabilities of cards by their kinds. */
export const chancesOf = (cards: readonly CardProbability[]): Map<string, number> =>
  new Map(cards.map(({ card, probability }) => [kindOf(card!), probability]));

/** Return what hidden cards on the table may be, likeliest first, by their keys. */
export const beliefsByCard = (beliefs: readonly SeatBelief[]): Map<string, CardProbability[]> =>
  new Map(
    beliefs.flatMap(({ seat, faceDown }) =>
      faceDown.map(({ spot, cards }): [string, CardProbability[]] => [
        keyOf(seat, spot),
        [...cards].sort((one, other) => other.probability - one.probability),
      ]),
    ),
  );

/** Return the beliefs at a view: those of a search of one iteration, which does not change them. */
export async function beliefsAt(view: View, options: Partial<Pick<Options, "belief" | "level">> = {}): Promise<SeatBelief[]> {
  for await (const { suggestion } of solver.analyze({ view, budget: { iterations: 1n }, options })) {
    return suggestion?.beliefs ?? [];
  }
  return [];
}

export interface PossibleCard {
  card: Card;
  /** Its probability in the beliefs before it is shown; not set if they are unknown. */
  probability: number | undefined;
}

/** Return the cards that an action after a view may show, likeliest first; empty if it shows no hidden one. */
export async function possibleCards(view: View, { seat, action }: SeenAction): Promise<PossibleCard[]> {
  const asked = create(SeenActionSchema, { seat, ...(action ? { action } : {}) });
  const { possibleShown } = await rules.playSeen({ view, action: asked });
  if (possibleShown.length === 0) return [];
  const beliefs = beliefsByCard(await beliefsAt(view).catch(() => []));
  const table = view.table.case === undefined ? (await rules.validateView({ view })).view! : view;
  const stacks = drawingOf(table)?.rows.flatMap((row) => row.stacks) ?? [];
  const picks = action ? picksOf(action, table) : [];
  const picked = stacks.filter(({ thing }) => picks.some((pick) => pick.thing === thing));
  const acting = stacks.filter(({ cards }) => cards[0]!.isActing);
  // The card that is picked, or the one that acts, or the only hidden one of the seat.
  const keys = [...[...picked, ...acting].map(({ cards }) => cards[0]!.key), letterOf(indexOf(seat) ?? 0)];
  const key = keys.find((each) => beliefs.has(each));
  const chances = chancesOf(beliefs.get(key ?? "") ?? []);
  return possibleShown
    .map((card) => ({ card, probability: chances.get(kindOf(card)) }))
    .sort((one, other) => (other.probability ?? 0) - (one.probability ?? 0));
}

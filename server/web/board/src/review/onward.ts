// The way from a reviewed game to the analysis of a position in it, as one seat knew it.

import { toJsonString } from "@bufbuild/protobuf";
import { rules } from "../api";
import { linkTo } from "../link";
import type { SeatIndex } from "../table/drawing";
import { RulesetSchema, type SeenAction } from "../../generated/eminence/v1/view_pb";
import type { ReviewedGame } from "./game.svelte";

/** Return an action with the cards that it showed, in notation: "reveal = Heir". */
function notationOf({ action, shown }: SeenAction): string {
  const cards = shown.map((card) => card.name).join(",");
  return (action?.text ?? "") + (cards === "" ? "" : ` = ${cards}`);
}

/** Return the fragment of a position with the actions that the seat saw before, from which beliefs follow. */
export async function linkOnward(game: ReviewedGame, ply: number, seat: SeatIndex): Promise<string> {
  const spec = game.spec;
  const hasHistory = ply === 0 || game.seenAfter(ply - 1, seat) !== null;
  const view = game.viewOf(hasHistory ? 0 : ply, seat);
  if (spec === null || view === null) return "#/analyse";
  const { text } = await rules.writeText({ message: { case: "view", value: view } });
  const line = hasHistory ? Array.from({ length: ply }, (_, at) => notationOf(game.seenAfter(at, seat)!)) : [];
  const { ruleset } = spec;
  const source = { game: spec.gameId, edition: ruleset?.edition ?? "", players: spec.players, text, line };
  return linkTo(
    ruleset?.changes.case === undefined ? source : { ...source, changes: toJsonString(RulesetSchema, ruleset) },
  );
}

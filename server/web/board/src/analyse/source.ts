// A view with its history as a position and a line, which a link holds and the Analyse page plays again.

import { create, toJsonString } from "@bufbuild/protobuf";
import { RulesetSchema, ViewSchema, type SeenAction, type View } from "../../generated/eminence/v1/view_pb";
import { rules } from "../api";
import type { Source } from "./position.svelte";

/** Return an action with the cards that it showed, in notation: "reveal = Heir". */
function notationOf({ action, shown }: SeenAction): string {
  const text = action?.text ?? "";
  return shown.length === 0 || text.includes("=") ? text : `${text} = ${shown.map((card) => card.name).join(",")}`;
}

/** Return the start of a view's history in notation, the actions since then, and the rules with their changes. */
export async function sourceOf(view: View): Promise<Source> {
  const { game, history } = view;
  if (game === undefined) throw new Error("the view names no game");
  const { ruleset } = game;
  const start = create(ViewSchema, { game, table: history?.start ?? view.table });
  return {
    game: game.gameId,
    edition: ruleset?.edition ?? "",
    players: game.players,
    text: (await rules.validateView({ view: start })).text,
    line: history?.actions.map(notationOf) ?? [],
    ...(ruleset?.changes.case === undefined ? {} : { changes: toJsonString(RulesetSchema, ruleset) }),
  };
}

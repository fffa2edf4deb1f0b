// A view with its history as a position and a line, which a link holds and the Analyse page plays again.

import { create } from "@bufbuild/protobuf";
import { ViewSchema, type SeenAction, type View } from "../../generated/eminence/v1/view_pb";
import type { Source } from "../analyse/position.svelte";
import { rules } from "../api";

/** Return the text of an action with the cards that it showed. */
function textOf({ action, shown }: SeenAction): string {
  const text = action?.text ?? "";
  return shown.length === 0 || text.includes("=") ? text : `${text} = ${shown.map((card) => card.name).join(",")}`;
}

/** Return the start of a view's history in text notation, and the actions since then. */
export async function lineTo(view: View): Promise<Source | null> {
  const { game, history } = view;
  if (game === undefined) return null;
  const start = create(ViewSchema, { game, table: history?.start ?? view.table });
  return {
    game: game.gameId,
    edition: game.ruleset?.edition ?? "",
    players: game.players,
    text: (await rules.validateView({ view: start })).text,
    line: history?.actions.map(textOf) ?? [],
  };
}

/** Return whether a link can name the rules of a game: those of an edition, without changes. */
export const hasPlainRules = (view: View): boolean => view.game?.ruleset?.changes.case === undefined;

// The ways from a reviewed game on: to the analysis of a position in it, as one seat knew it, and to play from there.

import { toJsonString } from "@bufbuild/protobuf";
import { rules, tables } from "../api";
import { linkTo } from "../link";
import { keepTable, newTable } from "../play/stored";
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

const LEVEL = 5;
const NAME_MAX = 40;

/** Whether a game can be played on from a ply: the record holds all cards, as messages. */
export const canPlayOn = (game: ReviewedGame, ply: number): boolean =>
  game.record?.contents.case === "whole" && ply < game.plies.length - 1;

/** Open a table that begins at a ply, with a person on one seat and the engine on the others; return its fragment. */
export async function playOnward(game: ReviewedGame, ply: number, seat: SeatIndex): Promise<string> {
  const { record, spec } = game;
  if (record?.contents.case !== "whole" || spec === null) return "#/play";
  const sitters = Array.from({ length: spec.players }, (_, at) => ({
    name: (record.names[at] ?? "").slice(0, NAME_MAX),
    level: at === seat ? 0 : LEVEL,
  }));
  const whole = { ...record.contents.value, actions: record.contents.value.actions.slice(0, ply) };
  const { keys } = await tables.openTable({ record: { game: spec, contents: { case: "whole", value: whole } }, sitters });
  const table = newTable(sitters, { [seat]: keys[0]!.key });
  keepTable(table);
  return `#/play?table=${table.id}`;
}

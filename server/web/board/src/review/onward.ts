// The ways from a reviewed game on: to the analysis of a position in it, as one seat knew it, and to play from there.

import { tables } from "../api";
import { sourceOf } from "../analyse/source";
import { linkTo } from "../link";
import { keepTable, newTable } from "../play/stored";
import type { SeatIndex } from "../table/drawing";
import type { ReviewedGame } from "./game.svelte";

/** Return the fragment of a position with the actions that the seat saw before, from which beliefs follow. */
export async function linkOnward(game: ReviewedGame, ply: number, seat: SeatIndex): Promise<string> {
  const view = game.knownAt(ply, seat);
  return view === null ? "#/analyse" : linkTo(await sourceOf(view));
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

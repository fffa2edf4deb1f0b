// The notes of the people on this device, their hints and the choices taken back, as comments of the game's record.

import { create } from "@bufbuild/protobuf";
import { CommentSchema, type Comment } from "../../generated/eminence/v1/record_pb";
import type { CardNames } from "../table/names.svelte";
import type { PlayWords } from "./words/en";
import type { Sitting } from "./sitting.svelte";

/** The limit of the contract. */
const LONGEST = 2_000;

/** Return the comments of the record that the seat may save: before the end, those of other people stay their secrets. */
export function commentsOn(sitting: Sitting, names: CardNames, p: PlayWords): Comment[] {
  const { seen, stored, played } = sitting;
  const seats = sitting.result === undefined ? sitting.local.filter((seat) => seat === sitting.seat) : sitting.local;
  const texts = new Map<number, string[]>();
  const say = (after: number, text: string) => {
    const place = Math.min(after, played); // what came later was taken back
    texts.set(place, [...(texts.get(place) ?? []), text]);
  };
  if ((seen?.takenBack ?? 0) > 0) say(0, p.takenBack(seen!.takenBack));
  for (const seat of seats) {
    for (const { after } of sitting.hinted.filter((hint) => hint.seat === seat)) say(after, p.hintComment(sitting.name(seat)));
    for (const [card, { kind, text, after }] of Object.entries(stored.notes[seat] ?? {})) {
      const guess = kind === "" ? "" : `${names.nameOf(kind)}?`;
      say(after, p.noteComment(sitting.name(seat), card, [guess, text.trim()].filter((part) => part).join(" ")));
    }
  }
  return [...texts]
    .sort(([one], [other]) => one - other)
    .map(([after, lines]) => create(CommentSchema, { after, text: lines.join("\n").slice(0, LONGEST).trimEnd() }));
}

// Change positions as people do in the editor, and place the complaints about them. Each line of standard input is JSON:
// `{view, kinds, seed}` asks for an impossible or unusual draft and its message, `{game, draft, fields}` for places.

import { create, fromJson, toJson, type JsonValue } from "@bufbuild/protobuf";
import { createInterface } from "node:readline";
import { ViewSchema } from "../../server/web/board/generated/eminence/v1/view_pb";
import { editedGame } from "../../server/web/board/src/editor";
import { stackOf, type Draft, type EditedGame, type Place, type ValueField } from "../../server/web/board/src/editor/draft";
import { LETTERS } from "../../server/web/board/src/table/drawing";

interface Asked {
  view: JsonValue;
  kinds: string[];
  seed: number;
}
interface Placed {
  game: string;
  players: number;
  draft: Draft;
  fields: string[];
}

/** Return a function that draws numbers below `n`, the same for the same seed (mulberry32). */
function drawing(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % n;
  };
}

const NUMBERS = ["", "-1", "0", "1", "2", "3", "7", "9", "16", "99", "9999999"];

/** Make one change that the editor offers. */
function change(game: EditedGame, draft: Draft, players: number, kinds: string[], below: (n: number) => number): void {
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const seats = Array.from({ length: players }, (_, seat) => seat);
  const row = below(game.rows.length);
  const stacks = draft.rows[row]!;
  const stack = stacks.length > 0 ? pick(stacks) : null;
  const card = stack && pick(stack.cards);
  const added = () => ({ owner: pick(seats), kind: pick(kinds), isUp: !game.hasStacks || below(2) === 0, tokens: 0, nth: 0 });
  const choicesOf = ({ kind, choices }: ValueField): readonly string[] =>
    ({ number: NUMBERS, seat: ["", ...seats.map(String)], card: ["", ...kinds], flag: ["", "yes"] })[kind as string] ?? ["", ...choices!];
  const changes: (() => void)[] = [
    () => stacks.splice(below(stacks.length + 1), 0, stackOf([added()])),
    () => stack && stacks.splice(stacks.indexOf(stack), 1),
    () => stack && pick(draft.rows).splice(0, 0, ...stacks.splice(stacks.indexOf(stack), 1)),
    () => card && (card.kind = game.hasStacks && below(4) === 0 ? null : pick(kinds)),
    () => stack?.cards.forEach((each) => Object.assign(each, { owner: (each.owner + 1) % players, nth: 0 })),
    () => {
      for (const each of draft.rows.flat()) each.isActing = each === stack && !each.isActing;
    },
    () => {
      const field = pick(game.values);
      draft.values[field.id] = pick(choicesOf(field));
    },
    () => {
      const field = pick(game.seatValues);
      draft.values[`${field.id}:${pick(seats)}`] = pick(choicesOf(field));
    },
    () => {
      const id = pick(["hand", ...seats.map((seat) => `pile:${seat}`)]);
      const list = (draft.lists[id] ??= []);
      if (below(2) === 0 && list.length > 0) list.splice(below(list.length), 1);
      else list.push(pick(kinds));
    },
    () => {
      if (game.lists.length === 0) return;
      const laid = draft.rows.flatMap((each) => each.flatMap(({ cards }) => cards));
      if (laid.length > 0) (draft.lists[pick(game.lists)] ??= []).push(`${pick(laid).kind}${LETTERS[pick(laid).owner]}`);
    },
    () => (draft.observer = pick(seats)),
  ];
  if (game.hasStacks) {
    changes.push(
      () => card && (card.tokens = below(12)),
      () => card && (card.isUp = !card.isUp && card.kind !== null),
      () => stack?.cards.unshift({ ...added(), owner: stack.cards[0]!.owner }),
    );
  }
  pick(changes)();
}

function changed({ view: json, kinds, seed }: Asked): object {
  const view = fromJson(ViewSchema, json);
  const game = editedGame(view.game!.gameId)!;
  const draft = game.read(view.table)!;
  const below = drawing(seed);
  for (let left = 1 + below(4); left > 0; left--) change(game, draft, view.game!.players, kinds, below);
  const written = create(ViewSchema, { game: view.game!, table: game.write(draft, view.game!) });
  return { draft, view: toJson(ViewSchema, written) };
}

/** Return whether the editor draws something at a place. */
function isDrawn(place: Place, game: EditedGame, draft: Draft, players: number): boolean {
  const [what, ...rest] = place.split(":");
  const [first, second, third] = rest.map(Number);
  const isSeat = (text: string | undefined) => text !== undefined && Number(text) < players;
  if (what === "card") return draft.rows[first!]?.[second!]?.cards[third!] !== undefined;
  if (what === "list") return rest[0] === "pile" ? isSeat(rest[1]) : ["hand", ...game.lists].includes(rest[0]!);
  if (what !== "value") return false;
  if (rest.length === 1) return game.values.some(({ id }) => id === rest[0]);
  return game.seatValues.some(({ id }) => id === rest[0]) && isSeat(rest[1]);
}

/** Return the place of each field; empty where the editor draws nothing. */
function placed({ game: id, players, draft, fields }: Placed): string[] {
  const game = editedGame(id)!;
  return fields.map((field) => {
    const place = process.argv[2] === "nowhere" ? "" : game.placeOf(field, draft, players);
    return isDrawn(place, game, draft, players) ? place : "";
  });
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line) as Asked | Placed;
  console.log(JSON.stringify("draft" in asked ? placed(asked) : changed(asked)));
}

// Choices: each legal action is a list of picks of things that are drawn. The page offers a pick only if a legal action
// has it, so no rule of a game is in the page.

/** A drawn thing that can be clicked, such as "hand:Spy", "slot:2", "gap:5" or "button:keep". */
export type Thing = string;

/** A thing and its part in an action: a Decree moves the `card` of one slot to the `place` of another. */
export interface Pick {
  thing: Thing;
  part: "card" | "place";
}

/** A legal action, and its picks in the order in which they are usually made. */
export interface Choice<Action> {
  action: Action;
  picks: Pick[];
}

export const card = (thing: Thing): Pick => ({ thing, part: "card" });
export const place = (thing: Thing): Pick => ({ thing, part: "place" });

const isEqual = (a: Pick, b: Pick) => a.thing === b.thing && a.part === b.part;
const has = (picks: readonly Pick[], pick: Pick) => picks.some((other) => isEqual(other, pick));

/** Return the choices that contain all of `picked`, whose order does not matter. */
export function choicesLeft<Action>(choices: Choice<Action>[], picked: readonly Pick[]): Choice<Action>[] {
  return choices.filter((choice) => picked.every((pick) => has(choice.picks, pick)));
}

/**
 * Return the pick that a click on each thing means after `picked`. If a thing could be either the card or the place of
 * an action, the pick that usually comes first counts.
 */
export function picksLeft<Action>(choices: Choice<Action>[], picked: readonly Pick[]): Map<Thing, Pick> {
  const left = new Map<Thing, { pick: Pick; turn: number }>();
  for (const choice of choicesLeft(choices, picked)) {
    const open = choice.picks.filter((pick) => !has(picked, pick));
    for (const [turn, pick] of open.entries()) {
      const other = left.get(pick.thing);
      if (other === undefined || turn < other.turn) left.set(pick.thing, { pick, turn });
    }
  }
  return new Map([...left].map(([thing, { pick }]) => [thing, pick]));
}

/** Return the choice that `picked` completes; null while picks are missing. */
export function completed<Action>(choices: Choice<Action>[], picked: readonly Pick[]): Choice<Action> | null {
  return choicesLeft(choices, picked).find((choice) => choice.picks.length === picked.length) ?? null;
}

const FEW_VISITS = 20;
/** Whether a move was hardly tried, so that its win says nothing. */
export const isFaint = ({ visits }: { visits: bigint }): boolean => visits < FEW_VISITS;

/** Return the badge of a move by its place in the order of moves: 0 is the best. */
export const badgeOf = (rank: number): string => "①②③④⑤⑥⑦⑧⑨⑩"[rank] ?? String(rank + 1);
/** The number of moves with a badge while the reader points at none. */
export const BADGES = 3;

/** A move of a card that lies on the table to another place. */
export interface Arrow {
  from: Thing;
  to: Thing;
  mark: string;
}

/** What is drawn of moves on the table: marks on the things that they pick, and arrows. */
export interface Marks {
  things: ReadonlyMap<Thing, string>;
  arrows: readonly Arrow[];
}

export const NO_MARKS: Marks = { things: new Map(), arrows: [] };

/** Return how moves are drawn, each by its picks and its mark. */
export function marksOf(moves: readonly { picks: readonly Pick[]; mark: string }[]): Marks {
  const things = new Map<Thing, string>();
  const arrows: Arrow[] = [];
  for (const { picks, mark } of moves) {
    for (const { thing } of picks) things.set(thing, `${things.get(thing) ?? ""} ${mark}`.trim());
    const [moved, target] = picks;
    if (moved === undefined || target?.part !== "place" || !/^(slot|card):/.test(moved.thing)) continue;
    arrows.push({ from: moved.thing, to: target.thing, mark });
  }
  return { things, arrows };
}

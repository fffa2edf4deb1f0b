// Walk through the picks of positions, which are lines of JSON on standard input; print what is wrong with each.

import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { createInterface } from "node:readline";
import { ActionSchema, ViewSchema, type Action } from "../../server/web/board/generated/eminence/v1/view_pb";
import { picksOf } from "../../server/web/board/src/games";
import { completed, picksLeft, type Choice, type Pick } from "../../server/web/board/src/games/picks";

const nameOf = (picked: readonly Pick[]) => picked.map(({ thing, part }) => `${part} ${thing}`).sort().join(" + ");

/** Return the faults of the walks through some choices: an action needs exactly one set of picks, in any order. */
function faultsOf(choices: Choice<Action>[]): string[] {
  const ends = new Map<string, string[]>();
  const faults: string[] = [];
  const visited = new Set<string>();
  const walk = (picked: readonly Pick[]): void => {
    const name = nameOf(picked);
    if (visited.has(name)) return;
    visited.add(name);
    const end = picked.length > 0 ? completed(choices, picked) : null;
    if (end !== null) {
      ends.set(end.action.text, [...(ends.get(end.action.text) ?? []), name]);
      return;
    }
    const left = [...picksLeft(choices, picked).values()];
    if (left.length === 0) faults.push(`no way on from ${name}`);
    for (const pick of left) walk([...picked, pick]);
  };
  walk([]);
  for (const { action } of choices) {
    const walks = ends.get(action.text) ?? [];
    if (walks.length !== 1) faults.push(`${action.text} ends ${walks.length} walks: ${walks.join("; ")}`);
  }
  return faults;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { view: json, actions } = JSON.parse(line) as { view: JsonValue; actions: JsonValue[] };
  const view = fromJson(ViewSchema, json);
  const choices = actions
    .map((each) => fromJson(ActionSchema, each))
    .map((action) => ({ action, picks: picksOf(action, view) }));
  if (process.argv[2] === "same-picks" && choices.length > 1) choices[1]!.picks = choices[0]!.picks;
  console.log(JSON.stringify(faultsOf(choices)));
}

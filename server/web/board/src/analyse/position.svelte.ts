// The position on the Analyse page: its text, what the server reads from it, and the moves tried from there.

import { create, fromJsonString } from "@bufbuild/protobuf";
import { refusalOf, rules, type Refusal } from "../api";
import { ReadTextRequestSchema } from "../../generated/eminence/v1/rules_pb";
import {
  ActionSchema,
  GameSpecSchema,
  HistorySchema,
  RulesetSchema,
  SeenActionSchema,
  ViewSchema,
  type Action,
  type GameSpec,
  type View,
} from "../../generated/eminence/v1/view_pb";

/** What a link holds: a view as text, and the actions tried from there. */
export interface Source {
  game: string;
  edition: string;
  players: number;
  text: string;
  line: string[];
  /** The changes to the edition, as JSON of the message `Ruleset`; left out if there are none. */
  changes?: string;
}

export const gameOf = ({ game, edition, players, changes }: Source): GameSpec =>
  create(GameSpecSchema, {
    gameId: game,
    players,
    ruleset: changes === undefined ? { edition } : fromJsonString(RulesetSchema, changes),
  });

/** Return the view after the actions of `line`, which the server plays. */
function viewAfter(start: View, line: readonly string[]): View {
  if (line.length === 0 || start.table.case === undefined) return start;
  const actions = line.map((text) => create(SeenActionSchema, { action: create(ActionSchema, { text }) }));
  return create(ViewSchema, {
    ...(start.game ? { game: start.game } : {}),
    history: create(HistorySchema, { start: start.table, actions }),
  });
}

export class Position {
  /** The view with all its fields filled in; null until the server has read one. */
  view = $state.raw<View | null>(null);
  /** The view as questions to the solver send it: with the actions that led to it. */
  asked = $state.raw<View | null>(null);
  text = $state("");
  line = $state.raw<readonly string[]>([]);
  worlds = $state(0);
  legal = $state.raw<Action[]>([]);
  refusal = $state.raw<Refusal | null>(null);
  #start: View | null = null;
  #newest = 0;

  /** Read a text and play its line. Return whether the position is another one now. */
  async read(source: Source): Promise<boolean> {
    return this.#attempt(async () => {
      const { message } = await rules.readText(
        create(ReadTextRequestSchema, { game: gameOf(source), text: { case: "view", value: source.text } }),
      );
      if (message.case !== "view") throw new Error("the server answered another message than a view");
      return [message.value, source.line];
    });
  }

  /** Play an action, in notation, from here. Return whether it was possible. */
  async play(action: string): Promise<boolean> {
    const start = this.#start;
    return start === null ? false : this.#attempt(async () => [start, [...this.line, action]]);
  }

  /** Take back the last action of the line. */
  async back(): Promise<boolean> {
    const start = this.#start;
    return start === null ? false : this.#attempt(async () => [start, this.line.slice(0, -1)]);
  }

  /** Show what `next` returns, unless a newer attempt began meanwhile; keep the position if the server refuses it. */
  async #attempt(next: () => Promise<[View, readonly string[]]>): Promise<boolean> {
    const turn = ++this.#newest;
    try {
      const [start, line] = await next();
      const asked = viewAfter(start, line);
      const [checked, { actions }] = await Promise.all([
        rules.validateView({ view: asked }),
        rules.listLegalActions({ view: asked }),
      ]);
      if (turn !== this.#newest || checked.view === undefined) return false;
      this.#start = start;
      this.refusal = null;
      this.view = checked.view;
      this.asked = asked;
      this.text = checked.text;
      this.line = line;
      this.worlds = checked.worlds;
      this.legal = actions;
      return true;
    } catch (error) {
      if (turn === this.#newest) this.refusal = refusalOf(error);
      return false;
    }
  }
}

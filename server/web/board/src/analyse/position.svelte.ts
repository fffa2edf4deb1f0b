// The position on the Analyse page: its text, and the view that the server reads from it.

import { create } from "@bufbuild/protobuf";
import { refusalOf, rules, type Refusal } from "../api";
import { ReadTextRequestSchema, ValidateViewRequestSchema } from "../../generated/eminence/v1/rules_pb";
import { GameSpecSchema, type GameSpec, type View } from "../../generated/eminence/v1/view_pb";

/** What a link holds. */
export interface Source {
  game: string;
  edition: string;
  players: number;
  text: string;
}

export const gameOf = ({ game, edition, players }: Source): GameSpec =>
  create(GameSpecSchema, { gameId: game, players, ruleset: { edition } });

export class Position {
  /** The view with all its fields filled in; null until the server has read one. */
  view = $state.raw<View | null>(null);
  text = $state("");
  worlds = $state(0);
  refusal = $state.raw<Refusal | null>(null);
  #newest = 0;

  /** Read a text; return its view, or null if the server refused it or a newer text came meanwhile. */
  async read(source: Source): Promise<View | null> {
    const turn = ++this.#newest;
    try {
      const request = create(ReadTextRequestSchema, { game: gameOf(source), text: { case: "view", value: source.text } });
      const { message } = await rules.readText(request);
      if (message.case !== "view") throw new Error("the server answered another message than a view");
      const checked = await rules.validateView(create(ValidateViewRequestSchema, { view: message.value }));
      if (turn !== this.#newest) return null;
      this.refusal = null;
      this.view = checked.view ?? null;
      this.text = checked.text;
      this.worlds = checked.worlds;
      return this.view;
    } catch (error) {
      if (turn === this.#newest) this.refusal = refusalOf(error);
      return null;
    }
  }
}

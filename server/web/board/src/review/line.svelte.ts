// A line of play that starts from a view and is stepped through. The server plays each step. A line of one likely example
// names the cards that it shows; of another, a step that would show a hidden card asks which.

import { create } from "@bufbuild/protobuf";
import { refusalOf, rules, type Refusal } from "../api";
import type { Candidate } from "../../generated/eminence/v1/solver_pb";
import { SeenActionSchema, type Card, type SeenAction, type View } from "../../generated/eminence/v1/view_pb";

/** Return the likely continuation after a move: that of an example, if the answer has one. */
export function stepsOf({ sampleVariation, principalVariation }: Candidate): SeenAction[] {
  return sampleVariation.length > 0 ? sampleVariation.map(({ action }) => action!) : principalVariation;
}

export class Line {
  steps = $state.raw<SeenAction[]>([]);
  /** The number of steps that `view` is behind the start. */
  at = $state(0);
  view = $state.raw<View | null>(null);
  /** The cards that the next step may show, if that is the question. */
  mayShow = $state.raw<Card[]>([]);
  refusal = $state.raw<Refusal | null>(null);

  #views: View[] = [];
  #wanted = 0;
  #newest = 0;

  /** Begin with another line. */
  begin(start: View | null, steps: SeenAction[]): void {
    this.#newest++;
    this.#views = start === null ? [] : [start];
    this.steps = start === null ? [] : steps;
    this.#show(0);
  }

  /** Show the view after `count` steps. */
  async go(count: number): Promise<void> {
    const turn = ++this.#newest;
    this.#wanted = Math.max(0, Math.min(count, this.steps.length));
    this.mayShow = [];
    while (this.#views.length <= this.#wanted) {
      const isPlayed = await this.#play(turn, this.steps[this.#views.length - 1]!);
      if (!isPlayed || turn !== this.#newest) return;
    }
    this.#show(this.#wanted);
  }

  /** Answer which card the next step shows. */
  async choose(card: Card): Promise<void> {
    const turn = ++this.#newest;
    const { seat, action } = this.steps[this.#views.length - 1]!;
    this.mayShow = [];
    const shows = create(SeenActionSchema, { seat, ...(action ? { action } : {}), shown: [card] });
    if (await this.#play(turn, shows)) await this.go(this.#wanted);
  }

  /** Play a step after the last known view. Return whether it was possible. */
  async #play(turn: number, action: SeenAction): Promise<boolean> {
    const view = this.#views.at(-1);
    if (view === undefined) return false;
    try {
      const step = await rules.playSeen({ view, action });
      if (turn !== this.#newest) return false;
      this.refusal = null;
      if (step.view === undefined) {
        this.#show(this.#views.length - 1);
        this.mayShow = step.possibleShown;
        return false;
      }
      this.#views.push(step.view);
      return true;
    } catch (error) {
      if (turn === this.#newest) this.refusal = refusalOf(error);
      return false;
    }
  }

  #show(at: number): void {
    this.at = at;
    this.view = this.#views[at] ?? null;
    this.mayShow = [];
    this.refusal = null;
  }
}

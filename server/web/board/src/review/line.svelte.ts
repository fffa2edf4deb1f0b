// A line of play that starts from a view and is stepped through. The server plays each step. A step that shows a hidden card
// asks which, unless the line is one likely example, which names it: then another card may be chosen instead.

import { create } from "@bufbuild/protobuf";
import { possibleCards, type PossibleCard } from "../games/beliefs";
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
  /** The cards that a step may show, likeliest first, if that is the question. */
  mayShow = $state.raw<PossibleCard[]>([]);
  refusal = $state.raw<Refusal | null>(null);

  #views: View[] = [];
  #wanted = 0;
  /** The number of the step that `mayShow` is about. */
  #asked = 0;
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
    const last = this.at - 1;
    if (this.steps[last]?.shown.length) await this.#ask(turn, last).catch(() => undefined); // it shows one already
  }

  /** Answer which card a step shows. The rest of an example is of another world, and is forgotten. */
  async choose(card: Card): Promise<void> {
    const turn = ++this.#newest;
    const { seat, action, shown } = this.steps[this.#asked]!;
    this.mayShow = [];
    this.#views = this.#views.slice(0, this.#asked + 1);
    const shows = create(SeenActionSchema, { seat, ...(action ? { action } : {}), shown: [card] });
    if (shown.length > 0) this.steps = [...this.steps.slice(0, this.#asked), shows];
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
        await this.#ask(turn, this.at);
        return false;
      }
      this.#views.push(step.view);
      return true;
    } catch (error) {
      if (turn === this.#newest) this.refusal = refusalOf(error);
      return false;
    }
  }

  async #ask(turn: number, step: number): Promise<void> {
    const cards = await possibleCards(this.#views[step]!, this.steps[step]!);
    if (turn !== this.#newest) return;
    this.#asked = step;
    this.mayShow = cards;
  }

  #show(at: number): void {
    this.at = at;
    this.view = this.#views[at] ?? null;
    this.mayShow = [];
    this.refusal = null;
  }
}

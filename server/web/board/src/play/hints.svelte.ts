// A hint in three steps: where to look, the best moves, and the analysis.

import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Candidate, SeatValue } from "../../generated/eminence/v1/solver_pb";
import type { View } from "../../generated/eminence/v1/view_pb";
import { refusalOf, solver, type Refusal } from "../api";

const ITERATIONS = 20_000n;
const TIME_MS = 4_000;
const GRACE_MS = 10_000;
const LINES = 5;

export class Hints {
  /** 0: none, 1: where to look, 2: the best moves. */
  step = $state(0);
  candidates = $state.raw<Candidate[]>([]);
  /** The expected share of the win of each seat. */
  seats = $state.raw<SeatValue[]>([]);
  refusal = $state.raw<Refusal | null>(null);
  isThinking = $state(false);
  /** The move in the list at which the pointer or the keyboard is. */
  pointed = $state<string | null>(null);
  #stop: AbortController | null = null;

  /** Ask for the best moves of a view. Return whether there is an answer. */
  async ask(view: View): Promise<boolean> {
    this.forget();
    const stop = (this.#stop = new AbortController());
    this.isThinking = true;
    try {
      const request = {
        view,
        budget: { iterations: ITERATIONS, time: durationFromMs(TIME_MS) },
        options: { lines: LINES },
      };
      const { suggestion } = await solver.suggest(request, { signal: stop.signal, timeoutMs: TIME_MS + GRACE_MS });
      if (this.#stop !== stop) return false;
      this.candidates = suggestion?.candidates ?? [];
      this.seats = suggestion?.seats ?? [];
      this.step = 1;
    } catch (error) {
      if (this.#stop === stop) this.refusal = refusalOf(error);
    }
    if (this.#stop === stop) this.isThinking = false;
    return this.step > 0;
  }

  more(): void {
    this.step = 2;
  }

  forget(): void {
    this.#stop?.abort();
    this.#stop = null;
    this.isThinking = false;
    this.step = 0;
    this.candidates = [];
    this.seats = [];
    this.pointed = this.refusal = null;
  }
}

// The comparison of pinned moves in the same worlds, which grows while it is shown.

import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Action, View } from "../../generated/eminence/v1/view_pb";
import type { Comparison as Answer } from "../../generated/eminence/v1/solver_pb";
import { refusalOf, solver, type Refusal } from "../api";

const BUDGET_MS = 2_000;
const INTERVAL_MS = 200;
const GRACE_MS = 10_000;
export const PINNED_MAX = 16; // as in the contract

export class Comparison {
  pinned = $state.raw<Action[]>([]);
  answer = $state.raw<Answer | null>(null);
  refusal = $state.raw<Refusal | null>(null);
  isRunning = $state(false);
  #stop: AbortController | null = null;

  isPinned(action: Action | undefined): boolean {
    return this.pinned.some((other) => other.text === action?.text);
  }

  toggle(action: Action): void {
    this.#forget();
    this.pinned = this.isPinned(action)
      ? this.pinned.filter((other) => other.text !== action.text)
      : [...this.pinned, action].slice(-PINNED_MAX);
  }

  /** Forget all moves: the position is another one. */
  reset(): void {
    this.#forget();
    this.pinned = [];
  }

  async run(view: View): Promise<void> {
    this.#forget();
    const stop = (this.#stop = new AbortController());
    this.isRunning = true;
    try {
      const compare = { view, actions: this.pinned, budget: { time: durationFromMs(BUDGET_MS) } };
      const request = { compare, interval: durationFromMs(INTERVAL_MS) };
      const call = { signal: stop.signal, timeoutMs: BUDGET_MS + GRACE_MS };
      for await (const { comparison } of solver.compareStream(request, call)) {
        if (this.#stop !== stop) return;
        this.answer = comparison ?? null;
      }
    } catch (error) {
      if (this.#stop === stop) this.refusal = refusalOf(error);
    }
    if (this.#stop === stop) this.isRunning = false;
  }

  #forget(): void {
    this.#stop?.abort();
    this.#stop = null;
    this.isRunning = false;
    this.answer = null;
    this.refusal = null;
  }
}

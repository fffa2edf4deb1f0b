// A warning before a choice that loses much, for people who asked for it.

import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Action, View } from "../../generated/eminence/v1/view_pb";
import { solver } from "../api";
import { warns } from "../switch.svelte";

const ITERATIONS = 10_000n;
const TIME_MS = 2_000;
const GRACE_MS = 10_000;
/** A loss of this share of the win is worth a warning, if it is more than twice its error. */
const MUCH = 0.05;

export class Warning {
  isChecking = $state(false);
  /** The choice, and what it loses; null: no warning. */
  about = $state.raw<{ action: Action; loss: number; error: number } | null>(null);

  /** Compare a choice with the best one; return whether a warning stands against it. If the server fails, none does. */
  async check(view: View, action: Action): Promise<boolean> {
    this.about = null;
    if (!warns.isOn) return false;
    this.isChecking = true;
    try {
      const budget = { iterations: ITERATIONS, time: durationFromMs(TIME_MS) };
      const call = { timeoutMs: TIME_MS + GRACE_MS };
      const best = (await solver.suggest({ view, budget }, call)).suggestion?.best;
      if (best === undefined || best.text === action.text) return false;
      const { comparison } = await solver.compare({ view, actions: [best, action], budget }, call);
      const difference = comparison?.actions[1]?.winDifference;
      const loss = -(difference?.mean ?? 0);
      const error = difference?.standardError ?? 0;
      if (loss < MUCH || loss < 2 * error) return false;
      this.about = { action, loss, error };
      return true;
    } catch {
      return false;
    } finally {
      this.isChecking = false;
    }
  }

  forget(): void {
    this.about = null;
  }
}

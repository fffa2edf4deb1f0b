// The picks that lead to one of several actions.

import type { Action, View } from "../../generated/eminence/v1/view_pb";
import { picksOf } from "../games";
import { choicesLeft, completed, picksLeft, type Choice, type Pick, type Thing } from "../games/picks";

export class Picking {
  #choices = $state.raw<Choice<Action>[]>([]);
  #picked = $state.raw<readonly Pick[]>([]);

  open = $derived(new Set(picksLeft(this.#choices, this.#picked).keys()));
  picked = $derived(new Set(this.#picked.map((pick) => pick.thing)));
  /** The actions that the picks leave. */
  left = $derived(choicesLeft(this.#choices, this.#picked).map((choice) => choice.action));

  /** The action that the picks complete; null while picks are missing. */
  done = $derived(completed(this.#choices, this.#picked)?.action ?? null);
  /** The number of picks made. */
  count = $derived(this.#picked.length);

  /** Begin to choose among the legal actions of a view. */
  begin(actions: Action[], view: View): void {
    this.#choices = actions.map((action) => ({ action, picks: picksOf(action, view) }));
    this.#picked = [];
  }

  /** Pick a thing, or take it back if it is picked; return the action that this completes, or null. */
  pick(thing: Thing): Action | null {
    const pick = picksLeft(this.#choices, this.#picked).get(thing);
    if (pick === undefined) {
      this.#picked = this.#picked.filter((other) => other.thing !== thing);
      return null;
    }
    this.#picked = [...this.#picked, pick];
    return this.done;
  }

  /** Take back all picks. */
  restart(): void {
    this.#picked = [];
  }

  /** Offer nothing. */
  clear(): void {
    this.#choices = [];
    this.#picked = [];
  }

  /** Take back the last pick. */
  back(): void {
    this.#picked = this.#picked.slice(0, -1);
  }
}

// Dragging a place of the editor to a gap or onto another place, by mouse or pen. Touch scrolls the row; its way, and that
// of the keyboard, are the buttons and keys.

import type { Editing, Spot } from "./editing.svelte";

/** A pointer that moved less than this pressed, and did not drag. */
const LEAST_PX = 6;

/** The gap or place under a dragged card, as its `data-drop` names it: "gap:0:2" or "on:0:3" (row, number). */
export type Target = string;

export class Dragging {
  /** The place that is dragged. */
  from = $state.raw<Spot | null>(null);
  over = $state<Target | null>(null);
  #begun: { spot: Spot; x: number; y: number } | null = null;
  #hasDragged = false;

  constructor(readonly editing: Editing) {}

  down(event: PointerEvent, spot: Spot): void {
    this.#hasDragged = false;
    if (event.button !== 0 || event.pointerType === "touch") return;
    this.#begun = { spot, x: event.clientX, y: event.clientY };
  }

  move(event: PointerEvent): void {
    const begun = this.#begun;
    if (begun === null) return;
    const isFar = Math.hypot(event.clientX - begun.x, event.clientY - begun.y) >= LEAST_PX;
    if (this.from === null && !isFar) return;
    this.#hasDragged = true;
    this.from = begun.spot;
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-drop]");
    this.over = under?.dataset.drop ?? null;
  }

  up(): void {
    const { from, over } = this;
    this.cancel();
    setTimeout(() => (this.#hasDragged = false)); // the click of this press comes before
    if (from === null || over === null) return;
    const [kind, row, number] = over.split(":");
    if (kind === "gap") this.editing.moveTo(from, Number(row), Number(number));
    else this.editing.stack(from, { row: Number(row), stack: Number(number), depth: 0 });
  }

  cancel(): void {
    this.#begun = null;
    this.from = this.over = null;
  }

  /** Whether the click that follows is the end of a drag, and so no press. */
  get wasDrag(): boolean {
    return this.#hasDragged;
  }
}

// Pasting and dropping anywhere on the page, but into fields, which take text for themselves.

import { pasting } from "./pasting.svelte";

const isField = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.closest("input, textarea, select") !== null;

export function onPaste(event: ClipboardEvent): void {
  const text = event.clipboardData?.getData("text") ?? "";
  if (isField(event.target) || text.trim() === "") return;
  event.preventDefault();
  void pasting.open(text);
}

/** A dragged file can be dropped anywhere: else the browser would leave the page for it. */
export function onDragOver(event: DragEvent): void {
  const isFile = event.dataTransfer?.types.includes("Files") ?? false;
  if (isFile || !isField(event.target)) event.preventDefault();
}

export function onDrop(event: DragEvent): void {
  const file = event.dataTransfer?.files[0];
  const text = event.dataTransfer?.getData("text") ?? "";
  if (file === undefined && (isField(event.target) || text.trim() === "")) return;
  event.preventDefault();
  void (file === undefined ? pasting.open(text) : pasting.openFile(file));
}

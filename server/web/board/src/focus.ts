// The focus of people who use the keyboard: it must not fall back to the page when a button goes away.

import { tick } from "svelte";

/** Give the focus to an element if the thing that had it is gone, hidden or disabled. */
export async function keepFocus(element: HTMLElement | undefined): Promise<void> {
  await tick();
  const now = document.activeElement;
  const isLost = now === null || now === document.body || now.matches(":disabled") || !now.checkVisibility();
  if (isLost) element?.focus({ preventScroll: true });
}

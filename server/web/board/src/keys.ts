// The keys of the page, which work wherever no field has the focus.

import { letterKeys } from "./switch.svelte";

/** Whether a key works: those of a single letter, digit or sign can be switched off. */
export const isKeyOn = (key: string): boolean => letterKeys.isOn || key.length > 1 || key === " ";

/** Return the key that was pressed, letters as small ones; "" if it belongs to a field or the browser, or is switched off. */
export function keyOf(event: KeyboardEvent): string {
  const inField = event.target instanceof Element && event.target.closest("input, textarea, select") !== null;
  const isOff = event.ctrlKey || event.metaKey || event.altKey || !isKeyOn(event.key);
  return isOff || (inField && event.key !== "Escape") ? "" : event.key.length === 1 ? event.key.toLowerCase() : event.key;
}

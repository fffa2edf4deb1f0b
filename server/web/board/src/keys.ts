// The keys of the page, which work wherever no field has the focus.

import { letterKeys } from "./switch.svelte";

/** Return the key that was pressed, letters as small ones; "" if it belongs to a field or the browser, or is switched off. */
export function keyOf(event: KeyboardEvent): string {
  const inField = event.target instanceof Element && event.target.closest("input, textarea, select") !== null;
  const isLetter = event.key.length === 1 && event.key !== " ";
  const isOff = event.ctrlKey || event.metaKey || event.altKey || (isLetter && !letterKeys.isOn);
  return isOff || (inField && event.key !== "Escape") ? "" : isLetter ? event.key.toLowerCase() : event.key;
}

// The widths at which pages change their parts, and not their looks alone.

import { MediaQuery } from "svelte/reactivity";

/** A screen as narrow as a phone's, where parts of a page share their place. */
export const phone = new MediaQuery("max-width: 40rem");
/** A screen with one column. */
export const narrow = new MediaQuery("max-width: 63.99rem");
/** A screen with three columns. */
export const wide = new MediaQuery("min-width: 80rem");

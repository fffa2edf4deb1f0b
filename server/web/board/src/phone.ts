// A screen as narrow as a phone's, where parts of a page share their place.

import { MediaQuery } from "svelte/reactivity";

export const phone = new MediaQuery("max-width: 40rem");

// "Think first": what the engine advises stays covered until the reader has chosen a move.

import { Switch } from "./switch.svelte";

export const think = new Switch("think-first");

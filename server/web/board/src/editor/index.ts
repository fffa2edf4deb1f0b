// The games that can be set up by clicking. Another game is set up as text.

import { castleVillagePort } from "./castle_village_port";
import type { EditedGame } from "./draft";
import { oriflamme } from "./oriflamme";

const EDITED: Readonly<Record<string, EditedGame>> = {
  oriflamme,
  oriflamme_prototype: oriflamme,
  castle_village_port: castleVillagePort,
};

/** Return the game with an id; null for a game that is set up as text. */
export const editedGame = (id: string): EditedGame | null => EDITED[id] ?? null;

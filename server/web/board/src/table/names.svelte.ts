// The names of a game's cards and locations in the language of the page.

import type { GameSpec } from "../../generated/eminence/v1/view_pb";
import type { CardInfo, LocationInfo } from "../../generated/eminence/v1/rules_pb";
import { rules } from "../api";
import { kindOf } from "../games";
import { language, words } from "../words/index.svelte";

export class CardNames {
  #cards = $state.raw(new Map<string, CardInfo>());
  #locations = $state.raw<LocationInfo[]>([]);

  /** Fetch the cards and the locations of a game. */
  async load(game: GameSpec): Promise<void> {
    const { cards, locations } = await rules.listCards({ game });
    this.#locations = locations;
    this.#cards = new Map(cards.map((info) => [kindOf(info.card!), info]));
  }

  /** The kinds of the game's cards, in the order of hands. */
  get kinds(): string[] {
    return [...this.#cards.keys()];
  }

  /** Return what a card does, in the language of the page; empty if that is unknown. */
  meaningOf(kind: string): string {
    return this.#cards.get(kind)?.meaning?.[language()] ?? "";
  }

  /** Return the name of a row of the table in the language of the page. */
  rowName(row: string): string {
    return row === "queue" ? words().queue : this.#location(row)?.names?.[language()] || row;
  }

  /** Return what the ranks of a row earn, and that as a sentence; empty for a row without rewards. */
  rewardsOf(row: string): { ranks: string; meaning: string } {
    const { rewards = [], meaning } = this.#location(row) ?? {};
    return { ranks: rewards.map((rank) => rank[language()]).join(" · "), meaning: meaning?.[language()] ?? "" };
  }

  #location(row: string): LocationInfo | undefined {
    return this.#locations.find(({ name }) => name === row);
  }

  /** Return the name of a kind in the language of the page; the kind itself for a card without a name. */
  nameOf(kind: string): string {
    return this.#cards.get(kind)?.names?.[language()] || kind;
  }
}

// The names of a game's cards in the language of the page.

import type { GameSpec } from "../../generated/eminence/v1/view_pb";
import type { CardInfo } from "../../generated/eminence/v1/rules_pb";
import { rules } from "../api";
import { kindOf } from "../games";
import { language } from "../words/index.svelte";

export class CardNames {
  #cards = $state.raw(new Map<string, CardInfo>());

  /** Fetch the cards of a game. */
  async load(game: GameSpec): Promise<void> {
    const { cards } = await rules.listCards({ game });
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

  /** Return the name of a kind in the language of the page; the kind itself for a card without a name. */
  nameOf(kind: string): string {
    return this.#cards.get(kind)?.names?.[language()] || kind;
  }
}

// The address of the page. Everything is in the fragment, which browsers never send to a server.

import type { Source } from "./analyse/position.svelte";

export type Page = "analyse";

/** Return the fragment of a position. */
export function linkTo(source: Source): string {
  const parts = new URLSearchParams({
    game: source.game,
    edition: source.edition,
    players: String(source.players),
    view: source.text,
  });
  return `#/analyse?${parts}`;
}

/** Return the position of a fragment; null if it has none. */
export function sourceIn(fragment: string): Source | null {
  const question = fragment.indexOf("?");
  if (question < 0) return null;
  const parts = new URLSearchParams(fragment.slice(question + 1));
  const text = parts.get("view");
  const players = Number(parts.get("players"));
  if (text === null || !Number.isInteger(players)) return null;
  return { game: parts.get("game") ?? "", edition: parts.get("edition") ?? "", players, text };
}

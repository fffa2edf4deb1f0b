// The address of the page. Everything is in the fragment, which browsers never send to a server.

import type { Source } from "./analyse/position.svelte";

/** Open a fragment, also the one that is open already. */
export function goTo(fragment: string): void {
  if (location.hash === fragment) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = fragment;
}

/** Return the fragment of a position. */
export function linkTo({ game, edition, players, text, line, changes }: Source): string {
  const parts = new URLSearchParams({ game, edition, players: String(players), view: text });
  if (changes !== undefined) parts.set("changes", changes);
  for (const action of line) parts.append("then", action);
  return `#/analyse?${parts}`;
}

/** Return the position of a fragment; null if it has none. */
export function sourceIn(fragment: string): Source | null {
  const question = fragment.indexOf("?");
  if (question < 0) return null;
  const parts = new URLSearchParams(fragment.slice(question + 1));
  const text = parts.get("view");
  const players = Number(parts.get("players"));
  const changes = parts.get("changes");
  if (text === null || !Number.isInteger(players)) return null;
  return {
    game: parts.get("game") ?? "",
    edition: parts.get("edition") ?? "",
    players,
    text,
    line: parts.getAll("then"),
    ...(changes === null ? {} : { changes }),
  };
}

// The pages of the board, named by the beginning of the fragment: "#/play", "#/analyse?view=...".

import type { Component } from "svelte";
import { loaded } from "./later";

const PAGES = {
  play: () => import("./play/Play.svelte"),
  analyse: () => import("./analyse/Analyse.svelte"),
  review: () => import("./review/Review.svelte"),
} satisfies Record<string, () => Promise<{ default: Component }>>;
export type PageName = keyof typeof PAGES;
export const PAGE_NAMES = Object.keys(PAGES) as PageName[];

const named = (fragment: string): PageName => {
  const name = /^#\/(\w+)/.exec(fragment)?.[1] ?? "";
  return name in PAGES ? (name as PageName) : "play";
};

const shown = $state({ page: named(location.hash) });
addEventListener("hashchange", () => (shown.page = named(location.hash)));

export const page = () => shown.page;

/** Return the component of a page. */
export const componentOf = async (name: PageName): Promise<Component> => (await loaded<{ default: Component }>(PAGES[name])).default;

// The pages of the board, named by the beginning of the fragment: "#/play", "#/analyse?view=...".

import type { Component } from "svelte";
import Analyse from "./analyse/Analyse.svelte";
import Play from "./play/Play.svelte";
import Review from "./review/Review.svelte";

export const PAGES = { play: Play, analyse: Analyse, review: Review } satisfies Record<string, Component>;
export type PageName = keyof typeof PAGES;

const named = (fragment: string): PageName => {
  const name = /^#\/(\w+)/.exec(fragment)?.[1] ?? "";
  return name in PAGES ? (name as PageName) : "play";
};

const shown = $state({ page: named(location.hash) });
addEventListener("hashchange", () => (shown.page = named(location.hash)));

export const page = () => shown.page;

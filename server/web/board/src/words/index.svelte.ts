// The language of the page. Only the words of that language are loaded.

import { loaded } from "../later";
import type { Words } from "./en";

export const LANGUAGES = {
  en: { name: "English", load: async () => (await import("./en")).en },
  fr: { name: "Français", load: async () => (await import("./fr")).fr },
  de: { name: "Deutsch", load: async () => (await import("./de")).de },
} satisfies Record<string, { name: string; load: () => Promise<Words> }>;
export type Language = keyof typeof LANGUAGES;

const STORED = "language";

const isLanguage = (text: string | undefined | null): text is Language => text != null && text in LANGUAGES;

function preferred(): Language {
  const stored = localStorage.getItem(STORED);
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase()).find(isLanguage) ?? "en";
}

let shown = $state.raw<{ language: Language; words: Words } | null>(null);

export const language = (): Language => shown!.language;
export const words = (): Words => shown!.words;

/** Load the words of the preferred language. The page can be drawn only then. */
export const loadWords = (): Promise<void> => show(preferred());

export async function choose(next: Language): Promise<void> {
  await show(next);
  localStorage.setItem(STORED, next);
}

async function show(next: Language): Promise<void> {
  shown = { language: next, words: await loaded<Words>(LANGUAGES[next].load) };
  document.documentElement.lang = next;
}

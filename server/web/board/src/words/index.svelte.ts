// The language of the page.

import { de } from "./de";
import { en, type Words } from "./en";
import { fr } from "./fr";

export const LANGUAGES = { en, fr, de } satisfies Record<string, Words>;
export type Language = keyof typeof LANGUAGES;

const STORED = "language";

const isLanguage = (text: string | undefined | null): text is Language => text != null && text in LANGUAGES;

function preferred(): Language {
  const stored = localStorage.getItem(STORED);
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase()).find(isLanguage) ?? "en";
}

const chosen = $state({ language: preferred() });

export const language = () => chosen.language;
export const words = (): Words => LANGUAGES[chosen.language];

export function choose(next: Language): void {
  chosen.language = next;
  localStorage.setItem(STORED, next);
  document.documentElement.lang = next;
}

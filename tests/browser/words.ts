// Print the paths of all words of the page's catalogues, such as "playing.hint": one language for each line of input.

import { createInterface } from "node:readline";
import { de } from "../../server/web/board/src/words/de";
import { en } from "../../server/web/board/src/words/en";
import { fr } from "../../server/web/board/src/words/fr";

const catalogues: Record<string, object> = { de, en, fr };

const pathsOf = (words: object, prefix = ""): string[] =>
  Object.entries(words).flatMap(([key, word]) =>
    typeof word === "object" && !Array.isArray(word) ? pathsOf(word as object, `${prefix}${key}.`) : [`${prefix}${key}`],
  );

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(pathsOf(catalogues[JSON.parse(line) as string]!)));
}

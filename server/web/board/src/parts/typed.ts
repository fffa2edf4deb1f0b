// Moves that people type: each word may be shortened, as in "p s b" for "place Spy back".

const plain = (text: string): string => text.trim().toLowerCase().replace(/\s+/g, " ");
const begin = (parts: string[], words: string[]) => parts.every((part, at) => words[at]?.startsWith(part));

/** Return the moves that a text may mean, in their order: the one that it names, else those that it shortens. */
export function meant<Move>(text: string, moves: readonly Move[], namesOf: (move: Move) => readonly string[]): Move[] {
  const typed = plain(text);
  const fitting = (fits: (name: string) => boolean) =>
    moves.filter((move) => typed !== "" && namesOf(move).some((name) => fits(plain(name))));
  const named = fitting((name) => name === typed);
  return named.length > 0 ? named : fitting((name) => begin(typed.split(" "), name.split(" ")));
}

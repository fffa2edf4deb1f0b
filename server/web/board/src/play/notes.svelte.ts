// The notes of the people on this device about face-down cards.

import type { SeatIndex } from "../table/drawing";
import { keepTable, type Note, type StoredTable } from "./stored";

const EMPTY: Note = { kind: "", text: "", after: 0 };

export class Notes {
  /** The key of the card whose note is being written. */
  open = $state<string | null>(null);
  #notes = $state.raw<Record<SeatIndex, Record<string, Note>>>({});
  readonly #stored: StoredTable;

  constructor(stored: StoredTable) {
    this.#stored = stored;
    this.#notes = structuredClone(stored.notes);
  }

  of(seat: SeatIndex, card: string): Note {
    return this.#notes[seat]?.[card] ?? EMPTY;
  }

  /** Return the guessed kinds of a seat, by card. */
  guesses(seat: SeatIndex | null): Map<string, Note> {
    return new Map(Object.entries(seat === null ? {} : (this.#notes[seat] ?? {})));
  }

  /** Write a part of a note, and the number of actions before it. */
  write(seat: SeatIndex, card: string, note: Partial<Note>, after: number): void {
    const next = { ...this.of(seat, card), ...note, after };
    const notes = { ...this.#notes[seat] };
    if (next.kind === "" && next.text === "") delete notes[card];
    else notes[card] = next;
    this.#notes = { ...this.#notes, [seat]: notes };
    this.#stored.notes = this.#notes;
    keepTable(this.#stored);
  }
}

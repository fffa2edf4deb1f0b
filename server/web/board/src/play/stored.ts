// The tables that this browser knows: their keys, and the notes of their people. They stay in this browser.

import { LETTERS, type SeatIndex } from "../table/drawing";

/** The player of a seat; level 0 is a person. */
export interface Sitter {
  name: string;
  level: number;
}

/** A guess about a face-down card. */
export interface Note {
  kind: string;
  text: string;
  /** The number of actions before it was written. */
  after: number;
}

/** A hint: who asked for it, and the number of actions before. */
export interface Hinted {
  seat: SeatIndex;
  after: number;
}

export interface StoredTable {
  id: string;
  /** The names of the game and its edition when the table was set up, by language. */
  title: Record<string, string>;
  opened: number;
  sitters: Sitter[];
  /** The keys of the people on this device, by seat. */
  keys: Record<SeatIndex, string>;
  /** The keys that the others get as links, by seat. */
  links: Record<SeatIndex, string>;
  /** By seat, and by the card's key in drawings. */
  notes: Record<SeatIndex, Record<string, Note>>;
  hints: Hinted[];
  isOver: boolean;
}

const STORED = "tables";
const KEPT_MAX = 50;

export function storedTables(): StoredTable[] {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(read) ? (read as StoredTable[]) : [];
  } catch {
    return [];
  }
}

export const storedTable = (id: string): StoredTable | undefined => storedTables().find((table) => table.id === id);

/** Keep a table, the newest first. */
export function keepTable(table: StoredTable): void {
  write([table, ...storedTables().filter((other) => other.id !== table.id)].slice(0, KEPT_MAX));
}

export function forgetTable(id: string): void {
  write(storedTables().filter((table) => table.id !== id));
}

/** Return a table that this browser does not know yet. */
export function newTable(
  sitters: Sitter[],
  keys: Record<SeatIndex, string>,
  links: Record<SeatIndex, string> = {},
  title: Record<string, string> = {},
): StoredTable {
  const id = crypto.getRandomValues(new Uint32Array(2)).join("-");
  return { id, title, opened: Date.now(), sitters, keys, links, notes: {}, hints: [], isOver: false };
}

/** Return the table to which a key belongs; a new one if this browser does not know the key. */
export function tableOfKey(key: string, seat: SeatIndex, sitters: Sitter[], title: Record<string, string>): StoredTable {
  const known = storedTables().find((table) => Object.values(table.keys).includes(key));
  return known ?? newTable(sitters, { [seat]: key }, {}, title);
}

/** Return the name by which a seat is called: that of its player, or its letter. */
export const nameOf = (sitters: readonly Sitter[], seat: SeatIndex): string => sitters[seat]?.name || LETTERS[seat]!;

/** Return the link that opens a seat. The key is in the fragment, which browsers never send. */
export const linkOf = (key: string): string => `${location.origin}${location.pathname}#/play?key=${key}`;

function write(tables: StoredTable[]): void {
  localStorage.setItem(STORED, JSON.stringify(tables));
}

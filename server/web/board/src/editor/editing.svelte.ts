// The work on a draft: changes that can be undone, and the server's answer to each.

import { create } from "@bufbuild/protobuf";
import { refusalOf, rules, type Refusal } from "../api";
import { ViewSchema, type GameSpec, type View } from "../../generated/eminence/v1/view_pb";
import { emptyDraft, newKey, seatIds, type Draft, type DraftCard, type DraftStack, type EditedGame, type Place } from "./draft";

const SETTLED_MS = 150;
const UNDONE_MAX = 100;

/** Return a copy of a draft that nothing observes. Svelte's own needs more code, and a draft is JSON. */
const copyOf = (draft: Draft): Draft => JSON.parse(JSON.stringify(draft)) as Draft;

/** A fault of a draft, at its place. */
export interface Problem {
  place: Place;
  reason: string;
  text: string;
}

/** The place of a card: row, stack, and depth from the top. */
export interface Spot {
  row: number;
  stack: number;
  depth: number;
}

export class Editing {
  draft = $state<Draft>()!;
  /** The draft with everything that the server filled in; null until it could. */
  filled = $state.raw<Draft | null>(null);
  problems = $state.raw<Problem[]>([]);
  /** The position in notation; empty while it is impossible. */
  text = $state("");
  worlds = $state(0);
  isChecked = $state(false);
  refusal = $state.raw<Refusal | null>(null);
  selected = $state.raw<Spot | null>(null);
  canUndo = $state(false);
  canRedo = $state(false);

  #before: Draft[] = [];
  #undone: Draft[] = [];
  #pending: ReturnType<typeof setTimeout> | undefined;
  #newest = 0;

  constructor(
    readonly game: EditedGame,
    readonly spec: GameSpec,
    view: View | null,
  ) {
    this.draft = (view && game.read(view.table)) ?? emptyDraft(game);
    void this.#check();
  }

  get players(): number {
    return this.spec.players;
  }

  at(place: Place): Problem[] {
    return this.problems.filter((problem) => problem.place === place);
  }

  /** Change the draft. */
  change(how: (draft: Draft) => void): void {
    this.#before = [...this.#before, copyOf(this.draft)].slice(-UNDONE_MAX);
    this.#undone = [];
    this.#count();
    how(this.draft);
    this.#checkSoon();
  }

  setValue(id: string, value: string): void {
    this.change((draft) => {
      this.#keepFilled(draft.values, this.filled?.values ?? {}, id);
      draft.values[id] = value;
    });
  }

  setList(id: string, cards: string[]): void {
    this.change((draft) => {
      this.#keepFilled(draft.lists, this.filled?.lists ?? {}, id);
      draft.lists[id] = cards;
    });
  }

  /** Keep what the server filled in for the other seats: it fills in a value for all seats, or for none. */
  #keepFilled<T extends string | string[]>(values: Record<string, T>, filled: Record<string, T>, id: string): void {
    const [name, seat] = id.split(":");
    if (seat === undefined) return;
    for (const other of seatIds(name!, this.players)) {
      const value = filled[other];
      if (other !== id && value !== undefined && !values[other]?.length) values[other] = value;
    }
  }

  undo(): void {
    this.#swap(this.#before, this.#undone);
  }

  redo(): void {
    this.#swap(this.#undone, this.#before);
  }

  #swap(from: Draft[], to: Draft[]): void {
    const draft = from.pop();
    if (draft === undefined) return;
    to.push(copyOf(this.draft));
    this.draft = draft;
    this.selected = null;
    this.#count();
    this.#checkSoon();
  }

  #count(): void {
    this.canUndo = this.#before.length > 0;
    this.canRedo = this.#undone.length > 0;
  }

  /** Empty the table; the server fills in the start of a game. */
  clear(): void {
    this.selected = null;
    this.change((draft) => {
      draft.rows = draft.rows.map(() => []);
      draft.values = {};
      draft.lists = {};
    });
  }

  // --- cards ---

  stackAt(spot: Spot | null): DraftStack | null {
    return spot === null ? null : (this.draft.rows[spot.row]?.[spot.stack] ?? null);
  }

  cardAt(spot: Spot | null): DraftCard | null {
    return this.stackAt(spot)?.cards[spot!.depth] ?? null;
  }

  /** Put a card into a gap: gap 0 is before the first stack. */
  insert(row: number, gap: number, card: DraftCard): void {
    this.change((draft) => draft.rows[row]!.splice(gap, 0, { key: newKey(), cards: [{ ...card }], isActing: false }));
    this.selected = { row, stack: gap, depth: 0 };
  }

  /** Put a card onto the selected one. */
  cover(card: DraftCard): void {
    const spot = this.selected;
    const stack = this.stackAt(spot);
    if (spot === null || stack === null) return;
    const owner = stack.cards[0]!.owner;
    this.change(() => stack.cards.unshift({ ...card, owner }));
    this.selected = { ...spot, depth: 0 };
  }

  /** Remove the selected card, and its place if it was the only one. */
  remove(): void {
    const spot = this.selected;
    const stack = this.stackAt(spot);
    if (spot === null || stack === null) return;
    this.change((draft) => {
      stack.cards.splice(spot.depth, 1);
      if (stack.cards.length === 0) draft.rows[spot.row]!.splice(spot.stack, 1);
    });
    const left = this.draft.rows[spot.row]!.length;
    this.selected = left === 0 ? null : { row: spot.row, stack: Math.min(spot.stack, left - 1), depth: 0 };
  }

  /** Move the selected place by some places to the right. */
  move(by: number): void {
    const spot = this.selected;
    const row = spot === null ? undefined : this.draft.rows[spot.row];
    const to = (spot?.stack ?? 0) + by;
    if (spot === null || row === undefined || to < 0 || to >= row.length) return;
    this.change(() => row.splice(to, 0, ...row.splice(spot.stack, 1)));
    this.selected = { ...spot, stack: to };
  }

  /** Move a place to a gap, perhaps of another row. Gap 0 is before the first place. */
  moveTo(from: Spot, row: number, gap: number): void {
    const isSameRow = from.row === row;
    const to = isSameRow && gap > from.stack ? gap - 1 : gap;
    if (this.stackAt(from) === null || (isSameRow && to === from.stack)) return;
    this.change((draft) => draft.rows[row]!.splice(to, 0, ...draft.rows[from.row]!.splice(from.stack, 1)));
    this.selected = { row, stack: to, depth: 0 };
  }

  /** Put the cards of a place onto those of another one, whose owner they get: all cards of one place have one owner. */
  stack(from: Spot, onto: Spot): void {
    const [moved, target] = [this.stackAt(from), this.stackAt(onto)];
    if (!this.game.hasStacks || moved === null || target === null || moved === target) return;
    const { owner } = target.cards[0]!;
    this.change((draft) => {
      for (const card of moved.cards) if (card.owner !== owner) Object.assign(card, { owner, nth: 0 });
      target.cards.unshift(...moved.cards);
      target.isActing ||= moved.isActing;
      draft.rows[from.row]!.splice(from.stack, 1);
    });
    const stack = from.row === onto.row && from.stack < onto.stack ? onto.stack - 1 : onto.stack;
    this.selected = { row: onto.row, stack, depth: 0 };
  }

  /** Change the selected card. All cards of one place have one owner. */
  alter(how: Partial<DraftCard>): void {
    const stack = this.stackAt(this.selected);
    const card = this.cardAt(this.selected);
    if (stack === null || card === null) return;
    this.change(() => {
      Object.assign(card, how);
      if (how.owner !== undefined) for (const other of stack.cards) Object.assign(other, { owner: how.owner, nth: 0 });
    });
  }

  /** Let the selected place act, or no place. */
  act(): void {
    const chosen = this.stackAt(this.selected);
    if (chosen === null) return;
    const isActing = !chosen.isActing;
    this.change((draft) => {
      for (const stack of draft.rows.flat()) stack.isActing = false;
      chosen.isActing = isActing;
    });
  }

  // --- checks ---

  #checkSoon(): void {
    this.isChecked = false;
    this.#newest++; // an answer about the draft before is out of date
    clearTimeout(this.#pending);
    this.#pending = setTimeout(() => void this.#check(), SETTLED_MS);
  }

  async #check(): Promise<void> {
    const turn = this.#newest;
    const draft = copyOf(this.draft);
    const view = create(ViewSchema, { game: this.spec, table: this.game.write(draft, this.spec) });
    try {
      const { problems, view: filled, text, worlds } = await rules.checkDraft({ view, fillIn: true });
      if (turn !== this.#newest) return;
      const inside = /^view\.\w+\./;
      this.problems = problems.map(({ field, reason, description }) => {
        const path = field.replace(inside, "");
        const place = this.game.placeOf(path, draft, this.players);
        return { place, reason, text: place === "" ? `${path}: ${description}` : description };
      });
      if (filled !== undefined) this.filled = this.game.read(filled.table);
      this.text = text;
      this.worlds = worlds;
      this.refusal = null;
    } catch (error) {
      if (turn === this.#newest) this.refusal = refusalOf(error);
    }
    if (turn === this.#newest) this.isChecked = true;
  }
}

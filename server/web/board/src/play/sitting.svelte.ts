// A person at a table: what the server shows to their seat, ply by ply, and their choices.
//
// If several people share this device, only the view of one of them is ever in memory for drawing: before another
// person looks, everything that was drawn is dropped (`cover`).

import { create } from "@bufbuild/protobuf";
import { NamesSchema, type Names, type Ply } from "../../generated/eminence/v1/rules_pb";
import { RecordSchema, type Comment } from "../../generated/eminence/v1/record_pb";
import type { Seat } from "../../generated/eminence/v1/seat_pb";
import type { TableResult, TableSeen } from "../../generated/eminence/v1/table_pb";
import { ViewSchema, type Action, type View } from "../../generated/eminence/v1/view_pb";
import { refusalOf, rules, tables, type Refusal } from "../api";
import { drawingOf } from "../games";
import { CallError } from "../connect";
import { indexOf } from "../games/game";
import type { SeatIndex } from "../table/drawing";
import { Hints } from "./hints.svelte";
import { Notes } from "./notes.svelte";
import { pace } from "./pace.svelte";
import { Picking } from "./picking.svelte";
import { keepTable, nameOf, type Hinted, type Sitter, type StoredTable } from "./stored";

const WATCH_AGAIN_MS = 2_000;
const BUSY_AGAIN_MS = 50;
const ACT_TIMEOUT_MS = 60_000;
/** A move that changed no card on the table, such as a secret choice, is shown for this part of the time. */
const UNCHANGED_SHARE = 4;

/** The table after an action, and the action as a sentence; the first frame has none. */
export interface Frame {
  view: View;
  words: Names | null;
  seat: SeatIndex | null;
  /** The points or gold that the action brought, by seat. */
  gains: ReadonlyMap<SeatIndex, number>;
}

const NO_GAINS: ReadonlyMap<SeatIndex, number> = new Map();

const frameOf = ({ words, effects }: Ply, view: View, seat: Seat | undefined): Frame => ({
  view: create(ViewSchema, view),
  words: words ?? null,
  seat: indexOf(seat ?? 0),
  gains: new Map(effects?.gains.map((gain) => [indexOf(gain.seat)!, gain.amount])),
});

/** The facts about a table that everybody may see. */
export interface Outline {
  toAct: SeatIndex[];
  thinking: SeatIndex | null;
}

export class Sitting {
  readonly stored: StoredTable;
  readonly picking = new Picking();
  readonly hints = new Hints();
  readonly notes: Notes;

  /** The seat whose cards are shown; null while the screen is covered. */
  seat = $state<SeatIndex | null>(null);
  seen = $state.raw<TableSeen | null>(null);
  outline = $state.raw<Outline>({ toAct: [], thinking: null });
  frames = $state.raw<readonly Frame[]>([]);
  /** The number of the frame that is shown. */
  at = $state(0);
  question = $state.raw<Names | null>(null);
  /** The sentences of the legal actions, by their notation. */
  choiceWords = $state.raw<ReadonlyMap<string, Names>>(new Map());
  legal = $state.raw<readonly Action[]>([]);
  /** After the end: the last table as each seat saw it. */
  finals = $state.raw<readonly View[]>([]);
  refusal = $state.raw<Refusal | null>(null);
  hinted = $state.raw<readonly Hinted[]>([]);
  isBusy = $state(false);
  isGone = $state(false);
  /** Whether new moves are being shown, one after the other. */
  isShowing = $state(false);

  sitters: Sitter[];
  #lastShown = new Map<SeatIndex, number>();
  /** The own choice that the next table follows. */
  #choice: { seat: SeatIndex; words: Names } | null = null;
  #watch: AbortController | null = null;
  #newest = 0;
  #covers = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(stored: StoredTable) {
    this.stored = stored;
    this.sitters = stored.sitters;
    this.notes = new Notes(stored);
    this.hinted = stored.hints;
  }

  // --- people ---

  /** The seats of the people on this device. */
  get local(): SeatIndex[] {
    return Object.keys(this.stored.keys).map(Number);
  }

  get isShared(): boolean {
    return this.local.length > 1;
  }

  name(seat: SeatIndex): string {
    return nameOf(this.sitters, seat);
  }

  get result(): TableResult | undefined {
    return this.seen?.result;
  }

  get frame(): Frame | null {
    return this.frames[this.at] ?? null;
  }

  /** Whether the game lets its seats remember the moves: only then there is a list, and a record before the end. */
  get hasHistory(): boolean {
    return this.seen?.view?.history !== undefined;
  }

  /** The number of actions that this seat has seen. */
  get played(): number {
    return Math.max(this.frames.length - 1, 0);
  }

  /** Whether the newest frame is shown. */
  get isNow(): boolean {
    return this.at === this.frames.length - 1;
  }

  get mayChoose(): boolean {
    return this.legal.length > 0 && this.isNow && !this.isBusy && this.result === undefined;
  }

  // --- sitting down and leaving ---

  /** Sit down: behind the cover if several people share the device. */
  async begin(): Promise<void> {
    const first = this.local[0];
    if (first === undefined) return;
    if (this.isShared) await this.#look(first);
    else await this.show(first);
  }

  /** Show the cards of a seat. */
  async show(seat: SeatIndex): Promise<void> {
    await this.#call(seat, async (key) => (await tables.getTable({ key })).table, seat);
  }

  /** Drop everything that was drawn. */
  cover(): void {
    if (this.seat !== null) this.#lastShown.set(this.seat, this.at);
    this.#newest++; // answers on their way are not drawn any more
    this.#covers++;
    this.seat = null;
    this.seen = null;
    this.frames = [];
    this.at = 0;
    this.question = null;
    this.choiceWords = new Map();
    this.legal = [];
    this.picking.clear();
    this.hints.forget();
    this.notes.open = null;
    this.#stopShowing();
  }

  close(): void {
    this.#isClosed = true;
    this.#stopWatching();
    this.#stopShowing();
  }

  /** Stop listening while nobody looks at the page; look again afterwards. */
  async setVisible(isVisible: boolean): Promise<void> {
    if (!isVisible) this.#stopWatching();
    else if (this.seat !== null) await this.show(this.seat);
    else if (!this.isGone) await this.begin();
  }

  // --- choices ---

  async act(action: Action): Promise<void> {
    const { seat, seen } = this;
    if (seat === null || seen === null) return;
    await this.#call(seat, async (key) => {
      const request = { key, version: seen.version, action };
      this.#choice = { seat, words: this.choiceWords.get(action.text) ?? create(NamesSchema, { en: action.text }) };
      return (await tables.act(request, { timeoutMs: ACT_TIMEOUT_MS })).table;
    });
  }

  async takeBack(): Promise<void> {
    const { seat, seen } = this;
    if (seat === null || seen === null || !seen.mayTakeBack) return;
    await this.#call(seat, async (key) => (await tables.takeBack({ key, version: seen.version })).table);
  }

  /**
   * Return the record of the game as text: as this seat saw it, or the whole one after the end. It has the names of the
   * players and the comments, unless only text can write it.
   */
  async record(comments: readonly Comment[]): Promise<string | null> {
    const key = this.stored.keys[this.seat ?? -1];
    if (key === undefined) return null;
    try {
      const { record, text } = await tables.getTableRecord({ key });
      if (record === undefined || record.contents.case === "text") return text;
      const names = this.sitters.map(({ name }) => name);
      const named = { ...record, comments: [...comments], names: names.some((name) => name !== "") ? names : [] };
      return (await rules.writeText({ message: { case: "record", value: named } })).text;
    } catch (error) {
      this.refusal = refusalOf(error);
      return null;
    }
  }

  // --- looking at earlier moves ---

  step(by: number): void {
    this.#stopShowing();
    this.at = Math.min(Math.max(this.at + by, 0), Math.max(this.frames.length - 1, 0));
  }

  goTo(frame: number): void {
    this.step(frame - this.at);
  }

  /** Show the newest table at once. */
  skip(): void {
    this.goTo(this.frames.length - 1);
  }

  // --- inside ---

  /** Make a call with a seat's key, and show the table that it returns, if the seat is the one that is shown. */
  async #call(seat: SeatIndex, call: (key: string) => Promise<TableSeen | undefined>, shown = this.seat): Promise<void> {
    const key = this.stored.keys[seat];
    if (key === undefined) return;
    this.isBusy = true;
    const covers = this.#covers;
    try {
      const table = await call(key);
      if (table !== undefined) await this.#take(table, covers === this.#covers ? shown : null);
      this.refusal = null;
    } catch (error) {
      this.#choice = null;
      this.#fail(error);
      if (CallError.from(error).code === "aborted") await this.show(seat); // the table changed meanwhile
    } finally {
      this.isBusy = false;
    }
  }

  #fail(error: unknown): void {
    const refusal = refusalOf(error);
    if (refusal?.reason === "NO_TABLE") {
      this.isGone = true;
      this.cover();
    } else {
      this.refusal = refusal;
    }
  }

  /** Learn who has to choose, without looking at any card. */
  async #look(seat: SeatIndex): Promise<void> {
    await this.#call(seat, async (key) => (await tables.getTable({ key })).table, null);
  }

  /** Take a table as `seat` sees it; null: the screen is covered. */
  async #take(table: TableSeen, seat: SeatIndex | null): Promise<void> {
    const turn = ++this.#newest;
    const isOver = table.result !== undefined;
    this.sitters = table.sitters.map(({ name, level }) => ({ name, level }));
    this.outline = { toAct: table.toAct.map((each) => indexOf(each)!), thinking: indexOf(table.thinking) };
    if (isOver && !this.stored.isOver) this.#keep({ isOver: true });
    if (isOver && seat === null) seat = indexOf(table.seat);
    if (!isOver && this.#isForAnother(seat)) {
      this.cover();
      this.#follow(table);
      return;
    }
    if (seat === null || indexOf(table.seat) !== seat) {
      this.#follow(table);
      return;
    }
    const parts = [this.#framesOf(table), this.#choicesOf(table), this.#finalsOf(table)] as const;
    const [frames, choices, finals] = await Promise.all(parts);
    if (turn !== this.#newest || this.#isClosed) return;
    const isSeen = table.view?.history !== undefined; // else the frames are no moves, which could be shown one by one
    const shown = this.seat === seat ? this.#common(frames) : (this.#lastShown.get(seat) ?? frames.length - 1);
    const before = isSeen ? shown : frames.length - 1;
    const isSame = this.seat === seat && this.seen?.version === table.version;
    this.seat = seat;
    this.seen = table;
    this.question = choices.question;
    this.choiceWords = choices.words;
    this.legal = table.legalActions;
    this.finals = finals;
    if (!isSame) {
      this.hints.forget();
      if (table.view) this.picking.begin(table.legalActions, table.view);
    }
    this.frames = frames;
    this.at = Math.min(before, frames.length - 1);
    this.#showRest();
    this.#follow(table);
  }

  /** Return whether another person on this device has to choose, and the one who looks does not. */
  #isForAnother(seat: SeatIndex | null): boolean {
    if (!this.isShared || seat === null) return false;
    const { toAct } = this.outline;
    return !toAct.includes(seat) && toAct.some((each) => this.local.includes(each)) && this.seat === seat;
  }

  /** Return the number of the last frame that is shown already. */
  #common(frames: readonly Frame[]): number {
    let last = 0;
    while (last < this.at && frames[last + 1]?.words?.en === this.frames[last + 1]?.words?.en) last++;
    return last;
  }

  async #framesOf(table: TableSeen): Promise<Frame[]> {
    const view = table.view!;
    if (view.history === undefined || view.game === undefined) return this.#framesWithoutHistory(table);
    const record = create(RecordSchema, {
      game: view.game,
      contents: { case: "seen", value: view.history },
      names: table.sitters.map(({ name }) => name),
    });
    const { plies } = await rules.replayRecord({ record, words: true });
    return plies.map((ply) => frameOf(ply, ply.views[0]!, ply.seen[0]?.seat));
  }

  /**
   * A game without histories does not say what a seat sees of an action. Until its end, the list therefore has the tables
   * that this page was shown, and the own choices; then the record has all.
   */
  async #framesWithoutHistory({ view, seat, result }: TableSeen): Promise<Frame[]> {
    if (result?.record !== undefined) {
      const { plies } = await rules.replayRecord({ record: result.record, words: true });
      return plies.map((ply) => frameOf(ply, ply.views[indexOf(seat)!]!, ply.action?.seat));
    }
    const frames = this.seat === indexOf(seat) ? this.frames : [];
    const [before, now] = [frames.at(-1), textOf(view!)];
    if (before === undefined) return [{ view: view!, words: null, seat: null, gains: NO_GAINS }];
    if (this.#choice === null && textOf(before.view) === now) return [...frames];
    const { words: choice = null, seat: chooser = null } = this.#choice ?? {};
    this.#choice = null;
    const told = (language: "en" | "fr" | "de") => (choice === null ? now : `${choice[language] || choice.en}. ${now}`);
    const words = create(NamesSchema, { en: told("en"), fr: told("fr"), de: told("de") });
    return [...frames, { view: view!, words, seat: chooser, gains: NO_GAINS }];
  }

  async #choicesOf(table: TableSeen): Promise<{ question: Names | null; words: Map<string, Names> }> {
    if (table.legalActions.length === 0) return { question: null, words: new Map() };
    const names = table.sitters.map(({ name }) => name);
    const answer = await rules.listLegalActions({ view: table.view!, words: true, names });
    const words = answer.actions.map((action, at) => [action.text, answer.words[at]!] as const);
    return { question: answer.question ?? null, words: new Map(words) };
  }

  async #finalsOf({ result }: TableSeen): Promise<View[]> {
    if (result?.record === undefined) return [];
    const { plies } = await rules.replayRecord({ record: result.record });
    return plies.at(-1)?.views ?? [];
  }

  // --- showing moves one by one ---

  #showRest(): void {
    this.#stopShowing();
    if (this.isNow) return;
    this.isShowing = true;
    this.#timer = setTimeout(() => this.#showNext(), this.#pauseMs());
  }

  /** Return how long this frame is shown before the next one: the own move comes at once. */
  #pauseMs(): number {
    const [before, now, next] = [this.frames[this.at - 1], this.frames[this.at], this.frames[this.at + 1]];
    if (next?.seat === this.seat) return 0;
    const changed = before === undefined || now === undefined || hasChanged(before.view, now.view);
    return changed ? pace.ms : pace.ms / UNCHANGED_SHARE;
  }

  #showNext(): void {
    this.at++;
    this.#showRest();
  }

  #stopShowing(): void {
    clearTimeout(this.#timer);
    this.isShowing = false;
  }

  // --- following the others ---

  /** Watch the table if somebody else can change it: a person elsewhere, or the engine. */
  #follow(table: TableSeen): void {
    const isElsewhere = this.sitters.some(({ level }, seat) => level === 0 && !this.local.includes(seat));
    const isNeeded = table.result === undefined && (isElsewhere || this.outline.thinking !== null);
    if (!isNeeded || this.isGone || this.#isClosed) this.#stopWatching();
    else if (this.#watch === null) void this.#watchAs(indexOf(table.seat)!);
  }

  async #watchAs(seat: SeatIndex): Promise<void> {
    const stop = (this.#watch = new AbortController());
    while (this.#watch === stop) {
      try {
        for await (const { table } of tables.watchTable({ key: this.stored.keys[seat]! }, { signal: stop.signal })) {
          if (this.#watch !== stop) return;
          // The person who looks may be another one now: their own key shows them the change.
          if (this.seat !== null && this.seat !== seat) await this.show(this.seat);
          else if (table !== undefined) await this.#takeNewer(table);
        }
      } catch (error) {
        if (this.#watch !== stop) return;
        if (refusalOf(error)?.reason === "NO_TABLE") return this.#fail(error);
      }
      await new Promise((resolve) => setTimeout(resolve, WATCH_AGAIN_MS));
    }
  }

  async #takeNewer(table: TableSeen): Promise<void> {
    while (this.isBusy) await new Promise((resolve) => setTimeout(resolve, BUSY_AGAIN_MS));
    if (this.seen !== null && table.version <= this.seen.version) return;
    await this.#take(table, this.seat);
  }

  #stopWatching(): void {
    this.#watch?.abort();
    this.#watch = null;
  }

  // --- this browser ---

  countHint(): void {
    if (this.seat === null) return;
    this.hinted = [...this.hinted, { seat: this.seat, after: this.played }];
    this.#keep({ hints: [...this.hinted] });
  }

  #keep(changes: Partial<StoredTable>): void {
    keepTable(Object.assign(this.stored, changes));
  }
}

const textOf = (view: View): string => (view.table.case === "text" ? view.table.value : "");

/** Return whether the cards on the table differ. */
function hasChanged(before: View, after: View): boolean {
  const rowsOf = (view: View) => JSON.stringify(drawingOf(view)?.rows ?? null);
  return rowsOf(before) !== rowsOf(after);
}

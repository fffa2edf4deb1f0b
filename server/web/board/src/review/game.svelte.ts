// A game that was played: its record, the views of its seats at each ply, and the grades of its decisions.

import { create, fromJson, type MessageInitShape } from "@bufbuild/protobuf";
import { refusalOf, rules, solver, type Refusal } from "../api";
import { indexOf } from "../games/game";
import { fieldsIn } from "../paste/recognise";
import { CommentSchema, RecordSchema, type Record } from "../../generated/eminence/v1/record_pb";
import type { Names, Ply } from "../../generated/eminence/v1/rules_pb";
import type { Seat } from "../../generated/eminence/v1/seat_pb";
import type { Candidate, ReviewedDecision, ReviewedDecisionSchema, ReviewSummary } from "../../generated/eminence/v1/solver_pb";
import { HistorySchema, ViewSchema, type GameSpec, type SeenAction, type View } from "../../generated/eminence/v1/view_pb";
import type { SeatIndex } from "../table/drawing";

/** The work of a review: iterations for each decision, and the seed of all random choices. */
export interface Effort {
  iterations: number;
  seed: bigint | null;
}

/** Return a record as the server reads it from text, or from JSON as `eminence convert --to json` writes it. */
async function read(text: string): Promise<Record> {
  const json = fieldsIn(text);
  if (json !== null) {
    const { "@type": _, ...fields } = json;
    return fromJson(RecordSchema, fields);
  }
  const { message } = await rules.readText({ text: { case: "record", value: text } });
  if (message.case !== "record") throw new Error("the server answered another message than a record");
  return message.value;
}

/** Return a decision with what a report shows of it: a request has at most 128 KiB. */
function reported(decision: ReviewedDecision): MessageInitShape<typeof ReviewedDecisionSchema> {
  const { index, seat, grade, winLoss, pointsLoss, forced, luckParts, played, best } = decision;
  const parts = { played: briefly({ ...played!, principalVariation: [] }), best: briefly(best!), winLoss, pointsLoss, luckParts };
  const known = Object.entries(parts).filter(([, part]) => part !== undefined);
  return { index, seat, grade, forced, ...Object.fromEntries(known) };
}

/** Return a candidate with its actions as text alone. */
function briefly({ $typeName: _, action, principalVariation, ...figures }: Candidate): object {
  const line = principalVariation.map(({ seat, action }) => ({ seat, action: { text: action!.text } }));
  return { ...figures, action: { text: action!.text }, principalVariation: line };
}

export class ReviewedGame {
  record = $state.raw<Record | null>(null);
  /** The tables in order: before the first action, and after each action. */
  plies = $state.raw<Ply[]>([]);
  /** The seats whose views the record allows. */
  seats = $state.raw<SeatIndex[]>([]);
  decisions = $state.raw(new Map<number, ReviewedDecision>());
  summary = $state.raw<ReviewSummary | null>(null);
  isRunning = $state(false);
  refusal = $state.raw<Refusal | null>(null);

  #words = $state.raw(new Map<SeatIndex, Ply[]>());
  #stop: AbortController | null = null;
  #newest = 0;

  spec = $derived<GameSpec | null>(this.plies[0]?.views[0]?.game ?? null);
  /** Whether the record holds the deal, and so what nobody saw. */
  isWhole = $derived(this.seats.length === this.spec?.players);
  /** The number of decisions that the review grades; 0 until it has begun. */
  total = $state(0);
  chosen = $derived([...this.decisions.values()].filter((decision) => !decision.forced));

  /** Read a record and replay it. Return whether that succeeded; the game before stays otherwise. */
  async open(text: string): Promise<boolean> {
    const turn = ++this.#newest;
    this.stop();
    this.refusal = null;
    try {
      const record = await read(text);
      const { plies, seats } = await rules.replayRecord({ record });
      if (turn !== this.#newest) return false;
      this.record = record;
      this.plies = plies;
      this.seats = seats.map((seat) => indexOf(seat)!);
      this.decisions = new Map();
      this.summary = null;
      this.#words = new Map();
      void this.#tell(turn, record, seats);
      return true;
    } catch (error) {
      if (turn === this.#newest) this.refusal = refusalOf(error);
      return false;
    }
  }

  /** Fetch the sentences about the actions, as each seat saw them. */
  async #tell(turn: number, record: Record, seats: Seat[]): Promise<void> {
    for (const seat of seats) {
      const told = await rules.replayRecord({ record, seats: [seat], words: true }).catch(() => null);
      if (turn !== this.#newest) return;
      if (told !== null) this.#words = new Map(this.#words).set(indexOf(seat)!, told.plies);
    }
  }

  /** Grade the decisions; the grades arrive in the order of the game. */
  async run({ iterations, seed }: Effort): Promise<void> {
    if (this.record === null) return;
    this.stop();
    const stop = (this.#stop = new AbortController());
    this.isRunning = true;
    this.decisions = new Map();
    this.total = 0;
    this.summary = this.refusal = null;
    const request = {
      record: this.record,
      budget: { iterations: BigInt(iterations) },
      options: { sampleVariations: 1, ...(seed === null ? {} : { seed }) },
      details: true,
    };
    try {
      for await (const { step } of solver.review(request, { signal: stop.signal })) {
        if (this.#stop !== stop) return;
        if (step.case === "begun") this.total = step.value.decisions;
        if (step.case === "decision") this.decisions = new Map(this.decisions).set(step.value.index, step.value);
        if (step.case === "summary") this.summary = step.value;
      }
    } catch (error) {
      if (this.#stop === stop) this.refusal = refusalOf(error);
    }
    if (this.#stop === stop) this.stop();
  }

  stop(): void {
    this.#stop?.abort();
    this.#stop = null;
    this.isRunning = false;
  }

  viewOf(ply: number, seat: SeatIndex): View | null {
    return this.plies[ply]?.views[this.seats.indexOf(seat)] ?? null;
  }

  /** Return the action that follows a ply, as a seat saw it; null at the end, or if the game has no histories. */
  seenAfter(ply: number, seat: SeatIndex): SeenAction | null {
    return this.plies[ply + 1]?.seen[this.seats.indexOf(seat)] ?? null;
  }

  /** Return what follows a ply in words, as a seat saw it. */
  wordsAfter(ply: number, seat: SeatIndex): Names | null {
    return this.#words.get(seat)?.[ply + 1]?.words ?? null;
  }

  /** Return the view at a ply as a seat knows it: with the actions that it saw before, from which beliefs follow. */
  knownAt(ply: number, seat: SeatIndex): View | null {
    const start = this.viewOf(0, seat);
    const now = this.viewOf(ply, seat);
    if (start === null || now === null) return null;
    const actions = this.plies.slice(1, ply + 1).map((later) => later.seen[this.seats.indexOf(seat)]);
    if (start.table.case === undefined || !actions.every((action) => action !== undefined)) return now;
    const history = create(HistorySchema, { start: start.table, actions });
    return create(ViewSchema, { ...(now.game ? { game: now.game } : {}), history });
  }

  /** Whether comments can be changed; those of a record that stayed text are in the text. */
  get hasComments(): boolean {
    return this.record !== null && this.record.contents.case !== "text";
  }

  commentOn(after: number): string {
    return this.record?.comments.find((comment) => comment.after === after)?.text ?? "";
  }

  comment(after: number, text: string): void {
    if (this.record === null) return;
    const others = this.record.comments.filter((comment) => comment.after !== after);
    const comments = text.trim() === "" ? others : [...others, create(CommentSchema, { after, text: text.trimEnd() })];
    comments.sort((one, other) => one.after - other.after);
    this.record = { ...this.record, comments };
  }

  /** Return the report of the review, one HTML page, with the comments of now. */
  async report(language: string): Promise<string> {
    const decisions = [...this.decisions.values()].map(reported);
    return (await solver.writeReport({ record: this.record!, decisions, summary: this.summary!, language })).html;
  }

  /** Return the record as text, with its comments. */
  async text(): Promise<string> {
    if (this.record === null) return "";
    if (this.record.contents.case === "text") return this.record.contents.value;
    return (await rules.writeText({ message: { case: "record", value: this.record } })).text;
  }
}

// The live analysis of one view: a stream of growing answers, which ends when the view changes or the page is hidden.

import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { refusalOf, solver, type Refusal } from "../api";
import { CallError, UNREACHABLE } from "../connect";
import { Seat } from "../../generated/eminence/v1/seat_pb";
import {
  AnalyzeRequestSchema,
  Belief,
  Model,
  StopReason,
  type Candidate,
  type Estimate,
  type Suggestion,
} from "../../generated/eminence/v1/solver_pb";
import type { SeatIndex } from "../table/drawing";
import type { View } from "../../generated/eminence/v1/view_pb";
import { letterOf } from "../games/game";
import { isFaint } from "../games/picks";

const STORED = "live";
const INTERVAL_MS = 200;
const FIRST_MS = 20_000;
/** How long the rows of the list keep their order while answers stream, so that a reader can follow them. */
const STILL_MS = 5_000;
/** The number of moves whose line is an example with all shown cards named: those with a badge. */
const SAMPLES = 3;
/** The server ends the search; the page waits so much longer than that for the last answer. */
const GRACE_MS = 10_000;

const POINTS_MAX = 200;

const pointOf = ({ iterations, candidates }: Suggestion) => ({
  at: Number(iterations),
  wins: new Map(candidates.filter((each) => !isFaint(each)).map(({ action, win }) => [action?.text ?? "", win?.mean ?? 0])),
});

/** Return the probability that one mean is above another, if both have normal errors. */
function chanceToBeat(one: Estimate, other: Estimate): number {
  const error = Math.hypot(one.standardError ?? 0, other.standardError ?? 0);
  const z = (one.mean - other.mean) / (error || Number.EPSILON);
  return (1 + Math.tanh(0.79788 * (z + 0.044715 * z ** 3))) / 2;
}

export class Live {
  suggestion = $state.raw<Suggestion | null>(null);
  refusal = $state.raw<Refusal | null>(null);
  isRunning = $state(false);
  /** Whether new positions are analyzed at once; the switch is remembered. */
  isOn = $state(localStorage.getItem(STORED) !== "no");
  /** Whether to find out what the own hidden cards are worth, too; that takes part of the time. */
  weighsSecrets = $state(false);
  /** The strength, 1 to 10; 0 for the full one. */
  level = $state(0);
  /** Whether all cards that fit are equally likely. */
  isUniform = $state(false);
  /** How other seats are taken to play; the others play as the search itself. */
  models = $state.raw<Readonly<Record<SeatIndex, Model>>>({});
  /** Whether `suggestion` is an answer about the view before. */
  isStale = $state(false);

  /** The win of each move that was tried enough, in the answers since the search began; `at` is in iterations. */
  past = $state.raw<readonly { at: number; wins: ReadonlyMap<string, number> }[]>([]);
  /** The probability that the best move is the best of all that were tried enough, by the errors of their wins. */
  sure = $derived.by(() => {
    const [best, ...others] = (this.suggestion?.candidates ?? []).filter((each) => each.win !== undefined && !isFaint(each));
    return others.reduce((left, other) => left - 1 + chanceToBeat(best!.win!, other.win!), others.length > 0 ? 1 : 0);
  });

  /** The candidates in the order of the list, which is that of an earlier answer. */
  rows = $derived.by(() => {
    const places = new Map(this.#order.map(({ action }, place) => [action?.text, place]));
    const placeOf = ({ action }: Candidate) => places.get(action?.text) ?? places.size;
    return [...(this.suggestion?.candidates ?? [])].sort((one, other) => placeOf(one) - placeOf(other));
  });
  #order = $state.raw<readonly Candidate[]>([]);
  #isHeld = false;

  #stop: AbortController | null = null;
  #view: View | null = null;
  #budgetMs = FIRST_MS;

  /** The options on which beliefs depend. */
  get beliefs() {
    return { level: this.level, belief: this.isUniform ? Belief.UNIFORM : Belief.ON };
  }

  /** The options of `eminence suggest` that give the same answer. */
  get flags(): string {
    const { iterations, seed } = this.suggestion!;
    const models = Object.entries(this.models).filter(([, model]) => model !== Model.SAME);
    return [
      `--iterations ${iterations} --seed ${seed}`,
      ...(this.level > 0 ? [`--level ${this.level}`] : []),
      ...models.map(([seat, model]) => `--model ${letterOf(Number(seat))}=${Model[model].toLowerCase()}`),
      ...(this.isUniform ? ["--uniform"] : []),
      ...(this.weighsSecrets ? ["--information"] : []),
    ].join(" ");
  }

  /** Take `view` as the one to analyze, and begin unless the switch is off. */
  start(view: View): void {
    this.isStale = this.suggestion !== null && view !== this.#view;
    this.#view = view;
    this.#budgetMs = FIRST_MS;
    if (this.isOn) return void this.#run(view);
    this.stop();
    this.suggestion = null;
  }

  /** Switch live analysis on or off. */
  toggle(): void {
    this.isOn = !this.isRunning;
    localStorage.setItem(STORED, this.isOn ? "yes" : "no");
    if (!this.isOn) this.stop();
    else if (this.#view !== null) this.start(this.#view);
  }

  /** Search the same view again, for twice as long. */
  startLonger(): void {
    if (this.#view === null) return;
    this.#budgetMs *= 2;
    void this.#run(this.#view);
  }

  /** Forget the models of all seats but these: the observer has none. */
  keepModels(seats: readonly SeatIndex[]): void {
    this.models = Object.fromEntries(Object.entries(this.models).filter(([seat]) => seats.includes(Number(seat))));
  }

  /** Change options, and analyze again. */
  set(options: Partial<Pick<Live, "level" | "isUniform" | "models">>): void {
    Object.assign(this, options);
    if (this.#view !== null && this.isOn) void this.#run(this.#view);
  }

  toggleSecrets(): void {
    this.weighsSecrets = !this.weighsSecrets;
    if (this.#view !== null) void this.#run(this.#view);
  }

  stop(): void {
    this.#stop?.abort();
    this.#stop = null;
    this.isRunning = false;
    this.#orderAnew();
  }

  /** Keep the rows in their order while the reader is in them. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    this.#orderAnew();
  }

  #orderAnew(): void {
    if (!this.#isHeld) this.#order = this.suggestion?.candidates ?? [];
  }

  async #run(view: View): Promise<void> {
    this.#stop?.abort();
    const stop = (this.#stop = new AbortController());
    this.isRunning = true;
    this.refusal = null;
    this.past = [];
    let orderedAt = 0;
    const request = create(AnalyzeRequestSchema, {
      view,
      budget: { time: durationFromMs(this.#budgetMs) },
      options: {
        information: this.weighsSecrets,
        ...this.beliefs,
        sampleVariations: SAMPLES,
        models: Object.entries(this.models)
          .filter(([, model]) => model !== Model.SAME)
          .map(([seat, model]) => ({ seat: Seat.A + Number(seat), model })),
      },
      interval: durationFromMs(INTERVAL_MS),
    });
    try {
      const call = { signal: stop.signal, timeoutMs: this.#budgetMs + GRACE_MS };
      for await (const answer of solver.analyze(request, call)) {
        if (this.#stop !== stop) return;
        if (answer.suggestion === undefined) continue;
        if (this.isStale || this.suggestion === null) this.#order = answer.suggestion.candidates;
        this.suggestion = answer.suggestion;
        this.isStale = false;
        if (Date.now() - orderedAt >= STILL_MS) {
          orderedAt = Date.now();
          this.#orderAnew();
        }
        this.past = [...this.past, pointOf(answer.suggestion)].slice(-POINTS_MAX);
      }
    } catch (error) {
      if (this.#stop !== stop) return;
      if (CallError.from(error).code === UNREACHABLE) return void this.#run(view); // it waits until the server is back
      this.refusal = refusalOf(error);
      this.suggestion = null;
    }
    if (this.#stop !== stop) return;
    if (this.suggestion?.stopReason === StopReason.SHUTDOWN) void this.#run(view);
    else this.stop();
  }
}

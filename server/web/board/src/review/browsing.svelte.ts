// The place in a reviewed game that the page shows, and through whose eyes.

import { rules } from "../api";
import { drawingOf, picksOf } from "../games";
import { indexOf } from "../games/game";
import { badgeOf, marksOf, NO_MARKS, type Thing } from "../games/picks";
import { Picking } from "../play/picking.svelte";
import { withTruth, type Drawing, type SeatIndex } from "../table/drawing";
import { think } from "../think.svelte";
import type { Language } from "../words/index.svelte";
import type { Action } from "../../generated/eminence/v1/view_pb";
import { ReviewedGame } from "./game.svelte";
import { isBad, nameOfGrade } from "./grades";
import { Line, stepsOf } from "./line.svelte";

export const [PLAYED, BETTER] = ["✗", "✓"];

export class Browsing {
  readonly game = new ReviewedGame();
  /** A line of play that leaves the game at this ply. */
  readonly line = new Line();
  /** The move whose line that is; null: the best one. */
  lineOf = $state<string | null>(null);
  /** The move in the list at which the pointer or the keyboard is. */
  pointed = $state<string | null>(null);
  ply = $state(0);
  /** The seat through whose eyes the table is drawn; null for the one to act. */
  chosenSeat = $state<SeatIndex | null>(null);
  showsTruth = $state(false);

  /** The reader's own moves, by ply, where the page asked for one first. */
  answers = $state.raw<ReadonlyMap<number, string>>(new Map());
  isPeeking = $state(false);
  /** The key of the hidden card whose beliefs are explained. */
  explained = $state<string | null>(null);
  readonly picking = new Picking();

  end = $derived(this.game.plies.length - 1);
  /** The number of the next move, and that of all; empty at the end. */
  place = $derived(this.ply < this.end ? `${this.ply + 1} / ${this.end}` : "");
  decision = $derived(this.game.decisions.get(this.ply));
  isOff = $derived(this.line.at > 0);
  /** The likely continuation that the page shows. */
  steps = $derived.by(() => {
    const { best, candidates = [] } = this.decision ?? {};
    const action = this.lineOf ?? best?.action?.text;
    const followed = candidates.find((candidate) => candidate.action?.text === action) ?? best;
    return followed === undefined ? [] : stepsOf(followed);
  });
  /** The seat to act; null for chance, and when the game is over. */
  decider = $derived(indexOf(this.game.plies[this.ply]?.toAct ?? 0));
  /** Whether the page asks for a better move than the played one, before it shows one. */
  isAsking = $derived(this.isCovered(this.ply) && !this.isOff && !this.isPeeking);
  eyes = $derived((this.isAsking ? this.decider : this.chosenSeat) ?? this.#lastDecider(this.ply));
  view = $derived(this.isOff ? this.line.view : this.game.viewOf(this.ply, this.eyes));
  /** The table as each seat sees it, if the reader wants to see what nobody saw alone. */
  truths = $derived(
    this.showsTruth && !this.isOff && !this.isAsking
      ? (this.game.plies[this.ply]?.views ?? []).flatMap((view) => drawingOf(view) ?? [])
      : [],
  );
  drawing = $derived.by<Drawing | null>(() => {
    const drawing = this.view === null ? null : drawingOf(this.view);
    return drawing === null ? null : withTruth(drawing, this.truths);
  });
  /** Whether another move than the played one is the best. */
  isBeaten = $derived(
    this.decision !== undefined && this.decision.best?.action?.text !== this.decision.played?.action?.text,
  );
  /** The signs of the played and of the better move, on the things that they pick. */
  marks = $derived.by(() => {
    const before = this.decider === null ? null : this.game.viewOf(this.ply, this.decider);
    if (this.decision === undefined || before === null || this.isOff || this.isAsking) return NO_MARKS;
    const { played, best, candidates } = this.decision;
    const picks = (action: Action | undefined) => (action === undefined ? [] : picksOf(action, before));
    const at = candidates.findIndex((candidate) => candidate.action?.text === this.pointed);
    if (at >= 0) return marksOf([{ picks: picks(candidates[at]!.action), mark: badgeOf(at) }]);
    const better = { picks: picks(best?.action), mark: BETTER };
    return marksOf(this.isBeaten ? [{ picks: picks(played?.action), mark: PLAYED }, better] : [better]);
  });
  /** The ply at which each round begins; empty in a game whose rounds the page does not know. */
  rounds = $derived(
    this.game.plies.map((_, at) => this.roundOf(at)).flatMap((round, at, all) => (round !== null && round !== all[at - 1] ? [at] : [])),
  );

  roundOf(at: number): number | null {
    const view = this.game.plies[at]?.views[0];
    return view === undefined ? null : (drawingOf(view)?.round ?? null);
  }

  /** Whether the better move at a ply is covered until the reader has chosen one. */
  isCovered(at: number): boolean {
    const decision = this.game.decisions.get(at);
    return think.isOn && decision !== undefined && isBad(nameOfGrade(decision.grade)) && !this.answers.has(at);
  }

  /** Offer the legal moves of the seat that decides. */
  async ask(): Promise<void> {
    const { ply, decider } = this;
    const view = decider === null ? null : this.game.knownAt(ply, decider);
    this.picking.clear();
    if (view === null) return;
    const { actions } = await rules.listLegalActions({ view });
    if (ply === this.ply) this.picking.begin(actions, this.game.viewOf(ply, decider!)!);
  }

  /** Pick a thing on the table; the whole move is the reader's answer. */
  pick(thing: Thing): void {
    const action = this.picking.pick(thing);
    if (action === null) return;
    this.answers = new Map(this.answers).set(this.ply, action.text);
    this.picking.clear();
  }

  /** Begin with another game. */
  begin(ply: number, seat: SeatIndex | null = null): void {
    this.answers = new Map();
    this.chosenSeat = seat;
    this.showsTruth = false;
    this.go(ply);
  }

  readonly explain = (key: string): void => {
    this.explained = this.explained === key ? null : key;
  };

  go(to: number): void {
    this.explained = null;
    this.ply = Math.max(0, Math.min(this.end, to));
    this.lineOf = this.pointed = null;
    this.line.begin(null, []);
  }

  /** Go to the next decision that lost something, or with -1 to the one before. */
  jump(direction: 1 | -1): void {
    const costly = this.game.chosen.filter(({ grade }) => isBad(nameOfGrade(grade))).map(({ index }) => index);
    const next = direction > 0 ? costly.find((at) => at > this.ply) : costly.filter((at) => at < this.ply).at(-1);
    if (next !== undefined) this.go(next);
  }

  /** Go to the beginning of the next round, or with -1 to the one before. */
  jumpRound(direction: 1 | -1): void {
    if (direction > 0) this.go(this.rounds.find((at) => at > this.ply) ?? this.end);
    else this.go(this.rounds.filter((at) => at < this.ply).at(-1) ?? 0);
  }

  /** See the table through the eyes of the next seat. */
  turn(): void {
    const { seats } = this.game;
    this.chosenSeat = seats[(seats.indexOf(this.eyes) + 1) % seats.length] ?? null;
  }

  /** Show the line of a move. */
  chooseLine(action: string): void {
    this.leaveLine();
    this.lineOf = action;
  }

  /** Show the table after `count` moves of the line. */
  async follow(count: number): Promise<void> {
    if (this.line.steps.length === 0 && this.decider !== null) {
      this.line.begin(this.game.knownAt(this.ply, this.decider), this.steps);
    }
    await this.line.go(count);
  }

  leaveLine(): void {
    this.line.begin(null, []);
  }

  /** Return what follows in words: as the chosen seat saw it, or as it was. */
  told(language: Language): string {
    const isKnown = this.decider !== null && this.game.seats.includes(this.decider);
    const teller = this.showsTruth && isKnown ? this.decider! : this.eyes;
    const shown = teller === this.decider ? this.game.plies[this.ply + 1]?.action : undefined;
    const seen = this.game.seenAfter(this.ply, teller) ?? shown;
    return this.game.wordsAfter(this.ply, teller)?.[language] || (seen?.action?.text ?? "");
  }

  /** Return the seat to act at a ply; where chance acts or the game is over, the one that acted last. */
  #lastDecider(at: number): SeatIndex {
    for (let earlier = at; earlier >= 0; earlier--) {
      const seat = indexOf(this.game.plies[earlier]?.toAct ?? 0);
      if (seat !== null && this.game.seats.includes(seat)) return seat;
    }
    return this.game.seats[0] ?? 0;
  }
}

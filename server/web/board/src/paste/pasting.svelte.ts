// Pasted and dropped texts: what each is, is recognised, said, and opened at its place.

import { create } from "@bufbuild/protobuf";
import { gameOf, type Source } from "../analyse/position.svelte";
import { sourceOf } from "../analyse/source";
import { referee, refusalOf, rules, type Refusal } from "../api";
import { openReview } from "../handover";
import { goTo, linkTo } from "../link";
import { PositionSchema, type Position } from "../../generated/eminence/v1/referee_pb";
import type { GameInfo, Names } from "../../generated/eminence/v1/rules_pb";
import type { GameSpec, View } from "../../generated/eminence/v1/view_pb";
import { LONGEST, recognise } from "./recognise";

/** What was recognised, and the names of its game. */
export interface Said {
  kind: "link" | "record" | "view" | "position" | "several";
  game?: Names | undefined;
}

class Pasting {
  said = $state.raw<Said | null>(null);
  refusal = $state.raw<Refusal | null>(null);
  /** Of a position with nothing hidden: the views of its seats, one of which is wanted. */
  eyes = $state.raw<View[]>([]);
  /** Of several views and positions: all, one of which is wanted. */
  texts = $state.raw<string[]>([]);
  #newest = 0;

  /**
   * Recognise a text and open it. A text that names no game is tried as one of `preferred` first. A view goes to `show`,
   * else to the Analyse page.
   */
  async open(
    text: string,
    preferred: GameSpec | null = null,
    show: (source: Source) => unknown = (source) => goTo(linkTo(source)),
  ): Promise<void> {
    this.forget();
    const turn = this.#newest;
    try {
      const piece = recognise(text.slice(0, LONGEST));
      switch (piece.kind) {
        case "link":
          this.#say("link");
          return goTo(piece.fragment);
        case "record":
          this.#say("record");
          return openReview(piece.text);
        case "several":
          this.#say("several");
          this.texts = piece.texts;
          return;
        case "view":
        case "viewMessage": {
          const source = piece.kind === "view" ? await sourceIn(piece.text, preferred) : await sourceOf(piece.view);
          if (turn !== this.#newest) return;
          this.#say("view", source.game);
          await show(source);
          return;
        }
        case "position":
        case "positionMessage": {
          const views =
            piece.kind === "position" ? await viewsIn(piece.text, preferred) : await viewsOf(piece.position);
          if (turn !== this.#newest) return;
          this.#say("position", views[0]?.game?.gameId);
          this.eyes = views;
        }
      }
    } catch (error) {
      if (turn !== this.#newest) return;
      this.refusal = refusalOf(error);
    }
  }

  async openFile(file: File): Promise<void> {
    await this.open(await file.slice(0, LONGEST).text());
  }

  /** Open a view of the position. */
  async see(view: View): Promise<void> {
    const source = await sourceOf(view);
    this.eyes = [];
    this.#say("view", source.game);
    goTo(linkTo(source));
  }

  forget(): void {
    this.#newest++;
    this.said = this.refusal = null;
    this.eyes = [];
    this.texts = [];
  }

  #say(kind: Said["kind"], gameId?: string): void {
    const said = (this.said = { kind });
    if (gameId === undefined) return;
    const tell = (games: GameInfo[]) => {
      if (this.said === said) this.said = { kind, game: games.find((info) => info.gameId === gameId)?.names };
    };
    void rules.listGames({}).then(({ games }) => tell(games), () => undefined);
  }
}

export const pasting = new Pasting();

/** Return the position of a view in notation. */
const sourceIn = (text: string, preferred: GameSpec | null): Promise<Source> =>
  inGames(preferred, async (game) => {
    const { message } = await rules.readText({ game, text: { case: "view", value: text } });
    if (message.case !== "view") throw new Error("the server answered another message than a view");
    return sourceOf(message.value);
  });

const viewsIn = (text: string, preferred: GameSpec | null): Promise<View[]> =>
  inGames(preferred, (game) => viewsOf(create(PositionSchema, { game, table: { case: "text", value: text } })));

const viewsOf = async (position: Position): Promise<View[]> =>
  (await referee.getViews({ standing: { at: { case: "position", value: position } } })).views;

/**
 * Return the answer for the first game that does not refuse: the preferred one, then the first edition of each game with
 * each number of players. If all refuse, throw the first refusal.
 */
async function inGames<T>(preferred: GameSpec | null, ask: (game: GameSpec) => Promise<T>): Promise<T> {
  const refusals: unknown[] = [];
  if (preferred !== null) {
    try {
      return await ask(preferred);
    } catch (error) {
      refusals.push(error);
    }
  }
  const { games } = await rules.listGames({});
  const isLike = ({ gameId }: GameInfo) => (gameId === preferred?.gameId ? 0 : 1);
  for (const { gameId, editions, players } of games.sort((one, other) => isLike(one) - isLike(other))) {
    for (const number of players) {
      try {
        return await ask(gameOf({ game: gameId, edition: editions[0] ?? "", players: number, text: "", line: [] }));
      } catch (error) {
        refusals.push(error);
      }
    }
  }
  throw refusals[0];
}

// The calls that will be repeated: the server is busy, or does not answer.

export type Cause = "busy" | "unreachable";

/** Shorter waits are not shown. */
const SHOWN_MS = 500;

/** A call that is repeated until the server answers it. */
export class Delay {
  cause = $state.raw<Cause>("busy");
  /** The time of the next try. */
  until = $state(0);
  /** The sum of its pauses. */
  waitedMs = $state(0);
  /** Ends the pause. */
  end: () => void = () => undefined;

  /** Wait for a number of milliseconds, until `end`, or until the caller gives up. */
  async pause(cause: Cause, ms: number, signal: AbortSignal | undefined): Promise<void> {
    this.cause = cause;
    this.until = Date.now() + ms;
    this.waitedMs += ms;
    delays.add(this);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.end = () => {
        clearTimeout(timer);
        resolve();
      };
      signal?.addEventListener("abort", this.end, { once: true });
    });
  }
}

class Delays {
  #all = $state.raw<readonly Delay[]>([]);

  /** The delay to show: the one that ends first. */
  get next(): Delay | null {
    const shown = this.#all.filter(({ waitedMs }) => waitedMs >= SHOWN_MS);
    return shown.sort((one, other) => one.until - other.until)[0] ?? null;
  }

  add(delay: Delay): void {
    if (!this.#all.includes(delay)) this.#all = [...this.#all, delay];
  }

  remove(delay: Delay): void {
    if (this.#all.includes(delay)) this.#all = this.#all.filter((each) => each !== delay);
  }

  /** Try again now what waits for a server that did not answer; a busy one has said when. */
  hurry(): void {
    for (const each of this.#all) if (each.cause === "unreachable") each.end();
  }
}

export const delays = new Delays();

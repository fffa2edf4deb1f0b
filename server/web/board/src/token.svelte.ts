// The token of a server that needs one. It is kept while the tab is open, and sent in a header only.

const STORED = "token";

class Token {
  /** Whether this server has asked for a token. */
  isNeeded = $state(sessionStorage.getItem(STORED) !== null);
  /** Whether the page asks for a token. */
  isAsked = $state(false);
  /** Whether the server refused the last one. */
  isWrong = $state(false);
  /** Calls that wait for a token: each takes the answer, whether there is one. */
  #waiting = new Set<(isGiven: boolean) => void>();
  #dismissed: string | null = null;

  /** The token that calls send; empty without one. */
  get value(): string {
    return sessionStorage.getItem(STORED) ?? "";
  }

  /** Wait for another token than the one that the server refused. Return whether there is one. */
  another(refused: string, signal: AbortSignal | undefined): Promise<boolean> {
    if (this.value !== refused) return Promise.resolve(true); // it was changed while the call was on its way
    this.isNeeded = true;
    if (this.#dismissed === refused) return Promise.resolve(false);
    this.isAsked = true;
    this.isWrong = refused !== "";
    return new Promise((resolve) => {
      const answer = (isGiven: boolean) => {
        this.#waiting.delete(answer);
        resolve(isGiven);
      };
      this.#waiting.add(answer);
      signal?.addEventListener("abort", () => answer(false), { once: true });
    });
  }

  /** Ask for another token. */
  change(): void {
    this.#dismissed = null;
    this.isAsked = true;
  }

  /** Use a token from now on. */
  use(value: string): void {
    sessionStorage.setItem(STORED, value);
    this.#end(true);
  }

  /** Go on without another token: the calls that wait for one fail, and the page does not ask again by itself. */
  dismiss(): void {
    this.#dismissed = this.value;
    this.#end(false);
  }

  #end(isGiven: boolean): void {
    this.isAsked = this.isWrong = false;
    for (const answer of [...this.#waiting]) answer(isGiven);
  }
}

export const token = new Token();

// How long a move of another player is shown before the next one.

export const PACES = { slow: 2_200, normal: 1_100, quick: 0 };
export type PaceName = keyof typeof PACES;

const STORED = "pace";
const isPace = (text: string | null): text is PaceName => text !== null && text in PACES;

class Pace {
  chosen = $state<PaceName>("normal");

  constructor() {
    const stored = localStorage.getItem(STORED);
    if (isPace(stored)) this.chosen = stored;
  }

  get ms(): number {
    return PACES[this.chosen];
  }

  choose(name: PaceName): void {
    this.chosen = name;
    localStorage.setItem(STORED, name);
  }
}

export const pace = new Pace();

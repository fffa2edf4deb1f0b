// A switch of the reader's, which the browser remembers.

export class Switch {
  isOn = $state(false);

  constructor(
    readonly name: string,
    isOnAtFirst = false,
  ) {
    this.isOn = (localStorage.getItem(name) ?? (isOnAtFirst ? "yes" : "no")) === "yes";
  }

  set(isOn: boolean): void {
    this.isOn = isOn;
    localStorage.setItem(this.name, isOn ? "yes" : "no");
  }
}

/** Keys of a single letter, digit or sign: people who speak to their computer press them by accident (WCAG 2.1.4). */
export const letterKeys = new Switch("letter-keys", true);
/** Whether a screen reader tells each new best move of a live analysis. */
export const announcements = new Switch("announcements", true);
/** Whether to compare a choice with the best one before it is played. */
export const warns = new Switch("warns");

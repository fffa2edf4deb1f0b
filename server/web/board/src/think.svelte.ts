// "Think first": what the engine advises stays covered until the reader has chosen a move. It is remembered.

const STORED = "think-first";

class Think {
  isOn = $state(localStorage.getItem(STORED) === "yes");

  set(isOn: boolean): void {
    this.isOn = isOn;
    localStorage.setItem(STORED, isOn ? "yes" : "no");
  }
}

export const think = new Think();

// Four short tones, off at first: a move of another player, the own turn, a choice that is not possible, the end.

const TONES = { move: [440], turn: [660, 880], refused: [180], over: [523, 659, 784] };
export type Tone = keyof typeof TONES;

const STORED = "sound";
const SECONDS = 0.12;
const VOLUME = 0.12;

class Sound {
  isOn = $state(localStorage.getItem(STORED) === "yes");
  #context: AudioContext | null = null;

  set(isOn: boolean): void {
    this.isOn = isOn;
    localStorage.setItem(STORED, isOn ? "yes" : "no");
    if (isOn) this.play("turn");
  }

  play(tone: Tone): void {
    if (!this.isOn) return;
    const context = (this.#context ??= new AudioContext());
    TONES[tone].forEach((pitch, number) => {
      const begin = context.currentTime + number * SECONDS;
      const [source, volume] = [context.createOscillator(), context.createGain()];
      source.frequency.value = pitch;
      volume.gain.setValueAtTime(VOLUME, begin);
      volume.gain.linearRampToValueAtTime(0, begin + SECONDS); // a tone that is cut off clicks
      source.connect(volume).connect(context.destination);
      source.start(begin);
      source.stop(begin + SECONDS);
    });
  }
}

export const sound = new Sound();

// The colours of the page: those of the system, or the ones that the user chose.

export const THEMES = ["auto", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const STORED = "theme";

class ChosenTheme {
  chosen = $state<Theme>(THEMES.find((id) => id === localStorage.getItem(STORED)) ?? "auto");

  choose(next: Theme): void {
    this.chosen = next;
    localStorage.setItem(STORED, next);
    this.apply();
  }

  apply(): void {
    document.documentElement.dataset.theme = this.chosen;
  }
}

export const theme = new ChosenTheme();

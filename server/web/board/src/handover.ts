// A record on its way from one page of the board to another. It stays in this tab, and reaches no server.

import { goTo } from "./link";

const STORED = "record-to-review";

/** Open the Review page with a record in text notation. */
export function openReview(record: string): void {
  sessionStorage.setItem(STORED, record);
  goTo("#/review");
}

/** Return the record that `openReview` left, and forget it; null if there is none. */
export function takeRecord(): string | null {
  const record = sessionStorage.getItem(STORED);
  sessionStorage.removeItem(STORED);
  return record;
}

// The items of a list glide to their new places when the list changes.

import { tick } from "svelte";
import { motion } from "./motion";

const placesOf = (list: HTMLElement) =>
  new Map([...list.children].map((item) => [item, [(item as HTMLElement).offsetLeft, (item as HTMLElement).offsetTop] as const]));

/** Let the items of a list glide when `items` change; when `around` changes, they move at once. */
export function glide(list: HTMLElement, now: { items: unknown; around: unknown }) {
  let { items } = now;
  let places = placesOf(list);

  async function update(next: typeof now): Promise<void> {
    await tick();
    const before = places;
    places = placesOf(list);
    if (next.items === items) return;
    items = next.items;
    for (const [item, [x, y]] of places) {
      const [left, top] = before.get(item) ?? [x, y];
      if (left !== x || top !== y) item.animate({ transform: [`translate(${left - x}px, ${top - y}px)`, "none"] }, motion());
    }
  }
  return { update: (next: typeof now) => void update(next) };
}

// One Tab stop for a list of things: the arrows, Home and End walk in it.

const ITEMS = "button, [data-thing]";
const FIRST = "[aria-selected='true'], [aria-pressed='true'], .open, :has(> .acting)";

export function roving(list: HTMLElement) {
  let last: Element | null = null;
  const items = () => [...list.querySelectorAll<HTMLElement>(ITEMS)];

  /** Give the Tab stop to the item that had the focus last, else to the one that matters most. */
  function settle(): void {
    const all = items();
    const stop = all.find((item) => item === last) ?? all.find((item) => item.matches(FIRST)) ?? all[0];
    for (const item of all) item.tabIndex = item === stop ? 0 : -1;
  }

  function onFocus({ target }: FocusEvent): void {
    last = (target as Element).closest(ITEMS);
    settle();
  }

  function onKey(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const all = items();
    const at = all.indexOf(event.target as HTMLElement);
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    event.stopPropagation(); // elsewhere, these keys step through the game
    all[next]?.focus();
  }

  list.addEventListener("focusin", onFocus);
  list.addEventListener("keydown", onKey);
  const watch = new MutationObserver(settle);
  watch.observe(list, { childList: true, subtree: true });
  settle();
  return { destroy: () => watch.disconnect() };
}

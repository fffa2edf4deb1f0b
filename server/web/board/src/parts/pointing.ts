// The item of a list that the pointer is on, or that the keyboard has reached.

/** Tell the `data-move` of the item under the pointer, without one that of the item with a visible focus, else null. */
export function pointing(list: HTMLElement, tell: (move: string | null) => void): void {
  let hovered: string | null = null;
  let focused: string | null = null;
  const moveOf = (target: EventTarget | null) =>
    target instanceof Element ? (target.closest<HTMLElement>("[data-move]")?.dataset["move"] ?? null) : null;
  const on = (names: string[], change: (event: Event) => void) => {
    for (const name of names) {
      list.addEventListener(name, (event) => {
        change(event);
        queueMicrotask(() => tell(hovered ?? focused)); // an item that goes away loses the focus while the page is drawn
      });
    }
  };
  on(["pointerover"], ({ target }) => (hovered = moveOf(target)));
  on(["pointerleave", "pointercancel"], () => (hovered = null));
  on(["focusin"], ({ target }) => (focused = (target as Element).matches(":focus-visible") ? moveOf(target) : null));
  on(["focusout"], () => (focused = null));
}

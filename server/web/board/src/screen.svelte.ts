// The widths at which pages change their parts, and not their looks alone.

/** Return whether the screen fits a query, now and after each change. */
function watched(query: string): { readonly current: boolean } {
  const list = matchMedia(query);
  let current = $state(list.matches);
  list.addEventListener("change", () => (current = list.matches));
  return {
    get current() {
      return current;
    },
  };
}

/** A screen as narrow as a phone's, where parts of a page share their place. */
export const phone = watched("(max-width: 40rem)");
/** A screen with one column. */
export const narrow = watched("(max-width: 63.99rem)");
/** A screen with three columns. */
export const wide = watched("(min-width: 80rem)");

// Parts of the page that are loaded when they are needed.

import { rules } from "./api";

const RELOADED = "reloaded";
const RELOAD_AGAIN_MS = 60_000;

/**
 * Load a part of the page. If that fails, load the whole page anew once the server answers, but not again and again: browsers
 * remember that a part is missing, and a server that has been updated has other parts.
 */
export async function loaded<Part>(load: () => Promise<Part>): Promise<Part> {
  try {
    return await load();
  } catch (error) {
    await rules.getServer({});
    if (Date.now() - Number(sessionStorage.getItem(RELOADED)) < RELOAD_AGAIN_MS) throw error;
    sessionStorage.setItem(RELOADED, String(Date.now()));
    location.reload();
    return new Promise(() => undefined);
  }
}

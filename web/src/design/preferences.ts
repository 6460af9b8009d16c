/** What a reader chose for this browser: nothing of it is anybody's data. */
import { useSyncExternalStore } from "react";
import type { Zone } from "./numbers";

export type Theme = "system" | "light" | "dark";

interface Preferences {
  theme: Theme;
  zone: Zone;
}

const PLACE = "proctor.preferences";
const listeners = new Set<() => void>();
let current = read();

function read(): Preferences {
  try {
    return { theme: "system", zone: "local", ...JSON.parse(localStorage.getItem(PLACE) ?? "{}") };
  } catch {
    return { theme: "system", zone: "local" };
  }
}

/** Choose, and keep it where the browser lets us. */
export function prefer(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(PLACE, JSON.stringify(current));
  } catch {
    // a browser that keeps nothing: the choice holds until the page is closed
  }
  show();
  for (const listener of listeners) listener();
}

/** Put the theme on the page. */
export function show(): void {
  const { theme } = current;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

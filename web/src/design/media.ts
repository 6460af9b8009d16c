import { useCallback, useSyncExternalStore } from "react";
import { usePreferences } from "./preferences";

export const NARROW = "(max-width: 639px)";
export const WIDE = "(min-width: 1100px)";

/** Which colours are shown, as a word that changes with them: what is drawn on a canvas is drawn anew then. */
export function useShownTheme(): string {
  const { theme } = usePreferences();
  const isDark = useMedia("(prefers-color-scheme: dark)");
  const isPrinted = useMedia("print");
  return `${theme} ${isDark} ${isPrinted}`;
}

/** Whether a media query holds, followed as the window is made smaller, turned or moved to another screen. */
export function useMedia(query: string): boolean {
  const watch = useCallback(
    (listener: () => void) => {
      const media = globalThis.matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    [query],
  );
  return useSyncExternalStore(watch, () => globalThis.matchMedia(query).matches);
}

import { useCallback, useSyncExternalStore } from "react";

export const NARROW = "(max-width: 639px)";
export const WIDE = "(min-width: 1100px)";
export const DARK = "(prefers-color-scheme: dark)";

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

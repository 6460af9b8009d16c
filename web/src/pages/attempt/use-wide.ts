import { useSyncExternalStore } from "react";

const WIDE = "(min-width: 1100px)";

/** Whether outline and evidence have room beside the trajectory. */
export function useWide(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = globalThis.matchMedia?.(WIDE);
      media?.addEventListener("change", listener);
      return () => media?.removeEventListener("change", listener);
    },
    () => globalThis.matchMedia?.(WIDE).matches ?? true,
  );
}

import { useEffect } from "react";

type Listener = (parts: readonly string[]) => void;

let current: readonly string[] = [];
const listeners = new Set<Listener>();

/** The page's title: `what · which · Proctor`. */
export function useTitle(...parts: (string | undefined)[]): void {
  const told = parts.filter(Boolean).join(" · ");
  const [what, which] = parts;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `told` is all of them
  useEffect(() => {
    document.title = `${told} · Proctor`;
    current = [what, which].filter((one): one is string => Boolean(one));
    for (const listener of listeners) listener(current);
  }, [told]);
}

/** Be told what page is shown, now and whenever it is another, until the function that comes back is called. */
export function watchTitles(listener: Listener): () => void {
  listeners.add(listener);
  if (current.length > 0) listener(current);
  return () => listeners.delete(listener);
}

import { useEffect, useRef } from "react";

/** Brings a part into sight when it shows another thing, where a narrow screen has it below the list; else it stays. */
export function useRevealed(what: unknown) {
  const part = useRef<HTMLElement>(null);
  useEffect(() => {
    if (what != null) part.current?.scrollIntoView({ block: "nearest" });
  }, [what]);
  return part;
}

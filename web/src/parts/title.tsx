import { useEffect } from "react";

/** The page's title: `what · which · Proctor`. */
export function useTitle(...parts: (string | undefined)[]): void {
  const title = [...parts.filter(Boolean), "Proctor"].join(" · ");
  useEffect(() => {
    document.title = title;
  }, [title]);
}

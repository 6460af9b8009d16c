import { useEffect, useState } from "react";
import { clock, moment } from "../design/numbers";
import { usePreferences } from "../design/preferences";

/** A moment for a reader; the whole instant with its zone is its title. */
export function Time({ at, exact = false }: { at: string; exact?: boolean }) {
  const { zone } = usePreferences();
  const now = useNow(exact ? null : 30_000);
  const date = new Date(at);
  return (
    <time dateTime={at} title={`${date.toISOString()} (UTC)`}>
      {exact ? clock(date, zone) : moment(date, now, zone)}
    </time>
  );
}

/** Now, anew each so many milliseconds; `null`: as it was at first. */
export function useNow(every: number | null): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    if (every === null) return;
    const timer = setInterval(() => setNow(new Date()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

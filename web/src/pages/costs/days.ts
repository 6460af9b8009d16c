/** Spend by day as it is drawn: days of UTC, whatever clock the reader prefers. */
import type { SpendDay, SpendReport, SpendSum } from "../../api/schema";
import { cost, counted, percent, UNKNOWN } from "../../design/numbers";

const DAY_MS = 86_400_000;

/** The part of a day that one key has; `null`: all others. */
export type Part = SpendDay;

export interface Day {
  /** As `2026-12-01`. */
  name: string;
  at: Date;
  parts: readonly Part[];
  whole: SpendSum;
}

/** The first moment of the day of UTC so many days before. */
export function midnight(now: number, back: number): Date {
  return new Date(Math.floor(now / DAY_MS) * DAY_MS - back * DAY_MS);
}

/** Every day of the report, those without an entry too. `keys`: in the order in which parts stand. */
export function daysOf(report: SpendReport): Day[] {
  const partsOf = (name: string) => report.days.filter((one) => one.day.startsWith(name));
  const first = Math.floor(Date.parse(report.since) / DAY_MS);
  const last = Math.floor((Date.parse(report.until) - 1) / DAY_MS);
  return Array.from({ length: last - first + 1 }, (_, number) => {
    const at = new Date((first + number) * DAY_MS);
    const name = at.toISOString().slice(0, 10);
    const parts = partsOf(name).sort((a, b) => placeOf(report, a.key) - placeOf(report, b.key));
    return { name, at, parts, whole: together(parts) };
  });
}

/** Where a key stands among those that are told apart: the dearest first, all others last. */
export function placeOf(report: SpendReport, key: string | null): number {
  const at = key === null ? -1 : shownKeys(report).indexOf(key);
  return at < 0 ? shownKeys(report).length : at;
}

/** The keys that days tell apart, the dearest first. */
export function shownKeys(report: SpendReport): string[] {
  const told = new Set(report.days.map((one) => one.key));
  return report.rows.map((one) => one.key).filter((key) => told.has(key));
}

/** What a day's bar is high: what is known, and what is counted for what is not. */
export function height(sum: SpendSum): number {
  return sum.cost_nano + sum.assumed_nano;
}

function together(parts: readonly SpendSum[]): SpendSum {
  return parts.reduce(
    (sum, one) => ({
      cost_nano: sum.cost_nano + one.cost_nano,
      assumed_nano: sum.assumed_nano + one.assumed_nano,
      entries: sum.entries + one.entries,
      unpriced: sum.unpriced + one.unpriced,
    }),
    { cost_nano: 0, assumed_nano: 0, entries: 0, unpriced: 0 },
  );
}

/** The share of entries whose cost is known; `null`: there is no entry. */
export function known(sum: SpendSum): number | null {
  return sum.entries === 0 ? null : 1 - sum.unpriced / sum.entries;
}

/** `$29.59`, `≥ $29.59`, `—`. */
export function spent(sum: SpendSum): string {
  return sum.entries > 0 && sum.unpriced === sum.entries ? UNKNOWN : cost(sum.cost_nano, known(sum));
}

/** `≥ $29.59 · usage 88.0%`. */
export function spentWords(sum: SpendSum): string {
  const share = known(sum);
  return share === null || share >= 1 ? spent(sum) : `${spent(sum)} · usage ${percent(share)}`;
}

/** `usage 88.0% of 50 entries`: of how many the cost is known; nothing where it is of all. */
export function usageWords(sum: SpendSum): string {
  const share = known(sum);
  return share === null || share >= 1 ? "" : `usage ${percent(share)} of ${counted(sum.entries, "entry", "entries")}`;
}

/** A round amount above the highest bar, and half of it: what the axis says. */
export function axis(most: number): number[] {
  if (most <= 0) return [0];
  const size = 10 ** Math.floor(Math.log10(most));
  const top = [1, 2, 2.5, 5, 10].map((one) => one * size).find((one) => one >= most) ?? most;
  return [top, top / 2, 0];
}

/** `1 Dec`: a day of UTC. */
export function dayWords(at: Date): string {
  return new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }).format(at);
}

/** A day for those who can't see it. */
export function told(day: Day, nameOf: (key: string | null) => string): string {
  if (day.whole.entries === 0) return `${dayWords(day.at)}: nothing`;
  const parts = day.parts.filter((one) => height(one) > 0).map((one) => `${nameOf(one.key)} ${spent(one)}`);
  const whole = `${dayWords(day.at)}: ${spentWords(day.whole)}, ${counted(day.whole.entries, "entry", "entries")}`;
  return parts.length > 0 ? `${whole}; ${parts.join(", ")}` : whole;
}

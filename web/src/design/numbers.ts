/**
 * How numbers are written: the rules of `proctor.reports.formats`, held by the same cases (tests/fixtures/numbers.json).
 * Unknown is an em dash, never 0; a partial sum says so; a difference has a true minus.
 */

import { fixed, precise } from "./rounding";

export const UNKNOWN = "—";
const NANO = 1_000_000_000;
const whole = new Intl.NumberFormat("en-US");
const money = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** `62.8%` of a share. */
export function percent(share: number | null | undefined): string {
  return share == null ? UNKNOWN : `${fixed(share * 100, 1)}%`;
}

/** `55.4–69.7`, in percent. */
export function interval(range: { low: number; high: number } | null | undefined): string {
  return range == null ? UNKNOWN : `${fixed(range.low * 100, 1)}–${fixed(range.high * 100, 1)}`;
}

/** `1,204`. */
export function count(value: number): string {
  return whole.format(value);
}

/** `1 cell`, `1,204 cells`. */
export function counted(value: number, noun: string, plural = `${noun}s`): string {
  return `${count(value)} ${value === 1 ? noun : plural}`;
}

/** `$1.21`; a partial sum reads `≥ $1.21`, a fraction of a cent `<$0.01`. `coverage`: the share that said its cost. */
export function cost(nano: number | null | undefined, coverage: number | null = null): string {
  if (nano == null) return UNKNOWN;
  const text = nano > 0 && nano < NANO / 100 ? "<$0.01" : `$${money.format(nano / NANO)}`;
  return coverage === null || coverage >= 1 ? text : `≥ ${text}`;
}

/** A difference of two rates in percentage points: `+12.5`, `−3.0`. */
export function points(difference: number | null | undefined): string {
  if (difference == null) return UNKNOWN;
  const text = fixed(Math.abs(difference) * 100, 1);
  return `${difference < 0 ? "−" : "+"}${text}`;
}

/** A difference as it is claimed: `−3.1 pp [−7.9, +1.6]`. */
export function difference(value: number | null, range: { low: number; high: number } | null): string {
  if (value === null) return UNKNOWN;
  const between = range === null ? "" : ` [${points(range.low)}, ${points(range.high)}]`;
  return `${points(value)} pp${between}`;
}

/** Whether an interval leaves 0 out: only then is a difference one, and coloured. */
export function isClear(range: { low: number; high: number } | null | undefined): boolean {
  return range != null && (range.low > 0 || range.high < 0);
}

/** `0.012`, `3.1e-05`. */
export function pValue(p: number | null | undefined): string {
  return p == null ? UNKNOWN : precise(p, 3);
}

/** `9.61 M`. */
export function tokens(value: number | null | undefined): string {
  if (value == null) return UNKNOWN;
  const sizes: [number, string][] = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ];
  const unit = sizes.find(([size]) => value >= size);
  return unit ? `${fixed(value / unit[0], 2)} ${unit[1]}` : String(value);
}

/** `340 ms`, `4.2 s`, `12m 13s`, `1h 07m`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds == null) return UNKNOWN;
  if (seconds < 0.001) return "<1 ms";
  if (seconds < 0.9995) return `${fixed(seconds * 1000, 0)} ms`; // what would be read as 1000 ms is 1.0 s
  if (seconds < 59.95) return `${fixed(seconds, 1)} s`;
  const minutes = Math.floor(Math.round(seconds) / 60);
  if (minutes < 60) return `${minutes}m ${pad(Math.round(seconds) % 60)}s`;
  return `${Math.floor(minutes / 60)}h ${pad(minutes % 60)}m`;
}

/** `1.2 kB`. */
export function bytes(value: number | null | undefined): string {
  if (value == null) return UNKNOWN;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [left, unit] = [value, 0];
  while (left >= 1000 && unit < units.length - 1) [left, unit] = [left / 1000, unit + 1];
  return `${unit === 0 ? left : left.toFixed(1)} ${units[unit]}`;
}

/** A score of an evaluator: four significant digits, whole numbers as they are. */
export function score(value: number | null | undefined): string {
  if (value == null) return UNKNOWN;
  return Number.isInteger(value) ? String(value) : String(Number(precise(value, 4)));
}

/** A mean of scores: as many decimals as its neighbours have, whatever they are. */
export function mean(value: number | null | undefined): string {
  return value == null ? UNKNOWN : fixed(value, 4);
}

/** `0.5000 to 0.7500`. */
export function range(of: { low: number; high: number } | null | undefined): string {
  return of == null ? UNKNOWN : `${mean(of.low)} to ${mean(of.high)}`;
}

/** What is left, about: `27 s`, `12m 13s`. */
export function roughly(seconds: number): string {
  return seconds < 60 ? `${Math.max(1, Math.round(seconds))} s` : duration(seconds);
}

/** `5.4/min`, `212/min`. */
export function perMinute(value: number): string {
  return `${value < 10 ? value.toFixed(1) : count(Math.round(value))}/min`;
}

export type Zone = "local" | "utc";

const DATES = { local: datesOf(undefined), utc: datesOf("UTC") }; // each takes milliseconds to make

function datesOf(timeZone: string | undefined) {
  const time = { hour: "2-digit", minute: "2-digit", timeZone } as const;
  const day = { ...time, day: "numeric", month: "short" } as const;
  return {
    clock: new Intl.DateTimeFormat("en-GB", { ...time, second: "2-digit" }),
    thisYear: new Intl.DateTimeFormat("en-GB", day),
    anyYear: new Intl.DateTimeFormat("en-GB", { ...day, year: "numeric" }),
  };
}

/** Under 24 hours relative (`3 hours ago`), else `18 Sep 14:05`. */
export function moment(at: Date, now: Date, zone: Zone): string {
  const seconds = (now.getTime() - at.getTime()) / 1000;
  if (Math.abs(seconds) < 45) return "just now";
  if (Math.abs(seconds) < 86_400) return relative(seconds);
  const { thisYear, anyYear } = DATES[zone];
  const format = at.getUTCFullYear() === now.getUTCFullYear() ? thisYear : anyYear;
  return format.format(at).replace(",", "");
}

/** `14:05:10` today, the whole moment else. */
export function clock(at: Date, zone: Zone): string {
  return DATES[zone].clock.format(at);
}

function relative(seconds: number): string {
  const size = Math.abs(seconds);
  const [value, unit] = size < 3600 ? [size / 60, "minute"] : [size / 3600, "hour"];
  const whole = seconds > 0 ? Math.floor(value) : Math.ceil(value); // a day that has just begun to run is a day
  const words = counted(Math.max(1, whole), unit as string);
  return seconds > 0 ? `${words} ago` : `in ${words}`;
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

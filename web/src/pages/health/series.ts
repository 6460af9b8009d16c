/** What the charts draw, and the same in words: a gap is a gap, and no zero. */
import type { HealthHistory, HealthSeries } from "../../api/schema";
import { count, duration, percent, UNKNOWN } from "../../design/numbers";

export interface Line {
  name: keyof HealthSeries;
  label: string;
  /** A custom property: the colour of both themes. */
  ink: string;
  dash?: number[];
}

export interface Plot {
  title: string;
  /** What it means, where the title alone does not say. */
  meaning: string;
  lines: readonly Line[];
  write: (value: number | null) => string;
  /** Amounts that the axis may end at; beyond the last its double, again and again. */
  tops: readonly number[];
  /** Its lines are shares of attempts. */
  isShare?: boolean;
  /** Above it somebody should look. */
  most?: number;
}

const seconds = (value: number | null) => (value === 0 ? "0 s" : duration(value));
const level = (value: number | null) => (value === null ? UNKNOWN : count(Math.round(value * 10) / 10));

const SECONDS = [0.1, 0.2, 1, 2, 10, 20, 60, 120, 600, 1200, 3600];
const ROWS = [2, 4, 10, 20, 40, 100, 200, 400, 1000];

export const PLOTS: readonly Plot[] = [
  {
    title: "Oldest ready work",
    meaning: "How long the first ready row of each priority has been ready; the worst of each step",
    write: seconds,
    tops: SECONDS,
    lines: [
      { name: "oldest_critical", label: "critical", ink: "--danger" },
      { name: "oldest_high", label: "high", ink: "--ink" },
      { name: "oldest_normal", label: "normal", ink: "--accent" },
      { name: "oldest_low", label: "low", ink: "--border", dash: [4, 3] },
    ],
  },
  {
    title: "Queue",
    meaning: "Rows of the queue by state",
    write: level,
    tops: ROWS,
    lines: [
      { name: "pending", label: "ready", ink: "--ink" },
      { name: "waiting", label: "waiting", ink: "--provider_error-fill" },
      { name: "claimed", label: "running", ink: "--accent" },
      { name: "paused", label: "paused", ink: "--border", dash: [4, 3] },
      { name: "dead", label: "given up", ink: "--danger", dash: [2, 2] },
    ],
  },
  {
    title: "Sandboxes at work",
    meaning: "Attempts that run",
    write: level,
    tops: ROWS,
    lines: [{ name: "sandboxes", label: "running", ink: "--accent" }],
  },
  {
    title: "Whose failures",
    meaning: "Share of the attempts that ended in the ten minutes before",
    write: percent,
    tops: [0.4, 1],
    isShare: true,
    most: 0.2,
    lines: [
      { name: "infrastructure", label: "infrastructure", ink: "--sandbox_error-fill" },
      { name: "provider", label: "provider", ink: "--provider_error-fill", dash: [4, 3] },
    ],
  },
  {
    title: "Relay lag",
    meaning: "How long the first event has waited to be published; the worst of each step",
    write: seconds,
    tops: SECONDS,
    lines: [{ name: "relay_lag", label: "lag", ink: "--ink" }],
  },
];

/** Where the axis ends: a round amount that is not below any value, nor below what should not be passed. */
export function topOf(plot: Plot, highest: number | null): number {
  const least = Math.max(highest ?? 0, plot.most ?? 0);
  let top = plot.tops.find((one) => one >= least) ?? plot.tops.at(-1) ?? 1;
  while (top < least) top *= 2;
  return top;
}

type Values = readonly (number | null)[];

/** When each step begins, in seconds since 1970. */
export function stepsOf(history: HealthHistory): number[] {
  const since = Date.parse(history.since) / 1000;
  return history.series.relay_lag.map((_, step) => since + step * history.step_sec);
}

export interface Gap {
  first: number;
  /** The last step without a sample. */
  last: number;
}

/** Steps in which nothing was sampled: no server ran. */
export function gapsOf(history: HealthHistory): Gap[] {
  const gaps: Gap[] = [];
  for (const [step, value] of history.series.relay_lag.entries()) {
    if (value !== null) continue;
    const open = gaps.at(-1);
    if (open?.last === step - 1) open.last = step;
    else gaps.push({ first: step, last: step });
  }
  return gaps;
}

/** Steps with a value between two without: a line of one point is none, so it is drawn as a point. */
export function alone(values: Values): number[] {
  return [...values.keys()].filter(
    (step) => values[step] != null && values[step - 1] == null && values[step + 1] == null,
  );
}

export interface Told {
  /** At the end, if it was sampled then. */
  now: number | null;
  lowest: number | null;
  highest: number | null;
  /** The step of the highest. */
  at: number | null;
}

/** A line in four figures. */
export function toldOf(values: Values): Told {
  const known = values.filter((one) => one !== null);
  const highest = known.length ? Math.max(...known) : null;
  return {
    now: values.at(-1) ?? values.at(-2) ?? null,
    lowest: known.length ? Math.min(...known) : null,
    highest,
    at: highest === null ? null : values.indexOf(highest),
  };
}

/** A plot in one sentence, for those who can't see it. */
export function plotWords(plot: Plot, history: HealthHistory): string {
  const lines = plot.lines.map((line) => {
    const { now, highest } = toldOf(history.series[line.name]);
    return highest === null
      ? `${line.label}: not known`
      : `${line.label}: now ${plot.write(now)}, at most ${plot.write(highest)}`;
  });
  return `${plot.title}. ${lines.join("; ")}.`;
}

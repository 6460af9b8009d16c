import { expect, test } from "vitest";
import type { HealthHistory, HealthSeries } from "../../api/schema";
import { alone, gapsOf, PLOTS, type Plot, plotWords, stepsOf, toldOf, topOf } from "./series";

const NAMES = PLOTS.flatMap((plot) => plot.lines.map((line) => line.name));

function history(values: (number | null)[]): HealthHistory {
  return {
    since: "2026-12-01T10:00:00Z",
    until: "2026-12-01T10:05:00Z",
    step_sec: 60,
    series: Object.fromEntries(NAMES.map((name) => [name, values])) as unknown as HealthSeries,
  };
}

test("every series that the server tells is drawn once", () => {
  expect(new Set(NAMES).size).toBe(NAMES.length);
  expect(NAMES.length).toBe(13);
});

test("a time without samples is a gap", () => {
  const found = history([1, null, null, 2, null]);
  expect(gapsOf(found)).toEqual([
    { first: 1, last: 2 },
    { first: 4, last: 4 },
  ]);
  expect(stepsOf(found).map((at) => new Date(at * 1000).toISOString().slice(11, 16))).toEqual([
    "10:00",
    "10:01",
    "10:02",
    "10:03",
    "10:04",
  ]);
});

test("a value between two gaps is a point", () => {
  expect(alone([null, 1, null, 2, 3, null, 4])).toEqual([1, 6]);
});

test("a line is told in figures, and the step that is not over yet may have none", () => {
  expect(toldOf([3, 7, null, 5, null])).toEqual({ now: 5, lowest: 3, highest: 7, at: 1 });
  expect(toldOf([null, null])).toEqual({ now: null, lowest: null, highest: null, at: null });
});

test("a plot is told in words, and what is not known is no zero", () => {
  const shares = PLOTS.find((plot) => plot.title === "Whose failures") as Plot;
  expect(plotWords(shares, history([0.1, 0.25]))).toBe(
    "Whose failures. infrastructure: now 25.0%, at most 25.0%; provider: now 25.0%, at most 25.0%.",
  );
  expect(plotWords(shares, history([null]))).toBe("Whose failures. infrastructure: not known; provider: not known.");
});

test("an axis ends at a round amount above all values and above what should not be passed", () => {
  const [ages, , , shares] = PLOTS as unknown as [Plot, Plot, Plot, Plot];
  expect(topOf(ages, null)).toBe(0.1);
  expect(topOf(ages, 1790)).toBe(3600);
  expect(topOf(ages, 5000)).toBe(7200);
  expect(topOf(shares, 0.01)).toBe(0.4);
});

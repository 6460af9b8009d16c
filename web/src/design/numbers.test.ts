import { expect, test } from "vitest";
import cases from "../../../tests/fixtures/numbers.json";
import * as numbers from "./numbers";

test("numbers are written as the command line writes them", () => {
  for (const [value, text] of cases.percent) expect(numbers.percent(value as number | null)).toBe(text);
  for (const [[low, high], text] of cases.interval as [[number, number], string][]) {
    expect(numbers.interval({ low, high })).toBe(text);
  }
  for (const [[nano, coverage], text] of cases.cost as [[number | null, number | null], string][]) {
    expect(numbers.cost(nano, coverage)).toBe(text);
  }
  for (const [value, text] of cases.points) expect(numbers.points(value as number | null)).toBe(text);
  for (const [value, text] of cases.p_value) expect(numbers.pValue(value as number | null)).toBe(text);
  for (const [value, text] of cases.tokens) expect(numbers.tokens(value as number | null)).toBe(text);
  for (const [value, text] of cases.duration) expect(numbers.duration(value as number | null)).toBe(text);
});

test("a difference is one only where its interval leaves 0 out", () => {
  for (let low = -1; low <= 1; low += 0.05) {
    for (let high = low; high <= 1; high += 0.05) {
      expect(numbers.isClear({ low, high })).toBe(low > 0 || high < 0);
    }
  }
  expect(numbers.isClear(null)).toBe(false);
  expect(numbers.difference(-0.031, { low: -0.079, high: 0.016 })).toBe("−3.1 pp [−7.9, +1.6]");
});

test("a moment is relative for a day, and then a date", () => {
  const now = new Date("2026-09-19T12:00:00Z");
  expect(numbers.moment(new Date("2026-09-19T09:00:00Z"), now, "utc")).toBe("3 hours ago");
  expect(numbers.moment(new Date("2026-09-19T11:59:50Z"), now, "utc")).toBe("just now");
  expect(numbers.moment(new Date("2026-09-19T12:04:00Z"), now, "utc")).toBe("in 4 minutes");
  expect(numbers.moment(new Date("2026-09-20T11:59:58Z"), now, "utc")).toBe("in 24 hours");
  expect(numbers.moment(new Date("2026-09-18T11:05:00Z"), now, "utc")).toBe("18 Sept 11:05");
  expect(numbers.clock(new Date("2026-09-18T14:05:10Z"), "utc")).toBe("14:05:10");
});

test("means of one table have as many decimals", () => {
  expect([1, 0.33333, -0.5, 12345.6, null].map(numbers.mean)).toEqual([
    "1.0000",
    "0.3333",
    "-0.5000",
    "12345.6000",
    "—",
  ]);
  expect(numbers.range({ low: 0.5, high: 1 })).toBe("0.5000 to 1.0000");
  expect(numbers.range(null)).toBe("—");
});

test("what is left is said without false precision", () => {
  expect([0.2, 27.2, 61].map(numbers.roughly)).toEqual(["1 s", "27 s", "1m 01s"]);
});

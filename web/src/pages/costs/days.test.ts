import { expect, test } from "vitest";
import type { SpendReport } from "../../api/schema";
import { axis, daysOf, known, midnight, placeOf, spent, spentWords, told, usageWords } from "./days";

const part = (day: string, key: string | null, cost_nano: number, unpriced = 0) => ({
  day: `${day}T00:00:00Z`,
  key,
  cost_nano,
  assumed_nano: 0,
  entries: 4,
  unpriced,
});
const NANO = 1_000_000_000;
const REPORT: SpendReport = {
  since: "2026-11-29T00:00:00Z",
  until: "2026-12-01T12:00:00Z",
  by: "profile",
  whole: { cost_nano: 6 * NANO, assumed_nano: 0, entries: 16, unpriced: 1 },
  rows: [
    { key: "b", name: "b", cost_nano: 4 * NANO, assumed_nano: 0, entries: 8, unpriced: 1 },
    { key: "a", name: "a", cost_nano: NANO, assumed_nano: 0, entries: 4, unpriced: 0 },
    { key: "c", name: "c", cost_nano: NANO, assumed_nano: 0, entries: 4, unpriced: 0 },
  ],
  days: [
    part("2026-11-29", "a", NANO),
    part("2026-11-29", "b", 2 * NANO),
    part("2026-12-01", "b", 2 * NANO, 1),
    part("2026-12-01", null, NANO),
  ],
  unpriced: [],
};

test("every day of UTC is there, the dearest key first and all others last", () => {
  const days = daysOf(REPORT);
  expect(days.map((one) => one.name)).toEqual(["2026-11-29", "2026-11-30", "2026-12-01"]);
  expect(days.map((one) => one.parts.map((each) => each.key))).toEqual([["b", "a"], [], ["b", null]]);
  expect(days[2]?.whole).toEqual({ cost_nano: 3 * NANO, assumed_nano: 0, entries: 8, unpriced: 1 });
  expect(placeOf(REPORT, "c")).toBe(2);
});

test("a sum says what is not in it, and what nobody knows is no zero", () => {
  const none = { cost_nano: 0, assumed_nano: 0, entries: 3, unpriced: 3 };
  expect(spent(none)).toBe("—");
  expect(spent({ ...none, unpriced: 0 })).toBe("$0.00");
  expect(spentWords({ cost_nano: 3 * NANO, assumed_nano: 0, entries: 8, unpriced: 1 })).toBe("≥ $3.00 · usage 87.5%");
  expect(usageWords({ ...none, entries: 40, unpriced: 9 })).toBe("usage 77.5% of 40 entries");
  expect(usageWords({ ...none, unpriced: 0 })).toBe("");
  expect(known({ ...none, entries: 0, unpriced: 0 })).toBeNull();
});

test("a day is told in words", () => {
  const [first, second, third] = daysOf(REPORT);
  const nameOf = (key: string | null) => key ?? "others";
  expect(first && told(first, nameOf)).toBe("29 Nov: $3.00, 8 entries; b $2.00, a $1.00");
  expect(second && told(second, nameOf)).toBe("30 Nov: nothing");
  expect(third && told(third, nameOf)).toBe("1 Dec: ≥ $3.00 · usage 87.5%, 8 entries; b ≥ $2.00, others $1.00");
});

test("the axis ends at a round amount", () => {
  expect(axis(0)).toEqual([0]);
  expect(axis(3.1 * NANO)).toEqual([5 * NANO, 2.5 * NANO, 0]);
  expect(axis(10 * NANO)).toEqual([10 * NANO, 5 * NANO, 0]);
});

test("days begin at midnight of UTC", () => {
  expect(midnight(Date.parse("2026-12-01T23:59:59+02:00"), 2).toISOString()).toBe("2026-11-29T00:00:00.000Z");
});

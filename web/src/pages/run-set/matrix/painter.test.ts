import { expect, test } from "vitest";
import { PITCHES } from "../search";
import { barsOf, columnOf } from "./painter";

test("five trials are five bars of 2 px where the whole matrix is seen, and have gaps where there is room", () => {
  expect(barsOf(5, 12)).toEqual({ width: 2, step: 2 });
  expect(barsOf(1, 18)).toEqual({ width: 17, step: 17 });
  expect(barsOf(12, 28)).toEqual({ width: 2, step: 2 });
});

test("where glyphs are drawn, each of a few trials is a square that has room for one", () => {
  expect(barsOf(5, 18)).toEqual({ width: 17, step: 18 });
  expect(columnOf(5, 18)).toBe(93);
  expect(columnOf(5, 12)).toBe(12);
  expect(columnOf(11, 18)).toBe(18);
});

test("no bar is beyond its column, however many trials there are", () => {
  for (const pitch of PITCHES) {
    for (let trials = 1; trials <= 100; trials++) {
      const { width, step } = barsOf(trials, pitch);
      expect(step * (trials - 1) + width).toBeLessThanOrEqual(columnOf(trials, pitch) - 1 + 1e-9);
      expect(width).toBeGreaterThan(0);
    }
  }
});

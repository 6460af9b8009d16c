import { expect, test } from "vitest";
import { PITCHES } from "../search";
import { barsOf } from "./painter";

test("five trials are five bars of 2 px where the whole matrix is seen, and have gaps where there is room", () => {
  expect(barsOf(5, 11)).toEqual({ width: 2, step: 2 });
  expect(barsOf(5, 17)).toEqual({ width: 2, step: 3 });
  expect(barsOf(5, 27)).toEqual({ width: 4, step: 5 });
  expect(barsOf(1, 17)).toEqual({ width: 17, step: 17 });
});

test("no bar is beyond its square, however many trials there are", () => {
  for (const size of PITCHES.map((pitch) => pitch - 1)) {
    for (let trials = 1; trials <= 100; trials++) {
      const { width, step } = barsOf(trials, size);
      expect(step * (trials - 1) + width).toBeLessThanOrEqual(size + 1e-9);
      expect(width).toBeGreaterThan(0);
    }
  }
});

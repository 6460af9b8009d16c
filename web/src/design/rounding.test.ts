import { expect, test } from "vitest";
import { fixed, precise } from "./rounding";

test("a tie goes to the even neighbour, and nothing else is moved", () => {
  expect([0.5, 1.5, 2.5, -0.5, -1.5].map((one) => fixed(one, 0))).toEqual(["0", "2", "2", "-0", "-2"]);
  expect([56.25, 56.75, 0.15, 0.25, 1.25, 6.35].map((one) => fixed(one, 1))).toEqual([
    "56.2",
    "56.8",
    "0.1",
    "0.2",
    "1.2",
    "6.3",
  ]);
  expect(fixed(0.03125, 4)).toBe("0.0312");
  expect(fixed(1e6 + 0.5, 0)).toBe("1000000");
});

test("digits that count end with none that says nothing", () => {
  expect([0.03125, 100, 1234, 0.5, 0.99999, 1, 0].map((one) => precise(one, 3))).toEqual([
    "0.0312",
    "100",
    "1.23e+03",
    "0.5",
    "1",
    "1",
    "0",
  ]);
});

import { expect, test } from "vitest";
import type { SideDocument } from "../../api/schema";
import { againstBase } from "./claim";
import { countOf, paired } from "./tasks";

/** Tasks as `name: 1 passed, 0 failed, - owed` for each trial. */
function side(tasks: Record<string, string>): SideDocument {
  const tally = (seen: string) => ({
    outcome: seen === "1" ? "passed" : seen === "0" ? "failed" : "node_lost",
    owner: seen === "-" ? "infrastructure" : "model",
    verdict: seen === "-" ? null : seen === "1",
    cells: 1,
    withdrawn: null,
  });
  const cells = (name: string, seen: string) => ({ name, tallies: [...seen].map(tally), cost_nano: 10, seconds: 1 });
  return {
    tasks: Object.entries(tasks).map(([name, seen]) => [[name, "v"], cells(name, seen)]),
  } as unknown as SideDocument;
}

test("flips, agreements and what is owed are told apart, the largest flips first", () => {
  const pairs = paired(
    side({ same: "11", worse: "11", half: "10", none: "00", owed: "1-", mine: "11" }),
    side({ same: "11", worse: "00", half: "11", none: "00", owed: "11", theirs: "11" }),
  );
  const told = pairs.map((one) => [one.name, one.kind, one.difference]);
  expect(told.slice(0, 2)).toEqual([
    ["worse", "flips", -1],
    ["half", "flips", 0.5],
  ]);
  expect(Object.fromEntries(told.slice(2).map(([name, kind]) => [name, kind]))).toEqual({
    same: "both-pass",
    none: "both-fail",
    owed: "owed",
    mine: "owed",
    theirs: "owed",
  });
  expect([countOf(pairs, "flips"), countOf(pairs, "owed"), countOf(pairs, "all")]).toEqual([2, 3, 7]);
});

test("nothing is said of a task that is owed on one side", () => {
  const [owed] = paired(side({ a: "1-" }), side({ a: "00" }));
  expect(owed).toMatchObject({ difference: null, cost: null, seconds: null });
});

test("a difference is told from the base: better is above 0", () => {
  expect(againstBase({ difference: 0.75, interval: { low: 0.4, high: 1 } })).toEqual({
    difference: -0.75,
    interval: { low: -1, high: -0.4 },
  });
  expect(againstBase({ difference: null, interval: null })).toEqual({ difference: null, interval: null });
});

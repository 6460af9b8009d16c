import { expect, test } from "vitest";
import type { Pair } from "../../api/schema";
import { againstBase } from "./difference";
import { countOf, ownReferences, referencesOf, SHOWN, segmentOf, sideName } from "./tasks";

const side = (title: string) => ({ title, run_set: "id", profile: "p" }) as Pair["a"];

test("what is shown is counted by what the comparison says of its kinds", () => {
  const kinds = { better: 3, worse: 2, both_pass: 7, both_fail: 5, mixed: 1, owed: 4 };
  expect(SHOWN.map((shown) => countOf(kinds, shown))).toEqual([5, 7, 5, 4, 22]);
});

test("tasks are asked for as the page calls its sides, where the first pair is of those", () => {
  const pair = { a: side("nightly:p"), b: side("other:p") };
  expect(referencesOf(pair, "nightly", "other:p")).toEqual(["nightly", "other:p"]);
  expect(referencesOf(pair, "nightly", "third")).toEqual(["id:p", "id:p"]);
  expect(ownReferences(pair)).toEqual(["id:p", "id:p"]);
});

test("a run set asked for by its id is told by its name too", () => {
  const id = "0be41c9a-0000-4000-8000-000000000001";
  expect(sideName({ title: `${id}:codex`, name: "nightly" })).toBe("nightly (0be41c9a):codex");
  expect(sideName({ title: "nightly:codex", name: "nightly" })).toBe("nightly:codex");
  expect(sideName({ title: `${id}:$1`, name: "$1 $&" })).toBe("$1 $& (0be41c9a):$1");
});

test("a difference is told from the base: better is above 0", () => {
  expect(againstBase({ difference: 0.75, interval: { low: 0.4, high: 1 } })).toEqual({
    difference: -0.75,
    interval: { low: -1, high: -0.4 },
  });
  expect(againstBase({ difference: null, interval: null })).toEqual({ difference: null, interval: null });
});

test("a segment of an address names a field that tasks have", () => {
  expect(segmentOf("difficulty:very hard: really")).toBe("difficulty:very hard: really");
  expect([segmentOf("owner:me"), segmentOf("category:"), segmentOf(undefined)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

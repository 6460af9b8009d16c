import { expect, test } from "vitest";
import type { EvaluatorSummary, Spread } from "../../api/schema";
import { countOf, countOfAll, ofWords, withoutScore } from "./counts";

const summary = (evaluator: string, counts: Record<string, number>) => ({ evaluator, counts }) as EvaluatorSummary;
const EVALUATORS = [summary("exact", { scored: 9, missing: 2, error: 1 }), summary("f1", { scored: 12, error: 0 })];
const SPREADS = [{ evaluator: "exact", edges: [0, 0.5, 1], counts: [4, 5] } as Spread];
const fit = (filter: object) =>
  countOf(
    { status: undefined, evaluator: undefined, at_least: undefined, below: undefined, ...filter },
    EVALUATORS,
    SPREADS,
  );

test("a filter says how many results it leaves of how many", () => {
  expect(countOfAll(EVALUATORS)).toBe(24);
  expect(fit({ status: "scored" })).toBe(21);
  expect(fit({ status: "missing", evaluator: "exact" })).toBe(2);
  expect(fit({ evaluator: "f1" })).toBe(12);
  expect(fit({ evaluator: "exact", at_least: 0, below: 0.5 })).toBe(4);
  expect(fit({ evaluator: "exact", at_least: 0.5 })).toBe(5);
  expect(ofWords(4, 24)).toBe("4 of 24 results");
});

test("what nothing counts is no number", () => {
  expect(fit({ evaluator: "exact", at_least: 0.2 })).toBeNull();
  expect(fit({ at_least: 0, below: 0.5 })).toBeNull();
  expect(ofWords(null, 24)).toBe("some of 24 results");
});

test("what has no score is told by status", () => {
  expect(EVALUATORS.map(withoutScore)).toEqual([
    [
      ["missing", 2],
      ["error", 1],
    ],
    [],
  ]);
});

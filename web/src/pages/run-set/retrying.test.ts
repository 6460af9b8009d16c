import { expect, test } from "vitest";
import { patternOf } from "../../api/patterns";
import { choiceOf, wordsOf } from "./retrying";

test("a text is looked for in any case, and its signs mean themselves", () => {
  expect(patternOf("ab-1")).toBe("*[aA][bB]-1*");
  expect(patternOf("a*")).toBe("*[aA][*]*");
});

test("a filter is asked for as the server takes it", () => {
  expect(choiceOf({ state: ["image_error", "queued"], profile: "p" })).toEqual({
    outcomes: ["image_error"],
    profiles: ["p"],
    tasks: [],
  });
  expect(choiceOf({ owed: true, task: "x" })).toEqual({ outcomes: [], profiles: [], tasks: ["*[xX]*"] });
});

test("names that were drawn over are asked for one by one", () => {
  expect(choiceOf({ profiles: ["p", "q"], tasks: ["a/[x]", "b/y"] })).toEqual({
    outcomes: [],
    profiles: ["p", "q"],
    tasks: ["a/[[]x[]]", "b/y"],
  });
  expect(choiceOf({ profile: "q", profiles: ["p", "q"], task: "Y", tasks: ["a/x", "b/y"] })).toEqual({
    outcomes: [],
    profiles: ["q"],
    tasks: ["b/y"],
  });
  expect(choiceOf({ profile: "r", profiles: ["p", "q"] })).toBeNull();
});

test("a filter of what can't be tried asks for nothing", () => {
  expect(choiceOf({ state: ["running"] })).toBeNull();
  expect(choiceOf({ decided: true })).toBeNull();
});

test("what came of it names what stays", () => {
  expect(wordsOf(61, 61)).toBe("61 of 61 cells queued");
  expect(wordsOf(1, 3)).toBe("1 of 3 cells queued; trying again can't change 2");
});

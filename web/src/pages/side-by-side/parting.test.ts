import { expect, test } from "vitest";
import type { StepDocument } from "../../api/schema";
import { partingOf } from "./parting";
import { sideOf } from "./queries";
import { wordsOf } from "./side-by-side";

const said = (message: string) =>
  ({ number: 1, cut: 0, step: { source: "agent", message } }) as unknown as StepDocument;
const ran = (id: string, given: object) =>
  ({
    number: 1,
    cut: 0,
    step: { source: "agent", message: id, tool_calls: [{ tool_call_id: id, function_name: "bash", arguments: given }] },
  }) as unknown as StepDocument;

test("they part where another thing is said or done, whatever its id, its words or its order", () => {
  expect(partingOf([said("a"), said("b")], [said("a "), said("c")])).toBe(2);
  expect(partingOf([ran("1", { cmd: "ls", at: 1 })], [ran("2", { at: 1, cmd: "ls" })])).toBeNull();
  expect(partingOf([ran("1", { cmd: "ls" })], [ran("1", { cmd: "pwd" })])).toBe(1);
  expect(partingOf([said("a")], [said("a"), said("b")])).toBeNull();
});

test("what is known is said in words", () => {
  const [a, b] = [said("a"), said("b")];
  expect(wordsOf({ one: [], other: [a], at: null, isWhole: true })).toBe("One attempt has no trajectory.");
  expect(wordsOf({ one: [a, a], other: [a, b], at: 2, isWhole: true })).toBe(
    "The same until step 1; they part at step 2.",
  );
  expect(wordsOf({ one: [a], other: [a, b], at: null, isWhole: true })).toBe(
    "The same until step 1, where one of them ends.",
  );
  expect(wordsOf({ one: [a], other: [a], at: null, isWhole: false })).toContain("as far as was looked");
});

test("a side of an address is a run set and one of its profiles", () => {
  expect(sideOf("nightly:codex")).toEqual({ runSet: "nightly", profile: "codex" });
  expect(sideOf("nightly")).toEqual({ runSet: "nightly", profile: "" });
});

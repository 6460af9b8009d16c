import { expect, test } from "vitest";
import { filterOf, runSetSearch } from "./search";

test("an address that names owners and classes means those classes that are of these owners", () => {
  const states = (search: Record<string, unknown>) => filterOf(runSetSearch(search)).state;
  expect(states({})).toBeUndefined();
  expect(states({ class: "passed,running" })).toEqual(["passed", "running"]);
  expect(states({ owner: "task" })).toContain("verifier_error");
  expect(states({ owner: "task" })).not.toContain("passed");
  expect(states({ owner: "task,model", class: "passed,image_error" })).toEqual(["passed"]);
  expect(states({ owner: "provider", class: "passed" })).toEqual([]);
});

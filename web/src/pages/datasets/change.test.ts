import { expect, test } from "vitest";
import { textsOf } from "./change";

test("texts are told as they are, and all else as JSON", () => {
  expect(textsOf("a", "b")).toEqual({ before: "a", after: "b" });
  expect(textsOf(10, "10")).toEqual({ before: "10", after: '"10"' });
  expect(textsOf(["x"], [])).toEqual({ before: '[\n  "x"\n]', after: "[]" });
  expect(textsOf(undefined, "new")).toEqual({ before: "", after: "new" });
});

test("what looks the same is told so that it does not", () => {
  expect(textsOf(null, "")).toEqual({ before: "", after: '""' });
  expect(textsOf(null, [])).toEqual({ before: "", after: "[]" });
  expect(textsOf("a\n", "a")).toEqual({ before: '"a\\n"', after: '"a"' });
  expect(textsOf("a ", "a")).toEqual({ before: '"a "', after: '"a"' });
  expect(textsOf("\u00e9", "e\u0301")).toEqual({ before: '"\u00e9"', after: '"e\\u0301"' });
  expect(textsOf("a b", "a\u00a0b")).toEqual({ before: '"a b"', after: '"a\\u00a0b"' });
  expect(textsOf("same", "same")).toEqual({ before: '"same"', after: '"same"' });
});

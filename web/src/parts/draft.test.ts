import { beforeEach, expect, test, vi } from "vitest";
import { draftOf, forgetDrafts, hasTexts } from "./draft";

const one = draftOf("one", (kept): kept is { text: string } => hasTexts(kept, "text"));
const other = draftOf("other", (kept): kept is { name: string } => hasTexts(kept, "name"));

beforeEach(() => sessionStorage.clear());

test("what is kept is read again, by its own page alone", () => {
  expect(one.read()).toBeNull();
  one.keep({ text: "a" });
  expect(one.read()).toEqual({ text: "a" });
  expect(other.read()).toBeNull();
  one.forget();
  expect(one.read()).toBeNull();
});

test("what is none of a page's own is nothing", () => {
  for (const kept of ["", "nonsense", "null", "[]", '{"text":1}']) {
    sessionStorage.setItem("proctor.draft.one", kept);
    expect(one.read()).toBeNull();
  }
});

test("of what is too long to be kept nothing is, and nothing that is older", () => {
  one.keep({ text: "short" });
  const full = vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
    throw new DOMException("", "QuotaExceededError");
  });
  one.keep({ text: "long" });
  full.mockRestore();
  expect(one.read()).toBeNull();
});

test("all drafts are forgotten at once, and nothing else is", () => {
  sessionStorage.setItem("else", "stays");
  one.keep({ text: "a" });
  other.keep({ name: "b" });
  forgetDrafts();
  expect([one.read(), other.read(), sessionStorage.getItem("else")]).toEqual([null, null, "stays"]);
});

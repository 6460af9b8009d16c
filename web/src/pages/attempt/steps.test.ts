import { expect, test, vi } from "vitest";
import type { StepIndex } from "../../api/schema";
import { Bodies, groupsOf, nextOf, Steps } from "./steps";

function index(change: Partial<StepIndex> = {}): StepIndex {
  const kinds = change.kinds ?? "umcc";
  return {
    first: 1,
    steps: kinds.length,
    running: false,
    kinds,
    began: null,
    at: null,
    input_tokens: null,
    output_tokens: null,
    sizes: Array.from(kinds, () => 100),
    failed: [],
    edits: [],
    ...change,
  };
}

const settle = () => new Promise((resolve) => setTimeout(resolve));

test("an attempt opens at the last step that failed, and at the last one where it passed or none did", () => {
  expect(Steps.of(index({ failed: [2, 3] })).deciding(false)).toBe(3);
  expect(Steps.of(index({ failed: [2, 3] })).deciding(true)).toBe(4);
  expect(Steps.of(index()).deciding(false)).toBe(4);
  expect(Steps.of(index({ kinds: "", sizes: [] })).deciding(false)).toBe(1);
});

test("turns are where somebody speaks", () => {
  const steps = Steps.of(index({ kinds: "umccmc" }));
  expect(steps.turnFrom(2, 1)).toBe(5);
  expect(steps.turnFrom(5, -1)).toBe(2);
  expect(steps.turnFrom(5, 1)).toBe(5);
});

test("steps that come later are put behind, also where the first said less", () => {
  const grown = Steps.of(index({ running: true })).and(
    index({ first: 5, steps: 6, kinds: "mc", at: [9, null], sizes: [1, 2], failed: [6] }),
  );
  expect(grown.count).toBe(6);
  expect(grown.kinds).toBe("umccmc");
  expect(grown.secondsAt(4)).toBeNull();
  expect(grown.secondsAt(5)).toBe(9);
  expect(grown.failed).toEqual([6]);
  expect(grown.running).toBe(false);
});

test("what does not follow on what is there changes nothing", () => {
  const steps = Steps.of(index());
  expect(steps.and(index({ first: 9 }))).toBe(steps);
});

test("the next of some numbers goes around the end", () => {
  expect(nextOf([3, 7], 3)).toBe(7);
  expect(nextOf([3, 7], 7)).toBe(3);
  expect(nextOf([], 1)).toBeUndefined();
});

test("an outline tells instructions, edits and work apart, and marks what failed", () => {
  const kinds = `u${"c".repeat(9)}u${"c".repeat(9)}`;
  const groups = groupsOf(Steps.of(index({ kinds, edits: [5, 6], failed: [8, 15] })));
  expect(groups.map(({ kind, first, last }) => [kind, first, last])).toEqual([
    ["instruction", 1, 1],
    ["work", 2, 4],
    ["edits", 5, 9],
    ["work", 10, 10],
    ["instruction", 11, 11],
    ["work", 12, 20],
  ]);
  expect(groups.map((one) => one.edits)).toEqual([0, 0, 2, 0, 0, 0]);
  expect(groups.map((one) => one.failed)).toEqual([0, 0, 1, 0, 0, 1]);
});

test("an outline of fifty thousand steps is short and leaves none out", () => {
  const kinds = "uccc".repeat(12_500);
  const groups = groupsOf(Steps.of(index({ kinds, failed: [41_337] })));
  expect(groups.length).toBeLessThanOrEqual(61);
  expect(groups[0]?.first).toBe(1);
  expect(groups.at(-1)?.last).toBe(50_000);
  groups.slice(1).forEach((group, at) => {
    expect(group.first).toBe((groups[at]?.last ?? 0) + 1);
  });
  expect(groups.reduce((sum, one) => sum + one.failed, 0)).toBe(1);
});

test("bodies come by the page, each once", async () => {
  const fetch = vi.fn(async (first: number, limit: number) => ({
    items: Array.from({ length: limit }, (_, at) => ({ number: first + at, step: {} as never, cut: 0 })),
  }));
  const bodies = new Bodies(fetch);
  bodies.want(95, 105, 250);
  bodies.want(95, 105, 250);
  expect(fetch.mock.calls).toEqual([
    [1, 100],
    [101, 100],
  ]);
  await settle();
  expect(bodies.get(105)?.number).toBe(105);
  bodies.want(101, 200, 250);
  expect(fetch).toHaveBeenCalledTimes(2);
});

test("a page that held fewer is asked on for", async () => {
  const fetch = vi.fn(async (first: number) => ({ items: [{ number: first, step: {} as never, cut: 0 }] }));
  const bodies = new Bodies(fetch);
  bodies.want(1, 2, 2);
  await settle();
  bodies.want(1, 2, 2);
  await settle();
  expect(fetch.mock.calls).toEqual([
    [1, 2],
    [2, 1],
  ]);
  expect(bodies.get(2)).toBeDefined();
});

test("what could not be had is asked for again when somebody says so, and not before", async () => {
  const fetch = vi.fn().mockRejectedValueOnce(new Error("gone")).mockResolvedValue({ items: [] });
  const bodies = new Bodies(fetch);
  bodies.want(1, 1, 1);
  await settle();
  expect(bodies.error).toBeInstanceOf(Error);
  bodies.want(1, 1, 1);
  expect(fetch).toHaveBeenCalledTimes(1);
  bodies.retry();
  bodies.want(1, 1, 1);
  expect(fetch).toHaveBeenCalledTimes(2);
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Throttle } from "../../api/throttle";
import { isBefore } from "./live-cells";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("figures are asked for at once, then after a while, the last time for sure", async () => {
  const work = vi.fn(async () => undefined);
  const throttle = new Throttle(work, 2000);
  throttle.ask();
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(100);
  for (let n = 0; n < 50; n++) throttle.ask();
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(work).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(work).toHaveBeenCalledTimes(2);
});

test("figures that take long are waited for, and then asked for once more", async () => {
  const work = vi.fn(() => new Promise((done) => setTimeout(done, 7000)));
  const throttle = new Throttle(work, 2000);
  for (let second = 0; second < 7; second++) {
    throttle.ask();
    await vi.advanceTimersByTimeAsync(900);
  }
  expect(work).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(work).toHaveBeenCalledTimes(2);
});

test("nothing is asked for once nobody looks", async () => {
  const work = vi.fn(async () => undefined);
  const throttle = new Throttle(work, 2000);
  throttle.ask();
  await vi.advanceTimersByTimeAsync(1);
  throttle.ask();
  throttle.stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(work).toHaveBeenCalledTimes(1);
});

test("figures that are older than what happened last are known by their times", () => {
  expect(isBefore("2026-12-01T10:00:00.1Z", "2026-12-01T10:00:00.25+00:00")).toBe(true);
  expect(isBefore("2026-12-01T10:00:01Z", "2026-12-01T10:00:00.25Z")).toBe(false);
  expect(isBefore("2026-12-01T10:00:01Z", "")).toBe(false);
});

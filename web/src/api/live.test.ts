import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Live, type LiveEvent } from "./live";

/** Sockets that were opened, each as a server holds its end. */
class Wire {
  static all: Wire[] = [];
  static OPEN = 1;
  readyState = 0;
  said: Record<string, unknown>[] = [];
  onopen: () => void = () => undefined;
  onmessage: (message: { data: string }) => void = () => undefined;
  onclose: (closed: { code: number }) => void = () => undefined;

  constructor(readonly url: string) {
    Wire.all.push(this);
  }

  send(text: string): void {
    this.said.push(JSON.parse(text));
  }

  close(): void {
    this.readyState = 3;
  }

  opened(): void {
    this.readyState = 1;
    this.onopen();
  }

  tells(message: unknown): void {
    this.onmessage({ data: JSON.stringify(message) });
  }

  broken(code = 1006): void {
    this.readyState = 3;
    this.onclose({ code });
  }
}

const event = (id: string): LiveEvent => ({
  id,
  name: "attempt.ended",
  subject: "a",
  created_at: "",
  payload: { run_set: "r", cell: "c", class: "failed" },
});

beforeEach(() => {
  Wire.all = [];
  vi.stubGlobal("WebSocket", Wire);
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const last = () => Wire.all.at(-1) as Wire;

function following(after: string | null = null) {
  const live = new Live("ws://x/ws");
  const seen: string[] = [];
  let gaps = 0;
  const leave = live.follow("run-set:r", { event: ({ id }) => seen.push(id), gap: () => gaps++ }, after);
  last().opened();
  return { live, seen, leave, gaps: () => gaps };
}

test("an event comes once, however often it is sent", () => {
  const { seen } = following("0");
  last().tells({ event: event("1") });
  last().tells({ event: event("1") });
  last().tells({ event: event("2") });
  expect(seen).toEqual(["1", "2"]);
});

test("it begins after the event that the page was fetched at", () => {
  following("17");
  expect(last().said).toEqual([{ subscribe: ["run-set:r"], after: "17" }]);
});

test("after a break it goes on after the last event, and says so meanwhile", () => {
  const { live, seen } = following("0");
  last().tells({ event: event("1") });
  last().broken();
  expect(live.standing.state).toBe("reconnecting");
  vi.advanceTimersByTime(300);
  last().opened();
  expect(live.standing.state).toBe("live");
  expect(last().said).toEqual([{ subscribe: ["run-set:r"], after: "1" }]);
  last().tells({ event: event("1") });
  last().tells({ event: event("2") });
  expect(seen).toEqual(["1", "2"]);
});

test("what the server has forgotten is fetched again", () => {
  const { gaps } = following("1");
  last().tells({ subscribed: ["run-set:r"], after: "0" });
  last().tells({ gap: { after: "1" } });
  expect(gaps()).toBe(1);
});

test("a key that opens nothing is not tried again, and nothing is called live", () => {
  const { live } = following();
  last().broken(4401);
  expect(live.standing.state).toBe("refused");
  vi.advanceTimersByTime(60_000);
  expect(Wire.all).toHaveLength(1);
});

test("a topic that nobody follows any more is left", () => {
  const { leave } = following("0");
  leave();
  expect(last().said.at(-1)).toEqual({ unsubscribe: ["run-set:r"] });
});

test("a job's events come to those who follow the job", () => {
  const live = new Live("ws://x/ws");
  const seen: string[] = [];
  live.follow("job:j", { event: ({ id }) => seen.push(id), gap: () => undefined });
  last().opened();
  for (const subject of ["j", "other"])
    last().tells({ event: { ...event(subject), name: "job.advanced", subject, payload: { chunks: 3 } } });
  expect(seen).toEqual(["j"]);
});

test("a reader is told when events begin to come to it", () => {
  const live = new Live("ws://x/ws");
  const joined = vi.fn();
  live.follow("job:j", { event: () => undefined, gap: () => undefined, joined });
  last().opened();
  expect(joined).not.toHaveBeenCalled();
  last().tells({ subscribed: ["job:j"], after: "0" });
  expect(joined).toHaveBeenCalledOnce();
});

test("while it is broken those that can look every ten seconds, and it says so", () => {
  const live = new Live("ws://x/ws");
  const poll = vi.fn();
  live.follow("job:j", { event: () => undefined, gap: () => undefined, poll });
  last().opened();
  vi.advanceTimersByTime(60_000);
  expect(poll).not.toHaveBeenCalled();
  last().broken();
  vi.advanceTimersByTime(9_999);
  expect([poll.mock.calls.length, live.standing]).toEqual([
    0,
    { state: "reconnecting", since: expect.anything(), isPolling: false },
  ]);
  vi.advanceTimersByTime(20_000);
  expect(poll).toHaveBeenCalledTimes(2);
  expect(live.standing).toMatchObject({ state: "reconnecting", isPolling: true });
  last().opened();
  vi.advanceTimersByTime(60_000);
  expect(poll).toHaveBeenCalledTimes(2);
  expect(live.standing).toEqual({ state: "live" });
});

import { expect, test } from "vitest";
import type { Acknowledgement, RunSetRow } from "../../api/schema";
import { apart, heldBack, needsOf, type Progress } from "./needs";
import { samplesOf, sum } from "./prometheus";

const TEXT = `# HELP proctor_queue_rows Rows
# TYPE proctor_queue_rows gauge
proctor_queue_rows{band="normal",kind="cell",provider="a\\"b",state="dead"} 5.0
proctor_queue_rows{band="normal",kind="cell",provider="",state="pending"} 2.0
proctor_queue_oldest_seconds{band="normal",state="pending"} 7300.0
proctor_infrastructure_share 0.25
proctor_attempts_recent{class="passed",owner="nobody"} 15.0
proctor_attempts_recent{class="sandbox_error",owner="infrastructure"} 5.0
proctor_leaked_sandboxes{backend="local"} 0.0
proctor_log_lines_total{state="lost"} 1
`;

test("samples are read with their labels", () => {
  const samples = samplesOf(TEXT);
  expect(samples[0]).toEqual({
    name: "proctor_queue_rows",
    labels: { band: "normal", kind: "cell", provider: 'a"b', state: "dead" },
    value: 5,
  });
  expect(sum(samples, "proctor_queue_rows")).toBe(7);
  expect(sum(samples, "proctor_queue_rows", { state: "pending" })).toBe(2);
  expect(sum(samples, "nothing")).toBeNull();
});

test("what needs somebody is said with the way to it, and nothing else", () => {
  expect(needsOf(samplesOf(TEXT)).map((one) => [one.what, one.to])).toEqual([
    ["5 cells given up: out of tries, or another try would fail alike", "/run-sets?state=complete_with_gaps"],
    ["25.0% of the last 20 attempts failed by infrastructure", "/run-sets?state=running"],
    ["the oldest ready work waits for 2h 01m", "/run-sets?state=running"],
    ["1 log line lost", undefined],
  ]);
  expect(needsOf(samplesOf(TEXT), 5)).toHaveLength(3);
  expect(needsOf([])).toEqual([]);
});

const row = (state: string, reason = "") => ({ id: "r1", name: "nightly", state, reason }) as RunSetRow;
const PROGRESS: Progress = {
  expected: 10,
  decided: 4,
  passed: 1,
  queued: 0,
  waiting: 0,
  running: 0,
  dead: 0,
  waits: [],
};
const WAIT = {
  scope: "provider",
  name: "anthropic",
  state: "closed",
  until: "2026-12-01T14:05:10Z",
  cells: 0,
  counts: {},
  reason: "",
  at_once: null,
  per_minute: null,
} as const;

test("what holds back a run set leads to its cells", () => {
  const told = (state: string, progress: Partial<Progress>, reason = "") =>
    heldBack([{ row: row(state, reason), progress: { ...PROGRESS, ...progress } }], "utc");
  expect(told("running", {})).toEqual([]);
  expect(told("running", { waits: [{ ...WAIT, state: "full" }] })).toEqual([]);
  expect(told("paused", {}, "the budget is used up")).toEqual([
    {
      key: "run-set.r1.paused",
      what: "nightly is paused: the budget is used up",
      to: "/run-sets/r1?owed=true",
      show: "6 cells",
    },
  ]);
  expect(told("running", { waits: [WAIT] }).map((one) => one.what)).toEqual([
    "nightly waits for provider anthropic, closed until 14:05:10",
  ]);
  expect(told("complete_with_gaps", { dead: 1 })).toEqual([
    {
      key: "run-set.r1.dead",
      what: "1 cell of nightly given up: out of tries, or another try would fail alike",
      remedy: "mend the cause, then resume it",
      to: "/run-sets/r1?owed=true",
      show: "1 cell",
    },
  ]);
});

/** What the server takes (`proctor.api.routes.alerts`). */
const TAKEN = /^[a-z][A-Za-z0-9_.:@~+-]{0,199}$/;

test("a need keeps its key when its figures change", () => {
  const keys = (text: string) => needsOf(samplesOf(text)).map((one) => one.key);
  const more = TEXT.replace(" 5.0", " 6.0").replace("7300", "9300").replace("0.25", "0.5").replace("} 1\n", "} 8\n");
  expect(keys(TEXT)).toEqual(["queue.dead", "infrastructure.share", "queue.slow", "logs.lost"]);
  expect(keys(more)).toEqual(keys(TEXT));
  expect(keys('proctor_leaked_sandboxes{backend="local"} 2')).toEqual(["sandboxes.leaked"]);
});

test("the key of a wait is its scope and name in the characters that the server takes", () => {
  const keyed = (scope: string, name: string) => {
    const waits = [{ ...WAIT, scope, name }] as Progress["waits"];
    return heldBack([{ row: row("running"), progress: { ...PROGRESS, waits } }], "utc").map((one) => one.key)[0] ?? "";
  };
  expect(keyed("provider", "anthropic")).toBe("run-set.r1.waits.provider.anthropic");
  expect(keyed("registry", "docker.io/library")).toBe("run-set.r1.waits.registry.docker.io~2f~library");
  const names = ["a/b", "a b", "a~2f~b", "ü", "👋", "x".repeat(400)];
  const keys = names.map((name) => keyed("profile", name));
  expect(keys.filter((one) => !TAKEN.test(one))).toEqual([]);
  expect(new Set(keys).size).toBe(names.length);
});

test("what is acknowledged stands apart, and what nobody needs any more does not stand at all", () => {
  const needs = needsOf(samplesOf(TEXT));
  const told = [{ alert: "queue.slow" }, { alert: "sandboxes.leaked" }] as Acknowledgement[];
  const { open, seen } = apart(needs, told);
  expect(open.map((one) => one.key)).toEqual(["queue.dead", "infrastructure.share", "logs.lost"]);
  expect(seen.map(({ need, by }) => [need.key, by.alert])).toEqual([["queue.slow", "queue.slow"]]);
});

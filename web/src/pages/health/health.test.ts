import { expect, test } from "vitest";
import type { RunSetRow } from "../../api/schema";
import { heldBack, needsOf, type Progress } from "./needs";
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
    ["5 cells given up after all tries: resume their run sets to try them again", "/run-sets?state=complete_with_gaps"],
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
    { what: "nightly is paused: the budget is used up", to: "/run-sets/r1?owed=true", show: "6 cells" },
  ]);
  expect(told("running", { waits: [WAIT] }).map((one) => one.what)).toEqual([
    "nightly waits for provider anthropic, closed until 14:05:10",
  ]);
  expect(told("complete_with_gaps", { dead: 1 })).toEqual([
    {
      what: "1 cell of nightly given up after all tries: resume it to try them again",
      to: "/run-sets/r1?owed=true",
      show: "1 cell",
    },
  ]);
});

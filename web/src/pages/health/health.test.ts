import { expect, test } from "vitest";
import { needsOf } from "./health";
import { samplesOf, sum } from "./prometheus";

const TEXT = `# HELP proctor_queue_rows Rows
# TYPE proctor_queue_rows gauge
proctor_queue_rows{band="normal",kind="cell",provider="a\\"b",state="dead"} 5.0
proctor_queue_rows{band="normal",kind="cell",provider="",state="pending"} 2.0
proctor_queue_oldest_seconds{band="normal",state="pending"} 7300.0
proctor_infrastructure_share 0.25
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

test("what needs somebody is said, and nothing else", () => {
  expect(needsOf(samplesOf(TEXT))).toEqual([
    "5 cells given up after all tries: resume their run sets to try them again",
    "25.0% of the last attempts failed by infrastructure",
    "the oldest ready work waits for 2h 01m",
    "1 log line lost",
  ]);
  expect(needsOf([])).toEqual([]);
});

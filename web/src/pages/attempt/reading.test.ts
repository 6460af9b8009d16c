import { expect, test } from "vitest";
import type { Matrix } from "../../api/schema";
import { CLASSES, ownerOf } from "../../design/outcomes";
import { changedRows } from "../../parts/line-diff";
import { linesOf, piecesOf, settled } from "./ansi";
import {
  type Attempt,
  decidingPhase,
  type EvidenceRow,
  meanwhile,
  type OutcomeRow,
  outcomeOf,
  tokensOf,
} from "./documents";
import { editOf } from "./edits";
import { logLines } from "./log";
import { neighboursOf } from "./neighbours";
import { attemptSearch } from "./search";
import { filesOfTar } from "./tar";

const ESC = "\u001b";

function attempt(change: Partial<Attempt> = {}): Attempt {
  return {
    attempt: { ended_at: "2026-12-01T00:00:00Z", phase: "" } as never,
    evidence: [],
    gradings: [],
    outcomes: [],
    ...change,
  };
}

const OF_ATTEMPT = { tenant_id: "t", attempt_id: "a" };
const phase = (name: EvidenceRow["phase"], detail = {}, seq = 1): EvidenceRow => ({
  ...{ ...OF_ATTEMPT, seq, phase: name, started_at: "", ended_at: "", detail },
});
const outcome = (name: string, change: Partial<OutcomeRow> = {}): OutcomeRow => ({
  ...{ ...OF_ATTEMPT, grading: 1, policy_version: "outcomes-1", rule: "some-rule", verdict: null, limit: "" },
  ...{ class: name as OutcomeRow["class"], owner: ownerOf(name), decided_at: "" },
  ...change,
});

test("colours of a terminal become pieces, and everything else that moves a cursor is gone", () => {
  expect(piecesOf(`a${ESC}[1;31mb${ESC}[0mc`)).toEqual([
    { text: "a", colour: undefined, bold: false },
    { text: "b", colour: "red", bold: true },
    { text: "c", colour: undefined, bold: false },
  ]);
  expect(settled(`10%\r50%\r100%`)).toBe("100%");
  expect(settled("windows\r")).toBe("windows");
  expect(settled(`${ESC}[2J${ESC}[H${ESC}]0;title\u0007text\u0000\u0008`)).toBe("text");
  expect(settled(`${ESC}[31mred`)).toBe(`${ESC}[31mred`);
  expect(linesOf("a\nb\n")).toEqual(["a", "b"]);
  expect(linesOf("")).toEqual([]);
});

test("an edit is known by what a call was given", () => {
  expect(editOf({ file_path: "a", old_string: "x", new_string: "y" })).toEqual({
    ...{ kind: "change", path: "a", before: "x", after: "y" },
  });
  expect(editOf({ path: "a", content: "x" })).toMatchObject({ before: "", after: "x" });
  expect(editOf({ input: "*** Begin Patch\n*** Update File: b.py\n" })).toMatchObject({ kind: "patch", path: "b.py" });
  expect(editOf({ command: "ls" })).toBeNull();
  expect(editOf({ path: 3, content: {} })).toBeNull();
});

test("changes are shown with little around them", () => {
  const before = Array.from({ length: 40 }, (_, at) => `line ${at}`).join("\n");
  const rows = changedRows(before, before.replace("line 20", "line twenty"));
  expect(rows.filter((row) => row.sign !== " ").map((row) => row.sign + row.text)).toEqual([
    "−line 20",
    "+line twenty",
  ]);
  expect(rows).toHaveLength(8);
});

test("lines of a log are put together over pieces, one stream apart from the other", () => {
  const line = (stream: string, text: string) =>
    JSON.stringify({ t: "2026-12-01T00:00:00Z", phase: "agent", stream, text });
  const text = [line("stdout", "one\ntw"), line("stderr", "err\n"), line("stdout", "o\n"), "not json", ""].join("\n");
  expect(logLines(text).map((one) => [one.stream, one.text])).toEqual([
    ["stdout", "one"],
    ["stdout", "two"],
    ["stderr", "err"],
  ]);
});

test("something is said of every class before the server's reason is there", () => {
  for (const name of CLASSES) expect(meanwhile(attempt(), outcome(name)).trim(), name).not.toBe("");
  expect(meanwhile(attempt(), undefined)).not.toBe("");
});

test("the phase that decides is the one that failed, else the verifier's", () => {
  const evidence = [phase("image", {}, 1), phase("agent", { failed: true }, 2), phase("record", {}, 3)];
  expect(decidingPhase(attempt({ evidence }))?.seq).toBe(2);
  expect(decidingPhase(attempt({ evidence: [phase("verify", {}, 1), phase("record", {}, 2)] }))?.seq).toBe(1);
  expect(decidingPhase(attempt())).toBeUndefined();
});

test("the outcome that counts is of the run set's policy and the last grading", () => {
  const outcomes = [
    outcome("verifier_error"),
    outcome("failed", { grading: 2 }),
    outcome("passed", { policy_version: "mine@1", grading: 3 }),
  ];
  expect(outcomeOf(attempt({ outcomes }), "outcomes-1")?.class).toBe("failed");
  expect(outcomeOf(attempt({ outcomes }), "mine@1")?.class).toBe("passed");
  expect(outcomeOf(attempt({ outcomes }), undefined)?.class).toBe("passed");
});

test("unknown usage is unknown, and none is none", () => {
  expect(tokensOf({ usage: null } as never)).toBeNull();
  expect(tokensOf({ usage: { input_tokens: 0, output_tokens: 0 } } as never)).toBe(0);
  expect(tokensOf({ usage: { input_tokens: 5, output_tokens: null } } as never)).toBe(5);
});

test("neighbours are the cells that did not pass, around the end", () => {
  const ids = { id_length: 4, cell: ["aaaa", "bbbb", "cccc", "dddd"], attempt: ["1", "2", null, "4"] };
  const matrix = { cells: { passed: [0, 1, 0, 0] } } as unknown as Matrix;
  const of = (cell: string) => neighboursOf(matrix, ids, cell);
  expect(of("aaaa-1")).toEqual({ place: 1, count: 2, before: "4", after: "4" });
  expect(of("bbbb-1")).toEqual({ place: 0, count: 2, before: "1", after: "4" });
  const none = { id_length: 4, cell: [], attempt: [] };
  expect(neighboursOf({ cells: { passed: [] } } as never, none, "x").after).toBeNull();
});

test("an address that makes no sense is as one without it", () => {
  expect(attemptSearch({ step: "41337", view: "raw", find: "x" })).toMatchObject({
    step: 41_337,
    view: "raw",
    find: "x",
  });
  expect(attemptSearch({ step: "-1", view: "nonsense", find: "" })).toEqual({
    ...{ step: undefined, view: undefined, find: undefined, phase: undefined },
  });
});

test("names in a tar are listed, long ones and odd ones too", () => {
  const header = (name: string, size: number, type: string, mode = "0000644") => {
    const block = new Uint8Array(512);
    const put = (at: number, text: string) => block.set(new TextEncoder().encode(text), at);
    put(0, name);
    put(100, mode);
    put(124, size.toString(8).padStart(11, "0"));
    block[156] = type.charCodeAt(0);
    put(257, "ustar");
    return block;
  };
  const data = (text: string) => {
    const block = new Uint8Array(512);
    block.set(new TextEncoder().encode(text));
    return block;
  };
  const long = "deep/".repeat(30);
  const parts = [
    ...[header("a.txt", 3, "0"), data("abc"), header("dir", 0, "5", "0000755")],
    ...[header("././@LongLink", long.length, "L"), data(long), header("deep", 0, "0"), new Uint8Array(1024)],
  ];
  const tar = new Uint8Array(parts.reduce((sum, one) => sum + one.length, 0));
  let at = 0;
  for (const part of parts) {
    tar.set(part, at);
    at += part.length;
  }
  expect(filesOfTar(tar).map(({ name, kind, size, mode }) => [name, kind, size, mode])).toEqual([
    ["a.txt", "file", 3, "0644"],
    ["dir", "folder", 0, "0755"],
    [long, "file", 0, "0644"],
  ]);
  expect(filesOfTar(new Uint8Array(100))).toEqual([]);
});

import { describe, expect, test } from "vitest";
import type { Matrix } from "../../../api/schema";
import { change } from "../live-cells";
import { nextOwed } from "../run-set";
import { type Cells, isFilter, matching } from "./cells";
import { cellsOf } from "./document";
import { sorted } from "./sorting";

const STATES = ["passed", "failed", "image_error", "not_started", "running"];
const OWED = new Set([2, 3, 4]);

/** Two profiles, two tasks, two trials; the states by their index, profile by profile, task by task. */
function document(states: number[]): Matrix {
  const each = <T>(of: (at: number) => T) => states.map((_, at) => of(at));
  return {
    run_set: { id: "r" } as Matrix["run_set"],
    event: "0",
    event_at: null,
    profiles: ["codex", "aider"],
    tasks: ["easy", "hard"].map((name) => ({ digest: name, name, category: null, difficulty: null, tags: [] })),
    states: STATES,
    cells: {
      profile: each((at) => Math.floor(at / 4)),
      task: each((at) => Math.floor(at / 2) % 2),
      trial: each((at) => (at % 2) + 1),
      place: each((at) => at % 2),
      state: states,
      decided: states.map((one) => (OWED.has(one) ? 0 : 1)),
      passed: states.map((one) => (one === 0 ? 1 : 0)),
      given_up: each(() => 0),
      attempts: each(() => 1),
      limit: each(() => null),
      waits_until: each(() => null),
      phase: each(() => null),
    },
  };
}

/** Cells that are known by their ids. */
function named(states: number[]): Cells {
  const made = cellsOf(document(states));
  const [cell, attempt] = [states.map((_, at) => `c00${at}`), states.map((_, at) => `a${at}`)];
  made.name({ id_length: 4, cell, attempt });
  return made;
}

const ROWS = [0, 1];

describe("cells of a run set", () => {
  const cells = () => cellsOf(document([0, 1, 2, 3, 0, 0, 1, 2]));

  test("are where profile, task and trial say", () => {
    const all = cells();
    expect(all.trials).toBe(2);
    expect(all.view(all.at(1, 0, 1))).toMatchObject({ profile: "aider", trial: 2, state: "passed", decided: true });
    expect(all.at(2, 0, 0)).toBe(-1);
    expect(all.at(0, 0, 5)).toBe(-1);
  });

  test("are counted by class, with and without a verdict apart", () => {
    const counts = Object.fromEntries(
      cells()
        .counts()
        .map((one) => [one.state, [one.cells, one.decided]]),
    );
    expect(counts).toEqual({ passed: [3, true], failed: [2, true], image_error: [2, false], not_started: [1, false] });
  });

  test("are the same for a pill, a figure and an address", () => {
    const of = (filter: Parameters<typeof matching>[1]) =>
      [...matching(cells(), filter)].flatMap((on, at) => (on ? [at] : []));
    expect(of({ state: ["passed"] })).toEqual([0, 4, 5]);
    expect(of({ owed: true })).toEqual([2, 3, 7]);
    expect(of({ decided: true, profile: "aider" })).toEqual([4, 5, 6]);
    expect(of({ task: "HARD", state: ["image_error"] })).toEqual([2, 7]);
    expect(isFilter({ state: undefined, owed: undefined })).toBe(false);
  });

  test("are known by their ids once these are there, and keep the attempts that began meanwhile", () => {
    const all = cells();
    expect([all.placeOf("c002-long"), all.view(2).id, all.view(2).attempt]).toEqual([-1, null, null]);
    all.change(2, { state: "running", attempt: "a-new" });
    const none = { id_length: 4, cell: ["c000"], attempt: [null] };
    all.name(none);
    expect(all.isNamed).toBe(false);
    all.name({ id_length: 4, cell: all.columns.attempt.map((_, at) => `c00${at}`), attempt: new Array(8).fill("a") });
    expect([all.placeOf("c002-long"), all.view(2).id, all.view(2).attempt]).toEqual([2, "c002", "a-new"]);
    expect(all.view(3).attempt).toBe("a");
  });

  test("change by the socket's events, in place", () => {
    const all = named([0, 1, 2, 3, 0, 0, 1, 2]);
    const event = { id: "e", created_at: "", subject: "a-new" };
    expect(change(all, { ...event, name: "attempt.started", payload: { cell: "c002-long", number: 2 } })).toBe(2);
    expect(all.view(2)).toMatchObject({ state: "running", decided: false, attempt: "a-new", attempts: 2 });
    const ended = { cell: "c002-long", class: "failed", verdict: false };
    expect(change(all, { ...event, name: "attempt.ended", payload: ended })).toBe(2);
    expect(all.view(2)).toMatchObject({ state: "failed", decided: true });
    const owed = { cell: "c002-long", class: "node_lost", verdict: null };
    change(all, { ...event, name: "attempt.ended", payload: owed });
    expect(all.view(2)).toMatchObject({ state: "node_lost", decided: false });
    expect(change(all, { ...event, name: "attempt.ended", payload: { cell: "elsewhere" } })).toBe(-1);
  });

  test("that run are told the phase that they have come to, until they end", () => {
    const all = named([0, 1, 2, 4, 0, 0, 1, 2]);
    const event = { id: "e", created_at: "", subject: "a", name: "attempt.reached" };
    for (const cell of ["c001", "c003-long"]) change(all, { ...event, payload: { cell, phase: "agent" } });
    expect([all.view(1).phase, all.view(3).phase]).toEqual([null, "agent"]);
    change(all, { ...event, name: "attempt.ended", payload: { cell: "c003-long", class: "passed", verdict: true } });
    expect(all.view(3).phase).toBeNull();
  });

  test("stand with the strongest profile and the easiest task first", () => {
    expect(sorted(cells(), "strength")).toEqual({ rows: [1, 0], tasks: [0, 1] });
    expect(sorted(cells(), "name")).toEqual({ rows: [1, 0], tasks: [0, 1] });
    expect(sorted(cells(), "file")).toEqual({ rows: [0, 1], tasks: [0, 1] });
  });

  test("that are owed are found one after the other, and around the end", () => {
    const all = cells();
    const walk = [nextOwed(all, ROWS, ROWS, -1, 1)];
    for (let step = 0; step < 3; step++) walk.push(nextOwed(all, ROWS, ROWS, walk[step] ?? -1, 1));
    expect(walk).toEqual([2, 3, 7, 2]);
    expect(nextOwed(all, ROWS, ROWS, 2, -1)).toBe(7);
    expect(nextOwed(cellsOf(document([0, 1])), ROWS, ROWS, -1, 1)).toBe(-1);
  });
});

/** What somebody should look at, and where the cells or run sets are that it holds back. */
import type { Acknowledgement, RunSetRow, RunSetStatus } from "../../api/schema";
import { clock, counted, duration, percent, type Zone } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { type Sample, sum } from "./prometheus";

export type Progress = RunSetStatus["progress"];

export interface Need {
  /** What it is, whatever its figures are now: by this it is acknowledged. */
  key: string;
  what: string;
  /** What helps, for who may do it. */
  remedy?: string;
  /** Where what it holds back is shown. */
  to?: string;
  show?: string;
  /** What to run against it, on the server's machine. */
  command?: string;
}

/** A run set that is not through, with what it waits for. */
export interface Held {
  row: RunSetRow;
  progress: Progress;
}

/** Why a cell is tried no more: a limit that passes, or a broken verifier or key that does not. */
const NO_MORE = "out of tries, or another try would fail alike";
const SLOW_QUEUE_SEC = 3600;
export const INFRASTRUCTURE_MOST = 0.2;

/** What of the installation's figures somebody should look at. `own`: cells given up that are told of by run set. */
export function needsOf(samples: readonly Sample[], own = 0): Need[] {
  const dead = (sum(samples, "proctor_queue_rows", { state: "dead" }) ?? 0) - own;
  const leaked = sum(samples, "proctor_leaked_sandboxes") ?? 0;
  const share = sum(samples, "proctor_infrastructure_share") ?? 0;
  const ended = sum(samples, "proctor_attempts_recent") ?? 0;
  const lost = sum(samples, "proctor_log_lines_total", { state: "lost" }) ?? 0;
  const oldest = samples
    .filter((one) => one.name === "proctor_queue_oldest_seconds" && one.labels.state === "pending")
    .reduce((most, one) => Math.max(most, one.value), 0);
  const running = { to: "/run-sets?state=running", show: "run sets that run" };
  return [
    dead > 0 && {
      key: "queue.dead",
      what: `${counted(dead, "cell")} given up: ${NO_MORE}`,
      remedy: "mend the cause, then resume their run sets",
      to: "/run-sets?state=complete_with_gaps",
      show: "run sets with gaps",
    },
    leaked > 0 && {
      key: "sandboxes.leaked",
      what: `${counted(leaked, "sandbox", "sandboxes")} that nobody owns any more`,
    },
    share >= INFRASTRUCTURE_MOST && {
      key: "infrastructure.share",
      what: `${percent(share)} of the last ${counted(ended, "attempt")} failed by infrastructure`,
      ...running,
    },
    oldest > SLOW_QUEUE_SEC && {
      key: "queue.slow",
      what: `the oldest ready work waits for ${duration(oldest)}`,
      ...running,
    },
    lost > 0 && { key: "logs.lost", what: `${counted(lost, "log line")} lost` },
  ].filter((one) => one !== false);
}

/** What holds back the tenant's own run sets. */
export function heldBack(sets: readonly Held[], zone: Zone): Need[] {
  return sets.flatMap((one) => [...pausedOf(one), ...waitsOf(one, zone), ...givenUp(one)]);
}

function pausedOf({ row, progress }: Held): Need[] {
  if (row.state !== "paused") return [];
  const left = progress.expected - progress.decided;
  const why = row.reason ? `: ${row.reason}` : "";
  return [
    { key: keyOf(row, "paused"), what: `${row.name} is paused${why}`, to: owedOf(row), show: counted(left, "cell") },
  ];
}

function waitsOf({ row, progress }: Held, zone: Zone): Need[] {
  return progress.waits
    .filter((one) => one.state !== "full")
    .map((one) => ({
      key: keyOf(row, "waits", one.scope, one.name),
      what: `${row.name} waits for ${words(one.scope)} ${one.name}, ${words(one.state)}${
        one.until ? ` until ${clock(new Date(one.until), zone)}` : ""
      }${one.reason ? `: ${one.reason}` : ""}`,
      to: owedOf(row),
      show: "cells it holds back",
    }));
}

function givenUp({ row, progress }: Held): Need[] {
  if (progress.dead === 0) return [];
  const cells = counted(progress.dead, "cell");
  return [
    {
      key: keyOf(row, "dead"),
      what: `${cells} of ${row.name} given up: ${NO_MORE}`,
      remedy: "mend the cause, then resume it",
      to: owedOf(row),
      show: cells,
    },
  ];
}

function owedOf(row: RunSetRow): string {
  return `/run-sets/${row.id}?owed=true`;
}

/** As many characters as the server takes of a key. */
const LONGEST_KEY = 200;

/** A key in the characters that the server takes; of a name each other one is written as its number. */
function keyOf(row: RunSetRow, ...parts: string[]): string {
  const safe = parts.map((one) => one.replace(/[^\w.:@+-]/gu, (char) => `~${char.codePointAt(0)?.toString(16)}~`));
  return ["run-set", row.id, ...safe].join(".").slice(0, LONGEST_KEY);
}

/** What is acknowledged, and by whom. */
export interface Seen {
  need: Need;
  by: Acknowledgement;
}

/** Needs apart by whether somebody has seen them. */
export function apart(needs: readonly Need[], told: readonly Acknowledgement[]): { open: Need[]; seen: Seen[] } {
  const known = new Map(told.map((one) => [one.alert, one]));
  return {
    open: needs.filter((need) => !known.has(need.key)),
    seen: needs.flatMap((need) => {
      const by = known.get(need.key);
      return by === undefined ? [] : [{ need, by }];
    }),
  };
}

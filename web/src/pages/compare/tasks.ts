/** Two sides task by task: what is the same, what flipped, what is owed on one of them. */
import type { SideDocument } from "../../api/schema";

export const SHOWN = ["flips", "both-pass", "both-fail", "owed", "all"] as const;
export type Shown = (typeof SHOWN)[number];

export interface TaskPair {
  name: string;
  base: Tallied | null;
  other: Tallied | null;
  kind: Exclude<Shown, "all"> | "mixed";
  /** Of the shares that passed, other minus base; `null` where one is not decided whole. */
  difference: number | null;
  cost: number | null;
  seconds: number | null;
}

export interface Tallied {
  expected: number;
  decided: number;
  passed: number;
  cost: number | null;
  seconds: number | null;
}

/** Pairs of the tasks of both, by their agent-visible digest; flips first, the largest first. */
export function paired(base: SideDocument, other: SideDocument): TaskPair[] {
  const theirs = new Map(other.tasks.map(([key, cells]) => [key[0], cells]));
  const names = new Set(base.tasks.map(([key]) => key[0]));
  const both = base.tasks.map(([key, cells]) => pair(cells.name, tallied(cells), tallied(theirs.get(key[0]))));
  const only = other.tasks.filter(([key]) => !names.has(key[0]));
  const rest = only.map(([, cells]) => pair(cells.name, null, tallied(cells)));
  return [...both, ...rest].sort(
    (a, b) => Math.abs(b.difference ?? 0) - Math.abs(a.difference ?? 0) || a.name.localeCompare(b.name, "en"),
  );
}

type Cells = SideDocument["tasks"][number][1];

function tallied(cells: Cells | undefined): Tallied | null {
  if (cells === undefined) return null;
  const counted = cells.tallies.filter((one) => one.withdrawn == null);
  const sum = (of: typeof counted) => of.reduce((total, one) => total + one.cells, 0);
  return {
    expected: sum(counted),
    decided: sum(counted.filter((one) => one.verdict != null)),
    passed: sum(counted.filter((one) => one.verdict === true)),
    cost: cells.cost_nano ?? null,
    seconds: cells.seconds ?? null,
  };
}

function pair(name: string, base: Tallied | null, other: Tallied | null): TaskPair {
  const whole = (one: Tallied | null) => one !== null && one.expected > 0 && one.decided === one.expected;
  const minus = (a: number | null | undefined, b: number | null | undefined) => (a == null || b == null ? null : a - b);
  if (base === null || other === null || !whole(base) || !whole(other)) {
    return { name, base, other, kind: "owed", difference: null, cost: null, seconds: null };
  }
  const difference = other.passed / other.expected - base.passed / base.expected;
  const kind =
    difference !== 0
      ? "flips"
      : base.passed === 0
        ? "both-fail"
        : base.passed === base.expected
          ? "both-pass"
          : "mixed";
  return {
    name,
    base,
    other,
    kind,
    difference,
    cost: minus(other.cost, base.cost),
    seconds: minus(other.seconds, base.seconds),
  };
}

export function countOf(pairs: readonly TaskPair[], shown: Shown): number {
  return shown === "all" ? pairs.length : pairs.filter((one) => one.kind === shown).length;
}

/** Cells of the run set that did not pass or are owed, in the order of its matrix, and where one is among them. */
import type { Matrix } from "../../api/schema";

export interface Neighbours {
  /** From 1; 0 where the cell is not one of them. */
  place: number;
  count: number;
  before: string | null;
  after: string | null;
}

export function neighboursOf({ cells }: Matrix, cell: string): Neighbours {
  const own = cells.cell.findIndex((begun) => cell.startsWith(begun));
  const all = cells.cell.flatMap((_, at) => (cells.attempt[at] && !cells.passed[at] ? [at] : []));
  const place = all.indexOf(own) + 1;
  const others = all.filter((at) => at !== own);
  const before = others.findLast((at) => at < own) ?? others.at(-1);
  const after = others.find((at) => at > own) ?? others[0];
  const attemptAt = (at: number | undefined) => (at === undefined ? null : (cells.attempt[at] ?? null));
  return { place, count: all.length, before: attemptAt(before), after: attemptAt(after) };
}

/** Cells of the run set that did not pass or are owed, in the order of its matrix, and where one is among them. */
import type { Matrix, MatrixIds } from "../../api/schema";

export interface Neighbours {
  /** From 1; 0 where the cell is not one of them. */
  place: number;
  count: number;
  before: string | null;
  after: string | null;
}

export function neighboursOf({ cells: { passed } }: Matrix, ids: MatrixIds, cell: string): Neighbours {
  const own = ids.cell.findIndex((begun) => cell.startsWith(begun));
  const all = ids.cell.flatMap((_, at) => (ids.attempt[at] && !passed[at] ? [at] : []));
  const place = all.indexOf(own) + 1;
  const others = all.filter((at) => at !== own);
  const before = others.findLast((at) => at < own) ?? others.at(-1);
  const after = others.find((at) => at > own) ?? others[0];
  const attemptAt = (at: number | undefined) => (at === undefined ? null : (ids.attempt[at] ?? null));
  return { place, count: all.length, before: attemptAt(before), after: attemptAt(after) };
}

/** In which order profiles and tasks stand. */
import type { Sort } from "../search";
import type { Cells } from "./cells";

/** `strength`: the best profiles first, and of tasks the easiest; equal ones as in the file. */
export function sorted(cells: Cells, by: Sort): { rows: number[]; tasks: number[] } {
  const rows = cells.profiles.map((_, at) => at);
  const tasks = cells.tasks.map((_, at) => at);
  if (by === "name") {
    const named = (names: readonly string[]) => (one: number, other: number) =>
      (names[one] ?? "").localeCompare(names[other] ?? "", "en");
    return { rows: rows.sort(named(cells.profiles)), tasks: tasks.sort(named(cells.tasks.map((one) => one.name))) };
  }
  if (by === "strength") {
    const { profile, task, decided } = cells.columns;
    const [strength, ease] = [new Float64Array(rows.length), new Float64Array(tasks.length)];
    for (let at = 0; at < cells.size; at++) {
      if (decided[at] !== 1 || cells.stateOf(at) !== "passed") continue;
      strength[profile[at] ?? 0] = (strength[profile[at] ?? 0] ?? 0) + 1;
      ease[task[at] ?? 0] = (ease[task[at] ?? 0] ?? 0) + 1;
    }
    const most = (sums: Float64Array) => (one: number, other: number) =>
      (sums[other] ?? 0) - (sums[one] ?? 0) || one - other;
    return { rows: rows.sort(most(strength)), tasks: tasks.sort(most(ease)) };
  }
  return { rows, tasks };
}

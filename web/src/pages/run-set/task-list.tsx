import { useMemo } from "react";
import { lookOf, words } from "../../design/outcomes";
import type { Cells, CellView } from "./matrix/cells";
import styles from "./task-list.module.css";

/** One row per task with a strip of its cells: what a narrow screen shows of the matrix. */
export function TaskList({
  cells,
  rows,
  tasks,
  matched,
  version,
  pin,
}: {
  cells: Cells;
  rows: readonly number[];
  tasks: readonly number[];
  matched: Uint8Array | null;
  version: number;
  pin: (index: number) => void;
}) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the cells changed in place
  const strips = useMemo(() => stripsOf(cells, rows, tasks, matched), [cells, rows, tasks, matched, version]);
  return (
    <ol className={styles.list} aria-label="Tasks">
      {strips.map(({ task, indices, passed, decided }) => (
        <li key={task.digest}>
          <span className={styles.name} title={task.name}>
            {task.name}
          </span>
          <span className={styles.count}>
            {[`${passed} of ${indices.length} passed`, decided < indices.length && `${indices.length - decided} owed`]
              .filter(Boolean)
              .join(" · ")}
          </span>
          <span className={styles.strip}>
            {indices.slice(0, 54).map((index) => (
              <Mark key={index} cell={cells.view(index)} pin={() => pin(index)} />
            ))}
          </span>
        </li>
      ))}
    </ol>
  );
}

/** A cell as the grid draws it: solid with a verdict, open without one, an outline where there is no outcome yet. */
function Mark({ cell, pin }: { cell: CellView; pin: () => void }) {
  const { hollow } = lookOf(cell.state);
  return (
    <button
      type="button"
      className={styles.mark}
      data-state={cell.state}
      data-look={hollow ? "hollow" : cell.decided ? "solid" : "open"}
      style={{ ["--fill" as string]: `var(--${cell.state}-fill, var(--border))` }}
      onClick={pin}
      aria-label={[cell.profile, `trial ${cell.trial}`, words(cell.state), cell.phase].filter(Boolean).join(", ")}
    >
      {cell.state === "running" && cell.phase?.slice(0, 1).toUpperCase()}
    </button>
  );
}

function stripsOf(cells: Cells, rows: readonly number[], tasks: readonly number[], matched: Uint8Array | null) {
  return tasks
    .map((task) => {
      const indices = rows.flatMap((profile) =>
        Array.from({ length: cells.trials }, (_, trial) => cells.at(profile, task, trial)).filter(
          (index) => index >= 0 && (matched === null || matched[index] === 1),
        ),
      );
      const decided = indices.filter((index) => cells.isDecided(index));
      const passed = decided.filter((index) => cells.stateOf(index) === "passed").length;
      return {
        task: cells.tasks[task] ?? { digest: String(task), name: "" },
        indices,
        passed,
        decided: decided.length,
      };
    })
    .filter(({ indices }) => indices.length > 0);
}

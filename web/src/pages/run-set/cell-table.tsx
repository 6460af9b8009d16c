import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { ownerOf, ownerWords } from "../../design/outcomes";
import { Chip } from "../../parts/glyph";
import { Time } from "../../parts/time";
import { VirtualTable } from "../../parts/virtual-table";
import type { Cells } from "./matrix/cells";

/** The matrix as rows: the same cells, for whoever reads tables. */
export function CellTable({
  runSet,
  cells,
  rows,
  tasks,
  matched,
  version,
}: {
  runSet: string;
  cells: Cells;
  rows: readonly number[];
  tasks: readonly number[];
  matched: Uint8Array | null;
  version: number;
}) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that the cells changed in place
  const shown = useMemo(() => inOrder(cells, rows, tasks, matched), [cells, rows, tasks, matched, version]);
  return (
    <VirtualTable
      caption={`${shown.length} cells`}
      rows={shown}
      keyOf={(index) => String(index)}
      columns={[
        { name: "Profile", width: "minmax(128px, 1fr)", cell: (index) => <Long name={cells.view(index).profile} /> },
        { name: "Task", width: "minmax(144px, 1fr)", cell: (index) => <Long name={cells.view(index).task.name} /> },
        { name: "Trial", width: "40px", kind: "number", cell: (index) => cells.view(index).trial },
        { name: "Class", width: "188px", cell: (index) => <Chip name={cells.stateOf(index)} /> },
        { name: "Owner", width: "96px", cell: (index) => ownerWords(ownerOf(cells.stateOf(index))) },
        { name: "Verdict", width: "128px", cell: (index) => <Standing cells={cells} index={index} /> },
        {
          name: "Attempts",
          width: "64px",
          kind: "number",
          cell: (index) => <Attempt runSet={runSet} cells={cells} index={index} />,
        },
      ]}
    />
  );
}

/** It is cut where its column ends: whole when one points at it. */
function Long({ name }: { name: string }) {
  return <span title={name}>{name}</span>;
}

function Standing({ cells, index }: { cells: Cells; index: number }) {
  const cell = cells.view(index);
  if (cell.decided) return "yes";
  if (cell.givenUp) return "owed, given up";
  return cell.waitsUntil ? (
    <>
      owed until <Time at={cell.waitsUntil} exact />
    </>
  ) : (
    "owed"
  );
}

function Attempt({ runSet, cells, index }: { runSet: string; cells: Cells; index: number }) {
  const { attempt, attempts } = cells.view(index);
  if (attempt === null) return attempts;
  return (
    <Link to="/attempts/$attempt" params={{ attempt }} search={{ of: runSet }}>
      {attempts}
    </Link>
  );
}

function inOrder(
  cells: Cells,
  rows: readonly number[],
  tasks: readonly number[],
  matched: Uint8Array | null,
): number[] {
  const found: number[] = [];
  for (const profile of rows) {
    for (const task of tasks) {
      for (let trial = 0; trial < cells.trials; trial++) {
        const index = cells.at(profile, task, trial);
        if (index >= 0 && (matched === null || matched[index] === 1)) found.push(index);
      }
    }
  }
  return found;
}

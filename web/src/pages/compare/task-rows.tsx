import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Pair, TaskOfPair } from "../../api/schema";
import { counted } from "../../design/numbers";
import { VirtualTable } from "../../parts/virtual-table";
import { stepKeys, useKeys } from "../../shell/keys";
import { attemptsOf, columnsOf } from "./columns";

interface TaskRowsProps {
  pair: Pair;
  rows: readonly TaskOfPair[];
  /** How many there are, of which `rows` are the first. */
  total: number;
  onEnd: () => void;
}

/** The tasks that are shown, gone through by keys; of the one that is gone to both attempts can be opened. */
export function TaskRows({ pair, rows, total, onEnd }: TaskRowsProps) {
  const navigate = useNavigate();
  const [at, setAt] = useState<number | null>(null);
  const current = at === null ? undefined : rows[at];
  const attempts = current && attemptsOf(pair, current);
  const move = (by: 1 | -1) => setAt(at === null ? 0 : Math.min(rows.length - 1, Math.max(0, at + by)));
  useKeys([
    ...stepKeys("task", move),
    ...(attempts
      ? [
          {
            keys: "Enter",
            what: "Open both attempts",
            run: () => void navigate({ to: "/compare/attempts", search: attempts }),
          },
        ]
      : []),
  ]);
  return (
    <VirtualTable
      caption={counted(total, "task")}
      total={total}
      onEnd={onEnd}
      columns={columnsOf(pair)}
      rows={rows}
      keyOf={(one) => one.content}
      current={at}
      onCurrent={setAt}
    />
  );
}

import { Link } from "@tanstack/react-router";
import type { Pair, TaskOfPair } from "../../api/schema";
import { cost, duration, points, UNKNOWN } from "../../design/numbers";
import type { Column } from "../../parts/table";
import { sideName } from "./tasks";

/** The columns of two sides' tasks; each count leads to its cells. */
export function columnsOf(pair: Pair): readonly (Column<TaskOfPair> & { width: string })[] {
  return [
    { name: "Task", width: "minmax(200px, 2fr)", cell: (one) => <Task pair={pair} of={one} /> },
    {
      name: sideName(pair.a),
      width: "minmax(110px, 1fr)",
      kind: "number",
      cell: (one) => <Cells side={pair.a} of={one.a} task={one.task} />,
    },
    {
      name: sideName(pair.b),
      width: "minmax(110px, 1fr)",
      kind: "number",
      cell: (one) => <Cells side={pair.b} of={one.b} task={one.task} />,
    },
    { name: "Δ strict, pp", width: "90px", kind: "number", cell: (one) => points(one.difference ?? null) },
    { name: "Δ cost", width: "90px", kind: "number", cell: (one) => signed(one.cost_nano, (value) => cost(value)) },
    { name: "Δ time", width: "90px", kind: "number", cell: (one) => signed(one.seconds, duration) },
  ];
}

/** Which two attempts at a task stand beside each other; `null`: one side does not have the task. */
export function attemptsOf({ a, b }: Pair, of: TaskOfPair): { a: string; b: string; task: string } | null {
  if (of.a == null || of.b == null) return null;
  return { a: `${a.run_set}:${a.profile}`, b: `${b.run_set}:${b.profile}`, task: of.task };
}

/** A task that both sides have leads to both attempts. */
function Task({ pair, of }: { pair: Pair; of: TaskOfPair }) {
  const attempts = attemptsOf(pair, of);
  if (attempts === null) return of.task;
  return (
    <Link to="/compare/attempts" search={attempts} title="Both attempts side by side">
      {of.task}
    </Link>
  );
}

function Cells({ side, of, task }: { side: Pair["a"]; of: TaskOfPair["a"]; task: string }) {
  if (of == null) return UNKNOWN;
  const { expected, decided, passed } = of;
  const owed = expected - decided;
  return (
    <Link
      to="/run-sets/$runSet"
      params={{ runSet: side.run_set }}
      search={{ profile: side.profile, task, view: "table" }}
      title="Show the cells"
    >
      {passed}/{expected}
      {owed > 0 && `, ${owed} owed`}
    </Link>
  );
}

function signed(value: number | null | undefined, write: (size: number) => string): string {
  if (value == null) return UNKNOWN;
  if (value === 0) return write(0);
  return `${value < 0 ? "−" : "+"}${write(Math.abs(value))}`;
}

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { evaluator, evaluators } from "../../api/data";
import type { EvaluatorRow } from "../../api/schema";
import { cost, count, duration, percent, UNKNOWN } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { type Column, Table } from "../../parts/table";
import { useTitle } from "../../parts/title";
import { Value } from "../../parts/value";

const route = getRouteApi("/evaluators");

/** What can judge an output: what it costs, how long it takes, how accurate it is known to be. */
export function EvaluatorsPage() {
  useTitle("Evaluators");
  const { show } = route.useSearch();
  const navigate = useNavigate({ from: "/evaluators" });
  const asked = useQuery(evaluators);
  const columns: readonly Column<EvaluatorRow>[] = [
    {
      name: "Evaluator",
      cell: (one) => (
        <Button kind="link" onClick={() => navigate({ search: { show: one.reference } })}>
          {one.reference}
        </Button>
      ),
    },
    { name: "Kind", cell: (one) => one.kind },
    { name: "Type", cell: (one) => one.type },
    { name: "What it does", cell: (one) => one.description },
    { name: "Cost each", kind: "number", cell: (one) => cost(one.cost_nano) },
    { name: "Takes", meaning: "Measured, of one output", kind: "number", cell: (one) => duration(one.latency_sec) },
    { name: "Evaluations", kind: "number", cell: (one) => count(one.evaluations) },
    {
      name: "Accuracy",
      meaning: "From its calibration",
      kind: "number",
      cell: (one) => (one.accuracy == null ? UNKNOWN : percent(one.accuracy)),
    },
    { name: "Allowed", cell: (one) => (one.allowed ? "yes" : "no") },
  ];
  return (
    <>
      <h1>Evaluators</h1>
      <Asked query={asked} what="evaluators" rows={16}>
        {({ items }) => (
          <Table caption="Evaluators" columns={columns} rows={items} keyOf={(one) => one.reference} current={show} />
        )}
      </Asked>
      {show && <Detail reference={show} close={() => navigate({ search: {} })} />}
    </>
  );
}

function Detail({ reference, close }: { reference: string; close: () => void }) {
  const asked = useQuery(evaluator(reference));
  return (
    <Dialog title={reference} close={close}>
      <Asked query={asked} what="the evaluator" rows={4}>
        {({ row, configuration }) => (
          <>
            <p>{row.description}</p>
            <h3>Configuration</h3>
            <Value of={configuration} />
            {row.digest && (
              <p className="muted data">
                sha256 <code>{row.digest.slice(0, 16)}</code>
              </p>
            )}
          </>
        )}
      </Asked>
      <Button onClick={close}>Close</Button>
    </Dialog>
  );
}

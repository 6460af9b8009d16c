import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { results } from "../../api/data";
import type { ListedResult } from "../../api/schema";
import { cost, duration, score } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Pager } from "../../parts/pager";
import { Filtered, Section } from "../../parts/section";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { useKeys } from "../../shell/keys";

const route = getRouteApi("/jobs/$job");
const COLUMNS: readonly Column<ListedResult>[] = [
  { name: "Example", cell: (one) => one.example },
  { name: "Evaluator", cell: (one) => one.evaluator },
  { name: "Repeat", kind: "number", cell: (one) => one.repeat + 1 },
  { name: "Status", cell: (one) => words(one.status) },
  { name: "Score", kind: "number", cell: (one) => score(one.score) },
  { name: "Label", cell: (one) => one.label ?? "" },
  { name: "Error", cell: (one) => <span title={one.error ?? ""}>{one.error ?? ""}</span> },
  { name: "Took", kind: "number", cell: (one) => duration(one.seconds) },
  { name: "Cost", kind: "number", cell: (one) => cost(one.cost_nano) },
];

/** The results themselves, a page at a time. */
export function Results({ id }: { id: string }) {
  const { status, cursor } = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$job" });
  useKeys(status ? [{ keys: "Escape", what: "Show all results", run: () => void navigate({ search: {} }) }] : []);
  const asked = useQuery(results(id, { status, cursor }));
  return (
    <Section title="Results">
      {status && <Filtered words={`filtered: only ${words(status)}`} clear={() => navigate({ search: {} })} />}
      <Asked query={asked} what="results">
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty>{status ? `No result is ${words(status)}.` : "There is no result yet."}</Empty>
          ) : (
            <>
              <Table
                caption="Results"
                columns={COLUMNS}
                rows={items}
                keyOf={(one) => `${one.row} ${one.evaluator_version} ${one.repeat}`}
              />
              <Pager
                cursor={cursor}
                next={next}
                go={(to) => navigate({ search: (before) => ({ ...before, cursor: to }), resetScroll: false })}
                words={{ first: "First", next: "Next" }}
              />
            </>
          )
        }
      </Asked>
    </Section>
  );
}

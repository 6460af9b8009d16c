import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useLive } from "../../api/live-context";
import { useMay } from "../../api/permitted";
import { type RunSetState, runSets } from "../../api/queries";
import type { RunSetRow } from "../../api/schema";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Select } from "../../parts/field";
import { FindByName, focusFilter } from "../../parts/find-by-name";
import { Pager } from "../../parts/pager";
import { PageHead } from "../../parts/section";
import { Empty, STARTS_ONE } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import { useKeys } from "../../shell/keys";
import { SuiteName } from "./suite-name";

const route = getRouteApi("/run-sets");
export const STATES: readonly RunSetState[] = ["running", "complete", "complete_with_gaps", "paused", "cancelled"];

const COLUMNS: readonly Column<RunSetRow>[] = [
  {
    name: "Run set",
    cell: (row) => (
      <Link to="/run-sets/$runSet" params={{ runSet: row.id }}>
        {row.name}
      </Link>
    ),
  },
  { name: "State", cell: (row) => words(row.state) },
  { name: "Why", cell: (row) => row.reason || "" },
  { name: "Suite", cell: (row) => <SuiteName id={row.suite_id} /> },
  { name: "Begun", cell: (row) => <Time at={row.created_at} /> },
  { name: "Ended", cell: (row) => (row.ended_at ? <Time at={row.ended_at} /> : "") },
  { name: "Id", cell: (row) => <code title={row.id}>{row.id.slice(0, 13)}</code> },
];

/** Every run set, the newest first. */
export function RunSetsPage() {
  useTitle("Run sets");
  const { state, q, cursor } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const may = useMay("runs:write");
  const asked = useQuery(runSets({ state, words: q, cursor }));
  const again = () => client.invalidateQueries({ queryKey: ["run-sets"] });
  useKeys([
    { keys: "/", what: "Find by name", run: focusFilter },
    ...(q || state ? [{ keys: "Escape", what: "Show all run sets", run: () => void navigate({ search: {} }) }] : []),
  ]);
  useLive("all", undefined, { event: ({ name }) => name.startsWith("run_set.") && again(), gap: again, poll: again });
  return (
    <>
      <PageHead
        title="Run sets"
        tools={
          <>
            {may && <Link to="/run-sets/new">Launch…</Link>}
            <FindByName words={q} find={(words) => navigate({ search: { state, q: words } })} />
            <Select
              label="State"
              value={state ?? ""}
              onChange={(event) =>
                navigate({ search: { q, state: (event.target.value || undefined) as RunSetState | undefined } })
              }
              options={[{ value: "", label: "all" }, ...STATES.map((one) => ({ value: one, label: words(one) }))]}
            />
          </>
        }
      />
      <Asked query={asked} what="run sets" rows={12}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty command={q === undefined && state === undefined ? STARTS_ONE : undefined}>
              {nothingOf(state, q)}
            </Empty>
          ) : (
            <>
              <Table caption="Run sets, the newest first" columns={COLUMNS} rows={items} keyOf={(row) => row.id} />
              <Pager cursor={cursor} next={next} go={(to) => navigate({ search: { state, q, cursor: to } })} />
            </>
          )
        }
      </Asked>
    </>
  );
}

function nothingOf(state: RunSetState | undefined, q: string | undefined): string {
  if (q !== undefined) return `No run set${state ? ` that is ${words(state)}` : ""} has “${q}” in its name.`;
  return state ? `No run set is ${words(state)}.` : "There is no run set yet.";
}

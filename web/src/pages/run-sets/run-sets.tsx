import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useLive } from "../../api/live-context";
import { me, type RunSetState, runSets } from "../../api/queries";
import type { RunSetRow } from "../../api/schema";
import { words } from "../../design/outcomes";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { Empty, Failed, Loading } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import styles from "./run-sets.module.css";

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
  { name: "Suite", cell: (row) => <code>{row.suite_id.slice(0, 12)}</code> },
  { name: "Begun", cell: (row) => <Time at={row.created_at} /> },
  { name: "Ended", cell: (row) => (row.ended_at ? <Time at={row.ended_at} /> : "") },
  { name: "Id", cell: (row) => <code title={row.id}>{row.id.slice(0, 13)}</code> },
];

/** Every run set, the newest first. */
export function RunSetsPage() {
  useTitle("Run sets");
  const { state, cursor } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const who = useQuery(me);
  const asked = useQuery(runSets({ state, cursor }));
  const again = () => client.invalidateQueries({ queryKey: ["run-sets"] });
  useLive("all", undefined, { event: (event) => event.name.startsWith("run_set.") && again(), gap: again });
  return (
    <>
      <div className={styles.head}>
        <h1>Run sets</h1>
        {who.data?.permissions.includes("runs:write") && (
          <Link to="/run-sets/new" className={styles.launch}>
            Launch…
          </Link>
        )}
        <Select
          label="State"
          value={state ?? ""}
          onChange={(event) =>
            navigate({ search: { state: (event.target.value || undefined) as RunSetState | undefined } })
          }
          options={[{ value: "", label: "all" }, ...STATES.map((one) => ({ value: one, label: words(one) }))]}
        />
      </div>
      {asked.error ? (
        <Failed error={asked.error} retry={() => asked.refetch()} />
      ) : asked.data === undefined ? (
        <Loading what="run sets" rows={12} />
      ) : asked.data.items.length === 0 ? (
        <Empty command="proctor run nightly.toml">
          {state ? `No run set is ${words(state)}.` : "There is no run set yet. This starts one:"}
        </Empty>
      ) : (
        <>
          <Table
            caption="Run sets, the newest first"
            columns={COLUMNS}
            rows={asked.data.items}
            keyOf={(row) => row.id}
          />
          <nav className={styles.pages} aria-label="Pages">
            {cursor && <Button onClick={() => navigate({ search: { state } })}>Newest</Button>}
            {asked.data.next && (
              <Button onClick={() => navigate({ search: { state, cursor: asked.data.next ?? undefined } })}>
                Older
              </Button>
            )}
          </nav>
        </>
      )}
    </>
  );
}

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { jobs } from "../../api/data";
import { useLive } from "../../api/live-context";
import type { Job, JobState } from "../../api/schema";
import { useThrottled } from "../../api/throttle";
import { count } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Select } from "../../parts/field";
import { FindByName, focusFilter } from "../../parts/find-by-name";
import { Pager } from "../../parts/pager";
import { PageHead } from "../../parts/section";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";
import { useKeys } from "../../shell/keys";
import { chunksWords } from "./chunks";
import { LIVE_MS, STATES } from "./search";

const route = getRouteApi("/jobs");

const COLUMNS: readonly Column<Job>[] = [
  {
    name: "Job",
    cell: (one) => (
      <Link to="/jobs/$job" params={{ job: one.id }}>
        {one.name}
      </Link>
    ),
  },
  { name: "State", cell: (one) => (one.stream && one.open ? "open stream" : words(one.state)) },
  { name: "Dataset", cell: (one) => one.dataset ?? "a stream" },
  { name: "Evaluators", cell: (one) => one.judges.map((judge) => judge.name).join(", ") },
  {
    name: "Rows",
    meaning: "Examples of the version, times repeats: not all need have an output",
    kind: "number",
    cell: (one) => count(one.cut.rows * one.cut.repeats),
  },
  { name: "Chunks", meaning: "Done, of all that there are", kind: "number", cell: chunksWords },
  { name: "Begun", cell: (one) => <Time at={one.created_at} /> },
  { name: "Id", cell: (one) => <code title={one.id}>{one.id.slice(0, 13)}</code> },
];

/** Every evaluation job, the newest first. */
export function JobsPage() {
  useTitle("Jobs");
  const { state, q, cursor } = route.useSearch();
  const navigate = route.useNavigate();
  const client = useQueryClient();
  const asked = useQuery(jobs({ state, words: q, cursor }));
  const again = useThrottled(
    useCallback(() => client.invalidateQueries({ queryKey: ["jobs"] }), [client]),
    LIVE_MS,
  );
  useKeys([{ keys: "/", what: "Find by name", run: focusFilter }]);
  useLive("all", asked.data ? undefined : null, {
    event: ({ name }) => name.startsWith("job.") && again(),
    gap: again,
    joined: again,
    poll: again,
  });
  return (
    <>
      <PageHead
        title="Jobs"
        tools={
          <>
            <FindByName words={q} find={(words) => navigate({ search: { state, q: words } })} />
            <Select
              label="State"
              value={state ?? ""}
              options={[{ value: "", label: "all" }, ...STATES.map((one) => ({ value: one, label: words(one) }))]}
              onChange={(event) =>
                navigate({ search: { q, state: (event.target.value || undefined) as JobState | undefined } })
              }
            />
          </>
        }
      />
      <Asked query={asked} what="jobs" rows={12}>
        {({ items, next }) =>
          items.length === 0 ? (
            <Empty command={q === undefined && state === undefined ? FIRST : undefined}>{nothingOf(state, q)}</Empty>
          ) : (
            <>
              <Table caption="Jobs, the newest first" columns={COLUMNS} rows={items} keyOf={(one) => one.id} />
              <Pager
                cursor={cursor}
                next={next}
                go={(to) => navigate({ search: (before) => ({ ...before, cursor: to }) })}
              />
            </>
          )
        }
      </Asked>
    </>
  );
}

const FIRST = {
  needs: "runs:write",
  words: "This starts one:",
  text: "proctor evaluate refunds --outputs outputs.jsonl -e exact-match",
} as const;

function nothingOf(state: JobState | undefined, q: string | undefined): string {
  if (q !== undefined) return `No job${state ? ` that is ${words(state)}` : ""} has “${q}” in its name.`;
  return state ? `No job is ${words(state)}.` : "There is no job yet.";
}

/** Named things of the server, asked for once when the palette is opened. */
import { queryOptions, useQueries } from "@tanstack/react-query";
import { api, paged } from "../../api/client";
import { datasets, evaluators } from "../../api/data";
import type { DatasetRow, EvaluatorRow, Job, Me, Permission, RunSetRow, SuiteRow } from "../../api/schema";
import { suites } from "../../api/suites";
import { words } from "../../design/outcomes";
import type { Entry, Group } from "./entries";

/** The newest of each kind: what is older has its list. */
const NEWEST = 200;
const newest = { params: { query: { limit: NEWEST } } };

const runSets = queryOptions({
  queryKey: ["run-sets", "palette"],
  queryFn: ({ signal }) => paged<RunSetRow>(api.GET("/api/v1/run-sets", { ...newest, signal })),
});
const jobs = queryOptions({
  queryKey: ["jobs", "palette"],
  queryFn: ({ signal }) => paged<Job>(api.GET("/api/v1/jobs", { ...newest, signal })),
});

/** What has come, and whether something is still asked for or could not be got. */
export function useNamed(me: Me): { named: Group[]; isAsking: boolean; problem: Error | null } {
  const may = (needed: Permission) => ({ enabled: me.permissions.includes(needed) });
  const [ofRunSets, ofSuites, ofDatasets, ofJobs, ofEvaluators] = useQueries({
    queries: [
      { ...runSets, ...may("runs:read") },
      { ...suites, ...may("suites:read") },
      { ...datasets, ...may("datasets:read") },
      { ...jobs, ...may("runs:read") },
      { ...evaluators, ...may("evaluators:read") },
    ],
  });
  const all = [ofRunSets, ofSuites, ofDatasets, ofJobs, ofEvaluators];
  return {
    named: [
      { name: "Run sets", entries: (ofRunSets.data?.items ?? []).map(runSetEntry) },
      { name: "Suites", entries: (ofSuites.data?.items ?? []).map(suiteEntry) },
      { name: "Datasets", entries: (ofDatasets.data?.items ?? []).map(datasetEntry) },
      { name: "Jobs", entries: (ofJobs.data?.items ?? []).map(jobEntry) },
      { name: "Evaluators", entries: (ofEvaluators.data?.items ?? []).map(evaluatorEntry) },
    ],
    isAsking: all.some((one) => one.isFetching && one.data === undefined),
    problem: all.find((one) => one.error)?.error ?? null,
  };
}

const part = encodeURIComponent;

function runSetEntry({ id, name, state }: RunSetRow): Entry {
  return { key: `run set ${id}`, name, note: words(state), id, to: `/run-sets/${id}` };
}

function suiteEntry({ suite_id: id, aliases, task_count: tasks }: SuiteRow): Entry {
  const name = aliases[0] ?? id.slice(0, 12);
  return { key: `suite ${id}`, name, note: `${tasks} tasks`, id, to: `/leaderboard?suite=${part(id)}` };
}

function datasetEntry({ name, version, rows }: DatasetRow): Entry {
  return { key: `dataset ${name}`, name, note: `${version}, ${rows} examples`, to: `/datasets/${part(name)}` };
}

function jobEntry({ id, name, state, dataset }: Job): Entry {
  return { key: `job ${id}`, name, note: `${words(state)}, ${dataset ?? "a stream"}`, id, to: `/jobs/${id}` };
}

function evaluatorEntry({ reference, name, description }: EvaluatorRow): Entry {
  return {
    key: `evaluator ${reference}`,
    name: reference === name ? name : reference,
    note: description,
    to: `/evaluators?show=${part(reference)}`,
  };
}

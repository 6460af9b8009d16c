/** Named things of the server: the newest asked for once when the palette is opened, older ones by what is typed. */
import { keepPreviousData, queryOptions, useQueries } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, paged } from "../../api/client";
import { datasets, evaluators } from "../../api/data";
import type { DatasetRow, EvaluatorRow, Job, Me, Permission, RunSetRow, SuiteRow } from "../../api/schema";
import { suites } from "../../api/suites";
import { counted } from "../../design/numbers";
import { words } from "../../design/outcomes";
import type { Entry, Group } from "./entries";

/** The newest of each kind. */
const NEWEST = 200;
const newest = { params: { query: { limit: NEWEST } } };
/** Of the older ones: as many as fit, and one of a name is not hidden by those that have it within theirs. */
const OLDER = 50;
/** Typed without a break of so long, it is not asked for yet. */
const BREAK_MS = 120;
const SHORTEST = 2;

const runSets = queryOptions({
  queryKey: ["run-sets", "palette"],
  queryFn: ({ signal }) => paged<RunSetRow>(api.GET("/api/v1/run-sets", { ...newest, signal })),
});
const jobs = queryOptions({
  queryKey: ["jobs", "palette"],
  queryFn: ({ signal }) => paged<Job>(api.GET("/api/v1/jobs", { ...newest, signal })),
});

/** Those in whose names the longest of the words stands. */
const older = (words: string) => ({ params: { query: { words, limit: OLDER } } });
const runSetsNamed = (words: string) =>
  queryOptions({
    queryKey: ["run-sets", "palette", words],
    queryFn: ({ signal }) => paged<RunSetRow>(api.GET("/api/v1/run-sets", { ...older(words), signal })),
    placeholderData: keepPreviousData,
  });
const jobsNamed = (words: string) =>
  queryOptions({
    queryKey: ["jobs", "palette", words],
    queryFn: ({ signal }) => paged<Job>(api.GET("/api/v1/jobs", { ...older(words), signal })),
    placeholderData: keepPreviousData,
  });

/** What has come, and whether something is still asked for or could not be got. */
export function useNamed(me: Me, typed: string): { named: Group[]; isAsking: boolean; problem: Error | null } {
  const may = (needed: Permission) => ({ enabled: me.permissions.includes(needed) });
  const [ofRunSets, ofSuites, ofDatasets, ofJobs, ofEvaluators] = useQueries({
    queries: [
      { ...runSets, ...may("runs:read") },
      { ...suites, ...may("suites:read") },
      { ...datasets, ...may("datasets:read") },
      { ...jobs, ...may("evaluators:read") },
      { ...evaluators, ...may("evaluators:read") },
    ],
  });
  const word = useSettled(longest(typed), BREAK_MS);
  const more = (newest: { data?: { next: string | null } }) => ({
    enabled: word.length >= SHORTEST && newest.data != null && newest.data.next !== null,
  });
  const [olderRunSets, olderJobs] = useQueries({
    queries: [
      { ...runSetsNamed(word), ...more(ofRunSets) },
      { ...jobsNamed(word), ...more(ofJobs) },
    ],
  });
  const all = [ofRunSets, ofSuites, ofDatasets, ofJobs, ofEvaluators, olderRunSets, olderJobs];
  return {
    named: [
      { name: "Run sets", entries: each(ofRunSets.data, olderRunSets.data).map(runSetEntry) },
      { name: "Suites", entries: (ofSuites.data?.items ?? []).map(suiteEntry) },
      { name: "Datasets", entries: (ofDatasets.data?.items ?? []).map(datasetEntry) },
      { name: "Jobs", entries: each(ofJobs.data, olderJobs.data).map(jobEntry) },
      { name: "Evaluators", entries: (ofEvaluators.data?.items ?? []).map(evaluatorEntry) },
    ],
    isAsking: all.some((one) => one.isFetching && one.data === undefined),
    problem: all.find((one) => one.error)?.error ?? null,
  };
}

/** Each once, whichever answer it is in. */
function each<T extends { id: string }>(...answers: ({ items: T[] } | undefined)[]): T[] {
  return [...new Map(answers.flatMap((one) => one?.items ?? []).map((one) => [one.id, one])).values()];
}

function longest(typed: string): string {
  return typed
    .trim()
    .split(/\s+/)
    .reduce((most, one) => (one.length > most.length ? one : most), "")
    .slice(0, 100);
}

/** A value once it has not changed for so long. */
function useSettled(value: string, milliseconds: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
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
  return {
    key: `dataset ${name}`,
    name,
    note: `${version}, ${counted(rows, "example")}`,
    to: `/datasets/${part(name)}`,
  };
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

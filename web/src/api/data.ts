/** Questions about datasets, evaluators and evaluation jobs. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answered, api, every, LONG, paged } from "./client";
import type {
  DatasetRow,
  DatasetVersion,
  EvaluatorRow,
  Job,
  JobState,
  ListedExample,
  ListedResult,
  SampleSet,
  Segments,
  Spread,
} from "./schema";

export const datasets = queryOptions({
  queryKey: ["datasets"],
  queryFn: ({ signal }) =>
    every((cursor) =>
      paged<DatasetRow>(api.GET("/api/v1/datasets", { params: { query: { limit: LONG, cursor } }, signal })),
    ),
});

export const dataset = (reference: string) =>
  queryOptions({
    queryKey: ["dataset", reference],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/datasets/{dataset}", { params: { path: { dataset: reference } }, signal })),
  });

export const versions = (name: string) =>
  queryOptions({
    queryKey: ["dataset", name, "versions"],
    queryFn: ({ signal }) =>
      every((cursor) =>
        paged<DatasetVersion>(
          api.GET("/api/v1/datasets/{dataset}/versions", {
            params: { path: { dataset: name }, query: { limit: LONG, cursor } },
            signal,
          }),
        ),
      ),
  });

/** Outputs of a version's examples that are kept. */
export const samples = (version: string) =>
  queryOptions({
    queryKey: ["samples", version],
    queryFn: async ({ signal }) => {
      const found = await every((cursor) =>
        paged<SampleSet>(api.GET("/api/v1/samples", { params: { query: { limit: LONG, cursor } }, signal })),
      );
      return { ...found, items: found.items.filter((one) => one.dataset_version === version) };
    },
  });

/** Evaluators that fit what a version's examples expect. */
export const suggestions = (reference: string) =>
  queryOptions({
    queryKey: ["dataset", reference, "suggestions"],
    queryFn: async ({ signal }) => {
      const params = { path: { dataset: reference } };
      const facts = await answered(api.GET("/api/v1/datasets/{dataset}/facts", { params, signal }));
      return answered(api.POST("/api/v1/evaluators/suggestions", { body: facts, signal }));
    },
  });

export interface ExampleFilter {
  tags?: string[];
  difficulty?: string;
  from_source?: string;
  /** Words and terms, as docs/reference/datasets.md has them. */
  query?: string;
  cursor?: string;
}

export const examples = (reference: string, query: ExampleFilter) =>
  queryOptions({
    queryKey: ["dataset", reference, "examples", query],
    queryFn: ({ signal }) =>
      paged<ListedExample>(
        api.GET("/api/v1/datasets/{dataset}/examples", {
          params: { path: { dataset: reference }, query: { ...query, limit: 50 } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** How many examples of a version fit. */
export const exampleCount = (reference: string, { cursor: _, ...query }: ExampleFilter) =>
  queryOptions({
    queryKey: ["dataset", reference, "examples", "count", query],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/datasets/{dataset}/examples/count", {
          params: { path: { dataset: reference }, query },
          signal,
        }),
      ),
    staleTime: 60_000,
  });

/** What to know of a version before numbers on it are trusted; it never changes but for splits that come. */
export const datasetQuality = (reference: string) =>
  queryOptions({
    queryKey: ["dataset", reference, "quality"],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/datasets/{dataset}/quality", { params: { path: { dataset: reference } }, signal })),
    staleTime: 60_000,
  });

/** One example of a version, by its whole id; `null`: it has none of that. */
export const exampleOf = (reference: string, id: string) =>
  queryOptions({
    queryKey: ["dataset", reference, "example", id],
    queryFn: async ({ signal }) => {
      const found = await paged<ListedExample>(
        api.GET("/api/v1/datasets/{dataset}/examples", {
          params: { path: { dataset: reference }, query: { query: queryOfId(id), limit: 1 } },
          signal,
        }),
      );
      return found.items[0] ?? null;
    },
    staleTime: Number.POSITIVE_INFINITY, // a version never changes
  });

/** What is typed to find one example by its whole id. */
export function queryOfId(id: string): string {
  return `id="${id.replace(/["\\]/g, "\\$&")}"`;
}

/** What changed from one version of a dataset to another, a page by the ids of examples. */
export const versionDiff = (before: string, after: string, beyond = "") =>
  queryOptions({
    queryKey: ["dataset", after, "diff", before, beyond],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/datasets/{dataset}/diff", {
          params: { path: { dataset: after }, query: { against: before, beyond, limit: 50 } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

export const evaluators = queryOptions({
  queryKey: ["evaluators"],
  queryFn: ({ signal }) =>
    every((cursor) =>
      paged<EvaluatorRow>(api.GET("/api/v1/evaluators", { params: { query: { limit: LONG, cursor } }, signal })),
    ),
});

export const evaluator = (reference: string) =>
  queryOptions({
    queryKey: ["evaluators", reference],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/evaluators/{evaluator}", { params: { path: { evaluator: reference } }, signal })),
  });

export const jobs = (query: { state?: JobState; words?: string; cursor?: string }) =>
  queryOptions({
    queryKey: ["jobs", query],
    queryFn: ({ signal }) =>
      paged<Job>(api.GET("/api/v1/jobs", { params: { query: { ...query, limit: 50 } }, signal })),
    placeholderData: keepPreviousData,
  });

const of = (job: string) => ({ params: { path: { job } } });

export const job = (id: string) =>
  queryOptions({
    queryKey: ["job", id],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/jobs/{job}", { ...of(id), signal })),
  });

export const spreads = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "distribution"],
    queryFn: ({ signal }) => paged<Spread>(api.GET("/api/v1/jobs/{job}/distribution", { ...of(id), signal })),
  });

export const failures = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "failures"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/jobs/{job}/failures", { ...of(id), signal })),
  });

export const segments = (id: string, by: "tag" | "difficulty" | "source") =>
  queryOptions({
    queryKey: ["job", id, "segments", by],
    queryFn: ({ signal }) =>
      paged<Segments>(api.GET("/api/v1/jobs/{job}/segments", { params: { path: { job: id }, query: { by } }, signal })),
  });

export interface ResultQuery {
  status?: string;
  evaluator?: string;
  at_least?: number;
  below?: number;
  cursor?: string;
}

export const results = (id: string, query: ResultQuery) =>
  queryOptions({
    queryKey: ["job", id, "results", query],
    queryFn: ({ signal }) =>
      paged<ListedResult>(
        api.GET("/api/v1/jobs/{job}/results", {
          params: { path: { job: id }, query: { ...query, limit: 50 } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

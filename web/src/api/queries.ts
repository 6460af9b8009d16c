/** What the pages ask for; a key per question, so that an event can say which answers are old. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answered, api, paged } from "./client";
import type { Leaderboard, RunSetRow } from "./schema";

export const me = queryOptions({
  queryKey: ["me"],
  queryFn: ({ signal }) => answered(api.GET("/api/v1/me", { signal })),
  staleTime: 300_000,
  retry: false,
});

export const runSets = (query: { state?: RunSetState; name?: string; words?: string; cursor?: string }) =>
  queryOptions({
    queryKey: ["run-sets", query],
    queryFn: ({ signal }) =>
      paged<RunSetRow>(api.GET("/api/v1/run-sets", { params: { query: { ...query, limit: 50 } }, signal })),
    placeholderData: keepPreviousData,
  });

export type RunSetState = "running" | "complete" | "complete_with_gaps" | "paused" | "cancelled";

const named = (run_set: string) => ({ params: { path: { run_set } } });

export const runSet = (id: string) =>
  queryOptions({
    queryKey: ["run-set", id, "status"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/run-sets/{run_set}", { ...named(id), signal })),
  });

export const leaderboard = (id: string) =>
  queryOptions({
    queryKey: ["run-set", id, "leaderboard"],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/run-sets/{run_set}/leaderboard", { ...named(id), signal })) as Promise<Leaderboard>,
  });

export const attempt = (id: string) =>
  queryOptions({
    queryKey: ["attempt", id],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/attempts/{attempt}", { params: { path: { attempt: id } }, signal })),
  });

export const matrix = (id: string) =>
  queryOptions({
    queryKey: ["run-set", id, "matrix"],
    queryFn: async ({ signal }) => {
      const document = await answered(api.GET("/api/v1/run-sets/{run_set}/matrix", { ...named(id), signal }));
      performance.mark("matrix-read"); // for whoever measures how soon it is drawn
      return document;
    },
    staleTime: Number.POSITIVE_INFINITY, // the socket says what changed
  });

/** Of the cells of the matrix, in its order: what it takes to open one, or to say which one an event is about. */
export const matrixIds = (id: string) =>
  queryOptions({
    queryKey: ["run-set", id, "ids"],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/run-sets/{run_set}/matrix/ids", { ...named(id), signal })),
    staleTime: Number.POSITIVE_INFINITY, // as the matrix
  });

export const cell = (id: string, of: string) =>
  queryOptions({
    queryKey: ["run-set", id, "cell", of],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/run-sets/{run_set}/cells/{cell}", { params: { path: { run_set: id, cell: of } }, signal }),
      ),
  });

/** Questions about suites and about several run sets at once. */
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { answered, api, every, LONG, paged } from "./client";
import type { Comparison, PairSegments, SuiteBoard, SuiteRow, TaskOfPair } from "./schema";

export const suites = queryOptions({
  queryKey: ["suites"],
  queryFn: ({ signal }) =>
    every((cursor) =>
      paged<SuiteRow>(api.GET("/api/v1/suites", { params: { query: { limit: LONG, cursor } }, signal })),
    ),
});

export const suiteBoard = (suite: string) =>
  queryOptions({
    queryKey: ["suites", suite, "leaderboard"],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/suites/{suite}/leaderboard", { params: { path: { suite } }, signal }),
      ) as Promise<SuiteBoard>,
  });

/** As many of the tasks that a comparison leaves out are told one by one. */
const LISTED = 200;

export const comparison = (sides: readonly string[]) =>
  queryOptions({
    queryKey: ["comparison", sides],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/comparisons", {
          params: { query: { side: [...sides], base_only: true, listed: LISTED } },
          signal,
        }),
      ) as Promise<Comparison>,
    enabled: sides.length > 1,
  });

/** The first pair of two references by what the authors of its tasks say of them. */
export const comparedSegments = (base: string, other: string) =>
  queryOptions({
    queryKey: ["comparison", "segments", base, other],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/comparisons/segments", { params: { query: { base, with: other } }, signal }),
      ) as Promise<PairSegments>,
  });

/** The tasks of the first pair of two references, 200 at a time. */
export const comparedTasks = (base: string, other: string, show: Show, segment?: string) =>
  infiniteQueryOptions({
    queryKey: ["comparison", "tasks", base, other, show, segment],
    queryFn: ({ signal, pageParam }) => {
      const query = { base, with: other, show, segment, limit: 200, cursor: pageParam };
      return paged<TaskOfPair>(api.GET("/api/v1/comparisons/tasks", { params: { query }, signal }));
    },
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
  });
type Show = "flips" | "both_pass" | "both_fail" | "owed" | "all";

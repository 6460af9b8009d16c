/** Questions about suites and about several run sets at once. */
import { queryOptions } from "@tanstack/react-query";
import { answered, api, paged } from "./client";
import type { Comparison, SideDocument, SuiteBoard, SuiteRow } from "./schema";

export const suites = queryOptions({
  queryKey: ["suites"],
  queryFn: ({ signal }) => paged<SuiteRow>(api.GET("/api/v1/suites", { params: { query: { limit: 200 } }, signal })),
});

export const suiteBoard = (suite: string) =>
  queryOptions({
    queryKey: ["suites", suite, "leaderboard"],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/suites/{suite}/leaderboard", { params: { path: { suite } }, signal }),
      ) as Promise<SuiteBoard>,
  });

export const comparison = (sides: readonly string[]) =>
  queryOptions({
    queryKey: ["comparison", sides],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/comparisons", { params: { query: { side: [...sides] } }, signal }),
      ) as Promise<Comparison>,
    enabled: sides.length > 1,
  });

/** One profile of a run set with its tasks: `RUN_SET:PROFILE`. */
export const side = (reference: string) =>
  queryOptions({
    queryKey: ["side", reference],
    queryFn: async ({ signal }) => {
      const [run_set = "", profile = ""] = reference.split(":");
      const request = { params: { path: { run_set }, query: { profile } }, signal };
      const page = await paged<SideDocument>(api.GET("/api/v1/run-sets/{run_set}/sides", request));
      return page.items[0] ?? null;
    },
  });

/** What this page asks of the steps of an attempt. */
import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { attempt } from "../../api/queries";
import { pageOf } from "./steps";

/** Between two looks at the end of a trajectory that grows, where one could not be had. */
const AGAIN_MS = 5000;
const WAIT_SEC = 25;

const of = (attempt: string) => ({ attempt });

export const stepIndex = (attempt: string) =>
  queryOptions({
    queryKey: ["attempt", attempt, "index"],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/attempts/{attempt}/steps/index", { params: { path: of(attempt) }, signal })),
    staleTime: Number.POSITIVE_INFINITY, // it is followed while it grows
    gcTime: 60_000,
  });

export const foundSteps = (attempt: string, text: string, steps: number) =>
  queryOptions({
    queryKey: ["attempt", attempt, "find", text, steps],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/attempts/{attempt}/steps/find", { params: { path: of(attempt), query: { text } }, signal }),
      ),
    enabled: text !== "",
  });

/** Columns of the steps after one, as soon as there is one, or the attempt has ended, or it took long. */
export function stepsAfter(attempt: string, after: number, signal: AbortSignal) {
  const query = { after, wait: WAIT_SEC };
  return answered(api.GET("/api/v1/attempts/{attempt}/steps/index", { params: { path: of(attempt), query }, signal }));
}

/** Steps of which as many are there as are asked for, but where they are large. */
export const stepPage = (attempt: string, first: number, limit: number) =>
  queryOptions({
    queryKey: ["attempt", attempt, "steps", first, limit],
    queryFn: () =>
      answered(api.GET("/api/v1/attempts/{attempt}/steps", { params: { path: of(attempt), query: { first, limit } } })),
    staleTime: 60_000,
    gcTime: 10_000, // whoever shows them keeps them
  });

/** Ask for what the page of an attempt needs first, all at once, while its code is still on its way. */
export function askAhead(client: QueryClient, id: string, step: number | undefined): void {
  void client.prefetchQuery(attempt(id));
  void client.prefetchQuery(stepIndex(id));
  if (step === undefined) return;
  const { first, limit } = pageOf(step);
  void client.prefetchQuery(stepPage(id, first, limit));
}

export function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, AGAIN_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

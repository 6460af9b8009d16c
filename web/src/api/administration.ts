/** Questions about keys, members, money, retention, providers and what was done. */
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { answered, api, every, LONG, paged } from "./client";
import { fetched } from "./files";
import type {
  Acknowledgement,
  Action,
  Apart,
  ApiKey,
  AuditEntry,
  BackupsReport,
  LogLine,
  ObjectiveReport,
  ProviderLine,
  paths,
  Range,
  SpendBy,
  SpendEntry,
  SpendReport,
  UsageReport,
  User,
} from "./schema";

export const keys = queryOptions({
  queryKey: ["keys"],
  queryFn: ({ signal }) =>
    every((cursor) => paged<ApiKey>(api.GET("/api/v1/keys", { params: { query: { limit: LONG, cursor } }, signal }))),
});

export const users = queryOptions({
  queryKey: ["users"],
  queryFn: ({ signal }) =>
    every((cursor) => paged<User>(api.GET("/api/v1/users", { params: { query: { limit: LONG, cursor } }, signal }))),
});

export const providers = queryOptions({
  queryKey: ["providers"],
  queryFn: ({ signal }) =>
    every((cursor) =>
      paged<ProviderLine>(api.GET("/api/v1/providers", { params: { query: { limit: LONG, cursor } }, signal })),
    ),
});

export const retention = queryOptions({
  queryKey: ["retention"],
  queryFn: ({ signal }) => answered(api.GET("/api/v1/retention", { signal })),
});

export const allowance = queryOptions({
  queryKey: ["allowance"],
  queryFn: ({ signal }) => answered(api.GET("/api/v1/allowance", { signal })),
});

export const usage = (by: Apart, since: string) =>
  queryOptions({
    queryKey: ["usage", by, since],
    queryFn: ({ signal }) =>
      answered(api.GET("/api/v1/usage", { params: { query: { by, since } }, signal })) as Promise<UsageReport>,
    placeholderData: keepPreviousData,
  });

/** By day, and by what it was for; by tenant it is the whole installation's. */
export const spend = (by: SpendBy, since: string) =>
  queryOptions({
    queryKey: ["spend", by, since],
    queryFn: ({ signal }) => {
      const asked =
        by === "tenant"
          ? answered(api.GET("/api/v1/tenants/spend", { params: { query: { since } }, signal }))
          : answered(api.GET("/api/v1/spend", { params: { query: { by, since } }, signal }));
      return asked as Promise<SpendReport>;
    },
    placeholderData: keepPreviousData,
  });

export const month = queryOptions({
  queryKey: ["spend", "month"],
  queryFn: ({ signal }) => answered(api.GET("/api/v1/spend/month", { signal })),
});

export const undecided = (since: string) =>
  queryOptions({
    queryKey: ["spend", "undecided", since],
    queryFn: ({ signal }) => answered(api.GET("/api/v1/spend/undecided", { params: { query: { since } }, signal })),
    placeholderData: keepPreviousData,
  });

export type EntriesQuery = NonNullable<paths["/api/v1/spend/entries"]["get"]["parameters"]["query"]>;

export const entries = (query: EntriesQuery) =>
  queryOptions({
    queryKey: ["spend", "entries", query],
    queryFn: ({ signal }) =>
      paged<SpendEntry>(api.GET("/api/v1/spend/entries", { params: { query: { ...query, limit: 50 } }, signal })),
    placeholderData: keepPreviousData,
  });

export const auditLog = (query: { action?: Action; actor?: string; since?: string; cursor?: string }) =>
  queryOptions({
    queryKey: ["audit", query],
    queryFn: ({ signal }) =>
      paged<AuditEntry>(
        api.GET("/api/v1/audit-log", { params: { query: { ...query, order: "newest", limit: 100 } }, signal }),
      ),
    placeholderData: keepPreviousData,
  });

export const errorLines = queryOptions({
  queryKey: ["logs", "error"],
  queryFn: ({ signal }) =>
    paged<LogLine>(api.GET("/api/v1/logs", { params: { query: { level: "error", limit: 20 } }, signal })),
  retry: false,
});

/** As often as the server counts the installation anew. */
export const COUNTED_MS = 10_000;

/** The installation's metrics as the server tells them, for its administrators. */
export const metrics = queryOptions({
  queryKey: ["metrics"],
  queryFn: async ({ signal }) => {
    const answer = await fetched("/metrics", signal);
    return answer.text();
  },
  refetchInterval: COUNTED_MS,
  retry: false,
});

/** Alerts that somebody of the tenant has seen, until a time is over; as often as what they are of is counted. */
export const acknowledgements = queryOptions({
  queryKey: ["acknowledgements"],
  queryFn: ({ signal }) =>
    paged<Acknowledgement>(api.GET("/api/v1/alerts/acknowledgements", { params: { query: { limit: LONG } }, signal })),
  refetchInterval: COUNTED_MS,
});

/** The server samples once a minute. */
export const SAMPLED_MS = 60_000;

/** How fast the error budget burns over a range, and whether it is too fast, which is of no range. */
export const objective = (range: Range) =>
  queryOptions({
    queryKey: ["health", "objective", range],
    queryFn: ({ signal }) =>
      answered(
        api.GET("/api/v1/health/objective", { params: { query: { range } }, signal }),
      ) as Promise<ObjectiveReport>,
    placeholderData: keepPreviousData,
    refetchInterval: SAMPLED_MS,
  });

/** What is known of backups. */
export const backups = queryOptions({
  queryKey: ["health", "backups"],
  queryFn: ({ signal }) => answered(api.GET("/api/v1/health/backups", { signal })) as Promise<BackupsReport>,
  refetchInterval: SAMPLED_MS,
});

import { queryOptions } from "@tanstack/react-query";
import { api, every, LONG, paged } from "./client";
import type { TenantSecret } from "./schema";

/** Names of the tenant's secrets; their values are never told. */
export const secrets = queryOptions({
  queryKey: ["secrets"],
  queryFn: ({ signal }) =>
    every((cursor) =>
      paged<TenantSecret>(api.GET("/api/v1/secrets", { params: { query: { limit: LONG, cursor } }, signal })),
    ),
});

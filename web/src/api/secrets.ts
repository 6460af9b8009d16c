import { queryOptions } from "@tanstack/react-query";
import { api, paged } from "./client";
import type { TenantSecret } from "./schema";

/** Names of the tenant's secrets; their values are never told. */
export const secrets = queryOptions({
  queryKey: ["secrets"],
  queryFn: ({ signal }) =>
    paged<TenantSecret>(api.GET("/api/v1/secrets", { params: { query: { limit: 200 } }, signal })),
});

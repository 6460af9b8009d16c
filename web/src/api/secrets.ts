import { queryOptions } from "@tanstack/react-query";
import { answered, api } from "./client";

/** Names of the tenant's secrets; their values are never told. */
export const secrets = queryOptions({
  queryKey: ["secrets"],
  queryFn: ({ signal }) => answered(api.GET("/api/v1/secrets", { params: { query: { limit: 200 } }, signal })),
});

import type { UseQueryResult } from "@tanstack/react-query";
import { Failed, Loading } from "./states";

/** What was asked for, or why it is not there yet. */
export function Asked<T>({
  query,
  what,
  page,
  rows,
  children,
}: {
  query: UseQueryResult<T>;
  what: string;
  /** The title of the page that it is all of, should it not come. */
  page?: string;
  rows?: number;
  children: (data: T) => React.ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) return <Failed page={page} error={query.error} retry={() => query.refetch()} />;
  return <Loading what={what} rows={rows} />;
}

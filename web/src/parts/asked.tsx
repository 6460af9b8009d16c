import type { UseQueryResult } from "@tanstack/react-query";
import { Failed, Loading, Stale } from "./states";

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
  const retry = () => query.refetch();
  if (query.data !== undefined)
    return (
      <>
        {query.error && <Stale error={query.error} since={query.dataUpdatedAt} retry={retry} />}
        {children(query.data)}
      </>
    );
  if (query.error) return <Failed page={page} error={query.error} retry={retry} />;
  return <Loading what={what} rows={rows} />;
}

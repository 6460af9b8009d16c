import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMay } from "../../api/permitted";
import { suites } from "../../api/suites";

/** A suite by its label where it has one, leading to who is how good on it. */
export function SuiteName({ id }: { id: string }) {
  const may = useMay("suites:read");
  const known = useQuery({ ...suites, enabled: may });
  const label = known.data?.items.find((one) => one.suite_id === id)?.aliases[0];
  return (
    <Link to="/leaderboard" search={{ suite: id }} title={id}>
      {label ?? <code>{id.slice(0, 12)}</code>}
    </Link>
  );
}

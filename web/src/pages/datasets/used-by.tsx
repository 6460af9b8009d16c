import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { jobs } from "../../api/data";
import type { DatasetVersion } from "../../api/schema";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Empty } from "../../parts/states";
import { Time } from "../../parts/time";
import styles from "./dataset.module.css";

/** The newest jobs that judged outputs of this version. */
export function UsedBy({ version }: { version: DatasetVersion }) {
  const asked = useQuery(jobs({}));
  return (
    <Asked query={asked} what="jobs">
      {({ items }) => {
        const using = items.filter((one) => one.dataset_version === version.id);
        if (using.length === 0) return <Empty>None of the newest jobs used this version.</Empty>;
        return (
          <ul className={styles.tree}>
            {using.map((one) => (
              <li key={one.id}>
                <Link to="/jobs/$job" params={{ job: one.id }}>
                  {one.name}
                </Link>{" "}
                <span className="muted">{words(one.state)}</span> <Time at={one.created_at} />
              </li>
            ))}
          </ul>
        );
      }}
    </Asked>
  );
}

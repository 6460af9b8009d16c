import { Link } from "@tanstack/react-router";
import type { DatasetVersion } from "../../api/schema";
import { counted } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Time } from "../../parts/time";
import styles from "./dataset.module.css";

/** Where a version came from: its parents, theirs, each with what was done. */
export function Lineage({ version, known }: { version: DatasetVersion; known: readonly DatasetVersion[] }) {
  return (
    <ul className={styles.tree} aria-label="Lineage, the newest first">
      <Ancestor version={version} known={known} seen={[]} />
    </ul>
  );
}

interface AncestorProps {
  version: DatasetVersion;
  known: readonly DatasetVersion[];
  seen: readonly string[];
}

function Ancestor({ version, known, seen }: AncestorProps) {
  const { operation, parameters, parents } = version.lineage;
  const done = Object.entries(parameters).map(([name, value]) => ` · ${words(name)} ${said(value)}`);
  return (
    <li>
      <b>{version.version}</b> <span className="muted">{operation}</span> {counted(version.rows, "example")}{" "}
      <small className="muted">
        <Time at={version.created_at} />
        {done}
      </small>
      {parents.length > 0 && (
        <ul>
          {parents.map((parent) => {
            const whole = known.find((one) => one.id === parent.id && !seen.includes(one.id));
            return whole ? (
              <Ancestor key={parent.id} version={whole} known={known} seen={[...seen, version.id]} />
            ) : (
              <li key={parent.id}>
                <Link to="/datasets/$dataset" params={{ dataset: `${parent.dataset}@${parent.version}` }}>
                  {parent.dataset}@{parent.version}
                </Link>
              </li>
            );
          })}
        </ul>
      )}
    </li>
  );
}

/** A parameter of what was done, as a reader takes it. */
function said(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

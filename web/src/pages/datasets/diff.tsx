import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { versionDiff } from "../../api/data";
import type { Change, DatasetVersion } from "../../api/schema";
import { count } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Select } from "../../parts/field";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { nameOf } from "./dataset";
import styles from "./dataset.module.css";

const route = getRouteApi("/datasets/$dataset");
const COLUMNS: readonly Column<Change>[] = [
  { name: "Example", cell: (one) => one.id },
  { name: "Change", cell: (one) => one.kind },
  { name: "Fields", cell: (one) => one.fields.join(", ") },
];

/** What changed between another version and this, by example. */
export function Diff({ version, known }: { version: DatasetVersion; known: readonly DatasetVersion[] }) {
  const { against } = route.useSearch();
  const navigate = useNavigate({ from: "/datasets/$dataset" });
  const others = known.filter((one) => one.version !== version.version);
  const parent = version.lineage.parents.find((one) => one.dataset === version.dataset)?.version;
  const chosen = against ?? parent ?? others[0]?.version;
  if (chosen === undefined) return <Empty>There is no other version to compare it with.</Empty>;
  return (
    <>
      <Select
        label="Since"
        value={chosen}
        options={others.map((one) => ({ value: one.version, label: one.version }))}
        onChange={(event) => navigate({ search: (before) => ({ ...before, against: event.target.value }) })}
      />
      <Changes before={`${version.dataset}@${chosen}`} after={nameOf(version)} />
    </>
  );
}

function Changes({ before, after }: { before: string; after: string }) {
  const asked = useQuery(versionDiff(before, after));
  return (
    <Asked query={asked} what="changes">
      {({ difference, changes, next }) => (
        <>
          <p className={styles.facts}>
            <span>+{count(difference.added)} added</span>
            <span>−{count(difference.removed)} removed</span>
            <span>~{count(difference.changed)} changed</span>
            <span className="muted">{count(difference.same)} the same</span>
          </p>
          {changes.length > 0 && <Table caption="Changes" columns={COLUMNS} rows={changes} keyOf={(one) => one.id} />}
          {next && <p className="muted">The first {changes.length} are shown; `proctor dataset diff` lists all.</p>}
        </>
      )}
    </Asked>
  );
}

import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { versionDiff } from "../../api/data";
import type { Change, DatasetVersion } from "../../api/schema";
import { count } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { Button } from "../../parts/button";
import { Select } from "../../parts/field";
import { Pager } from "../../parts/pager";
import { Empty, Loading } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { nameOf } from "./dataset";
import styles from "./dataset.module.css";
import { useExampleKeys } from "./example-keys";

const ChangeOfExample = lazy(() => import("./change"));
const route = getRouteApi("/datasets/$dataset");

/** What changed between another version and this, by example. */
export function Diff({ version, known }: { version: DatasetVersion; known: readonly DatasetVersion[] }) {
  const { against } = route.useSearch();
  const navigate = useNavigate({ from: "/datasets/$dataset" });
  const others = known.map((one) => one.version).filter((one) => one !== version.version);
  const parent = version.lineage.parents.find((one) => one.dataset === version.dataset)?.version;
  const chosen = against ?? parent ?? others[0];
  if (chosen === undefined) return <Empty>There is no other version to compare it with.</Empty>;
  const options = others.includes(chosen) ? others : [chosen, ...others]; // the address may name any
  return (
    <>
      <Select
        label="Since"
        value={chosen}
        options={options.map((one) => ({ value: one, label: one }))}
        onChange={(event) => navigate({ search: { tab: "diff", against: event.target.value } })}
      />
      <Changes before={`${version.dataset}@${chosen}`} after={nameOf(version)} />
    </>
  );
}

/** A page of them, one of them whole beside the list. */
function Changes({ before, after }: { before: string; after: string }) {
  const { cursor, example } = route.useSearch();
  const navigate = useNavigate({ from: "/datasets/$dataset" });
  const asked = useQuery(versionDiff(before, after, cursor));
  const { current, open } = useExampleKeys(asked.data?.changes ?? []);
  const columns: readonly Column<Change>[] = [
    {
      name: "Example",
      cell: (one) => (
        <Button kind="link" title={one.id} onClick={() => open(one.id)}>
          {one.id}
        </Button>
      ),
    },
    { name: "Change", cell: (one) => one.kind },
    { name: "Fields", cell: (one) => one.fields.join(", ") },
  ];
  return (
    <Asked query={asked} what="changes">
      {({ difference, changes, next }) => {
        const shown = changes.find((one) => one.id === example);
        return (
          <>
            <p className={styles.facts}>
              <span>+{count(difference.added)} added</span>
              <span>−{count(difference.removed)} removed</span>
              <span>~{count(difference.changed)} changed</span>
              <span className="muted">{count(difference.same)} the same</span>
            </p>
            <div className={shown ? styles.beside : undefined}>
              <div>
                {changes.length > 0 && (
                  <Table caption="Changes" columns={columns} rows={changes} keyOf={(one) => one.id} current={current} />
                )}
                <Pager
                  cursor={cursor}
                  next={next}
                  go={(to) => navigate({ search: (was) => ({ ...was, cursor: to, example: undefined }) })}
                  words={{ first: "First", next: "Next" }}
                />
              </div>
              {shown && (
                <Suspense fallback={<Loading what="the change" rows={6} />}>
                  <ChangeOfExample change={shown} before={before} after={after} close={() => open(undefined)} />
                </Suspense>
              )}
            </div>
          </>
        );
      }}
    </Asked>
  );
}

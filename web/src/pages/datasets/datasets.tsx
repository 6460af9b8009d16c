import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { datasets } from "../../api/data";
import { useMay } from "../../api/permitted";
import type { DatasetRow } from "../../api/schema";
import { count } from "../../design/numbers";
import { Asked } from "../../parts/asked";
import { PageHead } from "../../parts/section";
import { Empty } from "../../parts/states";
import { type Column, Table } from "../../parts/table";
import { Time } from "../../parts/time";
import { useTitle } from "../../parts/title";

const COLUMNS: readonly Column<DatasetRow>[] = [
  {
    name: "Dataset",
    cell: (one) => (
      <Link to="/datasets/$dataset" params={{ dataset: `${one.name}@${one.version}` }}>
        {one.name}
      </Link>
    ),
  },
  { name: "Newest version", cell: (one) => <code>{one.version}</code> },
  { name: "Examples", kind: "number", cell: (one) => count(one.rows) },
  { name: "Versions", kind: "number", cell: (one) => count(one.versions) },
  { name: "Embeddings", cell: (one) => (one.has_embeddings ? "yes" : "") },
  { name: "Changed", cell: (one) => <Time at={one.changed_at} /> },
  { name: "Made by", cell: (one) => one.creator },
];

/** Every dataset with its newest version. */
export function DatasetsPage() {
  useTitle("Datasets");
  const asked = useQuery(datasets);
  const may = useMay("datasets:write");
  return (
    <>
      <PageHead title="Datasets" tools={may && <Link to="/datasets/new">Bring a dataset…</Link>} />
      <Asked query={asked} what="datasets" rows={12}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty
              command={{
                needs: "datasets:write",
                words: "This brings one:",
                text: "proctor dataset import examples.jsonl --name refunds",
              }}
            >
              There is no dataset yet.
            </Empty>
          ) : (
            <Table caption="Datasets" columns={COLUMNS} rows={items} keyOf={(one) => one.name} />
          )
        }
      </Asked>
    </>
  );
}

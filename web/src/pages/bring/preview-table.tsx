import { count, counted } from "../../design/numbers";
import { type Column, Table } from "../../parts/table";
import type { FieldSeen, Preview } from "./preview";
import styles from "./preview-table.module.css";

const LISTED = 20;

/** The fields of rows that are not sent yet, and the lines that are no rows. */
export function PreviewTable({ preview }: { preview: Preview }) {
  const { rows, fields, problems } = preview;
  const isLookedAt = fields.some((one) => one.present !== null);
  const columns: readonly Column<FieldSeen>[] = [
    { name: "Field", cell: (one) => <code>{one.name}</code> },
    { name: "Holds", cell: (one) => one.kinds.join(", ") },
    ...(isLookedAt
      ? [
          {
            name: "In rows",
            kind: "number" as const,
            cell: (one: FieldSeen) => `${count(one.present ?? 0)}/${count(rows)}`,
          },
          { name: "First", cell: (one: FieldSeen) => one.sample ?? "" },
        ]
      : []),
  ];
  return (
    <section aria-label="What is seen of it" className={styles.preview}>
      <p className="muted">{`${counted(rows, "row")}${isLookedAt ? " looked at" : ""}`}</p>
      {fields.length > 0 && <Table caption="Fields" columns={columns} rows={fields} keyOf={(one) => one.name} />}
      {problems.length > 0 && (
        <ul className={styles.problems}>
          {problems.slice(0, LISTED).map((one) => (
            <li key={one.line}>
              line {count(one.line)}: {one.reason}
            </li>
          ))}
          {problems.length > LISTED && <li>and {count(problems.length - LISTED)} more</li>}
        </ul>
      )}
    </section>
  );
}

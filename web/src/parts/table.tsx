import { useEffect, useRef } from "react";
import { type Column, Heads } from "./columns";
import styles from "./table.module.css";

export type { Column };

interface TableProps<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** The row that keys act on. */
  current?: string | null;
}

/** A table of rows of one line each: sticky head and first column, numbers to the right. */
export function Table<Row>({ caption, columns, rows, keyOf, current }: TableProps<Row>) {
  const table = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the row is another when `current` is
  useEffect(() => {
    table.current?.querySelector("[data-current]")?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section ref={table} className={styles.scroll} tabIndex={0} aria-label={caption}>
      <table className={styles.table}>
        <caption className="hidden">{caption}</caption>
        <thead>
          <Heads columns={columns} />
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = keyOf(row);
            return (
              <tr key={key} data-key={key} data-current={key === current ? "" : undefined}>
                {columns.map((column, at) =>
                  at === 0 ? (
                    <th key={column.name} scope="row">
                      {column.cell(row)}
                    </th>
                  ) : (
                    <td key={column.name} data-kind={column.kind}>
                      {column.cell(row)}
                    </td>
                  ),
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

import { useElementScrollRestoration } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { type Column, Heads } from "./columns";
import styles from "./virtual-table.module.css";

interface VirtualTableProps<Row> {
  caption: string;
  columns: readonly (Column<Row> & { width: string })[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}

const ROW = 28;
/** By which its place is found again when one comes back: a page has one such table. */
const SCROLLER = "rows";

/** A table of any length: real rows, of which those in sight are in the document. */
export function VirtualTable<Row>({ caption, columns, rows, keyOf }: VirtualTableProps<Row>) {
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
    initialOffset: useElementScrollRestoration({ id: SCROLLER })?.scrollY,
  });
  const template = { gridTemplateColumns: columns.map((one) => one.width).join(" ") };
  return (
    <section
      data-scroll-restoration-id={SCROLLER}
      className={styles.scroll}
      ref={scroller}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
      tabIndex={0}
      aria-label={caption}
    >
      <table className={styles.table} aria-rowcount={rows.length + 1}>
        <caption className="hidden">{caption}</caption>
        <thead className={styles.head}>
          <Heads columns={columns} style={template} />
        </thead>
        <tbody style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index] as Row;
            return (
              <tr
                key={keyOf(row)}
                aria-rowindex={index + 2}
                style={{ ...template, transform: `translateY(${start}px)` }}
              >
                {columns.map((column) => (
                  <td key={column.name} data-kind={column.kind}>
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

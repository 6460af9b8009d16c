import { useElementScrollRestoration } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import { type Column, Heads } from "./columns";
import styles from "./virtual-table.module.css";

interface VirtualTableProps<Row> {
  caption: string;
  columns: readonly (Column<Row> & { width: string })[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** How many there are, where `rows` are the first of them. */
  total?: number;
  /** The last of `rows` is in sight or near: there may be more to ask for. */
  onEnd?: () => void;
}

const ROW = 28;
/** By which its place is found again when one comes back: a page has one such table. */
const SCROLLER = "rows";

/** A table of any length: real rows, of which those in sight are in the document. */
export function VirtualTable<Row>({ caption, columns, rows, keyOf, total, onEnd }: VirtualTableProps<Row>) {
  const scroller = useRef<HTMLElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
    initialOffset: useElementScrollRestoration({ id: SCROLLER })?.scrollY,
  });
  const last = virtual.getVirtualItems().at(-1)?.index;
  useEffect(() => {
    if (last === rows.length - 1) onEnd?.();
  }, [last, rows.length, onEnd]);
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
      <table className={styles.table} aria-rowcount={(total ?? rows.length) + 1}>
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

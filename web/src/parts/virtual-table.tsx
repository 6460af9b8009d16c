import { useElementScrollRestoration } from "@tanstack/react-router";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef } from "react";
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
  /** Where the one is that keys have gone to: it is in sight, and its first link or itself has the focus. */
  current?: number | null;
  /** The focus has come to one by other ways. */
  onCurrent?: (index: number) => void;
}

const ROW = 28;
/** By which its place is found again when one comes back: a page has one such table. */
const SCROLLER = "rows";

/** A table of any length: real rows, of which those in sight are in the document. */
export function VirtualTable<Row>(props: VirtualTableProps<Row>) {
  const { caption, columns, rows, keyOf, total, onEnd, current = null, onCurrent } = props;
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
  useRowFocus(current, virtual, scroller);
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
                aria-current={index === current || undefined}
                tabIndex={onCurrent && -1}
                onFocus={onCurrent && (() => onCurrent(index))}
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

/** Bring the current row into sight and give it the focus, each time that another becomes it. */
function useRowFocus(
  current: number | null,
  virtual: Virtualizer<HTMLElement, Element>,
  scroller: React.RefObject<HTMLElement | null>,
) {
  const isWanted = useRef(false);
  useLayoutEffect(() => {
    isWanted.current = current !== null;
  }, [current]);
  // After every render: a row out of sight is in the document only once the table was scrolled to it.
  useLayoutEffect(() => {
    if (!isWanted.current || current === null) return;
    const row = scroller.current?.querySelector<HTMLElement>("tr[aria-current]");
    isWanted.current = !row;
    if (row) focusOn(row);
    else virtual.scrollToIndex(current);
  });
}

/** Where it has the focus already, as by a click on it, it stays where it is. */
function focusOn(row: HTMLElement): void {
  if (row.contains(document.activeElement)) return;
  (row.querySelector("a") ?? row).focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

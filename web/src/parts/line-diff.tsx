import { diffLines } from "diff";
import { counted } from "../design/numbers";
import styles from "./line-diff.module.css";
import { More } from "./more";

export interface Row {
  sign: "+" | "−" | " ";
  text: string;
}

const SHOWN_ROWS = 12;
const MOST_ROWS = 2000;
/** Larger texts are shown as removed and added: comparing them takes long. */
const LARGEST = 200_000;
const KEPT = 3;

interface LineDiffProps {
  title: string;
  rows: readonly Row[];
  expanded: boolean;
  expand: () => void;
  /** The key that expands it, where a page has one. */
  hint?: string;
}

/** Lines that were added and removed, with a few around them. */
export function LineDiff({ title, rows, expanded, expand, hint }: LineDiffProps) {
  const [added, removed] = (["+", "−"] as const).map((sign) => rows.filter((row) => row.sign === sign).length);
  const shown = rows.slice(0, expanded ? MOST_ROWS : SHOWN_ROWS);
  return (
    <figure className={styles.changes} data-changes>
      <figcaption>
        <code>{title}</code> <span data-sign="+">+{added}</span> <span data-sign="−">−{removed}</span>
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled, by keyboard too */}
      <pre tabIndex={0}>
        {shown.map((row, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
          <span key={at} className={styles.row} data-sign={row.sign}>
            {`${row.sign} ${row.text}\n`}
          </span>
        ))}
      </pre>
      {shown.length < rows.length && (
        <More expand={expand} expanded={expanded}>
          {shown.length} of {counted(rows.length, "line")}
          {expanded ? "" : ` · all${hint ? ` (${hint})` : ""}`}
        </More>
      )}
    </figure>
  );
}

/** Changed lines with a few around them. */
export function changedRows(before: string, after: string): Row[] {
  if (before.length + after.length > LARGEST) return [...signed("−", before), ...signed("+", after)];
  const rows = diffLines(before, after).flatMap(({ value, added, removed }) =>
    signed(added ? "+" : removed ? "−" : " ", value),
  );
  const isNear = rows.map((_, at) => rows.slice(Math.max(0, at - KEPT), at + KEPT + 1).some((row) => row.sign !== " "));
  return rows.filter((_, at) => isNear[at]);
}

function signed(sign: Row["sign"], text: string): Row[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => ({ sign, text: line }));
}

import { diffLines } from "diff";
import { counted } from "../../../design/numbers";
import type { Edit } from "../edits";
import styles from "./step.module.css";

interface Row {
  sign: "+" | "−" | " ";
  text: string;
}

const SHOWN_ROWS = 12;
const MOST_ROWS = 2000;
/** Larger texts are shown as removed and added: comparing them takes long. */
const LARGEST = 200_000;
const KEPT = 3;

/** What an edit changed, line by line; loaded when first needed. */
export default function Changes({ edit, expanded, expand }: { edit: Edit; expanded: boolean; expand: () => void }) {
  const rows = edit.kind === "patch" ? patchRows(edit.patch) : changedRows(edit.before, edit.after);
  const [added, removed] = (["+", "−"] as const).map((sign) => rows.filter((row) => row.sign === sign).length);
  const shown = rows.slice(0, expanded ? MOST_ROWS : SHOWN_ROWS);
  return (
    <figure className={styles.changes} data-changes>
      <figcaption>
        <code>{edit.path || "file"}</code> <span data-sign="+">+{added}</span> <span data-sign="−">−{removed}</span>
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
        <button type="button" className={styles.more} onClick={expand} aria-disabled={expanded || undefined}>
          {shown.length} of {counted(rows.length, "line")}
          {expanded ? "" : " · all (.)"}
        </button>
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

function patchRows(patch: string): Row[] {
  return patch.split("\n").map((line) => {
    if (line.startsWith("+") && !line.startsWith("+++")) return { sign: "+", text: line.slice(1) };
    if (line.startsWith("-") && !line.startsWith("---")) return { sign: "−", text: line.slice(1) };
    return { sign: " ", text: line.replace(/^ /, "") };
  });
}

function signed(sign: Row["sign"], text: string): Row[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => ({ sign, text: line }));
}

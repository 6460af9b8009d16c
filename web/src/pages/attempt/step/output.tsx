import { counted } from "../../../design/numbers";
import { More } from "../../../parts/more";
import { linesOf, piecesOf } from "../ansi";
import styles from "./step.module.css";

/** Lines of an output that are shown before somebody wants all of them. */
export const SHOWN_LINES = 12;
/** Lines of one output that are ever in the document: beyond it one opens the file. */
const MOST_LINES = 2000;
const LONGEST_LINE = 4000;

interface OutputProps {
  text: string;
  failed: boolean;
  expanded: boolean;
  expand: () => void;
}

/** What a tool gave back, as a terminal shows it: its first lines, or its last where it failed. */
export function Output({ text, failed, expanded, expand }: OutputProps) {
  const lines = linesOf(text);
  if (lines.length === 0) return <p className={styles.nothing}>no output</p>;
  const most = expanded ? MOST_LINES : SHOWN_LINES;
  const isCut = lines.length > most;
  const shown = !isCut ? lines : failed ? lines.slice(-most) : lines.slice(0, most);
  const more = isCut && (
    <More expand={expand} expanded={expanded}>
      {expanded
        ? `${counted(lines.length - most, "line")} more: open the step's file`
        : `${failed ? "last " : ""}${most} of ${counted(lines.length, "line")} · all (.)`}
    </More>
  );
  return (
    <div className={styles.output} data-failed={failed || undefined}>
      {failed && more}
      <Lines lines={shown} />
      {!failed && more}
    </div>
  );
}

/** Lines of a terminal, with their colours. */
export function Lines({ lines }: { lines: readonly string[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled, by keyboard too
    <pre tabIndex={0}>
      {lines.map((line, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
        <Line key={at} text={line} />
      ))}
    </pre>
  );
}

export function Line({ text }: { text: string }) {
  const shown = text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)} …` : text;
  return (
    <>
      {piecesOf(shown).map((piece, at) =>
        piece.colour || piece.bold ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other name
          <span key={at} className={styles.piece} data-colour={piece.colour} data-bold={piece.bold || undefined}>
            {piece.text}
          </span>
        ) : (
          piece.text
        ),
      )}
      {"\n"}
    </>
  );
}

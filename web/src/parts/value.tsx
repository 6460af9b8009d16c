import styles from "./value.module.css";

const CUT = 400;
/** Characters that turn the direction of what follows: JSON has another way to write them. */
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Somebody's text or JSON, as text: a line of it, or all. */
export function Value({ of, inline = false }: { of: unknown; inline?: boolean }) {
  if (of === null || of === undefined) return <span className="muted">—</span>;
  if (inline) {
    const text = asText(of).replace(/\s+/g, " ");
    return <bdi title={text.slice(0, CUT)}>{text.length > CUT ? `${text.slice(0, CUT)}…` : text}</bdi>;
  }
  return (
    <pre className={styles.value} dir="auto">
      {asText(of, 2)}
    </pre>
  );
}

function asText(of: unknown, indent?: number): string {
  if (typeof of === "string") return of;
  const escaped = (turn: string) => `\\u${turn.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(of, null, indent).replace(TURNS, escaped);
}

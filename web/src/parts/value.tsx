import styles from "./value.module.css";

const CUT = 400;

/** Somebody's text or JSON, as text: a line of it, or all. */
export function Value({ of, inline = false }: { of: unknown; inline?: boolean }) {
  if (of === null || of === undefined) return <span className="muted">—</span>;
  if (inline) {
    const text = (typeof of === "string" ? of : JSON.stringify(of)).replace(/\s+/g, " ");
    return <bdi title={text.slice(0, CUT)}>{text.length > CUT ? `${text.slice(0, CUT)}…` : text}</bdi>;
  }
  return (
    <pre className={styles.value} dir="auto">
      {typeof of === "string" ? of : JSON.stringify(of, null, 2)}
    </pre>
  );
}

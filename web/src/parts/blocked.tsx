import type { Wait } from "../api/schema";
import { count, counted } from "../design/numbers";
import { words } from "../design/outcomes";
import styles from "./blocked.module.css";
import { Time } from "./time";

/** What cells wait for, how many, and until when. */
export function Blocked({ waits }: { waits: readonly Wait[] }) {
  if (waits.length === 0) return null;
  return (
    <section aria-label="Blocked" className={styles.blocked}>
      <span className="muted">Blocked:</span>
      <ul>
        {waits.map((wait) => (
          <li key={`${wait.scope} ${wait.name}`}>
            <b>{wait.name}</b> {words(wait.state)}
            {wait.cells > 0 && `, ${counted(wait.cells, "cell")}`}
            {wait.until && (
              <>
                , until <Time at={wait.until} exact />
              </>
            )}
            {failures(wait)}
            {wait.reason && <span className="muted">: {wait.reason}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** `, after image error 10`: how it failed since it last worked. */
function failures({ counts }: Wait): string {
  const told = Object.entries(counts).map(([name, times]) => `${words(name)} ${count(times)}`);
  return told.length ? `, after ${told.join(", ")}` : "";
}

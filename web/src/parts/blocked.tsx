import type { Wait } from "../api/schema";
import { counted } from "../design/numbers";
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
            <b>{wait.name}</b> {words(wait.state)},{" "}
            {counted(
              Object.values(wait.counts).reduce((a, b) => a + b, 0),
              "cell",
            )}
            {wait.until && (
              <>
                , until <Time at={wait.until} exact />
              </>
            )}
            {wait.reason && <span className="muted">: {wait.reason}</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

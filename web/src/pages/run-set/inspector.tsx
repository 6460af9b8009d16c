import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { cell as cellQuery } from "../../api/queries";
import { cost, duration } from "../../design/numbers";
import { CLASSES, ownerOf, ownerWords, words } from "../../design/outcomes";
import { Chip } from "../../parts/glyph";
import { useRevealed } from "../../parts/revealed";
import { Time } from "../../parts/time";
import styles from "./inspector.module.css";
import type { CellView } from "./matrix/cells";

/** The cell that is under the cursor, or pinned: why it is as it is, and every attempt at it. */
export function Inspector({
  runSet,
  cell,
  pinned,
  retry,
  stopped,
  unpin,
}: {
  runSet: string;
  cell: CellView | null;
  pinned: boolean;
  /** Tries the cell again, where that can be asked for. */
  retry: (() => void) | null;
  stopped: boolean;
  unpin: () => void;
}) {
  const revealed = useRevealed(pinned ? cell?.index : null);
  if (cell === null) {
    return (
      <aside className={styles.inspector} aria-label="Cell">
        <p className="muted">
          Choose a cell to see why it is as it is. In the grid, arrow keys move, Enter pins, o opens the attempt.
        </p>
      </aside>
    );
  }
  return (
    <aside ref={revealed} className={styles.inspector} aria-label="Cell">
      <p className={styles.name}>
        <b>{cell.profile}</b> · {cell.task.name} · trial {cell.trial}
      </p>
      <p className={styles.state}>
        <Chip name={cell.state} />
        <span className="muted">
          {[
            CLASSES.includes(cell.state) && ownerWords(ownerOf(cell.state)),
            !cell.decided && "owed",
            !cell.decided && cell.givenUp && !stopped && "given up",
            cell.limit && `${cell.limit} limit`,
            cell.phase && words(cell.phase),
          ]
            .filter(Boolean)
            .join(", ")}
        </span>
      </p>
      {cell.waitsUntil && (
        <p>
          waits until <Time at={cell.waitsUntil} exact />
        </p>
      )}
      {stopped && !cell.decided && <p className="muted">The run set is stopped: Resume goes on with this cell too.</p>}
      {pinned && cell.id !== null ? <Attempts runSet={runSet} cell={cell.id} /> : null}
      <p className={styles.actions}>
        {cell.attempt && (
          <Link to="/attempts/$attempt" params={{ attempt: cell.attempt }} search={{ of: runSet }}>
            Open attempt
          </Link>
        )}
        {retry && (
          <button type="button" onClick={retry}>
            Try again (r)
          </button>
        )}
        {pinned && (
          <button type="button" onClick={unpin}>
            Unpin (Esc)
          </button>
        )}
      </p>
    </aside>
  );
}

function Attempts({ runSet, cell }: { runSet: string; cell: string }) {
  const asked = useQuery(cellQuery(runSet, cell));
  if (asked.error) return <p role="alert">{asked.error.message}</p>;
  if (asked.data === undefined) return <p className="muted">…</p>;
  if (asked.data.attempts.length === 0) return <p className="muted">It was never attempted.</p>;
  return (
    <ol className={styles.attempts} aria-label="Attempts, the oldest first">
      {asked.data.attempts.map((one) => (
        <li key={one.id}>
          <Link to="/attempts/$attempt" params={{ attempt: one.id }} search={{ of: runSet }}>
            {one.number}
          </Link>
          <div>
            <Chip name={one.outcome ?? "running"} />
            {one.why && <p className={styles.why}>{one.why}</p>}
            <small className="muted">
              {one.started_at ? <Time at={one.started_at} /> : "not begun"} · {duration(one.seconds)} ·{" "}
              {cost(one.cost_nano)}
            </small>
          </div>
        </li>
      ))}
    </ol>
  );
}

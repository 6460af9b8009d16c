import { Link } from "@tanstack/react-router";
import type { BoardRow, SuiteBoard } from "../../api/schema";
import { cost, counted, difference, percent, UNKNOWN } from "../../design/numbers";
import { Rates, RatesPlot } from "../../parts/rates";
import styles from "./leaderboard.module.css";

interface RowProps {
  one: BoardRow;
  isCurrent: boolean;
  pinned: boolean;
  toggle: () => void;
  children: React.ReactNode;
}

/** A row as comparisons name it. */
export function sideOf({ run_set: runSet, row }: BoardRow): string {
  return `${runSet.id}:${row.profile}`;
}

/** One profile: its rank as an interval, its rates drawn and in figures, what a pass costs. */
export function Row({ one, isCurrent, pinned, toggle, children }: RowProps) {
  const { row, run_set: runSet } = one;
  const [low, high] = row.rank;
  const at = (search: string) => `/run-sets/${runSet.id}?profile=${encodeURIComponent(row.profile)}${search}`;
  const cells = { passed: at("&class=passed"), decided: at("&decided=true"), owed: at("&owed=true"), all: at("") };
  return (
    <li className={styles.row} data-current={isCurrent ? "" : undefined}>
      <span className={styles.rank}>{row.comparable ? (low === high ? low : `${low}–${high}`) : ""}</span>
      <span className={styles.name}>
        <input type="checkbox" checked={pinned} onChange={toggle} aria-label={`Pin ${row.profile}`} />
        <Link
          to="/run-sets/$runSet"
          params={{ runSet: runSet.id }}
          search={{ profile: row.profile }}
          title={`${row.profile}, of ${runSet.name}`}
        >
          {row.profile}
        </Link>
        <small className="muted">{runSet.name}</small>
      </span>
      <RatesPlot rates={row.rates} width={180} />
      <Rates rates={row.rates} cells={cells} />
      <PerPass row={row} />
      <code title={`configuration ${row.configuration}`}>{row.configuration.slice(0, 8)}</code>
      <div className={styles.note}>{children}</div>
    </li>
  );
}

function PerPass({ row }: { row: BoardRow["row"] }) {
  const passed = row.rates.counts.passed;
  const { cost_nano: nano, attempts, priced } = row.usage;
  return (
    <span className={styles.cost} title="Cost of all attempts for each passed cell">
      {nano != null && passed ? cost(nano / passed, attempts ? priced / attempts : null) : UNKNOWN}
      <small className="muted">per pass{attempts > priced ? ` · usage ${percent(priced / attempts)}` : ""}</small>
    </span>
  );
}

/** Whether a row can be told from the one below it. */
export function Apart({ board, place }: { board: SuiteBoard; place: number }) {
  const pair = board.neighbours.find((one) => one.upper === place);
  const below = pair && board.ranked[pair.lower];
  if (!pair || !below) return null;
  const by = pair.difference ? difference(pair.difference.mean, pair.difference.interval) : "";
  return (
    <small className="muted">
      {pair.distinguishable
        ? `above ${below.row.profile}: ${by}, paired over ${counted(pair.difference?.tasks ?? 0, "task")}`
        : `not distinguishable from ${below.row.profile}${by && `: ${by}`}`}
    </small>
  );
}

/** Reasons that all of some rows have: said once. */
export function shared(rows: readonly BoardRow[]): string[] {
  const [first, ...rest] = rows;
  if (first === undefined || rest.length === 0) return [];
  return first.row.reasons.filter((reason) => rest.every((one) => one.row.reasons.includes(reason)));
}

/** Why a row stands apart, but for what was `said` of all; what can be looked at leads there. */
export function Reasons({ one, said }: { one: BoardRow; said: readonly string[] }) {
  return (
    <ul className={styles.reasons}>
      {one.row.reasons
        .filter((reason) => !said.includes(reason))
        .map((reason) => (
          <li key={reason}>
            {reason}
            {reason.startsWith("coverage") && (
              <>
                {" "}
                <Link
                  to="/run-sets/$runSet"
                  params={{ runSet: one.run_set.id }}
                  search={{ profile: one.row.profile, owed: true }}
                >
                  show
                </Link>
              </>
            )}
          </li>
        ))}
    </ul>
  );
}

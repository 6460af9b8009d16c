import type { Pair } from "../../api/schema";
import { count, counted, difference, isClear, percent, pValue } from "../../design/numbers";
import styles from "./compare.module.css";

const WIDTH = 320;
const MOST = 0.2;
/** Of what was left out; all of it is among the tasks. */
const LISTED = 200;

/** One pair in words and drawn: the difference with its interval, over what, by which test. */
export function Claim({ pair }: { pair: Pair }) {
  const seen = againstBase(pair);
  const clear = isClear(seen.interval);
  return (
    <section className={styles.claim} aria-label={`${pair.b.title} against ${pair.a.title}`}>
      <p>
        <b>{pair.b.title}</b> against <b>{pair.a.title}</b>
      </p>
      <p className={styles.figure} data-side={clear ? ((seen.difference ?? 0) > 0 ? "up" : "down") : undefined}>
        {difference(seen.difference, seen.interval)}
        {!clear && <span> not distinguishable</span>}
      </p>
      <Axis {...seen} />
      <p className="muted data">
        {percent(pair.b.mean)} of {counted(pair.b.decided, "cell")} against {percent(pair.a.mean)} of{" "}
        {counted(pair.a.decided, "cell")}, paired over {counted(pair.tasks, "task")}
        {pair.test && `; ${pair.test.name}, p ${pValue(pair.p_adjusted ?? pair.test.p)}`}
        {pair.unpaired_cells > 0 && `; ${counted(pair.unpaired_cells, "cell")} left out`}
      </p>
      <p>{pair.claim}</p>
      <Configuration pair={pair} />
      <LeftOut pair={pair} />
    </section>
  );
}

/** The API tells the base minus the other; a reader asks what the other changes. */
export function againstBase({ difference, interval }: Pick<Pair, "difference" | "interval">): Seen {
  const minus = (value: number) => (value === 0 ? 0 : -value);
  return {
    difference: difference == null ? null : minus(difference),
    interval: interval == null ? null : { low: minus(interval.high), high: minus(interval.low) },
  };
}

interface Seen {
  difference: number | null;
  interval: { low: number; high: number } | null;
}

function Axis({ difference: mean, interval }: Seen) {
  const reach = Math.max(MOST, Math.abs(interval?.low ?? 0), Math.abs(interval?.high ?? 0));
  const at = (value: number) => WIDTH / 2 + (value / reach) * (WIDTH / 2 - 8);
  return (
    <svg className={styles.axis} width={WIDTH} height={34} role="img" aria-label={difference(mean, interval)}>
      <path d={`M8 14H${WIDTH - 8}M${WIDTH / 2} 4v20`} className={styles.line} />
      {interval && (
        <path
          d={`M${at(interval.low)} 14H${at(interval.high)}M${at(interval.low)} 9v10M${at(interval.high)} 9v10`}
          className={styles.whisker}
        />
      )}
      {mean !== null && <circle cx={at(mean)} cy={14} r={4} />}
      <text x={8} y={32}>{`−${(reach * 100).toFixed(0)}`}</text>
      <text x={WIDTH / 2} y={32} textAnchor="middle">
        0
      </text>
      <text x={WIDTH - 8} y={32} textAnchor="end">{`+${(reach * 100).toFixed(0)} pp`}</text>
    </svg>
  );
}

function Configuration({ pair }: { pair: Pair }) {
  if (pair.fields.length === 0) return null;
  return (
    <details>
      <summary>{counted(pair.fields.length, "difference")} of configuration</summary>
      <table className={styles.fields}>
        <thead>
          <tr>
            <th scope="col">field</th>
            <th scope="col">{pair.a.title}</th>
            <th scope="col">{pair.b.title}</th>
          </tr>
        </thead>
        <tbody>
          {pair.fields.map((one) => (
            <tr key={one.field}>
              <th scope="row">
                <code>{one.field}</code>
              </th>
              <td>
                <code>{JSON.stringify(one.a)}</code>
              </td>
              <td>
                <code>{JSON.stringify(one.b)}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function LeftOut({ pair }: { pair: Pair }) {
  if (pair.unpaired.length === 0) return null;
  return (
    <details>
      <summary>What was left out, and why ({count(pair.unpaired_cells)} cells)</summary>
      <ul className={styles.left}>
        {pair.unpaired.slice(0, LISTED).map((one) => (
          <li key={`${one.task} ${one.side} ${one.reason}`}>
            {one.task}, {one.side}: {counted(one.cells, "cell")}, {one.reason}
          </li>
        ))}
        {pair.unpaired.length > LISTED && <li>and {count(pair.unpaired.length - LISTED)} more</li>}
      </ul>
    </details>
  );
}

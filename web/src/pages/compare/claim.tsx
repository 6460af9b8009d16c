import type { Pair } from "../../api/schema";
import { count, counted, difference, isClear, pValue, percent } from "../../design/numbers";
import styles from "./compare.module.css";

const WIDTH = 320;
const MOST = 0.2;

/** One pair in words and drawn: the difference with its interval, over what, by which test. */
export function Claim({ pair }: { pair: Pair }) {
  const clear = isClear(pair.interval);
  return (
    <section className={styles.claim} aria-label={`${pair.b.title} against ${pair.a.title}`}>
      <p>
        <b>{pair.b.title}</b> against <b>{pair.a.title}</b>
      </p>
      <p className={styles.figure} data-side={clear ? ((pair.difference ?? 0) > 0 ? "up" : "down") : undefined}>
        {difference(pair.difference, pair.interval)}
        {!clear && <span> not distinguishable</span>}
      </p>
      <Axis pair={pair} />
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

function Axis({ pair }: { pair: Pair }) {
  const reach = Math.max(MOST, Math.abs(pair.interval?.low ?? 0), Math.abs(pair.interval?.high ?? 0));
  const at = (value: number) => WIDTH / 2 + (value / reach) * (WIDTH / 2 - 8);
  return (
    <svg className={styles.axis} width={WIDTH} height={34} role="img" aria-label={difference(pair.difference, pair.interval)}>
      <path d={`M8 14H${WIDTH - 8}M${WIDTH / 2} 4v20`} className={styles.line} />
      {pair.interval && (
        <path d={`M${at(pair.interval.low)} 14H${at(pair.interval.high)}M${at(pair.interval.low)} 9v10M${at(pair.interval.high)} 9v10`} className={styles.whisker} />
      )}
      {pair.difference != null && <circle cx={at(pair.difference)} cy={14} r={4} />}
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
        {pair.unpaired.map((one) => (
          <li key={`${one.task} ${one.side} ${one.reason}`}>
            {one.task}, {one.side}: {counted(one.cells, "cell")}, {one.reason}
          </li>
        ))}
      </ul>
    </details>
  );
}

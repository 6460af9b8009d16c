import type { Pair } from "../../api/schema";
import { difference, isClear } from "../../design/numbers";
import styles from "./compare.module.css";

const MOST = 0.2;

/** The API tells the base minus the other; a reader asks what the other changes. */
export function againstBase({ difference, interval }: Pick<Pair, "difference" | "interval">): Seen {
  const minus = (value: number) => (value === 0 ? 0 : -value);
  return {
    difference: difference == null ? null : minus(difference),
    interval: interval == null ? null : { low: minus(interval.high), high: minus(interval.low) },
  };
}

/** Whether it is one: only then is it coloured. Few tasks can have an interval without 0 that their test does not bear out. */
export function isDistinguished({ interval, finding }: Pick<Pair, "interval" | "finding">): boolean {
  return isClear(interval) && finding !== "not distinguishable";
}

interface Seen {
  difference: number | null;
  interval: { low: number; high: number } | null;
}

/** How far an axis reaches either way that several differences share: 20 points at least. */
export function reachOf(differences: readonly Pick<Pair, "difference" | "interval">[]): number {
  const ends = differences.flatMap(({ difference: mean, interval }) => [mean, interval?.low, interval?.high]);
  return Math.max(MOST, ...ends.map((end) => Math.abs(end ?? 0)));
}

/** A difference with its interval. */
export function Axis({ difference: mean, interval, width, reach }: Seen & { width: number; reach: number }) {
  const at = (value: number) => width / 2 + (value / reach) * (width / 2 - 8);
  return (
    <svg className={styles.axis} width={width} height={34} role="img" aria-label={difference(mean, interval)}>
      <path d={`M8 14H${width - 8}M${width / 2} 4v20`} className={styles.line} />
      {interval && (
        <path
          d={`M${at(interval.low)} 14H${at(interval.high)}M${at(interval.low)} 9v10M${at(interval.high)} 9v10`}
          className={styles.whisker}
        />
      )}
      {mean !== null && <circle cx={at(mean)} cy={14} r={4} />}
      <text x={8} y={32}>{`−${(reach * 100).toFixed(0)}`}</text>
      <text x={width / 2} y={32} textAnchor="middle">
        0
      </text>
      <text x={width - 8} y={32} textAnchor="end">{`+${(reach * 100).toFixed(0)} pp`}</text>
    </svg>
  );
}

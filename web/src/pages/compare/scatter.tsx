import type { Pair } from "../../api/schema";
import { cost, counted, interval, percent, UNKNOWN } from "../../design/numbers";
import { Section } from "../../parts/section";
import styles from "./compare.module.css";
import { sideName } from "./tasks";

type Side = Pair["a"];
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP, MARGIN] = [340, 220, 40, 28, 16, 72];

/** What each of a pair costs and how much it solves, with both intervals; of unknown cost at the margin. */
export function Scatter({ pair }: { pair: Pair }) {
  const sides = [pair.a, pair.b];
  const known = sides.flatMap(({ cost }) => cost?.interval?.high ?? cost?.mean_nano ?? []);
  const most = Math.max(0, ...known);
  const x = (nano: number) => LEFT + (nano / (most || 1)) * (WIDTH - LEFT - MARGIN);
  const y = (share: number) => TOP + (1 - share) * (HEIGHT - TOP - BOTTOM);
  return (
    <Section title="Cost and quality">
      <svg
        className={styles.scatter}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={sides.map(said).join("; ")}
      >
        <path
          d={`M${LEFT} ${TOP}V${y(0)}H${WIDTH - MARGIN}M${WIDTH - MARGIN / 2} ${TOP}V${y(0)}`}
          className={styles.line}
        />
        {[0, 0.5, 1].map((share) => (
          <text key={share} x={LEFT - 6} y={y(share) + 4} textAnchor="end">{`${share * 100}%`}</text>
        ))}
        <text x={LEFT} y={HEIGHT - 10}>
          $0
        </text>
        <text x={WIDTH - MARGIN} y={HEIGHT - 10} textAnchor="end">
          {known.length === 0 ? "no cost known" : most > 0 ? `${cost(most)} a task` : ""}
        </text>
        <text x={WIDTH - MARGIN / 2} y={HEIGHT - 10} textAnchor="middle">
          unknown
        </text>
        {sides.map((side, at) => (
          <Point key={letter(at)} side={side} label={letter(at)} below={at > 0} x={x} y={y} />
        ))}
      </svg>
      <p className="muted data">Shares are of the tasks that both sides have; costs of all that a side ran.</p>
      <ol className={styles.legend}>
        {sides.map((side, at) => (
          <li key={letter(at)}>
            <b>{letter(at)}</b> {said(side)}
          </li>
        ))}
      </ol>
    </Section>
  );
}

interface PointProps {
  side: Side;
  label: string;
  /** Where its label is: of two that are at one place both are read. */
  below: boolean;
  x: (nano: number) => number;
  y: (share: number) => number;
}

function Point({ side: { mean, interval: up, cost: spent }, label, below, x, y }: PointProps) {
  if (mean == null) return null;
  const at = spent?.mean_nano == null ? WIDTH - MARGIN / 2 : x(spent.mean_nano);
  return (
    <g>
      {up && <path d={`M${at} ${y(up.low)}V${y(up.high)}`} className={styles.whisker} />}
      {spent?.interval && (
        <path d={`M${x(spent.interval.low)} ${y(mean)}H${x(spent.interval.high)}`} className={styles.whisker} />
      )}
      <circle cx={at} cy={y(mean)} r={4} />
      <text x={at + 7} y={y(mean) + (below ? 15 : -5)}>
        {label}
      </text>
    </g>
  );
}

function letter(at: number): string {
  return String.fromCharCode(65 + at);
}

/** A side in words: what the chart shows of it. */
function said(side: Side): string {
  const { mean, decided, interval: up, cost: spent } = side;
  const title = sideName(side);
  const solves = `${percent(mean)} of ${counted(decided, "cell")} [${interval(up)}]`;
  if (spent?.mean_nano == null) return `${title}: ${solves}, cost ${UNKNOWN}${unknown(spent)}`;
  const between = spent.interval ? ` [${cost(spent.interval.low)}–${cost(spent.interval.high)}]` : "";
  return `${title}: ${solves}, ${cost(spent.mean_nano)}${between} a task over ${counted(spent.tasks, "task")}${unknown(spent)}`;
}

function unknown(spent: Side["cost"]): string {
  return spent?.unknown ? `, ${counted(spent.unknown, "task")} of unknown cost` : "";
}

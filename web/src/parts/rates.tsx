import type { Rates as RatesDocument } from "../api/schema";
import { count, counted, interval, percent, UNKNOWN } from "../design/numbers";
import { Figure } from "./figure";
import styles from "./rates.module.css";

/** Where the cells that a figure counts are shown. */
export interface Cells {
  passed: string;
  decided: string;
  owed: string;
  all: string;
}

/**
 * Strict, graded, coverage and bounds together: nowhere does one of them stand alone. `headline`: as the page's own
 * figure. `cells`: where the cells of each figure are.
 */
export function Rates({ rates, cells, headline = false }: { rates: RatesDocument; cells: Cells; headline?: boolean }) {
  const { expected, decided, passed } = rates.counts;
  const owed = expected - decided;
  return (
    <dl className={headline ? styles.headline : styles.rates} data-rates>
      <div>
        <dt title="Passed of all expected cells; a cell without a verdict counts as not passed">strict</dt>
        <dd>
          <b>{percent(rates.strict)}</b>
          <Figure to={cells.passed} of="passed cells">{`${count(passed)}/${count(expected)}`}</Figure>
          {rates.interval && <span title="95 % interval of the strict rate">{interval(rates.interval)}</span>}
        </dd>
      </div>
      <div>
        <dt title="Passed of the cells with a verdict">graded</dt>
        <dd>
          <b>{percent(rates.graded)}</b>
          <Figure to={cells.decided} of="cells with a verdict">{`${count(passed)}/${count(decided)}`}</Figure>
        </dd>
      </div>
      <div>
        <dt title="Cells with a verdict of all expected">coverage</dt>
        <dd>
          <b>{percent(rates.coverage)}</b>
          <Figure to={cells.decided} of="cells with a verdict">{`${count(decided)}/${count(expected)}`}</Figure>
        </dd>
      </div>
      <div>
        <dt title="Strict if every missing verdict were a fail, or a pass">bounds</dt>
        <dd>
          <b>{rates.bounds ? interval(rates.bounds) : UNKNOWN}</b>
          <Figure to={cells.owed} of="cells without a verdict">
            {owed ? `${counted(owed, "cell")} owed` : "nothing owed"}
          </Figure>
        </dd>
      </div>
    </dl>
  );
}

/** Strict as a point with its interval, graded as a ring, the bounds as a band, between 0 and 100 %. */
export function RatesPlot({ rates, width = 180 }: { rates: RatesDocument; width?: number }) {
  const pad = 6;
  const at = (share: number) => pad + share * (width - 2 * pad);
  const { strict, graded, bounds, interval: range } = rates;
  return (
    <svg className={styles.plot} width={width} height={22} role="img" aria-label={plotWords(rates)}>
      {[0, 0.5, 1].map((mark) => (
        <path key={mark} className={styles.grid} d={`M${at(mark)} 0v22`} />
      ))}
      {bounds && bounds.high > bounds.low && (
        <rect
          className={styles.band}
          x={at(bounds.low)}
          y={5}
          width={(bounds.high - bounds.low) * (width - 2 * pad)}
          height={12}
        />
      )}
      {range && (
        <path
          className={styles.whisker}
          d={`M${at(range.low)} 11H${at(range.high)}M${at(range.low)} 7v8M${at(range.high)} 7v8`}
        />
      )}
      {graded != null && graded !== strict && <circle className={styles.ring} cx={at(graded)} cy={11} r={3.5} />}
      {strict != null && <circle className={styles.point} cx={at(strict)} cy={11} r={4} />}
    </svg>
  );
}

function plotWords(rates: RatesDocument): string {
  if (rates.strict == null) return "no cells";
  return (
    `strict ${percent(rates.strict)}, 95 % interval ${interval(rates.interval)}, graded ${percent(rates.graded)}, ` +
    `bounds ${interval(rates.bounds)}`
  );
}

import { getRouteApi, Link } from "@tanstack/react-router";
import type { SpendReport } from "../../api/schema";
import { cost } from "../../design/numbers";
import styles from "./day-bars.module.css";
import { axis, type Day, daysOf, dayWords, height, type Part, placeOf, spentWords, told } from "./days";

const route = getRouteApi("/costs");
const LABELLED = 7;
const DENSE = 40;

/** A bar for each day of UTC, stacked: each leads to its entries. `linked`: whether there are any to see. */
export function DayBars({
  report,
  nameOf,
  linked,
}: {
  report: SpendReport;
  nameOf: (key: string | null) => string;
  linked: boolean;
}) {
  const days = daysOf(report);
  const ticks = axis(Math.max(...days.map((one) => height(one.whole))));
  const [first, last] = [days[0], days.at(-1)];
  const isSparse = days.length <= LABELLED;
  return (
    <figure className={styles.chart} aria-label="Spend by day">
      <div className={styles.axis} aria-hidden="true">
        {ticks.map((one) => (
          <span key={one}>{cost(one)}</span>
        ))}
      </div>
      <ol className={styles.days} data-dense={days.length > DENSE ? "" : undefined}>
        {days.map((day) => (
          <Bar key={day.name} day={day} most={ticks[0] || 1} report={report} nameOf={nameOf} linked={linked} />
        ))}
      </ol>
      <p className={styles.ends} data-each={isSparse ? "" : undefined}>
        {isSparse ? (
          days.map((day) => <span key={day.name}>{dayWords(day.at)}</span>)
        ) : (
          <>
            <span>{first && dayWords(first.at)}</span>
            <span>{last && dayWords(last.at)}</span>
          </>
        )}
      </p>
    </figure>
  );
}

interface BarProps {
  day: Day;
  most: number;
  report: SpendReport;
  nameOf: (key: string | null) => string;
  linked: boolean;
}

function Bar({ day, most, report, nameOf, linked }: BarProps) {
  const search = route.useSearch();
  const words = told(day, nameOf);
  const isFaint = search.day !== undefined && search.day !== day.name;
  const parts = day.parts.map((part) => (
    <Segment
      key={part.key ?? "\0others"}
      part={part}
      day={day}
      most={most}
      report={report}
      nameOf={nameOf}
      linked={linked}
    />
  ));
  return (
    <li className={styles.day} data-faint={isFaint ? "" : undefined}>
      {linked && day.whole.entries > 0 ? (
        <Link
          className={styles.whole}
          to="/costs"
          search={{ by: search.by, days: search.days, day: day.name }}
          hash="ledger"
          resetScroll={false}
          aria-label={words}
          title={words}
          data-figure={`entries of ${day.name}`}
        />
      ) : (
        <span className={styles.whole} title={words} role="img" aria-label={words} />
      )}
      <span className={styles.stack} data-partial={day.whole.unpriced > 0 ? "" : undefined} aria-hidden="true">
        {parts}
      </span>
    </li>
  );
}

/** One key's part of a day. The day's own link is the keyboard's, and the table below has each key's. */
function Segment({ part, day, most, report, nameOf, linked }: BarProps & { part: Part }) {
  const { by, days, key } = route.useSearch();
  const look = {
    className: styles.segment,
    "data-place": placeOf(report, part.key),
    "data-other": part.key === null ? "" : undefined,
    "data-faint": key !== undefined && key !== part.key ? "" : undefined,
    style: { height: `${(height(part) / most) * 100}%` },
    title: `${dayWords(day.at)}, ${nameOf(part.key)}: ${spentWords(part)}`,
    children: part.assumed_nano > 0 && (
      <span className={styles.assumed} style={{ height: `${(part.assumed_nano / height(part)) * 100}%` }} />
    ),
  };
  if (!linked) return <span {...look} />;
  const search = { by, days, day: day.name, key: part.key ?? undefined };
  return <Link {...look} to="/costs" search={search} hash="ledger" resetScroll={false} tabIndex={-1} />;
}

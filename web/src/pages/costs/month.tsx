import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { allowance as allowed, month } from "../../api/administration";
import { useLive } from "../../api/live-context";
import type { Allowance, Month } from "../../api/schema";
import { useThrottled } from "../../api/throttle";
import { bytes, cost, count, counted, percent, UNKNOWN } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { dayWords, spent, usageWords } from "./days";
import styles from "./month.module.css";

/** The figures of the month, while attempts end and jobs go on. */
const AGAIN_MS = 5000;
const SPENDS = /^(attempt\.ended$|job\.)/;

/** This month as the budgets count it: what it cost, to what it will come, and what there is room for. */
export function MonthSoFar({ allowance }: { allowance: Allowance }) {
  const client = useQueryClient();
  const asked = useQuery(month);
  const work = useCallback(
    () => Promise.all([month, allowed].map(({ queryKey }) => client.invalidateQueries({ queryKey }))),
    [client],
  );
  const again = useThrottled(work, AGAIN_MS);
  useLive("all", undefined, { event: ({ name }) => SPENDS.test(name) && again(), gap: again, poll: again });
  const { quota, used, stored_bytes: stored, over, uncounted } = allowance;
  return (
    <>
      <Asked query={asked} what="this month" rows={3}>
        {(told) => <Headline month={told} budget={quota.budget_month_nano ?? null} />}
      </Asked>
      <dl className={styles.quotas}>
        <Of
          name="Cost this month"
          used={used.cost_month_nano}
          most={quota.cost_month_nano}
          write={cost}
          known={uncounted > 0 ? 0 : 1}
        />
        <Of name="Evaluations today" used={used.evaluations_today} most={quota.evaluations_per_day} write={number} />
        <Of name="Sandboxes now" used={used.sandboxes} most={quota.sandboxes} write={number} />
        <Of name="Stored" used={stored ?? null} most={quota.storage_bytes} write={bytes} />
      </dl>
      {over.length > 0 && (
        <p className={styles.over} role="status">
          Over {over.map(words).join(", ")}: this tenant's work is served after the others'.
        </p>
      )}
    </>
  );
}

const number = (value: number | null) => count(value ?? 0);

function Headline({ month: told, budget }: { month: Month; budget: number | null }) {
  const usage = usageWords(told.whole);
  const assumed = told.whole.assumed_nano;
  return (
    <div className={styles.month}>
      <p className={styles.headline}>
        <b>{spent(told.whole)}</b>
        <span className="muted">
          {monthWords(told)}, UTC{usage && ` · ${usage}`}
          {assumed > 0 ? ` · and ${cost(assumed)} kept aside for calls whose cost nobody knows` : ""}
        </span>
      </p>
      <BudgetBar month={told} budget={budget} />
      <p className="data">{forecastWords(told)}</p>
      {told.forecast && (
        <details className={styles.method}>
          <summary>How it is forecast</summary>
          <p>
            The days that are left are drawn, 2,000 times, from the last{" "}
            {counted(told.days_seen, "whole day", "whole days")}; four of five of these months end within the band.
            Spending that is about to change is in no day that was, and in no forecast.
          </p>
        </details>
      )}
    </div>
  );
}

function monthWords(told: Month): string {
  return new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric", timeZone: "UTC" }).format(
    new Date(told.begins),
  );
}

/** The forecast in words, or why there is none. */
export function forecastWords({ forecast, ends, days_seen, days_needed }: Month): string {
  if (forecast === null) {
    return `No forecast yet: it needs ${counted(days_needed, "whole day")} of the last four weeks since spending began, and there are ${days_seen}.`;
  }
  const last = dayWords(new Date(Date.parse(ends) - 1));
  const band = `between ${cost(forecast.low_nano)} and ${cost(forecast.high_nano)}`;
  return `By ${last} about ${cost(forecast.expected_nano)}: 80 % ${band}.`;
}

/** What was spent, the band of the forecast and the budget, on one line to scale. */
export function BudgetBar({ month: told, budget }: { month: Month; budget: number | null }) {
  const { forecast, counted_nano: now, whole } = told;
  const most = Math.max(now, forecast?.high_nano ?? 0, budget ?? 0);
  if (budget === null && (most === 0 || forecast === null)) return <p className="muted data">No budget is set.</p>;
  const at = (nano: number) => `${(nano / (Math.max(most, 1) * 1.02)) * 100}%`;
  const isUsed = budget !== null && now >= budget;
  const isOver = isUsed || (budget !== null && (forecast?.expected_nano ?? now) > budget);
  return (
    <figure className={styles.bar}>
      <div className={styles.line} role="img" aria-label={barWords(told, budget)}>
        <span className={styles.spent} style={{ width: at(whole.cost_nano) }} />
        <span
          className={styles.assumed}
          style={{ left: at(whole.cost_nano), width: at(Math.max(0, now - whole.cost_nano)) }}
        />
        {forecast && (
          <>
            <span
              className={styles.band}
              style={{ left: at(forecast.low_nano), width: at(forecast.high_nano - forecast.low_nano) }}
            />
            <span className={styles.expected} style={{ left: at(forecast.expected_nano) }} />
          </>
        )}
        {budget !== null && <span className={styles.budget} style={{ left: at(budget) }} />}
      </div>
      <figcaption className={styles.key}>
        <span>
          <i className={styles.spent} /> counted {cost(now)}
        </span>
        {forecast && (
          <span>
            <i className={styles.band} /> forecast
          </span>
        )}
        <span data-over={isOver ? "" : undefined}>
          {budget === null ? (
            "no budget is set"
          ) : (
            <>
              <i className={styles.budget} /> budget {cost(budget)}
              {isOver && `: it ${isUsed ? "is" : "will probably be"} used up`}
            </>
          )}
        </span>
      </figcaption>
    </figure>
  );
}

function barWords(told: Month, budget: number | null): string {
  return `${cost(told.counted_nano)} counted, ${roomWords(told.counted_nano, budget)}. ${forecastWords(told)}`;
}

function roomWords(now: number, budget: number | null): string {
  if (budget === null) return "no budget";
  return budget === 0 ? `all of ${cost(0)}` : `${percent(now / budget)} of ${cost(budget)}`;
}

interface OfProps {
  name: string;
  used: number | null;
  most: number | null | undefined;
  write: (value: number | null, known?: number | null) => string;
  /** The share of it that is known, where that matters: a part of a sum is no sum. */
  known?: number | null;
}

export function Of({ name, used, most, write, known }: OfProps) {
  const share = used !== null && most ? Math.min(1, used / most) : 0;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <b>{used === null ? UNKNOWN : write(used, known)}</b>{" "}
        <span className="muted">{most == null ? "no limit" : `of ${write(most)}`}</span>
        {most != null && (
          <span className={styles.meter} role="img" aria-label={`${percent(share)} of ${write(most)} used`}>
            <span style={{ width: `${share * 100}%` }} />
          </span>
        )}
      </dd>
    </div>
  );
}

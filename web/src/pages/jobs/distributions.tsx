import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { spreads } from "../../api/data";
import type { EvaluatorSummary, Spread } from "../../api/schema";
import { count, counted, score } from "../../design/numbers";
import { words } from "../../design/outcomes";
import { Asked } from "../../parts/asked";
import { Section } from "../../parts/section";
import { withoutScore } from "./counts";
import styles from "./jobs.module.css";

const route = getRouteApi("/jobs/$job");

/** How each evaluator's scores are spread; each bar is a filter of the results. */
export function Distributions({ id, evaluators }: { id: string; evaluators: readonly EvaluatorSummary[] }) {
  const asked = useQuery(spreads(id));
  return (
    <Section title="Scores">
      <Asked query={asked} what="distributions" rows={4}>
        {({ items }) => (
          <div className={styles.spreads}>
            {items.map((one) => (
              <Histogram key={one.evaluator} one={one} of={evaluators.find((row) => row.evaluator === one.evaluator)} />
            ))}
          </div>
        )}
      </Asked>
    </Section>
  );
}

function Histogram({ one, of }: { one: Spread; of: EvaluatorSummary | undefined }) {
  const without = of ? withoutScore(of) : [];
  const most = Math.max(...one.counts, ...without.map(([, results]) => results), 1);
  const unscored = without.map(([status, results]) => (
    <Unscored key={status} evaluator={one.evaluator} status={status} results={results} height={results / most} />
  ));
  if (one.undefined) {
    return (
      <figure className={styles.spread}>
        <figcaption>{one.evaluator}</figcaption>
        <p className="muted data">{one.undefined}</p>
        {unscored.length > 0 && <div className={styles.bins}>{unscored}</div>}
      </figure>
    );
  }
  return (
    <figure className={styles.spread}>
      <figcaption>
        {one.evaluator}{" "}
        <span className="muted">
          {counted(one.count, "score")} · median {score(one.quantiles["0.5"])}
        </span>
      </figcaption>
      <div className={styles.chart}>
        <div className={styles.bins}>
          {one.counts.map((cells, at) => (
            <Bin key={one.edges[at]} one={one} at={at} height={cells / most} />
          ))}
        </div>
        <p className={styles.ends}>
          <span>{score(one.low)}</span>
          <span>{score(one.high)}</span>
        </p>
        {unscored.length > 0 && (
          <>
            <div className={styles.bins}>{unscored}</div>
            <p className={styles.ends}>no score {count(without.reduce((sum, [, results]) => sum + results, 0))}</p>
          </>
        )}
      </div>
    </figure>
  );
}

function Bin({ one, at, height }: { one: Spread; at: number; height: number }) {
  const { evaluator, at_least } = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$job" });
  const [low, high, results] = [one.edges[at], one.edges[at + 1], one.counts[at] ?? 0];
  const isLast = at === one.counts.length - 1;
  const isChosen = evaluator === one.evaluator && at_least === low;
  const filter = { evaluator: one.evaluator, at_least: low, below: isLast ? undefined : high };
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      disabled={results === 0}
      title={`${score(low)} to ${score(high)}: ${counted(results, "result")}`}
      aria-label={`${one.evaluator}, ${score(low)} to ${score(high)}, ${counted(results, "result")}`}
      onClick={() => navigate({ search: ({ by }) => ({ by, ...(isChosen ? {} : filter) }), resetScroll: false })}
    >
      <span style={{ height: `${height * 100}%` }} />
    </button>
  );
}

interface UnscoredProps {
  evaluator: string;
  status: string;
  results: number;
  height: number;
}

/** The bar of what has no score, which no place among the scores would fit. */
function Unscored({ evaluator, status, results, height }: UnscoredProps) {
  const search = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$job" });
  const isChosen = search.evaluator === evaluator && search.status === status;
  return (
    <button
      type="button"
      data-unscored
      aria-pressed={isChosen}
      title={`No score, ${words(status)}: ${counted(results, "result")}`}
      aria-label={`${evaluator}, no score, ${words(status)}, ${counted(results, "result")}`}
      onClick={() =>
        navigate({ search: ({ by }) => ({ by, ...(isChosen ? {} : { evaluator, status }) }), resetScroll: false })
      }
    >
      <span style={{ height: `${height * 100}%` }} />
    </button>
  );
}
